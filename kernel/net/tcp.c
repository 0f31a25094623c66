// SPDX-License-Identifier: Apache-2.0
#include "kernel/net/tcp.h"

#include "kernel/net/inbound.h"
#include "kernel/net/outbound.h"
#include "kernel/net/wire.h"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#define TCP_SEND_BUFFER    16384 /* what Linux reports before a connection: tcp_wmem, tcp_rmem */
#define TCP_RECEIVE_BUFFER 131072
#define TCP_AUTO_BYTES     (256 * 1024) /* of each side that has not set a size */

static const struct socket_ops tcp_ops;

static struct tcp_socket *tcp_new(int family)
{
    struct socket *s = socket_new(sizeof(struct tcp_socket), &tcp_ops, family, SOCK_STREAM);
    if (!s)
        return NULL;
    struct tcp_socket *t = tcp_of(s);
    s->send_buffer = TCP_SEND_BUFFER;
    s->receive_buffer = TCP_RECEIVE_BUFFER;
    list_init(&t->inet.port_link);
    list_init(&t->pending);
    list_init(&t->pending_link);
    return t;
}

int tcp_create(int family, struct socket **ret)
{
    struct tcp_socket *t = tcp_new(family);
    if (!t)
        return socket_new_error(-ENOBUFS);
    *ret = tcp_socket(t);
    return 0;
}

static void let_go_of_peer(struct tcp_socket *t)
{
    struct tcp_socket *peer = t->peer;
    t->peer = NULL;
    if (peer)
        socket_put(tcp_socket(peer));
}

void tcp_receive_reset(struct tcp_socket *t)
{
    struct socket *s = tcp_socket(t);
    if (s->dead || tcp_is_closed(t))
        return;
    t->reset = true;
    s->shutdown = SHUTDOWN_BOTH;
    socket_fail(s, t->fin_received ? EPIPE : ECONNRESET);
}

void tcp_receive_fin(struct tcp_socket *t)
{
    struct socket *s = tcp_socket(t);
    if (s->dead || t->reset || t->fin_received)
        return;
    t->fin_received = true;
    s->shutdown |= SHUTDOWN_RECEIVE | (t->fin_sent ? SHUTDOWN_SEND : 0);
    socket_wake(s, SOCKET_READABLE | EPOLLRDHUP | EPOLLHUP);
}

static void send_fin(struct tcp_socket *t)
{
    if (t->fin_sent)
        return;
    t->fin_sent = true;
    if (t->peer)
        tcp_receive_fin(t->peer);
    if (t->service) {
        tcp_service_stop(t);
        tcp_receive_fin(t);
    }
}

/* ---- listening ---- */

bool tcp_has_place(const struct tcp_socket *listener)
{
    const struct socket *s = &listener->inet.socket;
    return s->accept_count <= s->backlog;
}

int tcp_accept_new(struct tcp_socket *listener, const struct inet_endpoint *local,
                   const struct inet_endpoint *remote, struct tcp_socket **ret)
{
    struct tcp_socket *server = tcp_new(tcp_socket(listener)->family);
    if (!server)
        return socket_new_error(-ENOBUFS);
    struct inet_socket *i = &server->inet;
    socket_inherit(&i->socket, tcp_socket(listener));
    i->local = *local;
    i->remote = *remote;
    if (inet_inherit_options(i, &listener->inet) < 0) {
        socket_release(&i->socket);
        return -ENOBUFS;
    }
    inet_join_port(i, listener->inet.port);
    *ret = server;
    return 0;
}

/* Both ends of a connection, the listener's in its queue. */
static int establish(struct tcp_socket *client, struct tcp_socket *listener)
{
    struct tcp_socket *server;
    int r = tcp_accept_new(listener, &client->inet.remote, &client->inet.local, &server);
    if (r < 0)
        return r;
    server->peer = tcp_of(socket_get(tcp_socket(client)));
    client->peer = tcp_of(socket_get(tcp_socket(server)));
    tcp_socket(server)->state = tcp_socket(client)->state = SOCKET_CONNECTED;
    socket_accept_push(tcp_socket(listener), tcp_socket(server));
    return 0;
}

void tcp_refuse(struct tcp_socket *t, int error)
{
    struct socket *s = tcp_socket(t);
    list_remove(&t->pending_link);
    s->state = SOCKET_IDLE;
    s->shutdown = SHUTDOWN_BOTH;
    if (!t->inet.port_chosen)
        inet_unbind(&t->inet);
    socket_fail(s, error);
}

/* A place has become free: the next that waits for one gets it. */
static void admit_pending(struct tcp_socket *listener)
{
    struct tcp_socket *client;
    while (tcp_has_place(listener) &&
           (client = list_first(&listener->pending, struct tcp_socket, pending_link))) {
        list_remove(&client->pending_link);
        if (establish(client, listener) < 0)
            tcp_refuse(client, ECONNREFUSED);
        else
            socket_wake(tcp_socket(client), SOCKET_CHANGED);
    }
    inbound_admit(listener);
}

int tcp_listen(struct socket *s, struct thread *thread, int backlog)
{
    struct inet_socket *i = inet_of(s);
    if (s->state != SOCKET_IDLE && s->state != SOCKET_LISTENING)
        return -EINVAL;
    if (tcp_of(s)->connect_open)
        return -EINVAL;
    s->backlog = (size_t)backlog;
    if (s->state == SOCKET_LISTENING) {
        admit_pending(tcp_of(s));
        return 0;
    }
    if (!i->port) {
        int r = inet_bind_port(i, 0);
        if (r < 0)
            return r;
    }
    s->state = SOCKET_LISTENING;
    if (inet_port_conflicts(i)) {
        s->state = SOCKET_IDLE;
        return -EADDRINUSE;
    }
    s->shutdown = 0;
    return 0;
}

int tcp_accept(struct socket *s, struct socket **ret)
{
    if (s->state != SOCKET_LISTENING)
        return -EINVAL;
    struct socket *connection = socket_accept_pop(s);
    if (!connection)
        return -EAGAIN;
    admit_pending(tcp_of(s));
    *ret = connection;
    return 0;
}

static void drop_connection(struct tcp_socket *t)
{
    if (t->peer)
        tcp_receive_reset(t->peer);
    wire_end(t, true);
    t->fin_sent = true;
    socket_release(tcp_socket(t));
}

static void stop_listening(struct tcp_socket *t)
{
    struct socket *s = tcp_socket(t), *connection;
    struct tcp_socket *client;
    s->state = SOCKET_IDLE;
    while ((connection = socket_accept_pop(s)))
        drop_connection(tcp_of(connection));
    while ((client = list_first(&t->pending, struct tcp_socket, pending_link)))
        tcp_refuse(client, ECONNREFUSED);
    inbound_refuse(t);
}

/* ---- connecting ---- */

static int find_listener(struct tcp_socket *t, struct tcp_socket **ret)
{
    struct inet_socket *found = inet_find_receiver(SOCK_STREAM, &t->inet.local, &t->inet.remote);
    if (!found)
        return -ECONNREFUSED;
    *ret = tcp_of(&found->socket);
    return 0;
}

/* 0: connected, or (state CONNECTING) waiting for a place. */
static int reach(struct tcp_socket *t, const struct thread *thread)
{
    struct socket *s = tcp_socket(t);
    struct tcp_socket *listener;
    if (inet_is_resolver(&t->inet.remote)) {
        int r = tcp_service_start(t);
        if (r == 0)
            s->state = SOCKET_CONNECTED;
        return r;
    }
    if (inet_is_same(&t->inet.local, &t->inet.remote)) {
        /* Its own SYN is the answer to it: a simultaneous open with itself (RFC 9293, 3.5). */
        t->peer = tcp_of(socket_get(s));
        s->state = SOCKET_CONNECTED;
        return 0;
    }
    if (inet_is_outside(&t->inet.remote.address))
        return outbound_begin(t, thread);
    int r = find_listener(t, &listener);
    if (r < 0)
        return r;
    if (tcp_has_place(listener))
        return establish(t, listener);
    s->state = SOCKET_CONNECTING;
    list_append(&listener->pending, &t->pending_link);
    return 0;
}

static int begin_connect(struct tcp_socket *t, const struct thread *thread,
                         const struct net_address *a)
{
    struct inet_socket *i = &t->inet;
    struct inet_endpoint remote;
    struct in6_addr source;
    int r = inet_parse(i, a, false, &remote);
    if (r < 0)
        return r;
    r = inet_route(i, &remote, &source);
    if (r < 0)
        return r == -EACCES ? -ENETUNREACH : r;
    struct inet_endpoint old = i->local;
    i->remote = remote;
    i->local.address = source;
    r = i->port ? (inet_connection_exists(i) ? -EADDRNOTAVAIL : 0) : inet_bind_ephemeral(i);
    if (r < 0) {
        i->local = old;
        return r;
    }
    t->fin_sent = t->fin_received = t->reset = false;
    tcp_socket(t)->shutdown = 0;
    tcp_socket(t)->error = 0;
    r = reach(t, thread);
    if (r < 0) {
        if (!i->port_chosen)
            inet_unbind(i);
        i->local.address = old.address;
    }
    return r;
}

/* connect(2) to AF_UNSPEC: cuts what there is, and makes the socket new. */
static int disconnect(struct tcp_socket *t)
{
    struct socket *s = tcp_socket(t);
    struct inet_socket *i = &t->inet;
    bool was_connected = s->state == SOCKET_CONNECTED && !tcp_is_closed(t);
    if (s->state == SOCKET_LISTENING)
        stop_listening(t);
    wire_end(t, true);
    if (t->peer) {
        tcp_receive_reset(t->peer);
        /* This socket can be connected anew: the old peer must not take it for its own any more. */
        if (t->peer->peer == t)
            let_go_of_peer(t->peer);
    }
    let_go_of_peer(t);
    tcp_service_stop(t);
    list_remove(&t->pending_link);
    message_queue_purge(&s->receive);
    s->state = SOCKET_IDLE;
    s->shutdown = 0;
    if (was_connected)
        s->error = ECONNRESET;
    t->connect_open = t->fin_sent = t->fin_received = t->reset = t->has_mark = t->has_urgent =
        false;
    if (!i->port_chosen)
        inet_unbind(i);
    i->remote = (struct inet_endpoint){.port = 0};
    if (!i->address_chosen)
        i->local.address = s->family == AF_INET ? inet_any4 : in6addr_any;
    socket_wake(s, SOCKET_CHANGED);
    return 0;
}

/* What a connect(2) that was begun earlier has come to. */
static int continue_connect(struct tcp_socket *t, struct waitq **ret_wait)
{
    struct socket *s = tcp_socket(t);
    if (s->state == SOCKET_CONNECTING) {
        *ret_wait = &s->wait;
        return -EALREADY;
    }
    t->connect_open = false;
    if (s->state == SOCKET_CONNECTED && !t->reset)
        return 0;
    int error = socket_take_error(s);
    s->shutdown = 0;
    return error ? error : -ECONNABORTED;
}

int tcp_connect(struct socket *s, struct thread *thread, const struct net_address *a, bool wait,
                struct waitq **ret_wait)
{
    struct tcp_socket *t = tcp_of(s);
    if (a->size < sizeof(a->any.sa_family))
        return -EINVAL;
    if (a->any.sa_family == AF_UNSPEC)
        return disconnect(t);
    if (t->connect_open)
        return continue_connect(t, ret_wait);
    if (s->state != SOCKET_IDLE)
        return -EISCONN;
    int r = begin_connect(t, thread, a);
    if (r < 0 && (wait || r != -ECONNREFUSED))
        return r;
    /* Linux, too, tells a caller that won't wait only later what loopback knows at once. */
    if (r < 0)
        tcp_refuse(t, ECONNREFUSED);
    if (wait && s->state == SOCKET_CONNECTED)
        return 0;
    t->connect_open = true;
    if (wait)
        *ret_wait = &s->wait;
    return -EINPROGRESS;
}

int tcp_name(struct socket *s, enum socket_end end, struct net_address *ret)
{
    if (end == PEER_END && (s->state != SOCKET_CONNECTED || tcp_is_closed(tcp_of(s))))
        return -ENOTCONN;
    return inet_name(s, end, ret);
}

static int tcp_shutdown(struct socket *s, unsigned how)
{
    struct tcp_socket *t = tcp_of(s);
    switch (s->state) {
    case SOCKET_LISTENING:
        if (how & SHUTDOWN_RECEIVE)
            disconnect(t);
        return 0;
    case SOCKET_CONNECTING:
        disconnect(t);
        socket_fail(s, ECONNRESET);
        return 0;
    case SOCKET_IDLE:
        s->shutdown |= how;
        socket_wake(s, SOCKET_CHANGED);
        return -ENOTCONN;
    case SOCKET_CONNECTED:
        break;
    }
    t->connect_open = false; /* connect(2) has nothing more to tell */
    if (tcp_is_closed(t))
        return -ENOTCONN;
    s->shutdown |= how;
    if (how & SHUTDOWN_SEND)
        send_fin(t);
    socket_wake(s, SOCKET_CHANGED);
    return 0;
}

/* ---- state ---- */

size_t tcp_room(struct tcp_socket *t)
{
    const struct socket *s = tcp_socket(t), *peer = t->peer ? tcp_socket(t->peer) : NULL;
    size_t limit = s->send_buffer_set ? s->send_buffer : TCP_AUTO_BYTES;
    if (!peer || peer->dead)
        return limit;
    limit += peer->receive_buffer_set ? peer->receive_buffer : TCP_AUTO_BYTES;
    return limit - MIN(limit, peer->receive.charge);
}

bool tcp_is_writable(struct tcp_socket *t)
{
    bool is_alone = !t->peer || tcp_socket(t->peer)->dead;
    return is_alone || tcp_socket(t->peer)->receive.charge <= tcp_room(t) * 2;
}

static uint32_t tcp_poll(struct socket *s, struct poll_table *table)
{
    struct tcp_socket *t = tcp_of(s);
    uint32_t events = 0;
    if (s->state == SOCKET_LISTENING)
        return s->accept_count > 0 ? SOCKET_READABLE : 0;
    bool is_idle = s->state == SOCKET_IDLE || (s->state == SOCKET_CONNECTED && t->reset);
    if (s->shutdown == SHUTDOWN_BOTH || is_idle)
        events |= EPOLLHUP;
    if (s->shutdown & SHUTDOWN_RECEIVE)
        events |= SOCKET_READABLE | EPOLLRDHUP;
    if (s->error)
        events |= EPOLLERR;
    if (s->state == SOCKET_CONNECTING)
        return events;
    if (s->receive.bytes >= (size_t)s->receive_low)
        events |= SOCKET_READABLE;
    if (t->has_urgent)
        events |= EPOLLPRI;
    if ((s->shutdown & SHUTDOWN_SEND) || tcp_is_writable(t))
        events |= SOCKET_WRITABLE;
    else
        s->no_space = true;
    return events;
}

static long tcp_ioctl(struct socket *s, struct call *c, unsigned request, struct gaddr argument)
{
    struct tcp_socket *t = tcp_of(s);
    int value;
    switch (request) {
    case SIOCINQ:
        if (s->state == SOCKET_LISTENING)
            return -EINVAL;
        value = (int)s->receive.bytes;
        break;
    case SIOCOUTQ:
    case SIOCOUTQNSD:
        if (s->state == SOCKET_LISTENING)
            return -EINVAL;
        value = 0; /* all that was sent has arrived */
        break;
    case SIOCATMARK:
        value = t->has_mark && t->mark == 0;
        break;
    default:
        return -ENOTTY;
    }
    return call_write(c, argument, &value, sizeof(value));
}

static enum net_tcp_state tcp_state(const struct tcp_socket *t)
{
    switch (t->inet.socket.state) {
    case SOCKET_LISTENING:
        return NET_TCP_LISTEN;
    case SOCKET_CONNECTING:
        return NET_TCP_SYN_SENT;
    case SOCKET_CONNECTED:
        if (tcp_is_closed(t))
            return NET_TCP_CLOSE;
        if (t->fin_sent)
            return NET_TCP_FIN_WAIT2;
        return t->fin_received ? NET_TCP_CLOSE_WAIT : NET_TCP_ESTABLISHED;
    default:
        return NET_TCP_CLOSE;
    }
}

void tcp_describe(struct socket *s, struct net_socket_info *info)
{
    inet_describe(inet_of(s), info);
    info->state = tcp_state(tcp_of(s));
    info->tx_bytes = s->state == SOCKET_LISTENING ? info->tx_bytes : 0;
}

int tcp_get_info(struct socket *s, const struct socket_option *o)
{
    struct tcp_info info;
    memset(&info, 0, sizeof(info));
    info.tcpi_state = (uint8_t)tcp_state(tcp_of(s));
    info.tcpi_rto = 200000;
    info.tcpi_ato = 40000;
    info.tcpi_snd_mss = info.tcpi_rcv_mss = info.tcpi_advmss = 32768;
    info.tcpi_pmtu = 65535;
    info.tcpi_rtt = 20;
    info.tcpi_rttvar = 10;
    info.tcpi_snd_ssthresh = 0x7fffffff;
    info.tcpi_snd_cwnd = 10;
    info.tcpi_rcv_space = 65483;
    if (s->state == SOCKET_LISTENING) {
        info.tcpi_unacked = (uint32_t)s->accept_count;
        info.tcpi_sacked = (uint32_t)s->backlog;
    }
    return option_write(o, &info, sizeof(info));
}

static void tcp_release(struct socket *s)
{
    struct tcp_socket *t = tcp_of(s);
    bool abort = s->receive.count > 0 || (s->linger && s->linger_seconds == 0);
    list_remove(&t->pending_link);
    wire_end(t, true);
    if (s->state == SOCKET_LISTENING)
        stop_listening(t);
    if (t->peer && abort)
        tcp_receive_reset(t->peer);
    else
        send_fin(t);
    s->dead = true;
    /* Who waited for room to send here waits no longer: the next try finds nobody. */
    if (t->peer)
        socket_wake(tcp_socket(t->peer), SOCKET_WRITABLE);
    tcp_service_stop(t);
    message_queue_purge(&s->receive);
    let_go_of_peer(t);
    inet_unbind(&t->inet);
}

void tcp_restore_operations(struct tcp_socket *t)
{
    tcp_socket(t)->ops = &tcp_ops;
}

static const struct socket_ops tcp_ops = {
    .bind = inet_bind,
    .connect = tcp_connect,
    .listen = tcp_listen,
    .accept = tcp_accept,
    .accept_undo = socket_accept_undo,
    .name = tcp_name,
    .shutdown = tcp_shutdown,
    .send = tcp_send,
    .receive = tcp_receive,
    .poll = tcp_poll,
    .set_option = inet_set_option,
    .get_option = inet_get_option,
    .ioctl = tcp_ioctl,
    .describe = tcp_describe,
    .release = tcp_release,
    .done = inet_done,
};
