// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/io_count.h"

#include "kernel/host/host.h"
#include "kernel/proc/process.h"
#include "kernel/proc/usage.h"

#include <stdio.h>

/*
 * No storage answers sooner than that and a copy of the bytes together; a read that was quicker had
 * everything in the host's memory.
 */
#define STORAGE_NS        (20 * NSEC_PER_USEC)
#define COPIED_BYTES_A_NS 4

void io_count_add(struct io_count *sum, const struct io_count *more)
{
    sum->read_chars += more->read_chars;
    sum->write_chars += more->write_chars;
    sum->read_calls += more->read_calls;
    sum->write_calls += more->write_calls;
    sum->read_bytes += more->read_bytes;
    sum->write_bytes += more->write_bytes;
}

/* A handler that is run again holds its files, or has moved something. */
bool io_count_is_new(const struct call *c)
{
    return !c->state && c->progress == 0;
}

void io_count_read_call(struct call *c, bool is_new)
{
    c->thread->io.read_calls += is_new;
}

void io_count_write_call(struct call *c, bool is_new)
{
    c->thread->io.write_calls += is_new;
}

static void read_host_count(const char *name, struct io_count *ret)
{
    char text[1024];
    struct io_count n = {0};
    if (host->read_proc(name, text, sizeof(text)) > 0) {
        n.read_bytes = (uint64_t)usage_status_number(text, "\nread_bytes:");
        n.write_bytes = (uint64_t)usage_status_number(text, "\nwrite_bytes:");
    }
    *ret = n;
}

/* What the host has fetched for this kernel since the last time. */
static uint64_t fetched_bytes(void)
{
    static uint64_t seen_bytes;
    struct io_count now;
    read_host_count("self/io", &now);
    uint64_t more = now.read_bytes - MIN(seen_bytes, now.read_bytes);
    seen_bytes = MAX(seen_bytes, now.read_bytes);
    return more;
}

ssize_t io_count_fetch(struct call *c, struct file *f, struct uio *u, off_t *pos, int flags)
{
    if (!f->inode->super->stored)
        return f->ops->read(f, u, pos, flags);
    int64_t start_ns = clock_monotonic_ns();
    ssize_t n = f->ops->read(f, u, pos, flags);
    int64_t copy_ns = n > 0 ? n / COPIED_BYTES_A_NS : 0;
    if (clock_monotonic_ns() - start_ns > STORAGE_NS + copy_ns)
        c->thread->io.read_bytes += fetched_bytes();
    return n;
}

ssize_t io_count_read(struct call *c, ssize_t n)
{
    c->thread->io.read_chars += n > 0 ? (uint64_t)n : 0;
    return n;
}

ssize_t io_count_written(struct call *c, ssize_t n)
{
    c->thread->io.write_chars += n > 0 ? (uint64_t)n : 0;
    return n;
}

ssize_t io_count_stored(struct call *c, const struct file *f, ssize_t n)
{
    if (n > 0 && f->inode->super->stored)
        c->thread->io.write_bytes += (uint64_t)n;
    return n;
}

struct io_count io_count_of_thread(const struct thread *t)
{
    char name[64];
    struct io_count sum, mapped;
    snprintf(name, sizeof(name), "%d/task/%d/io", t->process->host_pid, t->host_tid);
    read_host_count(name, &mapped);
    sum = t->io;
    io_count_add(&sum, &mapped);
    return sum;
}

struct io_count io_count_of_process(const struct process *p)
{
    char name[64];
    struct io_count sum = p->io, mapped;
    const struct thread *t;
    list_for_each(t, &p->threads, process_link)
    {
        io_count_add(&sum, &t->io);
    }
    if (p->state == PROCESS_ALIVE) {
        snprintf(name, sizeof(name), "%d/io", p->host_pid);
        read_host_count(name, &mapped);
        io_count_add(&sum, &mapped);
    }
    return sum;
}
