// SPDX-License-Identifier: Apache-2.0
#include "kernel/net/unix.h"

#include <linux/capability.h>

/*
 * Credentials go with a message when the sender gave some, or when one of the two wants them by
 * now; a receiver that asks only later gets nobody's (unix(7), SO_PASSCRED).
 */
static void stamp(struct message *m, const struct socket *from, const struct socket *to,
                  const struct sending *out)
{
    m->has_creds = true;
    if (out->has_creds) {
        m->creds = out->creds;
    } else if (from->pass_creds || to->pass_creds || !to->file) {
        const struct thread *t = out->thread;
        m->creds = t ? (struct ucred){t->process->pid, t->cred->uid, t->cred->gid} : from->owner;
    } else {
        m->has_creds = false;
    }
    m->time_ns = clock_realtime_ns();
}

/* Puts the files of out in flight with m. */
static int attach_rights(struct message *m, struct sending *out)
{
    if (!out->rights || out->rights->count == 0)
        return 0;
    const struct thread *t = out->thread;
    bool privileged =
        cred_has_cap(t->cred, CAP_SYS_RESOURCE) || cred_has_cap(t->cred, CAP_SYS_ADMIN);
    size_t limit = process_limit(t->process, RLIMIT_NOFILE);
    int r = rights_launch(out->rights, t->cred->uid, limit, privileged);
    if (r == -ETOOMANYREFS) {
        rights_collect();
        r = rights_launch(out->rights, t->cred->uid, limit, privileged);
    }
    if (r < 0)
        return r;
    m->rights = TAKE_PTR(out->rights);
    return 0;
}

/* Small pieces join the last message if they would be indistinguishable from it. */
static bool may_merge(const struct socket *s, const struct socket *to, const struct sending *out)
{
    if (to->receive.count == 0 || (out->rights && out->rights->count > 0) || out->has_creds)
        return false;
    const struct message *tail = list_entry(to->receive.messages.prev, struct message, link);
    return tail->sender == s && !tail->rights && !tail->has_creds && !s->pass_creds &&
           !to->pass_creds && to->file;
}

/* Gives m, with what goes beside its bytes, to the queue of `to`; frees it when that can't be. */
static int append(struct socket *s, struct socket *to, struct message *m, struct sending *out)
{
    int r = attach_rights(m, out);
    if (r < 0) {
        message_free(m);
        return r;
    }
    stamp(m, s, to, out);
    message_set_sender(m, s, true);
    message_queue_append(&to->receive, m);
    return 0;
}

/* One piece: bytes, or an error. */
static ssize_t send_piece(struct socket *s, struct socket *to, struct uio *u, struct sending *out)
{
    struct message *m;
    size_t size = MIN(u->left, (size_t)SOCKET_STREAM_PIECE);
    ssize_t n = message_queue_write(&to->receive, u, size, may_merge(s, to, out), &m);
    int r = n >= 0 && m ? append(s, to, m, out) : 0;
    if (r < 0)
        return r;
    if (n > 0)
        socket_wake(to, SOCKET_READABLE);
    return n;
}

ssize_t unix_send_stream(struct socket *s, struct uio *u, int flags, struct sending *out)
{
    struct unix_socket *peer = unix_of(s)->peer;
    ssize_t sent = 0;
    if (flags & MSG_OOB)
        return -EOPNOTSUPP;
    if (out->to)
        return s->state == SOCKET_CONNECTED ? -EISCONN : -EOPNOTSUPP;
    if (!peer)
        return -ENOTCONN;
    while (u->left > 0 || sent == 0) {
        ssize_t n;
        if ((s->shutdown & SHUTDOWN_SEND) || peer->socket.dead ||
            (peer->socket.shutdown & SHUTDOWN_RECEIVE)) {
            n = -EPIPE;
            out->signals = true;
        } else if (u->left == 0) {
            return 0;
        } else if (s->send_used >= s->send_buffer) {
            n = -EAGAIN;
            s->no_space = true;
            out->wait = &s->wait;
        } else {
            n = send_piece(s, &peer->socket, u, out);
        }
        if (n <= 0)
            return sent > 0 ? sent : n;
        sent += n;
    }
    return sent;
}

/* A whole datagram or packet, which `to` has room for. */
static ssize_t deliver(struct socket *s, struct socket *to, struct uio *u, struct sending *out)
{
    size_t size = u->left;
    struct message *m = message_new(size);
    if (!m)
        return -ENOBUFS;
    int r = message_fill(m, u, size);
    if (r < 0) {
        message_free(m);
        return r;
    }
    r = append(s, to, m, out);
    if (r < 0)
        return r;
    socket_wake(to, SOCKET_READABLE);
    return (ssize_t)size;
}

/* What stands against one more message of this size from s to `to`. */
static int check_room(struct socket *s, struct unix_socket *to, struct sending *out)
{
    bool counted = to->socket.type == SOCK_DGRAM && &to->socket != s && to->peer != unix_of(s);
    if (s->send_used >= s->send_buffer) {
        s->no_space = true;
        out->wait = &s->wait;
        return -EAGAIN;
    }
    if (counted && unix_queue_is_full(to)) {
        s->no_space = true;
        out->wait = &to->space;
        return -EAGAIN;
    }
    return 0;
}

static bool is_too_large(const struct socket *s, const struct uio *u)
{
    return u->left > s->send_buffer - 32;
}

ssize_t unix_send_packet(struct socket *s, struct uio *u, int flags, struct sending *out)
{
    struct unix_socket *peer = unix_of(s)->peer;
    int r = socket_take_error(s);
    if (r < 0)
        return r;
    if (s->state != SOCKET_CONNECTED)
        return -ENOTCONN;
    if (flags & MSG_OOB)
        return -EOPNOTSUPP;
    r = s->pass_creds ? unix_autobind(unix_of(s)) : 0;
    if (r == 0 && is_too_large(s, u))
        r = -EMSGSIZE;
    if (r < 0)
        return r;
    if ((s->shutdown & SHUTDOWN_SEND) || !peer || peer->socket.dead ||
        (peer->socket.shutdown & SHUTDOWN_RECEIVE))
        return -EPIPE;
    r = check_room(s, peer, out);
    return r < 0 ? r : deliver(s, &peer->socket, u, out);
}

/* The one it is connected to; who has closed is let go of. */
static int find_peer(struct socket *s, struct unix_socket **ret)
{
    struct unix_socket *u = unix_of(s);
    if (!u->peer)
        return -ENOTCONN;
    if (u->peer->socket.dead) {
        unix_drop_datagrams(u, u->peer);
        unix_set_peer(u, NULL);
        s->state = SOCKET_IDLE;
        return -ECONNREFUSED;
    }
    *ret = u->peer;
    return 0;
}

static int check_datagram(struct socket *s, const struct uio *u, int flags,
                          const struct net_address *to)
{
    if (flags & MSG_OOB)
        return -EOPNOTSUPP;
    int r = s->pass_creds ? unix_autobind(unix_of(s)) : 0;
    if (r == 0 && to)
        r = unix_check_address(to);
    if (r == 0)
        r = is_too_large(s, u) ? -EMSGSIZE : socket_take_error(s);
    return r == 0 && (s->shutdown & SHUTDOWN_SEND) ? -EPIPE : r;
}

ssize_t unix_send_datagram(struct socket *s, struct uio *u, int flags, struct sending *out)
{
    const struct net_address *address = out->to && out->to->size > 0 ? out->to : NULL;
    struct unix_socket *to;
    int r = check_datagram(s, u, flags, address);
    if (r == 0 && address)
        r = out->thread ? unix_find(unix_of(s), out->thread, address, &to) : -EINVAL;
    else if (r == 0)
        r = find_peer(s, &to);
    if (r < 0)
        return r;
    if (to->peer && to->peer != unix_of(s))
        return -EPERM;
    if (to->socket.shutdown & SHUTDOWN_RECEIVE)
        return -EPIPE;
    r = check_room(s, to, out);
    return r < 0 ? r : deliver(s, &to->socket, u, out);
}
