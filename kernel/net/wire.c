// SPDX-License-Identifier: Apache-2.0
/*
 * host calls: sendto recvfrom shutdown poll ioctl getsockopt setsockopt
 * restart_syscall
 */
#include "kernel/net/wire.h"

#include "kernel/core/traffic.h"
#include "kernel/net/gateway.h"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>

#define PIECE_BYTES (128 << 10) /* as large reads and writes are; two of them stay in a cache */
/* Of what a pair holds: the host's socket buffers, by their largest default. */
#define REST_MAX (1 << 20)

static const struct socket_ops wire_ops;
static char piece[PIECE_BYTES];

static struct wire *wire_of(struct socket *s)
{
    return tcp_of(s)->wire;
}

/* ---- waiting ---- */

static void arm(struct wire *w, uint32_t events)
{
    if (w->is_watched)
        host_watch_change(&w->watch, w->watch.events | events);
}

static void stop_watching(struct wire *w)
{
    if (w->is_watched)
        host_watch_remove(&w->watch);
    w->is_watched = false;
}

/*
 * The end of a pair is one of the connection only if the gateway has said so, or the program has
 * ended its own reading; else something follows.
 */
static bool has_ended(const struct wire *w)
{
    return !w->is_pair || w->is_finished || tcp_socket(w->owner)->shutdown & SHUTDOWN_RECEIVE;
}

/* The connection is over on both sides, or broken: told once, and nothing comes after it. */
static void note_end(struct wire *w)
{
    struct socket *s = tcp_socket(w->owner);
    int error = 0;
    socklen_t size = sizeof(error);
    stop_watching(w);
    if (getsockopt(w->fd.n, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error > 0) {
        w->owner->reset = true;
        s->error = error;
    }
}

static void on_ready(struct host_watch *h, uint32_t events)
{
    struct wire *w = container_of(h, struct wire, watch);
    uint32_t told = events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP);
    if (w->is_pair && told) {
        gateway_catch_up();
        if (!w->is_pair)
            return;
    }
    if (told && !has_ended(w)) {
        stop_watching(w);
        return;
    }
    if (events & (EPOLLERR | EPOLLHUP))
        note_end(w);
    else
        host_watch_change(h, h->events & ~events);
    if (events & (EPOLLIN | EPOLLRDHUP))
        told |= SOCKET_READABLE;
    if (events & EPOLLOUT)
        told |= SOCKET_WRITABLE;
    socket_wake(tcp_socket(w->owner), told);
}

/* ---- the beginning ---- */

static void set_number(const struct wire *w, int name)
{
    int value = inet_option(&w->owner->inet, IPPROTO_TCP, name);
    setsockopt(w->fd.n, IPPROTO_TCP, name, &value, sizeof(value));
}

static int use(struct wire *w, struct hostfd fd)
{
    w->fd = fd;
    w->watch = (struct host_watch){.fd = fd, .ready = on_ready};
    int r = host_watch_add(&w->watch, 0);
    if (r < 0)
        return r;
    w->is_watched = true;
    if (w->is_pair || w->is_local)
        return 0;
    set_number(w, TCP_NODELAY);
    set_number(w, TCP_CORK);
    return 0;
}

void wire_init(struct wire *w, struct tcp_socket *owner, void (*end)(struct wire *, bool))
{
    w->owner = owner;
    w->fd = HOSTFD_NONE;
    w->rest = BUF_INIT(REST_MAX);
    w->end = end;
}

int wire_connect(struct wire *w, struct hostfd fd)
{
    struct socket *s = tcp_socket(w->owner);
    int r = use(w, fd);
    if (r < 0)
        return r;
    s->state = SOCKET_CONNECTED;
    s->ops = &wire_ops;
    return 0;
}

/* ---- the end ---- */

void wire_end(struct tcp_socket *t, bool is_reset)
{
    struct wire *w = t->wire;
    if (!w)
        return;
    t->wire = NULL;
    stop_watching(w);
    w->end(w, is_reset);
    hostfd_close(&w->fd);
    buf_done(&w->rest);
    free(w);
    tcp_restore_operations(t);
}

void wire_cut(struct wire *w)
{
    struct socket *s = tcp_socket(w->owner);
    stop_watching(w);
    shutdown(w->fd.n, SHUT_RDWR);
    w->is_pair = w->is_stopped = w->is_finished = false;
    w->owner->reset = true;
    s->shutdown = SHUTDOWN_BOTH;
    socket_fail(s, ECONNRESET);
}

/* The gateway has closed its end of the pair: all that it held is there now. */
static void keep_rest(struct wire *w)
{
    ssize_t n;
    while ((n = recv(w->fd.n, piece, sizeof(piece), MSG_DONTWAIT)) > 0)
        buf_append(&w->rest, piece, (size_t)n);
}

void wire_replace(struct wire *w, struct hostfd fd)
{
    struct socket *s = tcp_socket(w->owner);
    uint32_t events = w->watch.events;
    keep_rest(w);
    stop_watching(w);
    hostfd_close(&w->fd);
    w->is_pair = w->is_stopped = w->is_finished = false;
    if (use(w, fd) < 0 || w->rest.failed) {
        wire_cut(w);
        return;
    }
    if (s->shutdown & SHUTDOWN_SEND)
        shutdown(fd.n, SHUT_WR);
    arm(w, events);
    socket_wake(s, SOCKET_READABLE | SOCKET_WRITABLE);
}

static void wire_release(struct socket *s)
{
    struct tcp_socket *t = tcp_of(s);
    wire_end(t, s->linger && s->linger_seconds == 0);
    s->dead = true;
    inet_unbind(&t->inet);
}

static int wire_shutdown(struct socket *s, unsigned how)
{
    struct tcp_socket *t = tcp_of(s);
    unsigned on_host = t->wire->is_local ? how & SHUTDOWN_SEND : how;
    if (t->reset || (on_host && shutdown(t->wire->fd.n, (int)on_host - 1) < 0))
        return -ENOTCONN;
    s->shutdown |= how;
    if (how & SHUTDOWN_SEND)
        t->fin_sent = true;
    socket_wake(s, SOCKET_CHANGED);
    return 0;
}

static void note_bytes(const struct wire *w, size_t size, uint64_t *sum)
{
    *sum += size;
    if (w->is_asked)
        traffic.stream_bytes += size;
}

/* ---- sending ---- */

/*
 * Sends what lies in the first buffer of u, as far as it fits: what the host does not take stays
 * there.
 */
static ssize_t send_piece(const struct wire *w, struct uio *u)
{
    while (u->iov_index < u->iov_count && u->iov[u->iov_index].iov_len == 0)
        u->iov_index++;
    struct iovec *v = &u->iov[u->iov_index];
    const struct iovec before = *v;
    const size_t index = u->iov_index, left = u->left, wanted = MIN(before.iov_len, left);
    ssize_t size = uio_copy_in(u, piece, MIN(wanted, sizeof(piece)));
    if (size <= 0)
        return size;
    int more = u->left > 0 ? MSG_MORE : 0;
    ssize_t sent = send(w->fd.n, piece, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL | more);
    ssize_t error = -errno;
    if (sent == size)
        return sent;
    *v = before;
    u->iov_index = index;
    u->left = left;
    if (sent < 0)
        return error;
    iovec_advance(v, (size_t)sent);
    u->left -= (size_t)sent;
    return sent;
}

static ssize_t wire_send(struct socket *s, struct uio *u, int flags, struct sending *m)
{
    struct wire *w = wire_of(s);
    ssize_t sent = 0, n = 0;
    if (s->error)
        return socket_take_error(s);
    if (s->shutdown & SHUTDOWN_SEND) {
        m->signals = true;
        return -EPIPE;
    }
    n = w->is_stopped ? -EAGAIN : 0;
    while (u->left > 0 && n >= 0) {
        n = send_piece(w, u);
        if (n <= 0)
            break;
        sent += n;
    }
    /* A pair that is shut down is always writable; DIRECT wakes who waits. */
    if (u->left > 0 && !w->is_stopped)
        arm(w, EPOLLOUT);
    note_bytes(w, (size_t)sent, &traffic.sent_bytes);
    if (sent > 0 || n == 0)
        return sent;
    if (n == -EAGAIN)
        m->wait = &s->wait;
    m->signals = n == -EPIPE;
    return n;
}

/* ---- receiving ---- */

/* Bytes that can be read at once. */
static int count_readable(const struct wire *w)
{
    int count = 0;
    if (ioctl(w->fd.n, FIONREAD, &count) < 0)
        count = 0;
    return count + (int)w->rest.size;
}

/* Nothing more is read than what is there. */
static bool is_deaf(const struct wire *w)
{
    return w->is_local && tcp_socket(w->owner)->shutdown & SHUTDOWN_RECEIVE;
}

static ssize_t wait_for_more(struct socket *s, struct received *r)
{
    arm(wire_of(s), EPOLLIN | EPOLLRDHUP);
    r->wait = &s->wait;
    return -EAGAIN;
}

/* Into piece; as recv(2). */
static ssize_t take(struct wire *w, size_t size, int peek)
{
    if (w->rest.size == 0) {
        ssize_t n = recv(w->fd.n, piece, size, MSG_DONTWAIT | peek);
        if (n != 0 || size == 0 || !w->is_pair)
            return n;
        gateway_catch_up(); /* as in on_ready() */
        if (!w->is_pair)
            return w->owner->reset ? 0 : take(w, size, peek);
        errno = EAGAIN;
        return has_ended(w) ? 0 : -1;
    }
    size = MIN(size, w->rest.size);
    memcpy(piece, w->rest.data, size);
    if (!peek)
        buf_consume(&w->rest, size);
    return (ssize_t)size;
}

static ssize_t wire_receive(struct socket *s, struct uio *u, int flags, struct received *r)
{
    struct wire *w = wire_of(s);
    if (flags & MSG_ERRQUEUE)
        return -EAGAIN;
    if (flags & MSG_OOB)
        return -EINVAL;
    size_t size = MIN(u->left, sizeof(piece));
    ssize_t n = take(w, size, flags & MSG_PEEK);
    if (n < 0 && errno == EAGAIN)
        return is_deaf(w) ? 0 : wait_for_more(s, r);
    /* An error that the watch has seen first; the host tells it once. */
    if (n <= 0 && s->error)
        return socket_take_error(s);
    if (n == 0 && size > 0 && !(s->shutdown & SHUTDOWN_RECEIVE))
        w->owner->fin_received = true;
    if (n <= 0)
        return n < 0 ? -errno : 0;
    if (!(flags & MSG_PEEK))
        note_bytes(w, (size_t)n, &traffic.received_bytes);
    r->stop = (flags & (MSG_PEEK | MSG_TRUNC)) != 0;
    if ((size_t)n < size)
        arm(w, EPOLLIN | EPOLLRDHUP);
    if (flags & MSG_TRUNC)
        return n;
    ssize_t copied = uio_copy_out(u, piece, (size_t)n);
    r->stop |= copied < n;
    return copied;
}

/* ---- state ---- */

static uint32_t wire_poll(struct socket *s, struct poll_table *table)
{
    struct wire *w = wire_of(s);
    struct pollfd p = {.fd = w->fd.n, .events = POLLIN | POLLOUT | POLLRDHUP};
    uint32_t events = s->error ? EPOLLERR : 0;
    if (w->is_stopped) {
        arm(w, EPOLLIN);
        return events | (count_readable(w) > 0 ? SOCKET_READABLE : 0);
    }
    if (poll(&p, 1, 0) < 0)
        p.revents = 0;
    if (!has_ended(w) && p.revents & (POLLHUP | POLLRDHUP))
        p.revents = count_readable(w) > 0 ? POLLIN : 0;
    if (is_deaf(w))
        p.revents |= s->shutdown == SHUTDOWN_BOTH ? POLLRDHUP | POLLHUP : POLLRDHUP;
    if (p.revents & (POLLIN | POLLRDHUP) || w->rest.size > 0)
        events |= SOCKET_READABLE;
    else
        arm(w, EPOLLIN | EPOLLRDHUP);
    if (p.revents & POLLOUT)
        events |= SOCKET_WRITABLE;
    else
        arm(w, EPOLLOUT);
    /* These bits are the same in both. */
    return events | ((uint32_t)p.revents & (EPOLLERR | EPOLLHUP | EPOLLRDHUP));
}

static long wire_ioctl(struct socket *s, struct call *c, unsigned request, struct gaddr argument)
{
    const struct wire *w = wire_of(s);
    int value = 0;
    switch (request) {
    case SIOCINQ:
        value = count_readable(w);
        break;
    case SIOCOUTQ:
        if (ioctl(w->fd.n, TIOCOUTQ, &value) < 0)
            value = 0;
        break;
    case SIOCATMARK:
        break;
    default:
        return -ENOTTY;
    }
    return call_write(c, argument, &value, sizeof(value));
}

static int wire_set_option(struct socket *s, int level, int name, const struct socket_option *v)
{
    int r = inet_set_option(s, level, name, v);
    if (r == 0 && level == IPPROTO_TCP && (name == TCP_NODELAY || name == TCP_CORK))
        set_number(wire_of(s), name);
    return r;
}

static void wire_describe(struct socket *s, struct net_socket_info *info)
{
    const struct wire *w = wire_of(s);
    tcp_describe(s, info);
    info->rx_bytes = (size_t)count_readable(w);
}

static const struct socket_ops wire_ops = {
    .bind = inet_bind,
    .connect = tcp_connect,
    .listen = tcp_listen,
    .accept = tcp_accept,
    .accept_undo = socket_accept_undo,
    .name = tcp_name,
    .shutdown = wire_shutdown,
    .send = wire_send,
    .receive = wire_receive,
    .poll = wire_poll,
    .set_option = wire_set_option,
    .get_option = inet_get_option,
    .ioctl = wire_ioctl,
    .describe = wire_describe,
    .release = wire_release,
    .done = inet_done,
};
