// SPDX-License-Identifier: Apache-2.0
/*
 * sendfile(2), copy_file_range(2): from file to file through a buffer of ours. splice.c has the
 * pipes.
 *
 * What was read at a position but could not be written is not lost: the position is set back to
 * what the target took.
 */
#include "kernel/fs/pipe.h"
#include "kernel/proc/process.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"
#include "kernel/sys/rw.h"

#define COPY_CHUNK_BYTES (64UL << 10)
#define COPY_RUN_BYTES   (1UL << 20) /* of one run of a handler */

/*
 * Copies up to size bytes, advancing both positions by what was written. Bytes; or -errno when
 * there were none, -EAGAIN with *ret_read set when it was the reading side.
 */
static ssize_t copy_some(struct call *c, struct file *in, off_t *in_pos, struct file *out,
                         off_t *out_pos, size_t size, bool *ret_read)
{
    size_t done = 0;
    _cleanup_free_ char *buffer = malloc(COPY_CHUNK_BYTES);
    if (!buffer)
        return -ENOMEM;
    while (done < size) {
        off_t from = *in_pos;
        size_t chunk = MIN(size - done, COPY_CHUNK_BYTES);
        *ret_read = true;
        ssize_t n = rw_read_some(c, in, buffer, chunk, &from);
        if (n <= 0)
            return done > 0 ? (ssize_t)done : n;
        *ret_read = false;
        ssize_t written = rw_write_some(c, out, buffer, (size_t)n, out_pos);
        if (written <= 0)
            return done > 0 ? (ssize_t)done : written;
        *in_pos += io_count_written(c, io_count_read(c, written));
        done += (size_t)written;
        if (written < n)
            break;
    }
    return (ssize_t)done;
}

/* ---- sendfile ---- */

struct sendfile {
    struct file *in, *out;
    struct gaddr offset_address; /* 0: in's own position is used and moved */
    off_t pos;
    size_t size; /* that is still to be sent */
};

/* The source is looked at as if there were no target yet. */
static int sendfile_check(const struct sendfile *s, size_t size)
{
    if (!s->in || !s->in->can_read)
        return -EBADF;
    if (s->offset_address.v && s->in->ops->stream)
        return -ESPIPE;
    int r = rw_verify_range(s->pos, size);
    if (r < 0)
        return r;
    if (!s->out || !s->out->can_write)
        return -EBADF;
    /* splice_direct_to_actor(): the source is a file with positions, the target is not appended to.
     */
    if (s->in->ops->stream || !s->in->ops->lseek || !s->in->ops->read || !s->out->ops->write)
        return -EINVAL;
    if (S_ISDIR(s->in->inode->mode) || s->in->ops->reads_apart || s->out->ops->writes_apart)
        return -EINVAL;
    return (s->out->flags & O_APPEND) && !s->out->ops->stream ? -EINVAL : 0;
}

static int sendfile_set_position(struct call *c, const struct sendfile *s)
{
    if (s->offset_address.v)
        return call_write(c, s->offset_address, &s->pos, sizeof(s->pos));
    s->in->pos = s->pos;
    return 0;
}

static long sendfile_once(struct call *c, struct sendfile *s)
{
    bool reading = false;
    off_t out_pos = s->out->pos;
    size_t size = MIN(s->size, COPY_RUN_BYTES);
    ssize_t n = copy_some(c, s->in, &s->pos, s->out, &out_pos, size, &reading);
    if (n == -EAGAIN && !reading && !(s->out->flags & O_NONBLOCK))
        return args_park_pair(c, s->in, s->out, s->out, EPOLLOUT);
    if (n == READ_GOES_ON || n == READ_WAITS)
        return args_yield_pair(c, s->in, s->out, n == READ_WAITS);
    if (n <= 0)
        return c->progress > 0 ? (long)c->progress : n;
    if (!s->out->ops->stream)
        s->out->pos = out_pos;
    /* Written back at each run: a signal ends a parked call with what was sent by then. */
    int r = sendfile_set_position(c, s);
    if (r < 0)
        return r;
    c->progress += (uint64_t)n;
    bool is_done = (size_t)n == s->size || ((size_t)n < size && !s->out->ops->write_all) ||
                   (s->out->flags & O_NONBLOCK);
    return is_done ? (long)c->progress : args_yield_pair(c, s->in, s->out, false);
}

static void count_copy(struct call *c, bool is_new)
{
    io_count_read_call(c, is_new);
    io_count_write_call(c, is_new);
}

static long sendfile_run(struct call *c, struct sendfile *s)
{
    bool is_new = io_count_is_new(c);
    long result = sendfile_once(c, s);
    count_copy(c, is_new);
    return result;
}

long sys_sendfile(struct call *c)
{
    struct sendfile s = {.offset_address = call_addr(c, 2)};
    size_t size = c->arg[3];
    if (s.offset_address.v) {
        int r = call_read(c, &s.pos, s.offset_address, sizeof(s.pos));
        if (r < 0)
            return c->progress > 0 ? (long)c->progress : r;
    }
    if (!args_held_pair(c, call_int(c, 1), call_int(c, 0), &s.in, &s.out))
        s.in = args_file(c, call_int(c, 1));
    if (s.in && !s.offset_address.v)
        s.pos = s.in->pos;
    int r = sendfile_check(&s, size);
    if (r < 0)
        return c->progress > 0 ? (long)c->progress : r;
    size = MIN(size, GUEST_RW_MAX);
    if (size <= c->progress)
        return (long)c->progress;
    s.size = size - c->progress;
    return sendfile_run(c, &s);
}

/* ---- copy_file_range ---- */

/* generic_copy_file_checks() of Linux, in its order. *size is cut to the source's end. */
static int copy_range_check(struct call *c, struct file *in, off_t in_pos, struct file *out,
                            off_t out_pos, size_t *size)
{
    mode_t in_mode = in->inode->mode, out_mode = out->inode->mode;
    uint64_t in_end, out_end;
    if (S_ISDIR(in_mode) || S_ISDIR(out_mode))
        return -EISDIR;
    if (!S_ISREG(in_mode) || !S_ISREG(out_mode))
        return -EINVAL;
    if (!in->can_read || !out->can_write || (out->flags & O_APPEND))
        return -EBADF;
    if (!in->ops->read || !out->ops->write)
        return -EINVAL;
    if (in->inode->super != out->inode->super)
        return -EXDEV;
    if (__builtin_add_overflow((uint64_t)in_pos, *size, &in_end) ||
        __builtin_add_overflow((uint64_t)out_pos, *size, &out_end))
        return -EOVERFLOW;
    if (in_pos < 0 || out_pos < 0)
        return -EINVAL;
    struct stat st;
    int r = vfs_stat(in->inode, &st);
    if (r < 0)
        return r;
    *size = in_pos >= st.st_size ? 0 : MIN(*size, (size_t)(st.st_size - in_pos));
    in_end = (uint64_t)in_pos + *size;
    if (__builtin_add_overflow((uint64_t)out_pos, *size, &out_end) || out_end > INT64_MAX)
        return -EFBIG;
    if (in->inode == out->inode && out_end > (uint64_t)in_pos && (uint64_t)out_pos < in_end)
        return -EINVAL;
    return 0;
}

static int read_offset(struct call *c, struct gaddr address, const struct file *f, off_t *ret)
{
    if (address.v)
        return call_read(c, ret, address, sizeof(*ret));
    *ret = f->pos;
    return 0;
}

static int write_offset(struct call *c, struct gaddr address, struct file *f, off_t pos)
{
    if (address.v)
        return call_write(c, address, &pos, sizeof(pos));
    f->pos = pos;
    return 0;
}

long sys_copy_file_range(struct call *c)
{
    struct file *in = args_file(c, call_int(c, 0)), *out = args_file(c, call_int(c, 2));
    off_t in_pos, out_pos;
    size_t size = c->arg[4];
    bool reading;
    if (!in || !out)
        return -EBADF;
    int r = read_offset(c, call_addr(c, 1), in, &in_pos);
    if (r == 0)
        r = read_offset(c, call_addr(c, 3), out, &out_pos);
    if (r == 0 && call_uint(c, 5) != 0)
        r = -EINVAL;
    if (r == 0)
        r = copy_range_check(c, in, in_pos, out, out_pos, &size);
    if (r < 0 || size == 0)
        return r;
    ssize_t n = copy_some(c, in, &in_pos, out, &out_pos, MIN(size, COPY_RUN_BYTES), &reading);
    count_copy(c, true);
    if (n <= 0)
        return n;
    r = write_offset(c, call_addr(c, 1), in, in_pos);
    if (r == 0)
        r = write_offset(c, call_addr(c, 3), out, out_pos);
    return r < 0 ? r : n;
}
