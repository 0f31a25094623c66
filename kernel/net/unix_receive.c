// SPDX-License-Identifier: Apache-2.0
#include "kernel/net/unix.h"

static bool is_same_creds(const struct message *m, const struct received *r)
{
    if (!m->has_creds)
        return r->creds.pid == 0;
    return m->creds.pid == r->creds.pid && m->creds.uid == r->creds.uid &&
           m->creds.gid == r->creds.gid;
}

static void take_creds(struct received *r, const struct message *m)
{
    /* Who sent without anybody's asking is nobody: overflowuid. */
    static const struct ucred nobody = {0, 65534, 65534};
    r->has_creds = true;
    r->creds = m->has_creds ? m->creds : nobody;
}

/* -ENOMEM can only come from peeking. */
static int take_rights(struct received *r, struct message *m, bool peek)
{
    if (!m->rights)
        return 0;
    if (peek) {
        r->rights = rights_copy(m->rights);
        return r->rights ? 0 : -ENOMEM;
    }
    r->rights = TAKE_PTR(m->rights);
    rights_land(r->rights);
    return 0;
}

static void take_time(struct received *r, const struct socket *s, const struct message *m)
{
    r->has_time = s->timestamp;
    r->time_ns = m->time_ns;
}

/* There is room in u's queue again: for whoever is connected here, and for those who wait by name.
 */
static void tell_senders(struct unix_socket *u)
{
    struct unix_socket *sender;
    if (unix_queue_is_full(u))
        return;
    waitq_wake(&u->space, SOCKET_WRITABLE);
    list_for_each(sender, &u->peers, peer_link)
    {
        if (!sender->socket.no_space)
            continue;
        sender->socket.no_space = false;
        socket_wake(&sender->socket, SOCKET_WRITABLE);
    }
}

/* What a receiver that finds nothing is told. */
static ssize_t nothing_there(struct socket *s, struct received *r)
{
    int error = socket_take_error(s);
    if (error < 0)
        return error;
    if (s->shutdown & SHUTDOWN_RECEIVE) {
        /* Linux gives credentials, of all zeros, with the end of a stream too. */
        r->has_creds = s->pass_creds;
        return 0;
    }
    r->wait = &s->wait;
    return -EAGAIN;
}

/* Copies from one message. Bytes; *ret_stop: the read ends here. */
static ssize_t read_message(struct socket *s, struct message *m, struct uio *u, bool peek,
                            struct received *r)
{
    size_t whole = message_size(m);
    ssize_t n = uio_copy_out(u, m->data + m->start, whole);
    if (n < 0)
        return n;
    int error = take_rights(r, m, peek);
    if (error < 0)
        return error;
    r->stop = r->rights || (size_t)n < whole;
    if (!peek && n > 0)
        message_queue_consume(&s->receive, m, (size_t)n);
    return n;
}

ssize_t unix_receive_stream(struct socket *s, struct uio *u, int flags, struct received *r)
{
    bool peek = flags & MSG_PEEK;
    size_t copied = 0;
    struct message *m, *next;
    if (s->state != SOCKET_CONNECTED)
        return -EINVAL;
    if (flags & MSG_OOB)
        return -EOPNOTSUPP;
    size_t target = socket_receive_target(s, u, flags);
    /* Files and errors end a read early; short of those, less than the target is nothing. */
    bool is_open = !s->error && !(s->shutdown & SHUTDOWN_RECEIVE);
    if (s->receive.count == 0 || (target > 1 && s->receive.bytes < target && is_open))
        return nothing_there(s, r);
    list_for_each_safe(m, next, &s->receive.messages, link)
    {
        if (s->pass_creds && r->has_creds && !is_same_creds(m, r))
            break;
        if (s->pass_creds && !r->has_creds)
            take_creds(r, m);
        ssize_t n = read_message(s, m, u, peek, r);
        if (n < 0) {
            if (copied == 0)
                return n;
            r->stop = true;
            break;
        }
        copied += (size_t)n;
        if (r->stop || u->left == 0)
            break;
    }
    const struct unix_socket *peer = unix_of(s)->peer;
    if (peer && peer->name)
        unix_fill_name(peer, &r->from);
    return (ssize_t)copied;
}

static void fill_from(const struct message *m, struct received *r)
{
    const struct unix_socket *sender = unix_of(m->sender);
    if (sender->name)
        unix_fill_name(sender, &r->from);
}

static ssize_t receive_whole(struct socket *s, struct uio *u, int flags, struct received *r)
{
    struct message *m = message_queue_first(&s->receive);
    bool peek = flags & MSG_PEEK;
    size_t full = message_size(m), room = u->left;
    ssize_t n = uio_copy_out(u, m->data + m->start, full);
    bool failed = n < 0 || (size_t)n < MIN(full, room);
    int error = failed ? -EFAULT : take_rights(r, m, peek);
    if (error == 0) {
        if (s->pass_creds)
            take_creds(r, m);
        take_time(r, s, m);
        fill_from(m, r);
        r->full_size = full;
        r->flags |= full > room ? MSG_TRUNC : 0;
    }
    if (!peek) {
        message_queue_remove(&s->receive, m);
        message_free(m);
        tell_senders(unix_of(s));
    }
    return error < 0 ? error : n;
}

ssize_t unix_receive_datagram(struct socket *s, struct uio *u, int flags, struct received *r)
{
    if (flags & MSG_OOB)
        return -EOPNOTSUPP;
    int error = socket_take_error(s);
    if (error < 0)
        return error;
    if (s->receive.count > 0)
        return receive_whole(s, u, flags, r);
    /* Without waiting Linux answers EAGAIN here even after shutdown(2). */
    bool ended =
        (s->shutdown & SHUTDOWN_RECEIVE) && (s->type == SOCK_SEQPACKET || !(flags & MSG_DONTWAIT));
    if (ended)
        return 0;
    r->wait = &s->wait;
    return -EAGAIN;
}

ssize_t unix_receive_packet(struct socket *s, struct uio *u, int flags, struct received *r)
{
    return s->state == SOCKET_CONNECTED ? unix_receive_datagram(s, u, flags, r) : -ENOTCONN;
}
