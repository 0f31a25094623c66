// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/spawn.h"

#include "kernel/guest/protocol.h"
#include "kernel/proc/embryo.h"
#include "kernel/proc/jobs.h"
#include "lib/base/buf.h"

#define SPAWN_MAX_BYTES (4u * 1024 * 1024)

static struct list queue = {&queue, &queue};
/* What the init is at work on; NULL once it has an embryo. */
static struct spawn *handed;
static struct waitq init_wait = {{&init_wait.entries, &init_wait.entries}};

static size_t vector_bytes(char **v, size_t *ret_count)
{
    size_t bytes = sizeof(uint64_t), count = 0;
    for (; v[count]; count++)
        bytes += sizeof(uint64_t) + strlen(v[count]) + 1;
    *ret_count = count;
    return bytes;
}

int spawn_queue(struct spawn *s)
{
    size_t count;
    s->block_bytes = sizeof(struct init_arguments) + strlen(s->path) + 1;
    s->block_bytes += vector_bytes(s->argv, &count) + vector_bytes(s->envp, &count);
    if (s->block_bytes > SPAWN_MAX_BYTES)
        return -E2BIG;
    list_append(&queue, &s->link);
    waitq_wake(&init_wait, 0);
    return 0;
}

/* Lays a vector out at *words, its strings at *strings; both move on. base is the init's address.
 */
static uint64_t place_vector(char *block, uint64_t base, size_t *words, size_t *strings, char **v)
{
    uint64_t address = base + *words;
    for (; *v; v++) {
        uint64_t at = base + *strings;
        size_t size = strlen(*v) + 1;
        memcpy(block + *words, &at, sizeof(at));
        memcpy(block + *strings, *v, size);
        *words += sizeof(at);
        *strings += size;
    }
    memset(block + *words, 0, sizeof(uint64_t));
    *words += sizeof(uint64_t);
    return address;
}

static int write_arguments(struct call *c, struct spawn *s, struct gaddr at)
{
    size_t argc, envc;
    vector_bytes(s->argv, &argc);
    vector_bytes(s->envp, &envc);
    _cleanup_free_ char *block = calloc(1, s->block_bytes);
    if (!block)
        return -ENOMEM;
    size_t words = sizeof(struct init_arguments);
    size_t strings = words + (argc + envc + 2) * sizeof(uint64_t);
    struct init_arguments a = {.path = at.v + strings};
    size_t size = strlen(s->path) + 1;
    memcpy(block + strings, s->path, size);
    strings += size;
    a.argv = place_vector(block, at.v, &words, &strings, s->argv);
    a.envp = place_vector(block, at.v, &words, &strings, s->envp);
    memcpy(block, &a, sizeof(a));
    return call_write(c, at, block, s->block_bytes);
}

static void fail(struct spawn *s, int error)
{
    fdtable_put(s->files);
    fs_context_put(s->fs);
    cred_put(s->cred);
    s->failed(s, error);
}

/* Without an embryo: the one that it had has told by itself. */
static long take_failure(uint64_t error)
{
    struct spawn *s = handed;
    if (!s)
        return 0;
    list_remove(&s->link);
    handed = NULL;
    fail(s, error > 0 && error < 4096 ? (int)error : EAGAIN);
    return 0;
}

long sys_glovebox_init(struct call *c)
{
    struct spawn *s = list_first(&queue, struct spawn, link);
    if (c->thread->process != process_init)
        return -ENOSYS;
    if (c->arg[0] == INIT_FAILED)
        return take_failure(c->arg[1]);
    if (c->arg[0] == INIT_MEMORY)
        return handed ? write_arguments(c, handed, call_addr(c, 1)) : -EINVAL;
    handed = s;
    if (s) {
        bool fits = s->block_bytes <= c->arg[2] && write_arguments(c, s, call_addr(c, 1)) == 0;
        return fits ? 0 : (long)s->block_bytes;
    }
    int r = call_wait_on(c, &init_wait);
    return r < 0 ? r : call_park(c, RESTART_NONE);
}

void spawn_give(struct embryo *e)
{
    struct spawn *s = handed;
    if (!s)
        return;
    list_remove(&s->link);
    handed = NULL;
    fdtable_put(e->files);
    fs_context_put(e->fs);
    cred_put(e->cred);
    e->files = s->files;
    e->fs = s->fs;
    e->cred = s->cred;
    s->files = NULL; /* transferred, as the two below */
    s->fs = NULL;
    s->cred = NULL;
    e->spawn = s;
}

/*
 * A session of its own, with a terminal only if the starter gives it one. So it is under sshd and
 * cron, in a service of systemd and as the first process of a container; bwrap recommends it
 * (--new-session). In the session of the init, programs would find themselves in one that they
 * can't see the leader of, and setsid(2) and job control of a shell would still make them leaders.
 *
 * As a leader without a terminal it gets one by opening one without O_NOCTTY, and is hung up with
 * it, as in all those places. That can only be a pseudo-terminal that was made inside, so that it
 * is a matter of the sandbox's programs with each other.
 */
void spawn_born(struct spawn *s, struct process *p)
{
    process_setsid(p);
    s->started(s, p);
}

void spawn_lost(struct spawn *s)
{
    s->failed(s, EAGAIN);
}
