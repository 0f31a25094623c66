// SPDX-License-Identifier: Apache-2.0
/*
 * splice(2), tee(2), vmsplice(2). Bytes are copied, pages never move: what a pipe holds can't be
 * changed from outside, and what it is written to never shares memory with it.
 *
 * What leaves a pipe is looked at first and consumed when its target has taken it.
 */
#include "kernel/fs/pipe.h"
#include "kernel/proc/budget.h"
#include "kernel/proc/process.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"
#include "kernel/sys/rw.h"

#define SPLICE_RUN_BYTES (1UL << 20)

#define SPLICE_KNOWN (SPLICE_F_MOVE | SPLICE_F_NONBLOCK | SPLICE_F_MORE | SPLICE_F_GIFT)

/* One call between two files, of which at least one is a pipe; vmsplice has only one, twice. */
struct splice {
    struct file *in, *out;
    struct pipe *in_pipe, *out_pipe;
    size_t size;
    bool nonblock;
};

static long wait_for(struct call *c, const struct splice *s, struct file *on, uint32_t events)
{
    if (s->nonblock)
        return -EAGAIN;
    return args_park_pair(c, s->in, s->out, on, events);
}

/* 1: there are bytes; 0: there never will be; else what the call answers. */
static long wait_for_bytes(struct call *c, const struct splice *s)
{
    if (pipe_readable_bytes(s->in_pipe) > 0)
        return 1;
    if (!pipe_has_writer(s->in_pipe))
        return 0;
    return wait_for(c, s, s->in, EPOLLIN);
}

/* 1: there is room; else what the call answers. */
static long wait_for_room(struct call *c, const struct splice *s)
{
    if (!pipe_has_reader(s->out_pipe)) {
        rw_send_sigpipe(c);
        return -EPIPE;
    }
    if (pipe_writable_bytes(s->out_pipe) > 0)
        return 1;
    return wait_for(c, s, s->out, EPOLLOUT);
}

static ssize_t append(const struct splice *s, const void *data, size_t size)
{
    return budget_note_written(s->out, pipe_append(s->out_pipe, data, size));
}

static long pipe_to_pipe(struct call *c, const struct splice *s, bool consume)
{
    long r = wait_for_bytes(c, s);
    if (r != 1)
        return r;
    r = wait_for_room(c, s);
    if (r != 1)
        return r;
    size_t size = MIN(s->size, SPLICE_RUN_BYTES);
    size = MIN(size, pipe_readable_bytes(s->in_pipe));
    size = MIN(size, pipe_writable_bytes(s->out_pipe));
    _cleanup_free_ char *buffer = malloc(size);
    if (!buffer)
        return -ENOMEM;
    size = pipe_peek(s->in_pipe, 0, buffer, size);
    ssize_t n = append(s, buffer, size);
    if (n > 0 && consume)
        pipe_consume(s->in_pipe, (size_t)n);
    return n;
}

static long pipe_to_file(struct call *c, const struct splice *s, off_t *pos)
{
    long r = wait_for_bytes(c, s);
    if (r != 1)
        return r;
    size_t size = MIN(s->size, SPLICE_RUN_BYTES);
    size = MIN(size, pipe_readable_bytes(s->in_pipe));
    _cleanup_free_ char *buffer = malloc(size);
    if (!buffer)
        return -ENOMEM;
    size = pipe_peek(s->in_pipe, 0, buffer, size);
    ssize_t n = rw_write_some(c, s->out, buffer, size, pos);
    if (n == -EAGAIN) {
        bool nonblock = s->nonblock || (s->out->flags & O_NONBLOCK);
        return nonblock ? -EAGAIN : args_park_pair(c, s->in, s->out, s->out, EPOLLOUT);
    }
    if (n > 0)
        pipe_consume(s->in_pipe, (size_t)n);
    return n;
}

static long file_to_pipe(struct call *c, const struct splice *s, off_t *pos)
{
    long r = wait_for_room(c, s);
    if (r != 1)
        return r;
    size_t size = MIN(s->size, SPLICE_RUN_BYTES);
    size = MIN(size, pipe_writable_bytes(s->out_pipe));
    _cleanup_free_ char *buffer = malloc(size);
    if (!buffer)
        return -ENOMEM;
    off_t from = *pos;
    ssize_t n = rw_read_some(c, s->in, buffer, size, &from);
    if (n == READ_GOES_ON || n == READ_WAITS)
        return args_yield_pair(c, s->in, s->out, n == READ_WAITS);
    if (n == -EAGAIN) {
        bool nonblock = s->nonblock || (s->in->flags & O_NONBLOCK);
        return nonblock ? -EAGAIN : args_park_pair(c, s->in, s->out, s->in, EPOLLIN);
    }
    if (n <= 0)
        return n;
    n = append(s, buffer, (size_t)n);
    if (n > 0)
        *pos += n;
    return n;
}

/* What a file needs to be the other end of a pipe, and where it is read or written. */
static int other_end(struct call *c, struct file *f, struct gaddr offset, bool writing,
                     off_t *ret_pos, size_t size)
{
    if (S_ISDIR(f->inode->mode) || !(writing ? (bool)f->ops->write : (bool)f->ops->read))
        return -EINVAL;
    if (writing ? f->ops->writes_apart : f->ops->reads_apart)
        return -EINVAL;
    if (offset.v && (f->ops->stream || !f->ops->lseek))
        return -EINVAL;
    if (writing && (f->flags & O_APPEND) && !f->ops->stream)
        return -EINVAL;
    off_t pos = f->pos;
    if (offset.v) {
        int r = call_read(c, &pos, offset, sizeof(pos));
        if (r < 0)
            return r;
    }
    int r = rw_verify_range(pos, size);
    if (r == 0)
        *ret_pos = pos;
    return r;
}

static long set_position(struct call *c, struct file *f, struct gaddr offset, off_t pos, long n)
{
    if (n <= 0)
        return n;
    if (offset.v) {
        int r = call_write(c, offset, &pos, sizeof(pos));
        return r < 0 ? r : n;
    }
    if (!f->ops->stream)
        f->pos = pos;
    return n;
}

static long splice_files(struct call *c, struct splice *s)
{
    struct gaddr in_offset = call_addr(c, 1), out_offset = call_addr(c, 3);
    off_t pos;
    if ((s->in_pipe && in_offset.v) || (s->out_pipe && out_offset.v))
        return -ESPIPE;
    if (!s->in->can_read || !s->out->can_write)
        return -EBADF;
    if (s->in_pipe && s->out_pipe) {
        if (s->in_pipe == s->out_pipe)
            return -EINVAL;
        s->nonblock |= (s->in->flags | s->out->flags) & O_NONBLOCK;
        return pipe_to_pipe(c, s, true);
    }
    if (s->in_pipe) {
        int r = other_end(c, s->out, out_offset, true, &pos, s->size);
        if (r < 0)
            return r;
        s->nonblock |= !!(s->in->flags & O_NONBLOCK);
        long n = pipe_to_file(c, s, &pos);
        return set_position(c, s->out, out_offset, pos, n);
    }
    if (s->out_pipe) {
        int r = other_end(c, s->in, in_offset, false, &pos, s->size);
        if (r < 0)
            return r;
        s->nonblock |= !!(s->out->flags & O_NONBLOCK);
        long n = file_to_pipe(c, s, &pos);
        return set_position(c, s->in, in_offset, pos, n);
    }
    return -EINVAL;
}

static int find_files(struct call *c, int fd_in, int fd_out, struct splice *s)
{
    if (!args_held_pair(c, fd_in, fd_out, &s->in, &s->out))
        return -EBADF;
    s->in_pipe = pipe_of(s->in);
    s->out_pipe = pipe_of(s->out);
    return 0;
}

long sys_splice(struct call *c)
{
    unsigned flags = call_uint(c, 5);
    struct splice s = {.size = c->arg[4], .nonblock = flags & SPLICE_F_NONBLOCK};
    if (s.size == 0)
        return 0;
    if (flags & ~SPLICE_KNOWN)
        return -EINVAL;
    int r = find_files(c, call_int(c, 0), call_int(c, 2), &s);
    return r < 0 ? r : splice_files(c, &s);
}

long sys_tee(struct call *c)
{
    unsigned flags = call_uint(c, 3);
    struct splice s = {.size = c->arg[2], .nonblock = flags & SPLICE_F_NONBLOCK};
    if (flags & ~SPLICE_KNOWN)
        return -EINVAL;
    if (s.size == 0)
        return 0;
    int r = find_files(c, call_int(c, 0), call_int(c, 1), &s);
    if (r < 0)
        return r;
    if (!s.in->can_read || !s.out->can_write)
        return -EBADF;
    if (!s.in_pipe || !s.out_pipe || s.in_pipe == s.out_pipe)
        return -EINVAL;
    s.nonblock |= !!((s.in->flags | s.out->flags) & O_NONBLOCK);
    return pipe_to_pipe(c, &s, false);
}

static long memory_to_pipe(struct call *c, const struct splice *s, struct uio *u)
{
    long r = wait_for_room(c, s);
    if (r != 1)
        return r;
    size_t size = MIN(u->left, SPLICE_RUN_BYTES);
    size = MIN(size, pipe_writable_bytes(s->out_pipe));
    _cleanup_free_ char *buffer = malloc(size);
    if (!buffer)
        return -ENOMEM;
    ssize_t n = uio_copy_in(u, buffer, size);
    return n < 0 ? n : append(s, buffer, (size_t)n);
}

static long pipe_to_memory(struct call *c, const struct splice *s, struct uio *u)
{
    long r = wait_for_bytes(c, s);
    if (r != 1)
        return r;
    size_t size = MIN(u->left, SPLICE_RUN_BYTES);
    size = MIN(size, pipe_readable_bytes(s->in_pipe));
    _cleanup_free_ char *buffer = malloc(size);
    if (!buffer)
        return -ENOMEM;
    size = pipe_peek(s->in_pipe, 0, buffer, size);
    ssize_t n = uio_copy_out(u, buffer, size);
    if (n > 0)
        pipe_consume(s->in_pipe, (size_t)n);
    return n;
}

long sys_vmsplice(struct call *c)
{
    unsigned flags = call_uint(c, 3);
    struct splice s = {.nonblock = flags & SPLICE_F_NONBLOCK};
    struct uio u;
    if (flags & ~SPLICE_KNOWN)
        return -EINVAL;
    int r = find_files(c, call_int(c, 0), call_int(c, 0), &s);
    if (r < 0)
        return r;
    if (!s.in->can_read && !s.in->can_write)
        return -EBADF;
    r = uio_init_guest_iov(&u, call_memory(c), call_addr(c, 1), c->arg[2]);
    if (r < 0)
        return r;
    long result = 0;
    if (u.left > 0 && !s.in_pipe)
        result = -EBADF;
    else if (u.left > 0)
        result = s.in->can_write ? memory_to_pipe(c, &s, &u) : pipe_to_memory(c, &s, &u);
    uio_done(&u);
    return result;
}
