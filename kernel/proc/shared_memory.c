// SPDX-License-Identifier: Apache-2.0
/* host calls: sysinfo */
#include "kernel/proc/shared_memory.h"

#include "kernel/core/kernel.h"
#include "kernel/proc/space.h"

#include <stdio.h>

#define NAME "/dev/zero (deleted)\n" /* of all of them, in maps */

/* By then the host has run an mmap that was let through, and shows what it made. */
#define SETTLED_NS NSEC_PER_SEC
/* So much of the host's text is read for one look. */
#define TEXT_MAX_BYTES (32UL << 20)

struct memory {
    uint64_t bytes;
    int64_t made_ns;
    pid_t host_tid; /* who made it */
};

static struct memory all[LIMIT_SHARED_MEMORIES];
static size_t count;
static uint64_t total_bytes;

uint64_t shared_memory_most_bytes(void)
{
    return total_bytes;
}

/* The inode number of each line that ends with NAME, into set. */
static int collect(const char *text, struct map *set)
{
    const size_t size = strlen(NAME);
    for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        unsigned long inode;
        if ((size_t)(end + 1 - line) > size && !memcmp(end + 1 - size, NAME, size) &&
            sscanf(line, "%*x-%*x %*4s %*x %*x:%*x %lu", &inode) == 1 && inode != 0 &&
            map_set(set, inode, set) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* How many there are, or -errno when that can't be known. */
static ssize_t count_living(void)
{
    const struct process *p;
    struct map inodes = {0};
    size_t bytes = 0;
    int r = 0;
    process_settle_all();
    list_for_each(p, &process_all, all_link)
    {
        char *text;
        if (p->state != PROCESS_ALIVE)
            continue;
        r = space_read_maps(p, &text);
        if (r == -ESRCH || r == -ENOENT)
            continue; /* it has ended */
        if (r == 0) {
            bytes += strlen(text);
            r = bytes > TEXT_MAX_BYTES ? -EFBIG : collect(text, &inodes);
            free(text);
        }
        if (r < 0)
            break;
    }
    size_t found = inodes.count;
    map_done(&inodes);
    return r == 0 || r == -ESRCH || r == -ENOENT ? (ssize_t)found : r;
}

static int by_size(const void *a, const void *b)
{
    const struct memory *x = a, *y = b;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* The host has run its mmap: whoever called it is in a later call, or gone, or it is long ago. */
static bool is_settled(const struct memory *m, int64_t now_ns)
{
    const struct thread *t = thread_find_host(m->host_tid);
    return !t || t->dead || t->call || now_ns - m->made_ns >= SETTLED_NS;
}

/* Keeps the largest, as many as live; and those that the host may not have made yet. */
static void keep_largest(size_t living, int64_t now_ns)
{
    size_t kept = 0;
    qsort(all, count, sizeof(all[0]), by_size);
    total_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bool settled = is_settled(&all[i], now_ns);
        if (settled && living == 0)
            continue;
        living -= settled;
        total_bytes += all[i].bytes;
        all[kept++] = all[i];
    }
    count = kept;
}

static void forget_dead(void)
{
    ssize_t living = count_living();
    if (living >= 0)
        keep_largest((size_t)living, clock_monotonic_ns());
}

static bool has_room(uint64_t bytes)
{
    uint64_t limit = kernel.config.memory_bytes;
    return count < ARRAY_SIZE(all) && bytes <= limit && total_bytes <= limit - bytes;
}

int shared_memory_reserve(const struct thread *t, uint64_t bytes)
{
    if (!has_room(bytes))
        forget_dead();
    if (!has_room(bytes))
        return -ENOMEM;
    all[count++] = (struct memory){bytes, clock_monotonic_ns(), t->host_tid};
    total_bytes += bytes;
    return 0;
}
