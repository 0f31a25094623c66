// SPDX-License-Identifier: Apache-2.0
/*
 * send(2), recv(2) and their kin.
 *
 * A blocking transfer on a stream may take several runs of the handler: the bytes that are done
 * stand in struct socket_call (and, for what a signal interrupts, in c->progress). What is to be
 * sent beside them is read by the run that transfers the first byte; what was received beside them
 * is kept in struct socket_part.
 */
#include "kernel/proc/budget.h"
#include "kernel/sys/ancillary.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"
#include "kernel/sys/rw.h"
#include "kernel/sys/socket_call.h"
#include "kernel/sys/waiting.h"

/* Kernel-internal flags of Linux that must not come from outside. */
#define MSG_CMSG_COMPAT_FLAG 0x80000000u

/* Where in the caller's memory a message is, as struct msghdr says or the arguments do. */
struct message_view {
    struct uio uio;
    struct gaddr name;
    int name_size;
    struct gaddr control;
    size_t control_size;
};

/* Drops the first size bytes of u's buffers. */
static void skip(struct uio *u, uint64_t size)
{
    u->left -= MIN(size, u->left);
    while (size > 0 && u->iov_index < u->iov_count) {
        struct iovec *v = &u->iov[u->iov_index];
        size_t part = MIN(size, v->iov_len);
        iovec_advance(v, part);
        size -= part;
        if (v->iov_len == 0)
            u->iov_index++;
    }
}

static int view_init(const struct call *c, const struct msghdr *h, struct message_view *v)
{
    int name_size = (int)h->msg_namelen;
    *v = (struct message_view){
        .name = gaddr_at((uintptr_t)h->msg_name),
        .control = gaddr_at((uintptr_t)h->msg_control),
        .control_size = h->msg_controllen,
    };
    if (v->name.v && name_size < 0)
        return -EINVAL;
    v->name_size = v->name.v ? MIN(name_size, (int)sizeof(struct sockaddr_storage)) : 0;
    if (h->msg_iovlen > GUEST_IOV_MAX)
        return -EMSGSIZE;
    return uio_init_guest_iov(&v->uio, call_memory(c), gaddr_at((uintptr_t)h->msg_iov),
                              h->msg_iovlen);
}

/* ---- sending ---- */

/* Sends the message of m, whose first sc->done bytes are gone. Bytes in all, an error, CALL_PARKED.
 */
static long transmit(struct call *c, struct socket_call *sc, struct uio *u, int flags,
                     struct sending *m)
{
    struct socket *s = sc->socket;
    bool waits = socket_call_waits(c, sc) && !(flags & MSG_DONTWAIT);
    skip(u, sc->done);
    for (;;) {
        m->signals = false;
        m->wait = NULL;
        ssize_t n = budget_note_written(NULL, s->ops->send(s, u, flags, m));
        if (n >= 0) {
            sc->done += (uint64_t)n;
            /* What went wrong after these bytes is for the next call to tell. */
            if (s->type != SOCK_STREAM || u->left == 0 || n == 0 || s->error)
                return (long)sc->done;
            continue;
        }
        if (n == -EAGAIN && m->wait && waits)
            return socket_call_park(c, sc, m->wait, s->send_timeout_ns);
        if (sc->done > 0)
            return (long)sc->done;
        if (n == -EPIPE && m->signals && !(flags & MSG_NOSIGNAL))
            rw_send_sigpipe(c);
        return n;
    }
}

/* One message. name_size 0 and control_size 0: none. */
static long send_view(struct call *c, struct socket_call *sc, struct message_view *v, int flags)
{
    struct net_address to;
    struct sending m = {.thread = c->thread};
    int r = 0;
    if (flags & MSG_FASTOPEN)
        return -EOPNOTSUPP;
    if (v->name_size > 0) {
        r = socket_read_address(c, v->name, v->name_size, &to);
        m.to = &to;
    }
    /*
     * What went with the first byte must not go again with those after it; and a packet socket that
     * can't send does not look at it.
     */
    const struct socket *s = sc->socket;
    bool fails = s->type == SOCK_SEQPACKET && (s->error || s->state != SOCKET_CONNECTED);
    if (r == 0 && sc->done == 0 && !fails)
        r = ancillary_read(c, sc->socket, v->control, v->control_size, &m);
    long result = r < 0 ? r : transmit(c, sc, &v->uio, flags, &m);
    rights_free(m.rights);
    return result;
}

/* For one message the bytes that are done are the progress of the call. */
static long keep_progress(struct call *c, const struct socket_call *sc, long result)
{
    if (result == CALL_PARKED)
        c->progress = sc->done;
    return result;
}

long sys_sendto(struct call *c)
{
    struct socket_call sc;
    struct message_view v = {.name = call_addr(c, 4)};
    int r = socket_call_begin(c, &sc);
    if (r < 0)
        return r;
    size_t size = MIN((size_t)c->arg[2], (size_t)GUEST_RW_MAX);
    if (!args_range_ok(call_addr(c, 1), size))
        return -EFAULT;
    if (v.name.v) {
        v.name_size = call_int(c, 5);
        if (v.name_size < 0 || v.name_size > (int)sizeof(struct sockaddr_storage))
            return -EINVAL;
    }
    uio_init_guest(&v.uio, call_memory(c), call_addr(c, 1), size);
    return keep_progress(c, &sc, send_view(c, &sc, &v, call_int(c, 3)));
}

static long send_header(struct call *c, struct socket_call *sc, const struct msghdr *h, int flags)
{
    struct message_view v;
    int r = view_init(c, h, &v);
    if (r < 0)
        return r;
    long result = send_view(c, sc, &v, flags);
    uio_done(&v.uio);
    return result;
}

long sys_sendmsg(struct call *c)
{
    struct socket_call sc;
    struct msghdr h;
    unsigned flags = call_uint(c, 2);
    if (flags & MSG_CMSG_COMPAT_FLAG)
        return -EINVAL;
    int r = socket_call_begin(c, &sc);
    if (r == 0)
        r = call_read(c, &h, call_addr(c, 1), sizeof(h));
    return r < 0 ? r : keep_progress(c, &sc, send_header(c, &sc, &h, (int)flags));
}

/*
 * Many messages go in slices, so that a call of 64 MiB keeps nobody waiting. *cost is what this run
 * has done so far: bytes, and what a message costs beside them.
 */
#define SLICE_COST   (1 << 20)
#define MESSAGE_COST (1 << 14)

static bool ends_slice(const struct call *c, uint32_t count, size_t bytes, size_t *cost)
{
    *cost += bytes + MESSAGE_COST;
    return *cost >= SLICE_COST && c->progress < count;
}

/* c->progress: messages that were sent. */
long sys_sendmmsg(struct call *c)
{
    struct socket_call sc;
    unsigned flags = call_uint(c, 3);
    uint32_t count = MIN(call_uint(c, 2), (uint32_t)GUEST_IOV_MAX);
    if (flags & MSG_CMSG_COMPAT_FLAG)
        return -EINVAL;
    size_t cost = 0;
    int r = socket_call_begin(c, &sc);
    if (r < 0)
        return r;
    while (c->progress < count) {
        struct mmsghdr h;
        struct gaddr at = gaddr_plus(call_addr(c, 1), c->progress * sizeof(h));
        long n = call_read(c, &h.msg_hdr, at, sizeof(h.msg_hdr));
        if (n == 0)
            n = send_header(c, &sc, &h.msg_hdr, (int)flags);
        if (n == CALL_PARKED)
            return n;
        unsigned sent = (unsigned)n;
        if (n >= 0 && call_write(c, gaddr_plus(at, offsetof(struct mmsghdr, msg_len)), &sent,
                                 sizeof(sent)) < 0)
            n = -EFAULT;
        if (n < 0)
            return c->progress > 0 ? (long)c->progress : n;
        c->progress++;
        sc.done = 0;
        if (ends_slice(c, count, sent, &cost) && socket_call_yield(c, &sc) == CALL_PARKED)
            return CALL_PARKED;
    }
    return (long)c->progress;
}

/* ---- receiving ---- */

static bool wants_more(const struct socket *s, const struct uio *u, int flags,
                       const struct received *r)
{
    return (flags & MSG_WAITALL) && !(flags & MSG_PEEK) && s->type == SOCK_STREAM && !r->stop &&
           u->left > 0 && !s->error;
}

static void set_part(struct call *c, struct socket_call *sc, struct socket_part *part)
{
    struct socket_call *kept = c->state;
    sc->part = kept->part = part;
}

/* A run goes on with what came before. */
static void take_part(struct call *c, struct socket_call *sc, struct received *r)
{
    if (!sc->part)
        return;
    *r = sc->part->received;
    free(sc->part);
    set_part(c, sc, NULL);
}

/* Waits for more on r->wait. Where that can't be, a part that has come is all. */
static long wait_for_more(struct call *c, struct socket_call *sc, struct received *r)
{
    struct socket_part *part = NULL;
    if (sc->done > 0 && !(part = malloc(sizeof(*part))))
        return (long)sc->done;
    long result = socket_call_park(c, sc, r->wait, sc->socket->receive_timeout_ns);
    if (result != CALL_PARKED) {
        free(part);
        return sc->done > 0 ? (long)sc->done : result;
    }
    if (part) {
        *part = (struct socket_part){.received = *r};
        r->rights = NULL; /* transferred */
        set_part(c, sc, part);
    }
    return result;
}

/* Bytes, an error, CALL_PARKED. A datagram's full size with MSG_TRUNC. */
static long take(struct call *c, struct socket_call *sc, struct uio *u, int flags,
                 struct received *r)
{
    struct socket *s = sc->socket;
    bool waits = socket_call_waits(c, sc) && !(flags & MSG_DONTWAIT);
    skip(u, sc->done);
    take_part(c, sc, r);
    for (;;) {
        r->wait = NULL;
        ssize_t n = s->ops->receive(s, u, waits ? flags : flags | MSG_DONTWAIT, r);
        if (n == -EAGAIN && r->wait && waits)
            return wait_for_more(c, sc, r);
        if (n < 0)
            return sc->done > 0 ? (long)sc->done : n;
        sc->done += (uint64_t)n;
        if (n > 0 && wants_more(s, u, flags, r))
            continue;
        if ((flags & MSG_TRUNC) && s->type != SOCK_STREAM)
            return (long)r->full_size;
        return (long)sc->done;
    }
}

long sys_recvfrom(struct call *c)
{
    struct socket_call sc;
    struct uio u;
    struct received m = {.flags = 0};
    int r = socket_call_begin(c, &sc);
    if (r < 0)
        return r;
    size_t size = MIN((size_t)c->arg[2], (size_t)GUEST_RW_MAX);
    if (!args_range_ok(call_addr(c, 1), size))
        return -EFAULT;
    uio_init_guest(&u, call_memory(c), call_addr(c, 1), size);
    long result = take(c, &sc, &u, call_int(c, 3), &m);
    received_done(&m);
    if (result >= 0 && c->arg[4]) {
        r = socket_write_address(c, call_addr(c, 4), call_addr(c, 5), &m.from);
        if (r < 0)
            return r;
    }
    return keep_progress(c, &sc, result);
}

/* The parts of the header that say what came; the rest of it stays as it was. */
static int write_header(struct call *c, struct gaddr at, const struct message_view *v,
                        const struct received *m, struct ancillary_room room, int flags)
{
    int r = 0;
    if (v->name.v) {
        int full = (int)m->from.size;
        r = call_write(c, v->name, m->from.bytes, (size_t)MIN(v->name_size, full));
        if (r == 0)
            r = call_write(c, gaddr_plus(at, offsetof(struct msghdr, msg_namelen)), &full,
                           sizeof(full));
    }
    int told = m->flags | room.flags | (flags & MSG_CMSG_CLOEXEC);
    size_t used = v->control_size - room.left;
    if (r == 0)
        r = call_write(c, gaddr_plus(at, offsetof(struct msghdr, msg_flags)), &told, sizeof(told));
    if (r == 0)
        r = call_write(c, gaddr_plus(at, offsetof(struct msghdr, msg_controllen)), &used,
                       sizeof(used));
    return r;
}

/*
 * The header is input and output. A call that waits leaves it as it is, unless it has a part
 * already: a signal may end it now, and nothing but the bytes is given then. The next run must know
 * the sizes that were given.
 */
static void write_header_of_part(struct call *c, struct socket_part *part, struct gaddr at,
                                 const struct msghdr *h, const struct message_view *v, int flags)
{
    const struct ancillary_room untouched = {.left = v->control_size};
    part->name_size = h->msg_namelen;
    part->control_size = h->msg_controllen;
    write_header(c, at, v, &part->received, untouched, flags);
}

static long receive_header(struct call *c, struct socket_call *sc, struct gaddr at, int flags)
{
    struct msghdr h;
    struct message_view v;
    struct received m = {.flags = 0};
    int r = call_read(c, &h, at, sizeof(h));
    if (r == 0 && sc->part) {
        h.msg_namelen = sc->part->name_size;
        h.msg_controllen = sc->part->control_size;
    }
    if (r == 0)
        r = view_init(c, &h, &v);
    if (r < 0)
        return r;
    long result = take(c, sc, &v.uio, flags, &m);
    if (result == CALL_PARKED && sc->part)
        write_header_of_part(c, sc->part, at, &h, &v, flags);
    if (result >= 0) {
        struct ancillary_room room = {.at = v.control, .left = v.control_size};
        ancillary_write(c, sc->socket, &m, &room, flags & MSG_CMSG_CLOEXEC);
        r = write_header(c, at, &v, &m, room, flags);
    }
    received_done(&m);
    uio_done(&v.uio);
    return r < 0 ? r : result;
}

long sys_recvmsg(struct call *c)
{
    struct socket_call sc;
    unsigned flags = call_uint(c, 2);
    if (flags & MSG_CMSG_COMPAT_FLAG)
        return -EINVAL;
    int r = socket_call_begin(c, &sc);
    if (r < 0)
        return r;
    return keep_progress(c, &sc, receive_header(c, &sc, call_addr(c, 1), (int)flags));
}

/* The next of recvmmsg(2): as receive_header(), and its length into the vector. */
static long receive_next(struct call *c, struct socket_call *sc, int flags)
{
    struct gaddr at = gaddr_plus(call_addr(c, 1), c->progress * sizeof(struct mmsghdr));
    bool later = (flags & MSG_WAITFORONE) && c->progress > 0;
    long n = receive_header(c, sc, at, (flags & ~MSG_WAITFORONE) | (later ? MSG_DONTWAIT : 0));
    if (n < 0)
        return n;
    unsigned got = (unsigned)n;
    int r = call_write(c, gaddr_plus(at, offsetof(struct mmsghdr, msg_len)), &got, sizeof(got));
    return r < 0 ? r : n;
}

/* Messages until the vector is full, one fails, or (looked at after each one) time is up. */
static long receive_many(struct call *c, struct socket_call *sc, uint32_t count, int flags)
{
    size_t cost = 0;
    while (c->progress < count) {
        long n = receive_next(c, sc, flags);
        if (n == CALL_PARKED)
            return n;
        if (n < 0) {
            if (c->progress == 0)
                return n;
            /* Kept for the next call: recvmmsg(2). */
            if (n != -EAGAIN)
                sc->socket->error = (int)-n;
            break;
        }
        c->progress++;
        sc->done = 0;
        if (sc->deadline_ns != CALL_NO_DEADLINE && clock_monotonic_ns() >= sc->deadline_ns)
            break;
        if (ends_slice(c, count, (size_t)n, &cost) && socket_call_yield(c, sc) == CALL_PARKED)
            return CALL_PARKED;
    }
    return (long)c->progress;
}

/* c->progress: messages that were received. */
long sys_recvmmsg(struct call *c)
{
    struct socket_call sc;
    unsigned flags = call_uint(c, 3);
    uint32_t count = MIN(call_uint(c, 2), (uint32_t)GUEST_IOV_MAX);
    int64_t timeout_ns = WAITING_FOREVER;
    if (flags & MSG_CMSG_COMPAT_FLAG)
        return -EINVAL;
    int r = socket_call_begin(c, &sc);
    if (r == 0 && !c->state) {
        r = waiting_read_timespec(c, call_addr(c, 4), &timeout_ns);
        if (r == 0 && timeout_ns != WAITING_FOREVER &&
            __builtin_add_overflow(clock_monotonic_ns(), timeout_ns, &sc.deadline_ns))
            sc.deadline_ns = CALL_NO_DEADLINE;
    }
    /* An error that is pending comes before messages that are there. */
    if (r == 0 && !c->state)
        r = socket_take_error(sc.socket);
    if (r < 0)
        return r;
    long result = receive_many(c, &sc, count, (int)flags);
    if (result > 0 && c->arg[4] && sc.deadline_ns != CALL_NO_DEADLINE) {
        int64_t left = MAX(sc.deadline_ns - clock_monotonic_ns(), (int64_t)0);
        struct timespec ts = {left / NSEC_PER_SEC, left % NSEC_PER_SEC};
        if (call_write(c, call_addr(c, 4), &ts, sizeof(ts)) < 0)
            return -EFAULT;
    }
    return result;
}
