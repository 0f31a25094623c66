// SPDX-License-Identifier: Apache-2.0
/*
 * host calls: sendto recvfrom shutdown poll ioctl getsockopt setsockopt
 * restart_syscall
 */
#include "kernel/net/outbound.h"

#include "kernel/core/kernel.h"
#include "kernel/net/gateway.h"
#include "lib/base/buf.h"
#include "lib/base/map.h"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>

#define PIECE_BYTES (128 << 10) /* as large reads and writes are; two of them stay in a cache */
/* Of what a pair holds: the host's socket buffers, by their largest default. */
#define REST_MAX (1 << 20)

struct outbound {
    struct gateway_request request; /* its id is the flow's */
    struct tcp_socket *owner;       /* borrowed: it ends this before it goes */
    struct hostfd fd;               /* none while the gateway is asked */
    struct host_watch watch;
    bool is_watched;
    bool is_pair;     /* the gateway is between */
    bool is_stopped;  /* and wants no more written into the pair */
    bool is_finished; /* what is in the pair is the last */
    struct buf rest;  /* what it held last, to be read first */
    struct list link;
};

static const struct socket_ops outbound_ops;
static struct list flows = {&flows, &flows};
static struct map flows_by_id;
static char piece[PIECE_BYTES];

static struct outbound *outbound_of(struct socket *s)
{
    return tcp_of(s)->outbound;
}

/* ---- waiting ---- */

static void arm(struct outbound *o, uint32_t events)
{
    if (o->is_watched)
        host_watch_change(&o->watch, o->watch.events | events);
}

static void stop_watching(struct outbound *o)
{
    if (o->is_watched)
        host_watch_remove(&o->watch);
    o->is_watched = false;
}

/*
 * The end of a pair is one of the connection only if the gateway has said so, or the program has
 * ended its own reading; else something follows.
 */
static bool has_ended(const struct outbound *o)
{
    return !o->is_pair || o->is_finished || tcp_socket(o->owner)->shutdown & SHUTDOWN_RECEIVE;
}

/* The connection is over on both sides, or broken: told once, and nothing comes after it. */
static void note_end(struct outbound *o)
{
    struct socket *s = tcp_socket(o->owner);
    int error = 0;
    socklen_t size = sizeof(error);
    stop_watching(o);
    if (getsockopt(o->fd.n, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error > 0) {
        o->owner->reset = true;
        s->error = error;
    }
}

static void on_ready(struct host_watch *w, uint32_t events)
{
    struct outbound *o = container_of(w, struct outbound, watch);
    uint32_t told = events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP);
    if (o->is_pair && told) {
        gateway_catch_up();
        if (!o->is_pair)
            return;
    }
    if (told && !has_ended(o)) {
        stop_watching(o);
        return;
    }
    if (events & (EPOLLERR | EPOLLHUP))
        note_end(o);
    else
        host_watch_change(w, w->events & ~events);
    if (events & (EPOLLIN | EPOLLRDHUP))
        told |= SOCKET_READABLE;
    if (events & EPOLLOUT)
        told |= SOCKET_WRITABLE;
    socket_wake(tcp_socket(o->owner), told);
}

/* ---- the beginning ---- */

static void set_number(const struct outbound *o, int name)
{
    int value = inet_option(&o->owner->inet, IPPROTO_TCP, name);
    setsockopt(o->fd.n, IPPROTO_TCP, name, &value, sizeof(value));
}

static int use(struct outbound *o, struct hostfd fd, bool is_pair)
{
    o->fd = fd;
    o->is_pair = is_pair;
    o->watch = (struct host_watch){.fd = fd, .ready = on_ready};
    int r = host_watch_add(&o->watch, 0);
    if (r < 0)
        return r;
    o->is_watched = true;
    if (is_pair)
        return 0;
    set_number(o, TCP_NODELAY);
    set_number(o, TCP_CORK);
    return 0;
}

static int take_over(struct outbound *o, struct hostfd fd, bool is_pair)
{
    struct socket *s = tcp_socket(o->owner);
    int r = use(o, fd, is_pair);
    if (r == 0)
        r = map_set(&flows_by_id, o->request.id, o);
    if (r < 0)
        return r;
    list_append(&flows, &o->link);
    s->state = SOCKET_CONNECTED;
    s->ops = &outbound_ops;
    socket_wake(s, SOCKET_CHANGED);
    return 0;
}

static void on_connected(struct gateway_request *r, int error, const struct gateway_message *m,
                         struct hostfd fd)
{
    struct outbound *o = container_of(r, struct outbound, request);
    struct tcp_socket *t = o->owner;
    /* Its descriptor got lost on the way: this process may have no more. */
    if (error == 0 && !hostfd_is_open(fd)) {
        gateway_close(r->id, true);
        error = ENOBUFS;
    }
    if (error == 0)
        error = -take_over(o, fd, m->packet.type == GATEWAY_ACCEPTED);
    else
        hostfd_close(&fd);
    if (error == 0)
        return;
    outbound_end(t, true);
    tcp_refuse(t, error);
}

int outbound_begin(struct tcp_socket *t, const struct thread *thread)
{
    struct outbound *o = calloc(1, sizeof(*o));
    if (!o)
        return -ENOBUFS;
    o->owner = t;
    o->fd = HOSTFD_NONE;
    o->rest = BUF_INIT(REST_MAX);
    o->request.done = on_connected;
    list_init(&o->link);
    list_init(&o->request.link);
    int r = gateway_connect(&o->request, IPPROTO_TCP, &t->inet.remote, thread);
    if (r < 0) {
        free(o);
        return r;
    }
    t->outbound = o;
    tcp_socket(t)->state = SOCKET_CONNECTING;
    return 0;
}

/* ---- the end ---- */

void outbound_end(struct tcp_socket *t, bool is_reset)
{
    struct outbound *o = t->outbound;
    if (!o)
        return;
    t->outbound = NULL;
    stop_watching(o);
    gateway_cancel(&o->request);
    if (hostfd_is_open(o->fd))
        gateway_close(o->request.id, is_reset);
    hostfd_close(&o->fd);
    map_remove(&flows_by_id, o->request.id);
    list_remove(&o->link);
    buf_done(&o->rest);
    free(o);
    tcp_restore_operations(t);
}

static void cut(struct outbound *o)
{
    struct socket *s = tcp_socket(o->owner);
    stop_watching(o);
    shutdown(o->fd.n, SHUT_RDWR);
    o->is_pair = o->is_stopped = o->is_finished = false;
    o->owner->reset = true;
    s->shutdown = SHUTDOWN_BOTH;
    socket_fail(s, ECONNRESET);
}

void outbound_cut_all(void)
{
    struct outbound *o;
    list_for_each(o, &flows, link)
    {
        cut(o);
    }
}

/* ---- what the gateway says ---- */

/* The gateway has closed its end of the pair: all that it held is there now. */
static void keep_rest(struct outbound *o)
{
    ssize_t n;
    while ((n = recv(o->fd.n, piece, sizeof(piece), MSG_DONTWAIT)) > 0)
        buf_append(&o->rest, piece, (size_t)n);
}

static void go_direct(struct outbound *o, struct hostfd fd)
{
    struct socket *s = tcp_socket(o->owner);
    uint32_t events = o->watch.events;
    keep_rest(o);
    stop_watching(o);
    hostfd_close(&o->fd);
    o->is_stopped = o->is_finished = false;
    if (use(o, fd, false) < 0 || o->rest.failed) {
        cut(o);
        return;
    }
    if (s->shutdown & SHUTDOWN_SEND)
        shutdown(fd.n, SHUT_WR);
    arm(o, events);
    socket_wake(s, SOCKET_READABLE | SOCKET_WRITABLE);
}

void outbound_told(uint64_t id, enum gateway_type type, struct hostfd fd)
{
    struct outbound *o = map_get(&flows_by_id, id);
    if (o && type == GATEWAY_FINISH && o->is_pair) {
        o->is_finished = true;
    } else if (o && type == GATEWAY_STOP && o->is_pair) {
        o->is_stopped = true;
        shutdown(o->fd.n, SHUT_WR);
    } else if (o && type == GATEWAY_DIRECT && o->is_stopped && hostfd_is_open(fd)) {
        go_direct(o, fd);
        return;
    } else if (o && (type == GATEWAY_RESET || type == GATEWAY_DIRECT)) {
        cut(o);
    }
    hostfd_close(&fd);
}

static void outbound_release(struct socket *s)
{
    struct tcp_socket *t = tcp_of(s);
    outbound_end(t, s->linger && s->linger_seconds == 0);
    s->dead = true;
    inet_unbind(&t->inet);
}

static int outbound_shutdown(struct socket *s, unsigned how)
{
    struct tcp_socket *t = tcp_of(s);
    if (t->reset || shutdown(t->outbound->fd.n, (int)how - 1) < 0)
        return -ENOTCONN;
    s->shutdown |= how;
    if (how & SHUTDOWN_SEND)
        t->fin_sent = true;
    socket_wake(s, SOCKET_CHANGED);
    return 0;
}

/* ---- sending ---- */

/*
 * Sends what lies in the first buffer of u, as far as it fits: what the host does not take stays
 * there.
 */
static ssize_t send_piece(const struct outbound *o, struct uio *u)
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
    ssize_t sent = send(o->fd.n, piece, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL | more);
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

static ssize_t outbound_send(struct socket *s, struct uio *u, int flags, struct sending *m)
{
    struct outbound *o = outbound_of(s);
    ssize_t sent = 0, n = 0;
    if (s->error)
        return socket_take_error(s);
    if (s->shutdown & SHUTDOWN_SEND) {
        m->signals = true;
        return -EPIPE;
    }
    n = o->is_stopped ? -EAGAIN : 0;
    while (u->left > 0 && n >= 0) {
        n = send_piece(o, u);
        if (n <= 0)
            break;
        sent += n;
    }
    /* A pair that is shut down is always writable; DIRECT wakes who waits. */
    if (u->left > 0 && !o->is_stopped)
        arm(o, EPOLLOUT);
    if (sent > 0 || n == 0)
        return sent;
    if (n == -EAGAIN)
        m->wait = &s->wait;
    m->signals = n == -EPIPE;
    return n;
}

/* ---- receiving ---- */

/* Bytes that can be read at once. */
static int count_readable(const struct outbound *o)
{
    int count = 0;
    if (ioctl(o->fd.n, FIONREAD, &count) < 0)
        count = 0;
    return count + (int)o->rest.size;
}

static ssize_t wait_for_more(struct socket *s, struct received *r)
{
    arm(outbound_of(s), EPOLLIN | EPOLLRDHUP);
    r->wait = &s->wait;
    return -EAGAIN;
}

/* Into piece; as recv(2). */
static ssize_t take(struct outbound *o, size_t size, int peek)
{
    if (o->rest.size == 0) {
        ssize_t n = recv(o->fd.n, piece, size, MSG_DONTWAIT | peek);
        if (n != 0 || size == 0 || !o->is_pair)
            return n;
        gateway_catch_up(); /* as in on_ready() */
        if (!o->is_pair)
            return o->owner->reset ? 0 : take(o, size, peek);
        errno = EAGAIN;
        return has_ended(o) ? 0 : -1;
    }
    size = MIN(size, o->rest.size);
    memcpy(piece, o->rest.data, size);
    if (!peek)
        buf_consume(&o->rest, size);
    return (ssize_t)size;
}

static ssize_t outbound_receive(struct socket *s, struct uio *u, int flags, struct received *r)
{
    struct outbound *o = outbound_of(s);
    if (flags & MSG_ERRQUEUE)
        return -EAGAIN;
    if (flags & MSG_OOB)
        return -EINVAL;
    size_t size = MIN(u->left, sizeof(piece));
    ssize_t n = take(o, size, flags & MSG_PEEK);
    if (n < 0 && errno == EAGAIN)
        return wait_for_more(s, r);
    /* An error that the watch has seen first; the host tells it once. */
    if (n <= 0 && s->error)
        return socket_take_error(s);
    if (n == 0 && size > 0 && !(s->shutdown & SHUTDOWN_RECEIVE))
        o->owner->fin_received = true;
    if (n <= 0)
        return n < 0 ? -errno : 0;
    r->stop = (flags & (MSG_PEEK | MSG_TRUNC)) != 0;
    if ((size_t)n < size)
        arm(o, EPOLLIN | EPOLLRDHUP);
    if (flags & MSG_TRUNC)
        return n;
    ssize_t copied = uio_copy_out(u, piece, (size_t)n);
    r->stop |= copied < n;
    return copied;
}

/* ---- state ---- */

static uint32_t outbound_poll(struct socket *s, struct poll_table *table)
{
    struct outbound *o = outbound_of(s);
    struct pollfd p = {.fd = o->fd.n, .events = POLLIN | POLLOUT | POLLRDHUP};
    uint32_t events = s->error ? EPOLLERR : 0;
    if (o->is_stopped) {
        arm(o, EPOLLIN);
        return events | (count_readable(o) > 0 ? SOCKET_READABLE : 0);
    }
    if (poll(&p, 1, 0) < 0)
        p.revents = 0;
    if (!has_ended(o) && p.revents & (POLLHUP | POLLRDHUP))
        p.revents = count_readable(o) > 0 ? POLLIN : 0;
    if (p.revents & (POLLIN | POLLRDHUP) || o->rest.size > 0)
        events |= SOCKET_READABLE;
    else
        arm(o, EPOLLIN | EPOLLRDHUP);
    if (p.revents & POLLOUT)
        events |= SOCKET_WRITABLE;
    else
        arm(o, EPOLLOUT);
    /* These bits are the same in both. */
    return events | ((uint32_t)p.revents & (EPOLLERR | EPOLLHUP | EPOLLRDHUP));
}

static long outbound_ioctl(struct socket *s, struct call *c, unsigned request,
                           struct gaddr argument)
{
    const struct outbound *o = outbound_of(s);
    int value = 0;
    switch (request) {
    case SIOCINQ:
        value = count_readable(o);
        break;
    case SIOCOUTQ:
        if (ioctl(o->fd.n, TIOCOUTQ, &value) < 0)
            value = 0;
        break;
    case SIOCATMARK:
        break;
    default:
        return -ENOTTY;
    }
    return call_write(c, argument, &value, sizeof(value));
}

static int outbound_set_option(struct socket *s, int level, int name, const struct socket_option *v)
{
    int r = inet_set_option(s, level, name, v);
    if (r == 0 && level == IPPROTO_TCP && (name == TCP_NODELAY || name == TCP_CORK))
        set_number(outbound_of(s), name);
    return r;
}

static void outbound_describe(struct socket *s, struct net_socket_info *info)
{
    const struct outbound *o = outbound_of(s);
    tcp_describe(s, info);
    info->rx_bytes = (size_t)count_readable(o);
}

static const struct socket_ops outbound_ops = {
    .bind = inet_bind,
    .connect = tcp_connect,
    .listen = tcp_listen,
    .accept = tcp_accept,
    .accept_undo = socket_accept_undo,
    .name = tcp_name,
    .shutdown = outbound_shutdown,
    .send = outbound_send,
    .receive = outbound_receive,
    .poll = outbound_poll,
    .set_option = outbound_set_option,
    .get_option = inet_get_option,
    .ioctl = outbound_ioctl,
    .describe = outbound_describe,
    .release = outbound_release,
    .done = inet_done,
};
