// SPDX-License-Identifier: Apache-2.0
#include "kernel/sys/args.h"

#include "kernel/proc/process.h"

bool args_range_ok(struct gaddr addr, size_t size)
{
    return size <= GUEST_ADDRESS_END && addr.v <= GUEST_ADDRESS_END - size;
}

struct file *args_any_file(const struct call *c, int fd)
{
    return fdtable_file(c->thread->files, fd);
}

struct file *args_file(const struct call *c, int fd)
{
    struct file *f = args_any_file(c, fd);
    return f && !(f->flags & O_PATH) ? f : NULL;
}

int args_path_or_empty(const struct call *c, struct gaddr addr, char *name)
{
    ssize_t length = guest_read_string(call_memory(c), name, addr, GUEST_PATH_MAX);
    return length < 0 ? (int)length : 0;
}

int args_path(const struct call *c, struct gaddr addr, char *name)
{
    int r = args_path_or_empty(c, addr, name);
    if (r < 0)
        return r;
    return name[0] ? 0 : -ENOENT;
}

int args_path_at(const struct call *c, struct gaddr addr, int at_flags, char *name)
{
    if (!(at_flags & AT_EMPTY_PATH))
        return args_path(c, addr, name);
    if (addr.v == 0) {
        name[0] = '\0';
        return 0;
    }
    return args_path_or_empty(c, addr, name);
}

int args_base(const struct call *c, int dirfd, const char *name, struct walk_base *ret)
{
    return thread_walk_base(c->thread, name[0] == '/' ? AT_FDCWD : dirfd, ret);
}

int args_walk(const struct call *c, int dirfd, const char *name, unsigned walk_flags,
              const struct cred *cred, struct path *ret)
{
    struct walk_base base;
    if (!name[0] && dirfd != AT_FDCWD && (walk_flags & WALK_EMPTY_OK)) {
        const struct file *f = args_any_file(c, dirfd);
        if (!f)
            return -EBADF;
        *ret = path_get(f->path);
        return 0;
    }
    int r = args_base(c, dirfd, name, &base);
    if (r < 0)
        return r;
    if (cred)
        base.cred = cred;
    return walk_path(&base, name, walk_flags, ret, NULL);
}

static void release_file(struct call *c)
{
    file_put(c->state);
}

static void hold_file(struct call *c, struct file *f)
{
    if (c->state)
        return;
    c->state = file_get(f);
    c->release = release_file;
}

struct file *args_held_file(const struct call *c, int fd)
{
    return c->state ? c->state : args_file(c, fd);
}

/* A file that can't say when it changes would never wake the call. */
static long park_on(struct call *c, struct file *on, uint32_t events)
{
    if (c->timed_out || !on->ops->poll)
        return -EAGAIN;
    return file_park(on, c, events, RESTART_SYS);
}

long args_park(struct call *c, struct file *f, uint32_t events)
{
    hold_file(c, f);
    long r = park_on(c, f, events);
    /* A time-out of a socket after a part of the transfer answers the part. */
    return r == -EAGAIN && c->progress > 0 ? (long)c->progress : r;
}

/* Until what was waited for is looked for again. */
#define WAIT_NS NSEC_PER_MSEC

/* Awake again at once, with what else is on the run queue first, or after a moment. */
static long yield(struct call *c, bool waits)
{
    if (waits)
        return call_rest(c, WAIT_NS);
    long r = call_park(c, RESTART_NONE);
    if (r == CALL_PARKED)
        call_wake(c);
    return r;
}

long args_yield(struct call *c, struct file *f, bool waits)
{
    hold_file(c, f);
    return yield(c, waits);
}

struct held_pair {
    struct file *in, *out;
};

static void release_pair(struct call *c)
{
    struct held_pair *pair = c->state;
    file_put(pair->in);
    file_put(pair->out);
    free(pair);
}

static int hold_pair(struct call *c, struct file *in, struct file *out)
{
    if (c->state)
        return 0;
    struct held_pair *pair = malloc(sizeof(*pair));
    if (!pair)
        return -ENOMEM;
    *pair = (struct held_pair){file_get(in), file_get(out)};
    c->state = pair;
    c->release = release_pair;
    return 0;
}

bool args_held_pair(const struct call *c, int fd_in, int fd_out, struct file **ret_in,
                    struct file **ret_out)
{
    const struct held_pair *pair = c->state;
    struct file *in = pair ? pair->in : args_file(c, fd_in);
    struct file *out = pair ? pair->out : args_file(c, fd_out);
    if (!in || !out)
        return false;
    *ret_in = in;
    *ret_out = out;
    return true;
}

long args_park_pair(struct call *c, struct file *in, struct file *out, struct file *on,
                    uint32_t events)
{
    int r = hold_pair(c, in, out);
    return r < 0 ? r : park_on(c, on, events);
}

long args_yield_pair(struct call *c, struct file *in, struct file *out, bool waits)
{
    int r = hold_pair(c, in, out);
    return r < 0 ? r : yield(c, waits);
}
