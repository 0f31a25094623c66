// SPDX-License-Identifier: Apache-2.0
/* host calls: ioctl poll read restart_syscall write */
#include "kernel/fs/dev/hostpipe.h"

#include "kernel/core/outflow.h"
#include "kernel/core/traffic.h"
#include "kernel/host/watch.h"

#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>

#define TRANSFER_BYTES 65536

/*
 * Belongs to the inode. The watch is edge-triggered, so that an end of file or a reader that does
 * not come back is told once, not for ever; adding it tells what is true at that moment.
 */
struct hostpipe {
    struct host_watch watch;
    struct waitq wait;
    struct outflow_turn turn;
    bool write, watched;
};

static uint8_t transfer[TRANSFER_BYTES];

static struct hostpipe *hostpipe_of(const struct file *f)
{
    return f->inode->private;
}

static void on_ready(struct host_watch *watch, uint32_t events)
{
    struct hostpipe *h = container_of(watch, struct hostpipe, watch);
    if (list_is_empty(&h->wait.entries)) {
        host_watch_remove(&h->watch);
        h->watched = false;
        return;
    }
    waitq_wake(&h->wait, events & ~(uint32_t)EPOLLET);
}

static void start_watching(struct hostpipe *h)
{
    if (h->watched)
        return;
    int r = host_watch_add(&h->watch, (h->write ? EPOLLOUT : EPOLLIN) | EPOLLET);
    h->watched = r == 0;
    /* What can't be watched must be tried again and again. */
    if (r < 0)
        waitq_wake(&h->wait, 0);
}

static int hostpipe_open(struct file *f)
{
    const struct hostpipe *h = f->private ? f->private : hostpipe_of(f);
    return h->write == f->can_write && h->write != f->can_read ? 0 : -EACCES;
}

static ssize_t hostpipe_read(struct file *f, struct uio *u, off_t *pos, int flags)
{
    ssize_t n;
    if (u->left == 0)
        return 0;
    do
        n = read(hostpipe_of(f)->watch.fd.n, transfer, MIN(u->left, sizeof(transfer)));
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n < 0 ? -errno : 0;
    traffic.stream_bytes += (uint64_t)n;
    return uio_copy_out(u, transfer, (size_t)n);
}

/* The first buffer that is not empty, at most so much of it, copied without being used up: bytes or
 * -EFAULT. */
static ssize_t peek_buffer(struct uio *u, size_t most)
{
    while (u->iov[u->iov_index].iov_len == 0)
        u->iov_index++;
    const struct iovec *v = &u->iov[u->iov_index];
    size_t size = MIN(v->iov_len, u->left);
    size = MIN(size, sizeof(transfer));
    size = MIN(size, most);
    if (u->memory.host_tid == 0) {
        memcpy(transfer, v->iov_base, size);
        return (ssize_t)size;
    }
    return guest_read_some(u->memory, transfer, gaddr_at((uintptr_t)v->iov_base), size);
}

static void use_up(struct uio *u, size_t size)
{
    struct iovec *v = &u->iov[u->iov_index];
    iovec_advance(v, size);
    u->left -= size;
}

/* What may go now. When nobody reads any more, a write is to say so at once. */
static size_t find_room(struct hostpipe *h)
{
    struct pollfd p = {.fd = h->watch.fd.n};
    size_t room = outflow_room(&h->turn);
    if (room == 0 && poll(&p, 1, 0) > 0 && p.revents & POLLERR)
        return PIPE_BUF;
    return room;
}

static ssize_t hostpipe_write(struct file *f, struct uio *u, off_t *pos, int flags)
{
    struct hostpipe *h = hostpipe_of(f);
    ssize_t done = 0;
    size_t room = 0; /* for all buffers: PIPE_BUF of them go as one */
    while (u->left > 0) {
        if (room == 0)
            room = find_room(h);
        ssize_t n = room > 0 ? peek_buffer(u, room) : -EAGAIN;
        if (n > 0) {
            n = write(h->watch.fd.n, transfer, (size_t)n);
            n = n < 0 ? -errno : n;
        }
        if (n == -EINTR)
            continue;
        if (n < 0 && room > 0)
            outflow_leave(&h->turn);
        if (n < 0)
            return done > 0 ? done : n;
        use_up(u, (size_t)n);
        room -= (size_t)n;
        outflow_take(&h->turn, (size_t)n);
        traffic.stream_bytes += (uint64_t)n;
        done += n;
    }
    return done;
}

static uint32_t hostpipe_poll(struct file *f, struct poll_table *table)
{
    struct hostpipe *h = hostpipe_of(f);
    struct pollfd p = {.fd = h->watch.fd.n, .events = h->write ? POLLOUT : POLLIN};
    if (table) {
        poll_table_add(table, &h->wait);
        if (h->write)
            poll_table_add(table, outflow_queue());
        start_watching(h);
    }
    if (poll(&p, 1, 0) <= 0)
        return 0;
    uint32_t events = (uint32_t)p.revents & (EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP);
    if (events & EPOLLOUT && outflow_room(&h->turn) == 0)
        events &= ~(uint32_t)EPOLLOUT;
    if (events & EPOLLIN)
        events |= EPOLLRDNORM;
    if (events & EPOLLOUT)
        events |= EPOLLWRNORM;
    return events;
}

static long hostpipe_ioctl(struct file *f, struct call *c, unsigned request, struct gaddr argument)
{
    int count;
    if (request != FIONREAD)
        return -ENOTTY;
    if (ioctl(hostpipe_of(f)->watch.fd.n, FIONREAD, &count) < 0)
        return -errno;
    return call_write(c, argument, &count, sizeof(count));
}

static const struct file_ops hostpipe_ops = {
    .open = hostpipe_open,
    .read = hostpipe_read,
    .write = hostpipe_write,
    .poll = hostpipe_poll,
    .ioctl = hostpipe_ioctl,
    .stream = true,
    .write_all = true,
    .tells_by_signal = true,
};

static void hostpipe_release(struct inode *i)
{
    struct hostpipe *h = i->private;
    if (h->watched)
        host_watch_remove(&h->watch);
    outflow_leave(&h->turn);
    hostfd_close(&h->watch.fd);
    free(h);
}

static const struct inode_ops hostpipe_inode_ops = {.release = hostpipe_release};

int hostpipe_file(struct hostfd fd, bool write, uid_t uid, struct file **ret)
{
    struct hostpipe *h = calloc(1, sizeof(*h));
    if (!h)
        return -ENOMEM;
    h->watch = (struct host_watch){.fd = fd, .ready = on_ready};
    h->write = write;
    waitq_init(&h->wait);
    struct file *f;
    int r = file_new_anonymous("pipe:[%llu]", S_IFIFO | 0600, write ? O_WRONLY : O_RDONLY,
                               &hostpipe_ops, h, &f);
    if (r < 0) {
        free(h);
        return r;
    }
    f->inode->private = h;
    f->inode->ops = &hostpipe_inode_ops;
    f->inode->file_ops = &hostpipe_ops;
    f->inode->uid = uid;
    *ret = f;
    return 0;
}
