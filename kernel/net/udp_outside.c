// SPDX-License-Identifier: Apache-2.0
/* host calls: sendto recvfrom getsockopt */
#include "kernel/net/udp_outside.h"

#include "kernel/core/kernel.h"
#include "kernel/core/limits.h"
#include "kernel/core/timer.h"
#include "kernel/core/traffic.h"
#include "kernel/net/gateway.h"

#define KEPT_MAX       8 /* datagrams of a peer that is ASKED, */
#define KEPT_BYTES     65536
#define DENIED_NS      NSEC_PER_SEC
#define DATAGRAM_BYTES 65536
#define BATCH_MAX      64 /* datagrams of one peer before others have their turn */
#define UNKNOWN_TTL    64

enum peer_state { ASKED, OPEN, DENIED };

struct udp_peer {
    struct list link;               /* of its socket */
    struct list all;                /* of all */
    struct gateway_request request; /* its id is the flow's */
    struct udp_socket *owner;       /* borrowed: it ends this before it goes */
    struct inet_endpoint local;     /* of the sandbox's interface */
    struct inet_endpoint remote;    /* as the guest has it */
    enum peer_state state;
    int error;                 /* DENIED: what is told */
    struct message_queue kept; /* ASKED */
    struct hostfd fd;
    struct host_watch watch;
    bool is_watched, is_blocked;
    struct timer timer; /* idle, or DENIED for long enough */
    int64_t idle_ns, used_ns;
    uint64_t tx, rx;
};

static struct list peers = {&peers, &peers};
static size_t peer_count;
static char piece[DATAGRAM_BYTES];

static struct socket *guest_socket(const struct udp_peer *p)
{
    return &p->owner->inet.socket;
}

void udp_outside_init(struct udp_socket *u)
{
    list_init(&u->peers);
}

/* ---- making and ending ---- */

static void set_blocked(struct udp_peer *p, bool is_blocked)
{
    if (p->is_blocked == is_blocked)
        return;
    p->is_blocked = is_blocked;
    p->owner->blocked_count += is_blocked ? 1 : (size_t)-1;
    if (!is_blocked)
        socket_wake(guest_socket(p), SOCKET_WRITABLE);
}

/* What it holds goes, and the gateway is told. */
static void close_peer(struct udp_peer *p)
{
    if (p->is_watched)
        host_watch_remove(&p->watch);
    p->is_watched = false;
    set_blocked(p, false);
    gateway_cancel(&p->request);
    if (hostfd_is_open(p->fd))
        gateway_close_datagrams(p->request.id, p->tx, p->rx);
    hostfd_close(&p->fd);
    timer_disarm(&p->timer);
    message_queue_purge(&p->kept);
}

static void end_peer(struct udp_peer *p)
{
    close_peer(p);
    list_remove(&p->link);
    list_remove(&p->all);
    peer_count--;
    free(p);
}

static void on_time(struct timer *t)
{
    struct udp_peer *p = container_of(t, struct udp_peer, timer);
    int64_t until = p->used_ns + p->idle_ns;
    if (p->state == OPEN && clock_monotonic_ns() < until && timer_arm(t, until) == 0)
        return;
    end_peer(p);
}

static struct udp_peer *find_peer(struct udp_socket *u, const struct inet_endpoint *remote)
{
    struct udp_peer *p;
    list_for_each(p, &u->peers, link)
    {
        if (!inet_is_same(&p->remote, remote))
            continue;
        list_remove(&p->link);
        list_prepend(&u->peers, &p->link);
        return p;
    }
    return NULL;
}

void udp_outside_end(struct udp_socket *u, const struct inet_endpoint *but)
{
    struct udp_peer *p, *next;
    list_for_each_safe(p, next, &u->peers, link)
    {
        if (!but || !inet_is_same(&p->remote, but))
            end_peer(p);
    }
}

/* ---- receiving ---- */

/* The host's socket holds what an ICMP message said. */
static void take_error(struct udp_peer *p)
{
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(p->fd.n, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error > 0)
        udp_tell_error(&p->owner->inet, &p->remote, error);
}

static bool is_listened_to(const struct udp_peer *p)
{
    const struct inet_socket *i = &p->owner->inet;
    return i->socket.state != SOCKET_CONNECTED || inet_is_same(&i->remote, &p->remote);
}

static void take_datagram(struct udp_peer *p, size_t size)
{
    struct message *m = is_listened_to(p) ? message_new(size) : NULL;
    p->rx += size;
    if (!m)
        return;
    memcpy(m->data, piece, size);
    m->end = size;
    m->source = p->remote;
    m->destination = p->local;
    m->hop_limit = UNKNOWN_TTL;
    udp_enqueue(guest_socket(p), m);
}

static bool has_room(const struct socket *s)
{
    return s->receive.count == 0 || s->receive.charge < s->receive_buffer;
}

/* What finds no room stays with the host, which drops what it has no room for either. */
static void receive(struct udp_peer *p)
{
    for (int i = 0; i < BATCH_MAX; i++) {
        if (!has_room(guest_socket(p))) {
            p->owner->is_stalled = true;
            host_watch_change(&p->watch, p->watch.events & ~(uint32_t)EPOLLIN);
            return;
        }
        ssize_t n = recv(p->fd.n, piece, sizeof(piece), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        p->used_ns = clock_monotonic_ns();
        if (n < 0) {
            udp_tell_error(&p->owner->inet, &p->remote, errno);
            continue;
        }
        traffic.received_bytes += (size_t)n;
        take_datagram(p, (size_t)n);
    }
}

void udp_outside_resume(struct udp_socket *u)
{
    struct udp_peer *p;
    if (!u->is_stalled || !has_room(&u->inet.socket))
        return;
    u->is_stalled = false;
    list_for_each(p, &u->peers, link)
    {
        if (p->is_watched)
            host_watch_change(&p->watch, p->watch.events | EPOLLIN);
    }
}

static void on_ready(struct host_watch *w, uint32_t events)
{
    struct udp_peer *p = container_of(w, struct udp_peer, watch);
    if (events & EPOLLERR)
        take_error(p);
    if (events & EPOLLOUT) {
        host_watch_change(w, w->events & ~(uint32_t)EPOLLOUT);
        set_blocked(p, false);
    }
    if (events & EPOLLIN)
        receive(p);
}

/* ---- sending ---- */

/* Errors that are about an earlier datagram: the host tells them once, and sends nothing then. */
static bool is_told(int error)
{
    return error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH;
}

/* 0 or -errno; m stays the caller's. */
static int send_now(struct udp_peer *p, const struct message *m)
{
    ssize_t n = send(p->fd.n, m->data, m->end, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && is_told(errno) && guest_socket(p)->state != SOCKET_CONNECTED)
        n = send(p->fd.n, m->data, m->end, MSG_DONTWAIT | MSG_NOSIGNAL);
    p->used_ns = clock_monotonic_ns();
    if (n >= 0) {
        p->tx += (size_t)n;
        traffic.sent_bytes += (size_t)n;
        return 0;
    }
    /* The gateway has cut it, and is about to say so. */
    return errno == EDESTADDRREQ ? 0 : -errno;
}

static void keep(struct udp_peer *p, struct message *m)
{
    if (p->kept.count < KEPT_MAX && p->kept.bytes + message_size(m) <= KEPT_BYTES)
        message_queue_append(&p->kept, m);
    else
        message_free(m);
}

static int use(struct udp_peer *p, struct hostfd fd, uint32_t idle_s)
{
    p->fd = fd;
    p->state = OPEN;
    p->idle_ns = (int64_t)idle_s * NSEC_PER_SEC;
    p->used_ns = clock_monotonic_ns();
    p->watch = (struct host_watch){.fd = fd, .ready = on_ready};
    int r = host_watch_add(&p->watch, EPOLLIN);
    if (r < 0)
        return r;
    p->is_watched = true;
    return timer_arm(&p->timer, p->used_ns + p->idle_ns);
}

static void send_kept(struct udp_peer *p)
{
    struct message *m;
    while ((m = message_queue_first(&p->kept))) {
        send_now(p, m);
        message_queue_remove(&p->kept, m);
        message_free(m);
    }
}

/* A verdict and a limit are told as a port where nobody is. */
static void deny(struct udp_peer *p, int error)
{
    close_peer(p);
    p->state = DENIED;
    p->error = error == EACCES || error == EADDRNOTAVAIL ? ECONNREFUSED : error;
    udp_tell_error(&p->owner->inet, &p->remote, p->error);
    if (timer_arm(&p->timer, clock_monotonic_ns() + DENIED_NS) < 0)
        end_peer(p);
}

static void on_answer(struct gateway_request *r, int error, const struct gateway_message *m,
                      struct hostfd fd)
{
    struct udp_peer *p = container_of(r, struct udp_peer, request);
    bool is_handed_over = m && m->packet.type == GATEWAY_CONNECTED && hostfd_is_open(fd);
    if (error == 0 && !is_handed_over) {
        gateway_close(r->id, true);
        error = ENOBUFS;
    }
    if (error == 0)
        error = -use(p, fd, m->packet.idle_s);
    else
        hostfd_close(&fd);
    if (error == 0)
        send_kept(p);
    else
        deny(p, error);
}

/* Asks the gateway about m's destination. 0 with *ret, NULL: there are too many; or -errno. */
static int begin(struct udp_socket *u, const struct message *m, const struct thread *t,
                 struct udp_peer **ret)
{
    *ret = NULL;
    struct udp_peer *p = peer_count < LIMIT_UDP_PEERS ? calloc(1, sizeof(*p)) : NULL;
    if (!p)
        return 0;
    *p = (struct udp_peer){.owner = u,
                           .local = m->source,
                           .remote = m->destination,
                           .fd = HOSTFD_NONE,
                           .request.done = on_answer,
                           .timer = TIMER_INIT(on_time)};
    list_init(&p->request.link);
    message_queue_init(&p->kept);
    int r = gateway_connect(&p->request, IPPROTO_UDP, &p->remote, t);
    if (r < 0) {
        free(p);
        return r == -EADDRNOTAVAIL ? 0 : r;
    }
    list_init(&p->link);
    list_init(&p->all);
    list_prepend(&u->peers, &p->link);
    list_append(&peers, &p->all);
    peer_count++;
    *ret = p;
    return 0;
}

int udp_outside_send(struct udp_socket *u, struct message *m, const struct thread *t,
                     struct waitq **ret_wait)
{
    struct udp_peer *p = find_peer(u, &m->destination);
    int r = p ? 0 : begin(u, m, t, &p);
    if (p && p->state == ASKED) {
        keep(p, m);
        return 0;
    }
    if (p && p->state == OPEN)
        r = send_now(p, m);
    else if (p)
        udp_tell_error(&u->inet, &p->remote, p->error);
    message_free(m);
    if (r == -EAGAIN) {
        set_blocked(p, true);
        host_watch_change(&p->watch, p->watch.events | EPOLLOUT);
        *ret_wait = &u->inet.socket.wait;
    }
    return r;
}

/* ---- what the gateway says ---- */

void udp_outside_forget(void)
{
    struct udp_peer *p, *next;
    list_for_each_safe(p, next, &peers, all)
    {
        if (p->state == DENIED)
            end_peer(p);
    }
}

bool udp_outside_cut(uint64_t id)
{
    struct udp_peer *p;
    list_for_each(p, &peers, all)
    {
        if (p->state != OPEN || p->request.id != id)
            continue;
        deny(p, EACCES);
        return true;
    }
    return false;
}

void udp_outside_cut_all(void)
{
    struct udp_peer *p;
    while ((p = list_first(&peers, struct udp_peer, all))) {
        udp_tell_error(&p->owner->inet, &p->remote, ENETUNREACH);
        end_peer(p);
    }
}
