// SPDX-License-Identifier: Apache-2.0
#include "kernel/net/unix.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

static const struct socket_ops stream_ops, packet_ops, datagram_ops;

static const struct socket_ops *ops_of(int type)
{
    switch (type) {
    case SOCK_STREAM:
        return &stream_ops;
    case SOCK_SEQPACKET:
        return &packet_ops;
    default:
        return &datagram_ops;
    }
}

static bool is_connection_based(const struct unix_socket *u)
{
    return u->socket.type != SOCK_DGRAM;
}

static struct unix_socket *unix_new(int type)
{
    struct socket *s = socket_new(sizeof(struct unix_socket), ops_of(type), AF_UNIX, type);
    if (!s)
        return NULL;
    struct unix_socket *u = unix_of(s);
    s->backlog = UNIX_DATAGRAM_QUEUE;
    waitq_init(&u->space);
    list_init(&u->peers);
    list_init(&u->peer_link);
    return u;
}

int unix_create(int type, int protocol, struct socket **ret)
{
    if (protocol != 0 && protocol != PF_UNIX)
        return -EPROTONOSUPPORT;
    if (type == SOCK_RAW)
        type = SOCK_DGRAM;
    if (type != SOCK_STREAM && type != SOCK_DGRAM && type != SOCK_SEQPACKET)
        return -ESOCKTNOSUPPORT;
    struct unix_socket *u = unix_new(type);
    if (!u)
        return socket_new_error(-ENOMEM);
    *ret = &u->socket;
    return 0;
}

void unix_set_peer(struct unix_socket *u, struct unix_socket *peer)
{
    struct unix_socket *old = u->peer;
    list_remove(&u->peer_link);
    u->peer = peer;
    if (peer) {
        socket_get(&peer->socket);
        list_append(&peer->peers, &u->peer_link);
    }
    if (old)
        socket_put(&old->socket);
}

int unix_create_pair(struct thread *t, int type, int protocol, struct socket *ret[2])
{
    struct socket *a, *b;
    int r = socket_create(t, AF_UNIX, type, protocol, &a);
    if (r < 0)
        return r;
    r = socket_create(t, AF_UNIX, type, protocol, &b);
    if (r < 0) {
        socket_release(a);
        return r;
    }
    unix_set_peer(unix_of(a), unix_of(b));
    unix_set_peer(unix_of(b), unix_of(a));
    a->state = b->state = SOCKET_CONNECTED;
    socket_set_peer_cred(a, t->cred, t->process->pid);
    socket_set_peer_cred(b, t->cred, t->process->pid);
    ret[0] = a;
    ret[1] = b;
    return 0;
}

bool unix_queue_is_full(const struct unix_socket *to)
{
    return to->socket.receive.count > to->socket.backlog;
}

/* ---- listening and connecting ---- */

static int unix_listen(struct socket *s, struct thread *t, int backlog)
{
    struct unix_socket *u = unix_of(s);
    if (!is_connection_based(u))
        return -EOPNOTSUPP;
    if (!u->name || (s->state != SOCKET_IDLE && s->state != SOCKET_LISTENING))
        return -EINVAL;
    s->backlog = (size_t)backlog;
    s->state = SOCKET_LISTENING;
    socket_set_peer_cred(s, t->cred, t->process->pid);
    waitq_wake(&u->space, SOCKET_WRITABLE);
    return 0;
}

/* The other end of client, in the queue of listener. */
static int make_connection(struct unix_socket *client, struct unix_socket *listener,
                           struct thread *t)
{
    struct unix_socket *server = unix_new(client->socket.type);
    if (!server)
        return socket_new_error(-ENOMEM);
    socket_inherit(&server->socket, &listener->socket);
    server->socket.pass_creds = listener->socket.pass_creds;
    server->name = listener->name;
    server->name->refs++;
    socket_set_peer_cred(&server->socket, t->cred, t->process->pid);
    socket_set_peer_cred(&client->socket, listener->socket.peer_cred, listener->socket.peer_pid);
    unix_set_peer(server, client);
    unix_set_peer(client, server);
    server->socket.state = client->socket.state = SOCKET_CONNECTED;
    socket_accept_push(&listener->socket, &server->socket);
    return 0;
}

static int connect_stream(struct socket *s, struct thread *t, const struct net_address *a,
                          bool wait, struct waitq **ret_wait)
{
    struct unix_socket *u = unix_of(s), *listener;
    int r = unix_check_address(a);
    if (r == 0 && s->pass_creds)
        r = unix_autobind(u);
    if (r == 0)
        r = unix_find(u, t, a, &listener);
    if (r < 0)
        return r;
    const struct socket *l = &listener->socket;
    if (l->state != SOCKET_LISTENING || (l->shutdown & SHUTDOWN_RECEIVE))
        return -ECONNREFUSED;
    if (s->state != SOCKET_IDLE)
        return s->state == SOCKET_CONNECTED ? -EISCONN : -EINVAL;
    if (l->accept_count > l->backlog) {
        *ret_wait = &listener->space;
        return -EAGAIN;
    }
    return make_connection(u, listener, t);
}

static bool may_send_to(const struct unix_socket *u, const struct unix_socket *to)
{
    return !to->peer || to->peer == u;
}

void unix_drop_datagrams(struct unix_socket *u, struct unix_socket *old)
{
    if (u->socket.receive.count == 0)
        return;
    message_queue_purge(&u->socket.receive);
    waitq_wake(&u->space, SOCKET_WRITABLE);
    if (!old->socket.dead && old->peer == u)
        socket_fail(&old->socket, ECONNRESET);
}

static int connect_datagram(struct socket *s, struct thread *t, const struct net_address *a,
                            bool wait, struct waitq **ret_wait)
{
    struct unix_socket *u = unix_of(s), *peer = NULL;
    if (a->size < sizeof(a->un.sun_family))
        return -EINVAL;
    if (a->any.sa_family != AF_UNSPEC) {
        int r = unix_check_address(a);
        if (r == 0 && s->pass_creds)
            r = unix_autobind(u);
        if (r == 0)
            r = unix_find(u, t, a, &peer);
        if (r < 0)
            return r;
        if (!may_send_to(u, peer))
            return -EPERM;
    }
    struct unix_socket *old = u->peer;
    if (old) {
        socket_get(&old->socket);
        unix_set_peer(u, peer);
        if (old != peer)
            unix_drop_datagrams(u, old);
        socket_put(&old->socket);
    } else {
        unix_set_peer(u, peer);
    }
    s->state = peer ? SOCKET_CONNECTED : SOCKET_IDLE;
    /* The new peer may have room where the old one had none. */
    socket_wake(s, SOCKET_WRITABLE);
    return 0;
}

int unix_listen_at(const struct walk_base *base, const char *path, mode_t mode, size_t backlog,
                   struct socket **ret)
{
    struct unix_socket *u = unix_new(SOCK_STREAM);
    if (!u)
        return socket_new_error(-ENOMEM);
    int r = unix_bind_at(u, base, path, mode);
    if (r < 0) {
        socket_release(&u->socket);
        return r;
    }
    u->socket.backlog = backlog;
    u->socket.state = SOCKET_LISTENING;
    *ret = &u->socket;
    return 0;
}

struct socket *unix_take_connection(struct socket *listener)
{
    struct socket *connection = socket_accept_pop(listener);
    if (connection)
        waitq_wake(&unix_of(listener)->space, SOCKET_WRITABLE);
    return connection;
}

static int unix_accept(struct socket *s, struct socket **ret)
{
    if (s->type == SOCK_DGRAM)
        return -EOPNOTSUPP;
    if (s->state != SOCKET_LISTENING)
        return -EINVAL;
    struct socket *connection = socket_accept_pop(s);
    if (!connection)
        return (s->shutdown & SHUTDOWN_RECEIVE) && !(s->file->flags & O_NONBLOCK) ? -EINVAL
                                                                                  : -EAGAIN;
    waitq_wake(&unix_of(s)->space, SOCKET_WRITABLE);
    *ret = connection;
    return 0;
}

static int unix_get_name(struct socket *s, enum socket_end end, struct net_address *ret)
{
    const struct unix_socket *u = unix_of(s);
    if (end != OWN_END && !u->peer)
        return -ENOTCONN;
    unix_fill_name(end != OWN_END ? u->peer : u, ret);
    return 0;
}

static int unix_shutdown(struct socket *s, unsigned how)
{
    struct unix_socket *u = unix_of(s), *peer = u->peer;
    s->shutdown |= how;
    if (peer && is_connection_based(u)) {
        /* What one end no longer receives the other can't send, and the other way round. */
        peer->socket.shutdown |= (how & SHUTDOWN_RECEIVE) ? SHUTDOWN_SEND : 0;
        peer->socket.shutdown |= (how & SHUTDOWN_SEND) ? SHUTDOWN_RECEIVE : 0;
        socket_wake(&peer->socket, SOCKET_CHANGED);
    }
    socket_wake(s, SOCKET_CHANGED);
    waitq_wake(&u->space, SOCKET_WRITABLE);
    return 0;
}

/* ---- state ---- */

/* The peer's queue leaves no room for a datagram. */
static bool is_peer_full(const struct unix_socket *u)
{
    const struct unix_socket *peer = u->peer;
    return u->socket.type == SOCK_DGRAM && peer && peer->peer != u && unix_queue_is_full(peer);
}

static uint32_t unix_poll(struct socket *s, struct poll_table *table)
{
    const struct unix_socket *u = unix_of(s);
    uint32_t events = 0;
    if (s->error)
        events |= EPOLLERR;
    if (s->shutdown == SHUTDOWN_BOTH)
        events |= EPOLLHUP;
    if (s->shutdown & SHUTDOWN_RECEIVE)
        events |= EPOLLRDHUP | SOCKET_READABLE;
    if (s->receive.count > 0 || s->accept_count > 0)
        events |= SOCKET_READABLE;
    if (is_connection_based(u) && s->state == SOCKET_IDLE)
        events |= EPOLLHUP;
    if (s->state == SOCKET_LISTENING)
        return events;
    if (socket_has_room(s) && !is_peer_full(u))
        events |= SOCKET_WRITABLE | EPOLLWRBAND;
    else
        s->no_space = true;
    return events;
}

static long unix_ioctl(struct socket *s, struct call *c, unsigned request, struct gaddr argument)
{
    const struct message *first = message_queue_first(&s->receive);
    size_t value;
    switch (request) {
    case SIOCOUTQ:
        value = s->send_used;
        break;
    case SIOCINQ:
        if (s->state == SOCKET_LISTENING)
            return -EINVAL;
        value = s->type != SOCK_DGRAM ? s->receive.bytes : first ? message_size(first) : 0;
        break;
    case SIOCATMARK:
        if (s->type != SOCK_STREAM)
            return -EOPNOTSUPP;
        value = 0; /* there are no urgent bytes here */
        break;
    default:
        return -ENOTTY;
    }
    int answer = (int)value;
    return call_write(c, argument, &answer, sizeof(answer));
}

static void unix_describe(struct socket *s, struct net_socket_info *info)
{
    const struct unix_socket *u = unix_of(s);
    info->state = s->state == SOCKET_CONNECTED ? 3 : 1;
    if (!u->name)
        return;
    info->name = u->name->path;
    info->name_size = u->abstract || u->name->path[0] == '\0' ? u->name->size : u->name->size - 1;
}

/* ---- the end ---- */

static void refuse_waiting(struct unix_socket *u)
{
    struct socket *connection;
    while ((connection = socket_accept_pop(&u->socket))) {
        struct unix_socket *client = unix_of(connection)->peer;
        if (client && !client->socket.dead)
            client->socket.error = ECONNRESET;
        socket_release(connection);
    }
}

static void unix_release(struct socket *s)
{
    struct unix_socket *u = unix_of(s), *peer = u->peer;
    /* Linux takes a first message without data for none. */
    bool unread = s->receive.bytes > 0 || s->receive.count > 1;
    s->dead = true;
    s->shutdown = SHUTDOWN_BOTH;
    unix_unbind(u);
    refuse_waiting(u);
    message_queue_purge(&s->receive);
    if (peer && is_connection_based(u) && !peer->socket.dead) {
        peer->socket.shutdown = SHUTDOWN_BOTH;
        if (unread)
            peer->socket.error = ECONNRESET;
        socket_wake(&peer->socket, SOCKET_CHANGED);
    }
    /* Senders that are connected here learn at their next try that nobody is. */
    struct unix_socket *sender;
    list_for_each(sender, &u->peers, peer_link) socket_wake(&sender->socket, SOCKET_CHANGED);
    waitq_wake(&u->space, SOCKET_CHANGED);
    unix_set_peer(u, NULL);
    rights_collect_soon();
}

static void unix_done(struct socket *s)
{
    struct unix_socket *u = unix_of(s);
    socket_waitq_done(&u->space);
    unix_name_put(u->name);
}

/* The kinds differ in how they connect and pass messages. */
#define UNIX_OPS(connect_, send_, receive_)                                                   \
    {                                                                                         \
        .bind = unix_bind, .connect = connect_, .listen = unix_listen, .accept = unix_accept, \
        .accept_undo = socket_accept_undo, .name = unix_get_name, .shutdown = unix_shutdown,  \
        .send = send_, .receive = receive_, .poll = unix_poll, .ioctl = unix_ioctl,           \
        .describe = unix_describe, .release = unix_release, .done = unix_done,                \
    }

static const struct socket_ops stream_ops =
    UNIX_OPS(connect_stream, unix_send_stream, unix_receive_stream);
static const struct socket_ops packet_ops =
    UNIX_OPS(connect_stream, unix_send_packet, unix_receive_packet);
static const struct socket_ops datagram_ops =
    UNIX_OPS(connect_datagram, unix_send_datagram, unix_receive_datagram);
