// SPDX-License-Identifier: Apache-2.0
#include "kernel/net/tcp.h"

/* ---- sending ---- */

/*
 * Nobody is there any more, or nobody who would read. What was sent, at most a buffer full, reached
 * a closed socket, which answers with a reset: the sender learns of it with its next call, as over
 * a real loopback interface.
 */
static ssize_t send_to_nobody(struct tcp_socket *t, struct uio *u)
{
    char piece[4096];
    size_t size = MIN(u->left, tcp_room(t)), done = 0;
    while (done < size) {
        ssize_t n = uio_copy_in(u, piece, MIN(sizeof(piece), size - done));
        if (n <= 0 && done == 0)
            return n;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    tcp_receive_reset(t);
    return (ssize_t)done;
}

/* It has ended its side and reads no more: RFC 1122, 4.2.2.13. */
static bool is_half_closed_for_good(struct tcp_socket *t)
{
    return t->fin_sent && tcp_socket(t)->shutdown & SHUTDOWN_RECEIVE;
}

/* The last byte of what is sent with MSG_OOB. */
static ssize_t send_urgent(struct tcp_socket *t, struct uio *u)
{
    struct tcp_socket *peer = t->peer;
    struct socket *to = tcp_socket(peer);
    unsigned char byte;
    ssize_t n = uio_copy_in(u, &byte, 1);
    if (n <= 0)
        return n;
    peer->mark = to->receive.bytes;
    peer->urgent = byte;
    peer->has_mark = true;
    peer->has_urgent = true;
    if (to->oob_inline) {
        struct uio one;
        struct message *m;
        uio_init_kernel(&one, &byte, 1);
        n = message_queue_write(&to->receive, &one, 1, true, &m);
        if (n < 0)
            return n;
        if (m)
            message_queue_append(&to->receive, m);
    }
    socket_wake(to, SOCKET_READABLE | EPOLLPRI);
    return 1;
}

static ssize_t send_piece(struct tcp_socket *t, struct uio *u, size_t size)
{
    struct socket *to = tcp_socket(t->peer);
    struct message *m;
    ssize_t n =
        message_queue_write(&to->receive, u, MIN(size, (size_t)SOCKET_STREAM_PIECE), true, &m);
    if (n <= 0)
        return n;
    if (m)
        message_queue_append(&to->receive, m);
    socket_wake(to, SOCKET_READABLE);
    return n;
}

static ssize_t send_some(struct tcp_socket *t, struct uio *u, int flags, struct sending *out)
{
    struct socket *s = tcp_socket(t);
    if (t->service)
        return tcp_service_take(t, u);
    if (!t->peer || tcp_socket(t->peer)->dead)
        return send_to_nobody(t, u);
    if (is_half_closed_for_good(t->peer)) {
        ssize_t n = send_to_nobody(t, u);
        if (n > 0)
            tcp_receive_reset(t->peer);
        return n;
    }
    bool urgent = flags & MSG_OOB;
    size_t room = tcp_room(t);
    if (room == 0) {
        s->no_space = true;
        out->wait = &s->wait;
        return -EAGAIN;
    }
    if (urgent && u->left == 1)
        return send_urgent(t, u);
    return send_piece(t, u, MIN(u->left - urgent, room));
}

ssize_t tcp_send(struct socket *s, struct uio *u, int flags, struct sending *out)
{
    struct tcp_socket *t = tcp_of(s);
    ssize_t sent = 0;
    if (s->state == SOCKET_CONNECTING) {
        out->wait = &s->wait;
        return -EAGAIN;
    }
    if (s->error)
        return socket_take_error(s);
    if (s->state != SOCKET_CONNECTED || (s->shutdown & SHUTDOWN_SEND)) {
        out->signals = true;
        return -EPIPE;
    }
    while (u->left > 0) {
        ssize_t n = send_some(t, u, flags, out);
        if (n < 0)
            return sent > 0 ? sent : n;
        sent += n;
        if (n == 0 || t->reset)
            break;
    }
    return sent;
}

/* ---- receiving ---- */

static ssize_t receive_urgent(struct tcp_socket *t, struct uio *u, int flags)
{
    const struct socket *s = tcp_socket(t);
    if (s->oob_inline || !t->has_mark || !t->has_urgent)
        return -EINVAL;
    ssize_t n = uio_copy_out(u, &t->urgent, 1);
    if (n >= 0 && !(flags & MSG_PEEK))
        t->has_urgent = false;
    return n;
}

static ssize_t nothing_there(struct tcp_socket *t, struct received *r)
{
    struct socket *s = tcp_socket(t);
    if (t->fin_received && s->state == SOCKET_CONNECTED)
        return 0;
    int error = socket_take_error(s);
    if (error < 0)
        return error;
    if (s->shutdown & SHUTDOWN_RECEIVE)
        return 0;
    if (s->state == SOCKET_IDLE)
        return -ENOTCONN;
    r->wait = &s->wait;
    return -EAGAIN;
}

/* The reader has moved on by n bytes. */
static void move_mark(struct tcp_socket *t, size_t n)
{
    if (!t->has_mark)
        return;
    if (t->mark >= n) {
        t->mark -= n;
        return;
    }
    t->has_mark = t->has_urgent = false;
}

static void tell_sender(struct tcp_socket *t)
{
    if (!t->peer)
        return;
    struct socket *sender = tcp_socket(t->peer);
    if (sender->dead || !sender->no_space || !tcp_is_writable(t->peer))
        return;
    sender->no_space = false;
    socket_wake(sender, SOCKET_WRITABLE);
}

/* Up to size bytes from the front of the queue, copied or (MSG_TRUNC) thrown away. */
static ssize_t drain(struct tcp_socket *t, struct uio *u, size_t size, int flags)
{
    struct message_queue *q = &tcp_socket(t)->receive;
    struct message *m, *next;
    size_t done = 0;
    ssize_t n = 0;
    list_for_each_safe(m, next, &q->messages, link)
    {
        size_t part = MIN(size - done, message_size(m));
        n = flags & MSG_TRUNC ? (ssize_t)part : uio_copy_out(u, m->data + m->start, part);
        if (n < 0)
            break;
        done += (size_t)n;
        if (!(flags & MSG_PEEK))
            message_queue_consume(q, m, (size_t)n);
        if ((size_t)n < part || done == size)
            break;
    }
    return done > 0 ? (ssize_t)done : n;
}

ssize_t tcp_receive(struct socket *s, struct uio *u, int flags, struct received *r)
{
    struct tcp_socket *t = tcp_of(s);
    if (flags & MSG_ERRQUEUE)
        return -EAGAIN;
    if (s->state == SOCKET_LISTENING)
        return -ENOTCONN;
    if (flags & MSG_OOB) {
        r->flags |= MSG_OOB;
        r->stop = true;
        return receive_urgent(t, u, flags);
    }
    size_t available = s->receive.bytes;
    size_t target = socket_receive_target(s, u, flags);
    bool is_open = !s->error && !(s->shutdown & SHUTDOWN_RECEIVE);
    if (available == 0 || (available < target && is_open))
        return nothing_there(t, r);
    size_t size = MIN(u->left, available);
    /* No read goes over the urgent mark; one that starts at it leaves it behind. */
    if (t->has_mark && t->mark > 0 && t->mark < size)
        size = t->mark;
    ssize_t n = size > 0 ? drain(t, u, size, flags) : 0;
    r->stop = n != (ssize_t)size || (t->has_mark && t->mark == size) || (flags & MSG_TRUNC);
    if (n > 0 && !(flags & MSG_PEEK)) {
        move_mark(t, (size_t)n);
        tell_sender(t);
    }
    return n;
}
