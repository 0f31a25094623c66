// SPDX-License-Identifier: Apache-2.0
/*
 * read(2), write(2) and their kin.
 *
 * A transfer to or from a file without blocking (regular files, devices) is done in slices: after
 * each the other tasks get their turn, so that one read of 2 GiB does not stop the sandbox. Signals
 * wait until such a call is through, as they do on Linux. A pipe, terminal or socket gives what it
 * has; the call waits only while that is nothing, or, writing, until all is taken
 * (file_ops.write_all).
 */
#include "kernel/sys/rw.h"

#include "kernel/fs/notify.h"
#include "kernel/fs/pipe.h"
#include "kernel/proc/budget.h"
#include "kernel/proc/process.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"

#include <linux/fs.h>

/* A read may find the file changed between two slices, on Linux too; a write is to be one piece. */
#define READ_SLICE_BYTES  (1UL << 20)
#define WRITE_SLICE_BYTES (8UL << 20)

#define POSITION_OF_FILE (-1)

#define RWF_HERE (RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_NOWAIT | RWF_APPEND | RWF_NOAPPEND)

/* One call: at is an explicit offset, or POSITION_OF_FILE. */
struct transfer {
    struct file *file;
    struct uio uio;
    off_t at;
    int flags;
};

void rw_send_sigpipe(struct call *c)
{
    siginfo_t info = signal_info_user(SIGPIPE, c->thread->process);
    signal_send_thread(c->thread, SIGPIPE, &info);
}

int rw_verify_range(off_t pos, size_t size)
{
    off_t end;
    if ((ssize_t)size < 0 || pos < 0 || __builtin_add_overflow(pos, (off_t)size, &end))
        return -EINVAL;
    return 0;
}

static int exceed_file_limit(struct call *c)
{
    siginfo_t info = signal_info_user(SIGXFSZ, c->thread->process);
    signal_send_thread(c->thread, SIGXFSZ, &info);
    return -EFBIG;
}

int rw_check_growth(struct call *c, struct inode *i, off_t size)
{
    uint64_t limit = c->thread->process->rlimits[RLIMIT_FSIZE].rlim_cur;
    if (limit == RLIM_INFINITY || (uint64_t)size <= limit || size <= i->size)
        return 0;
    return exceed_file_limit(c);
}

int rw_begin_write(struct call *c, struct file *f, off_t pos, size_t *size)
{
    if (!S_ISREG(f->inode->mode) || *size == 0)
        return 0;
    uint64_t limit = c->thread->process->rlimits[RLIMIT_FSIZE].rlim_cur;
    if (limit == RLIM_INFINITY)
        return 0;
    if ((uint64_t)pos >= limit && c->progress == 0)
        return exceed_file_limit(c);
    *size = (uint64_t)pos >= limit ? 0 : MIN(*size, limit - (uint64_t)pos);
    return 0;
}

static off_t size_now(struct inode *i)
{
    if (i->ops->refresh)
        i->ops->refresh(i);
    return i->size;
}

/* Drops what lies past size from the buffers of u. */
static void uio_cut(struct uio *u, size_t size)
{
    size_t left = size;
    if (size >= u->left)
        return;
    u->left = size;
    for (size_t i = u->iov_index; i < u->iov_count; i++) {
        u->iov[i].iov_len = MIN(u->iov[i].iov_len, left);
        left -= u->iov[i].iov_len;
    }
}

/* Drops the first size bytes: what earlier runs of the call have transferred. */
static void uio_skip(struct uio *u, size_t size)
{
    size = MIN(size, u->left);
    u->left -= size;
    while (size > 0) {
        struct iovec *v = &u->iov[u->iov_index];
        size_t part = MIN(size, v->iov_len);
        iovec_advance(v, part);
        size -= part;
        if (v->iov_len == 0)
            u->iov_index++;
    }
}

static bool is_waiting(const struct transfer *t)
{
    return !(t->file->flags & O_NONBLOCK) && !(t->flags & RWF_NOWAIT);
}

/* What the call answers when this run came to result. */
static long result_of(const struct call *c, ssize_t result)
{
    if (c->progress > 0)
        return (long)c->progress + (result > 0 ? result : 0);
    return result;
}

static long run_read(struct call *c, struct transfer *t)
{
    struct file *f = t->file;
    uio_skip(&t->uio, c->progress);
    size_t wanted = t->uio.left;
    if (!f->ops->stream)
        uio_cut(&t->uio, READ_SLICE_BYTES);
    size_t slice = t->uio.left;
    off_t pos = t->at == POSITION_OF_FILE ? f->pos : t->at + (off_t)c->progress;
    int flags = t->flags | READ_IN_PARTS;
    ssize_t n = io_count_read(c, io_count_fetch(c, f, &t->uio, &pos, flags));
    if (n == READ_GOES_ON || n == READ_WAITS)
        return args_yield(c, f, n == READ_WAITS);
    if (n == -EAGAIN && is_waiting(t) && c->progress == 0)
        return args_park(c, f, EPOLLIN);
    if (n >= 0 && t->at == POSITION_OF_FILE)
        f->pos = pos;
    if (n > 0)
        notify_file(f, IN_ACCESS);
    if (n > 0 && (size_t)n == slice && slice < wanted) {
        c->progress += (uint64_t)n;
        return args_yield(c, f, false);
    }
    return result_of(c, n);
}

static long write_failed(struct call *c, struct file *f, ssize_t error)
{
    /*
     * Datagrams answer EPIPE without a signal; of those that are written to in full, a pipe signals
     * also when a part went through, a socket does not.
     */
    if (error == -EPIPE && f->ops->write_all && (c->progress == 0 || pipe_of(f)))
        rw_send_sigpipe(c);
    return result_of(c, error);
}

/* The operation, with RWF_APPEND and RWF_NOAPPEND in place of the file's own O_APPEND. */
static ssize_t write_once(struct transfer *t, off_t *pos)
{
    struct file *f = t->file;
    int flags = f->flags;
    if (t->flags & RWF_NOAPPEND)
        f->flags &= ~O_APPEND;
    else if (t->flags & RWF_APPEND)
        f->flags |= O_APPEND;
    ssize_t n = f->ops->write(f, &t->uio, pos, t->flags);
    f->flags = flags;
    return budget_note_written(f, n);
}

static bool is_appending(const struct transfer *t)
{
    if (!S_ISREG(t->file->inode->mode) || (t->flags & RWF_NOAPPEND))
        return false;
    return (t->flags & RWF_APPEND) || (t->file->flags & O_APPEND);
}

static long run_write(struct call *c, struct transfer *t)
{
    struct file *f = t->file;
    uio_skip(&t->uio, c->progress);
    size_t wanted = t->uio.left;
    off_t pos = t->at == POSITION_OF_FILE ? f->pos : t->at + (off_t)c->progress;
    if (is_appending(t))
        pos = size_now(f->inode);
    size_t slice = f->ops->stream ? wanted : MIN(wanted, WRITE_SLICE_BYTES);
    bool sliced = slice < wanted;
    size_t allowed = slice;
    int r = rw_begin_write(c, f, pos, &allowed);
    if (r < 0)
        return result_of(c, r);
    uio_cut(&t->uio, allowed);
    for (;;) {
        ssize_t n = allowed == 0 && slice > 0 ? 0 : write_once(t, &pos);
        io_count_stored(c, f, io_count_written(c, n));
        if (n >= 0 && t->at == POSITION_OF_FILE)
            f->pos = pos;
        if (n == -EAGAIN && is_waiting(t) && (c->progress == 0 || f->ops->write_all))
            return args_park(c, f, EPOLLOUT);
        if (n < 0)
            return write_failed(c, f, n);
        if (n > 0)
            notify_file(f, IN_MODIFY);
        if (sliced && (size_t)n == slice) {
            c->progress += (uint64_t)n;
            return args_yield(c, f, false);
        }
        if (n == 0 || t->uio.left == 0 || !f->ops->write_all || !is_waiting(t))
            return result_of(c, n);
        c->progress += (uint64_t)n;
    }
}

ssize_t rw_read_some(struct call *c, struct file *f, void *data, size_t size, off_t *pos)
{
    struct uio u;
    uio_init_kernel(&u, data, size);
    ssize_t n = io_count_fetch(c, f, &u, pos, READ_IN_PARTS);
    if (n > 0)
        notify_file(f, IN_ACCESS);
    return n;
}

ssize_t rw_write_some(struct call *c, struct file *f, const void *data, size_t size, off_t *pos)
{
    struct uio u;
    int r = rw_begin_write(c, f, *pos, &size);
    if (r < 0)
        return r;
    if (size == 0)
        return 0;
    uio_init_kernel(&u, (void *)data, size);
    ssize_t n = f->ops->write(f, &u, pos, 0);
    if (n == -EPIPE && f->ops->write_all)
        rw_send_sigpipe(c);
    if (n > 0)
        notify_file(f, IN_MODIFY);
    return budget_note_written(f, io_count_stored(c, f, n));
}

static int check_readable(const struct file *f)
{
    if (!f->can_read)
        return -EBADF;
    if (!f->ops->read)
        return S_ISDIR(f->inode->mode) ? -EISDIR : -EINVAL;
    return 0;
}

static int check_writable(const struct file *f)
{
    if (!f->can_write)
        return -EBADF;
    return f->ops->write ? 0 : -EINVAL;
}

/* Flags of preadv2(2): as kiocb_set_rw_flags() of Linux. */
static int check_rw_flags(int flags)
{
    if (flags & ~RWF_HERE)
        return -EOPNOTSUPP;
    if ((flags & RWF_APPEND) && (flags & RWF_NOAPPEND))
        return -EINVAL;
    return 0;
}

/* What reading and writing differ in. */
struct direction {
    int (*check)(const struct file *f);
    long (*run)(struct call *c, struct transfer *t);
    void (*count_call)(struct call *c, bool is_new);
    bool (*is_apart)(const struct file_ops *ops);
};

static bool reads_apart(const struct file_ops *ops)
{
    return ops->reads_apart;
}

static bool writes_apart(const struct file_ops *ops)
{
    return ops->writes_apart;
}

static const struct direction reading = {check_readable, run_read, io_count_read_call, reads_apart};
static const struct direction writing = {check_writable, run_write, io_count_write_call,
                                         writes_apart};

/* One buffer: read, write, pread64, pwrite64. */
static long transfer_single(struct call *c, off_t at, const struct direction *d)
{
    struct transfer t = {.file = args_held_file(c, call_int(c, 0)), .at = at};
    size_t size = c->arg[2];
    if (!t.file)
        return -EBADF;
    if (at != POSITION_OF_FILE && t.file->ops->stream)
        return -ESPIPE;
    int r = d->check(t.file);
    if (r < 0)
        return r;
    if (!args_range_ok(call_addr(c, 1), size))
        return -EFAULT;
    r = rw_verify_range(at == POSITION_OF_FILE ? t.file->pos : at, size);
    if (r < 0)
        return r;
    uio_init_guest(&t.uio, call_memory(c), call_addr(c, 1), size);
    bool is_new = io_count_is_new(c);
    long result = d->run(c, &t);
    d->count_call(c, is_new);
    return result;
}

/*
 * do_loop_readv_writev() of Linux: one buffer after the other, each of which waits as a call of its
 * own would, until one is not filled. c->progress counts from the first buffer on, but for d->run,
 * which is shown what it has of its own.
 */
static long run_apart(struct call *c, const struct transfer *whole, const struct direction *d)
{
    uint64_t total = 0, before = c->progress;
    /* Their operations can't be told of any. */
    if (whole->flags & ~RWF_HIPRI)
        return -EOPNOTSUPP;
    for (size_t i = 0; i < whole->uio.iov_count; i++) {
        struct transfer t = *whole;
        struct iovec *v = &whole->uio.iov[i];
        size_t size = v->iov_len;
        if ((i > 0 && size == 0) || (before > 0 && total + size <= before)) {
            total += size;
            continue;
        }
        t.uio.iov = v;
        t.uio.iov_count = 1;
        t.uio.left = size;
        if (t.at != POSITION_OF_FILE)
            t.at += (off_t)total;
        c->progress = before > total ? before - total : 0;
        long n = d->run(c, &t);
        c->progress = n == CALL_PARKED ? c->progress + total : total;
        if (n == CALL_PARKED)
            return n;
        if (n < 0)
            return total > 0 ? (long)total : n;
        total += (uint64_t)n;
        if ((size_t)n != size)
            break;
    }
    return (long)total;
}

/* An array of buffers: readv and all its kin. */
static long run_vector(struct call *c, off_t at, int flags, const struct direction *d)
{
    struct transfer t = {.file = args_held_file(c, call_int(c, 0)), .at = at, .flags = flags};
    if (!t.file)
        return -EBADF;
    if (at != POSITION_OF_FILE && t.file->ops->stream)
        return -ESPIPE;
    int r = d->check(t.file);
    if (r < 0)
        return r;
    r = uio_init_guest_iov(&t.uio, call_memory(c), call_addr(c, 1), c->arg[2]);
    if (r < 0)
        return result_of(c, r);
    long result = 0;
    if (t.uio.left > 0) {
        result = rw_verify_range(at == POSITION_OF_FILE ? t.file->pos : at, t.uio.left);
        if (result == 0)
            result = check_rw_flags(flags);
        if (result == 0)
            result = d->is_apart(t.file->ops) ? run_apart(c, &t, d) : d->run(c, &t);
    }
    uio_done(&t.uio);
    return result;
}

/* Linux counts these also when they fail, for whatever reason. */
static long transfer_vector(struct call *c, off_t at, int flags, const struct direction *d)
{
    bool is_new = io_count_is_new(c);
    long result = run_vector(c, at, flags, d);
    d->count_call(c, is_new);
    return result;
}

long sys_read(struct call *c)
{
    return transfer_single(c, POSITION_OF_FILE, &reading);
}

long sys_write(struct call *c)
{
    return transfer_single(c, POSITION_OF_FILE, &writing);
}

long sys_pread64(struct call *c)
{
    off_t at = (off_t)c->arg[3];
    return at < 0 ? -EINVAL : transfer_single(c, at, &reading);
}

long sys_pwrite64(struct call *c)
{
    off_t at = (off_t)c->arg[3];
    return at < 0 ? -EINVAL : transfer_single(c, at, &writing);
}

long sys_readv(struct call *c)
{
    return transfer_vector(c, POSITION_OF_FILE, 0, &reading);
}

long sys_writev(struct call *c)
{
    return transfer_vector(c, POSITION_OF_FILE, 0, &writing);
}

/* The offset comes in two words, of which a 64-bit kernel shifts the higher one out. */
long sys_preadv(struct call *c)
{
    off_t at = (off_t)c->arg[3];
    return at < 0 ? -EINVAL : transfer_vector(c, at, 0, &reading);
}

long sys_pwritev(struct call *c)
{
    off_t at = (off_t)c->arg[3];
    return at < 0 ? -EINVAL : transfer_vector(c, at, 0, &writing);
}

long sys_preadv2(struct call *c)
{
    off_t at = (off_t)c->arg[3];
    if (at < POSITION_OF_FILE)
        return -EINVAL;
    return transfer_vector(c, at, call_int(c, 5), &reading);
}

long sys_pwritev2(struct call *c)
{
    off_t at = (off_t)c->arg[3];
    if (at < POSITION_OF_FILE)
        return -EINVAL;
    return transfer_vector(c, at, call_int(c, 5), &writing);
}

long sys_lseek(struct call *c)
{
    struct file *f = args_file(c, call_int(c, 0));
    unsigned whence = call_uint(c, 2);
    if (!f)
        return -EBADF;
    if (whence > SEEK_HOLE)
        return -EINVAL;
    if (!f->ops->lseek)
        return -ESPIPE;
    off_t pos = f->ops->lseek(f, (off_t)c->arg[1], (int)whence);
    if (pos >= 0)
        f->pos = pos;
    return pos;
}
