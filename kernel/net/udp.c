// SPDX-License-Identifier: Apache-2.0
/*
 * UDP between sockets of one sandbox: udp(7). A datagram lies in its receiver's queue at once, or
 * is lost: when nobody is bound there, or the receiver's buffer is full. To the outside:
 * udp_outside.h.
 */
#include "kernel/net/resolver.h"
#include "kernel/net/udp_outside.h"

#include <linux/sockios.h>
#include <netinet/ip.h>
#include <sys/ioctl.h>

#define DATAGRAM_MAX4 65507 /* with the headers of IP and UDP, 65535 */
#define DATAGRAM_MAX6 65527

static const struct socket_ops udp_ops;

int udp_create(int family, struct socket **ret)
{
    struct socket *s = socket_new(sizeof(struct udp_socket), &udp_ops, family, SOCK_DGRAM);
    if (!s)
        return socket_new_error(-ENOBUFS);
    list_init(&inet_of(s)->port_link);
    udp_outside_init(udp_of(s));
    *ret = s;
    return 0;
}

/* ---- connecting: a filter and a default destination ---- */

static void disconnect(struct inet_socket *i)
{
    udp_outside_end(udp_of(&i->socket), NULL);
    i->socket.state = SOCKET_IDLE;
    i->remote = (struct inet_endpoint){.port = 0};
    if (!i->address_chosen)
        i->local.address = i->socket.family == AF_INET ? inet_any4 : in6addr_any;
    if (!i->port_chosen)
        inet_unbind(i);
}

/* Linux binds a socket before it looks at where it is to send to. */
static int choose_port(struct inet_socket *i)
{
    if (i->port)
        return 0;
    i->remote.port = 0;
    return inet_bind_ephemeral(i) < 0 ? -EAGAIN : 0;
}

static int udp_connect(struct socket *s, struct thread *t, const struct net_address *a, bool wait,
                       struct waitq **ret_wait)
{
    struct inet_socket *i = inet_of(s);
    struct inet_endpoint remote;
    struct in6_addr source;
    if (a->size < sizeof(a->any.sa_family))
        return -EINVAL;
    if (a->any.sa_family == AF_UNSPEC) {
        disconnect(i);
        return 0;
    }
    int r = choose_port(i);
    if (r == 0)
        r = inet_parse(i, a, true, &remote);
    if (r < 0)
        return r;
    /* A socket that is connected again chooses its own address again. */
    struct in6_addr old = i->local.address;
    if (!i->address_chosen)
        i->local.address = s->family == AF_INET ? inet_any4 : in6addr_any;
    r = inet_route(i, &remote, &source);
    if (r < 0) {
        i->local.address = old;
        return r;
    }
    i->local.address = source;
    i->remote = remote;
    s->state = SOCKET_CONNECTED;
    udp_outside_end(udp_of(s), &remote); /* nobody else is heard any more */
    return 0;
}

static int udp_listen(struct socket *s, struct thread *t, int backlog)
{
    return -EOPNOTSUPP;
}

static int udp_accept(struct socket *s, struct socket **ret)
{
    return -EOPNOTSUPP;
}

static int udp_name(struct socket *s, enum socket_end end, struct net_address *ret)
{
    if (end != OWN_END && (s->state != SOCKET_CONNECTED || !inet_of(s)->remote.port))
        return -ENOTCONN;
    return inet_name(s, end, ret);
}

static int udp_shutdown(struct socket *s, unsigned how)
{
    s->shutdown |= how;
    socket_wake(s, SOCKET_CHANGED);
    return s->state == SOCKET_CONNECTED ? 0 : -ENOTCONN;
}

/* ---- sending ---- */

/* An address of AF_UNSPEC is taken as IPv4 by IPv4 sockets, and as none by IPv6 ones. */
static int parse_destination(struct inet_socket *i, const struct net_address *a,
                             struct inet_endpoint *ret)
{
    struct net_address copy = *a;
    bool unspecified = a->size >= sizeof(a->any.sa_family) && a->any.sa_family == AF_UNSPEC;
    if (unspecified && i->socket.family == AF_INET)
        copy.any.sa_family = AF_INET;
    int r = inet_parse(i, &copy, true, ret);
    if (r < 0)
        return i->socket.family == AF_INET6 ? -EINVAL : r;
    return ret->port ? 0 : -EINVAL;
}

static int choose_destination(struct inet_socket *i, const struct net_address *to,
                              struct inet_endpoint *ret)
{
    bool none = !to || to->size == 0 ||
                (i->socket.family == AF_INET6 && to->size >= sizeof(to->any.sa_family) &&
                 to->any.sa_family == AF_UNSPEC);
    if (!none)
        return parse_destination(i, to, ret);
    if (i->socket.state != SOCKET_CONNECTED)
        return -EDESTADDRREQ;
    *ret = i->remote;
    return 0;
}

void udp_enqueue(struct socket *to, struct message *m)
{
    m->time_ns = clock_realtime_ns();
    message_queue_append(&to->receive, m);
    socket_wake(to, SOCKET_READABLE);
}

bool udp_has_room(const struct socket *to, const struct message *m)
{
    return to->receive.count == 0 || to->receive.charge + message_memory(m) <= to->receive_buffer;
}

/* The answer to a query of s's. */
static void give_answer(struct socket *s, const struct resolver_ends *ends, const uint8_t *answer,
                        size_t size)
{
    struct message *reply = message_new(size);
    if (!reply)
        return;
    memcpy(reply->data, answer, size);
    reply->end = size;
    reply->source = ends->destination;
    reply->destination = ends->source;
    if (udp_has_room(s, reply))
        udp_enqueue(s, reply);
    else
        message_free(reply);
}

void udp_tell_error(struct inet_socket *i, const struct inet_endpoint *where, int error)
{
    bool connected = i->socket.state == SOCKET_CONNECTED;
    if (!where->port || (connected && !inet_is_same(&i->remote, where)))
        return;
    bool wants = connected || inet_option(i, IPPROTO_IP, IP_RECVERR) ||
                 inet_option(i, IPPROTO_IPV6, IPV6_RECVERR);
    if (wants)
        socket_fail(&i->socket, error);
}

/* Takes m over. */
static void deliver(struct inet_socket *i, struct message *m)
{
    if (inet_is_resolver(&m->destination)) {
        struct resolver_ends ends = {m->source, m->destination};
        resolver_ask(&i->socket, &ends, (const uint8_t *)m->data, m->end, give_answer);
        message_free(m);
        return;
    }
    struct inet_socket *to = inet_find_receiver(SOCK_DGRAM, &m->source, &m->destination);
    if (to && udp_has_room(&to->socket, m)) {
        udp_enqueue(&to->socket, m);
        return;
    }
    if (!to)
        udp_tell_error(i, &m->destination, ECONNREFUSED);
    message_free(m);
}

static int check_sending(struct inet_socket *i, const struct uio *u, int flags)
{
    size_t most = i->socket.family == AF_INET ? DATAGRAM_MAX4 : DATAGRAM_MAX6;
    if (flags & MSG_OOB && i->socket.family == AF_INET)
        return -EOPNOTSUPP;
    if (u->left > most)
        return -EMSGSIZE;
    return 0;
}

/* What the header of a packet would say. */
static void stamp(const struct inet_socket *i, struct message *m, const struct sending *out)
{
    bool v6 = !IN6_IS_ADDR_V4MAPPED(&m->destination.address);
    int limit =
        v6 ? inet_option(i, IPPROTO_IPV6, IPV6_UNICAST_HOPS) : inet_option(i, IPPROTO_IP, IP_TTL);
    int class = v6 ? inet_option(i, IPPROTO_IPV6, IPV6_TCLASS) : inet_option(i, IPPROTO_IP, IP_TOS);
    m->hop_limit = (uint8_t)(out->has_hop_limit ? out->hop_limit : limit);
    m->traffic_class = (uint8_t)(out->has_class ? out->traffic_class : class);
}

static ssize_t udp_send(struct socket *s, struct uio *u, int flags, struct sending *out)
{
    struct inet_socket *i = inet_of(s);
    struct inet_endpoint source, destination;
    bool is_v4 = s->family == AF_INET; /* the other looks for a destination first */
    int r = choose_port(i);
    if (r == 0 && is_v4)
        r = check_sending(i, u, flags);
    if (r == 0)
        r = choose_destination(i, out->to, &destination);
    if (r == 0 && !is_v4)
        r = check_sending(i, u, flags);
    if (r == 0)
        r = inet_route(i, &destination, &source.address);
    if (r == 0)
        r = socket_take_error(s);
    if (r == 0 && (s->shutdown & SHUTDOWN_SEND))
        r = -EPIPE;
    if (r < 0)
        return r;
    size_t size = u->left;
    struct message *m = message_new(size);
    if (!m)
        return -ENOBUFS;
    r = message_fill(m, u, size);
    if (r < 0) {
        message_free(m);
        return r;
    }
    source.port = i->local.port;
    m->source = source;
    m->destination = destination;
    stamp(i, m, out);
    if (inet_is_outside(&destination.address) && !inet_is_resolver(&destination))
        r = udp_outside_send(udp_of(s), m, out->thread, &out->wait);
    else
        deliver(i, m);
    return r < 0 ? r : (ssize_t)size;
}

/* ---- receiving ---- */

static void fill_received(const struct inet_socket *i, const struct message *m, struct received *r)
{
    bool v4 = IN6_IS_ADDR_V4MAPPED(&m->destination.address);
    r->is_v4 = v4;
    inet_format(i->socket.family, &m->source, &r->from);
    r->destination = m->destination;
    r->hop_limit = m->hop_limit;
    r->traffic_class = m->traffic_class;
    r->has_destination6 = inet_option(i, IPPROTO_IPV6, IPV6_RECVPKTINFO);
    r->has_destination4 = v4 && inet_option(i, IPPROTO_IP, IP_PKTINFO);
    r->has_hop_limit = v4 ? inet_option(i, IPPROTO_IP, IP_RECVTTL)
                          : inet_option(i, IPPROTO_IPV6, IPV6_RECVHOPLIMIT);
    r->has_class =
        v4 ? inet_option(i, IPPROTO_IP, IP_RECVTOS) : inet_option(i, IPPROTO_IPV6, IPV6_RECVTCLASS);
    r->has_time = i->socket.timestamp;
    r->time_ns = m->time_ns;
}

static ssize_t udp_receive(struct socket *s, struct uio *u, int flags, struct received *r)
{
    struct message *m = message_queue_first(&s->receive);
    if (flags & MSG_ERRQUEUE)
        return -EAGAIN;
    int error = socket_take_error(s);
    if (error < 0)
        return error;
    if (!m) {
        if ((s->shutdown & SHUTDOWN_RECEIVE) && !(flags & MSG_DONTWAIT))
            return 0;
        r->wait = &s->wait;
        return -EAGAIN;
    }
    size_t full = message_size(m), room = u->left;
    ssize_t n = uio_copy_out(u, m->data + m->start, full);
    if (n < 0 || (size_t)n < MIN(full, room)) {
        error = -EFAULT;
    } else {
        fill_received(inet_of(s), m, r);
        r->full_size = full;
        r->flags |= full > room ? MSG_TRUNC : 0;
    }
    if (!(flags & MSG_PEEK)) {
        message_queue_remove(&s->receive, m);
        message_free(m);
        udp_outside_resume(udp_of(s));
    }
    return error < 0 ? error : n;
}

/* ---- state ---- */

static uint32_t udp_poll(struct socket *s, struct poll_table *table)
{
    uint32_t events = udp_of(s)->blocked_count ? 0 : SOCKET_WRITABLE | EPOLLWRBAND;
    if (s->error)
        events |= EPOLLERR;
    if (s->shutdown & SHUTDOWN_RECEIVE)
        events |= EPOLLRDHUP | SOCKET_READABLE;
    if (s->shutdown == SHUTDOWN_BOTH)
        events |= EPOLLHUP;
    if (s->receive.count > 0)
        events |= SOCKET_READABLE;
    return events;
}

static long udp_ioctl(struct socket *s, struct call *c, unsigned request, struct gaddr argument)
{
    const struct message *first = message_queue_first(&s->receive);
    int value;
    if (request != SIOCINQ && request != SIOCOUTQ)
        return -ENOTTY;
    value = request == SIOCINQ && first ? (int)message_size(first) : 0;
    return call_write(c, argument, &value, sizeof(value));
}

static void udp_describe(struct socket *s, struct net_socket_info *info)
{
    inet_describe(inet_of(s), info);
    info->state = s->state == SOCKET_CONNECTED ? NET_TCP_ESTABLISHED : NET_TCP_CLOSE;
    info->tx_bytes = 0;
}

static void udp_release(struct socket *s)
{
    udp_outside_end(udp_of(s), NULL);
    message_queue_purge(&s->receive);
    inet_unbind(inet_of(s));
}

static const struct socket_ops udp_ops = {
    .bind = inet_bind,
    .connect = udp_connect,
    .listen = udp_listen,
    .accept = udp_accept,
    .accept_undo = socket_accept_undo,
    .name = udp_name,
    .shutdown = udp_shutdown,
    .send = udp_send,
    .receive = udp_receive,
    .poll = udp_poll,
    .set_option = inet_set_option,
    .get_option = inet_get_option,
    .ioctl = udp_ioctl,
    .describe = udp_describe,
    .release = udp_release,
    .done = inet_done,
};
