// SPDX-License-Identifier: Apache-2.0
#include "kernel/net/inbound.h"

#include "kernel/core/timer.h"
#include "kernel/net/wire.h"

struct inbound {
    struct wire wire;
    int32_t asker;
    struct list link;
};

struct waiting {
    struct inbound_question question;
    struct hostfd fd;
    struct tcp_socket *listener; /* borrowed: inbound_refuse() comes before it goes */
    struct timer timer;
    struct list link;
};

void (*inbound_told)(int32_t number, int error);

static struct list connections = {&connections, &connections};
static struct list waitings = {&waitings, &waitings}; /* who came first, first */
static size_t inbound_total;                          /* of both */

static int look_at(struct hostfd fd, bool *ret_is_local)
{
    return hostfd_is_open(fd) ? ports_look_at(fd.n, ret_is_local) : -EMFILE;
}

/* ---- connections ---- */

static void on_end(struct wire *w, bool is_reset _unused_)
{
    struct inbound *in = container_of(w, struct inbound, wire);
    list_remove(&in->link);
    inbound_total--;
}

static int choose_ends(const struct inet_socket *listener, struct inet_endpoint *ret_local,
                       struct inet_endpoint *ret_remote)
{
    bool is_v6 = listener->socket.family == AF_INET6 &&
                 (listener->v6_only || !IN6_IS_ADDR_UNSPECIFIED(&listener->local.address)) &&
                 !IN6_IS_ADDR_V4MAPPED(&listener->local.address);
    const struct in6_addr *loopback = is_v6 ? &in6addr_loopback : &inet_loopback4;
    bool is_any = inet_is_any(&listener->local.address);
    *ret_local = (struct inet_endpoint){is_any ? *loopback : listener->local.address,
                                        listener->port->number};
    *ret_remote = (struct inet_endpoint){*loopback, inet_unused_port(listener, loopback)};
    return ret_remote->port ? 0 : -EADDRNOTAVAIL;
}

/* A place is free. fd is taken over in any case. */
static int establish(struct tcp_socket *listener, int32_t asker, struct hostfd fd, bool is_local)
{
    struct inet_endpoint local, remote;
    struct tcp_socket *server = NULL;
    struct inbound *in = calloc(1, sizeof(*in));
    int r = in ? choose_ends(&listener->inet, &local, &remote) : -ENOBUFS;
    if (r == 0)
        r = tcp_accept_new(listener, &local, &remote, &server);
    if (r < 0) {
        hostfd_close(&fd);
        free(in);
        return r;
    }
    wire_init(&in->wire, server, on_end);
    in->wire.is_asked = true;
    in->wire.is_local = is_local;
    in->asker = asker;
    list_append(&connections, &in->link);
    inbound_total++;
    server->wire = &in->wire;
    r = wire_connect(&in->wire, fd);
    if (r < 0) {
        wire_end(server, true);
        socket_release(tcp_socket(server));
        return r;
    }
    socket_accept_push(tcp_socket(listener), tcp_socket(server));
    return 0;
}

/* ---- waiting ---- */

static void forget(struct waiting *w)
{
    timer_disarm(&w->timer);
    hostfd_close(&w->fd);
    list_remove(&w->link);
    free(w);
    inbound_total--;
}

/* error: positive errno, or 0. */
static void answer(struct waiting *w, int error)
{
    int32_t number = w->question.number;
    forget(w);
    inbound_told(number, error);
}

static void on_time_over(struct timer *t)
{
    answer(container_of(t, struct waiting, timer), ETIMEDOUT);
}

/* fd is taken over in any case. */
static int wait_for_place(struct tcp_socket *listener, const struct inbound_question *q,
                          struct hostfd fd)
{
    struct waiting *w = calloc(1, sizeof(*w));
    int64_t wait_ns = MIN(q->wait_ns, PORTS_WAIT_MAX_MS * NSEC_PER_MSEC);
    if (w)
        w->timer = TIMER_INIT(on_time_over);
    if (!w || timer_arm(&w->timer, clock_monotonic_ns() + MAX(wait_ns, (int64_t)0)) < 0) {
        hostfd_close(&fd);
        free(w);
        return -ENOBUFS;
    }
    w->question = *q;
    w->fd = fd;
    w->listener = listener;
    list_append(&waitings, &w->link);
    inbound_total++;
    return 0;
}

void inbound_admit(struct tcp_socket *listener)
{
    struct waiting *w, *next;
    list_for_each_safe(w, next, &waitings, link)
    {
        bool is_local;
        if (w->listener != listener)
            continue;
        if (!tcp_has_place(listener))
            return;
        /* Its other end may have gone, or changed it, meanwhile. */
        int r = look_at(w->fd, &is_local);
        if (r == 0) {
            r = establish(listener, w->question.asker, w->fd, is_local);
            w->fd = HOSTFD_NONE;
        }
        answer(w, -r);
    }
}

void inbound_refuse(struct tcp_socket *listener)
{
    struct waiting *w, *next;
    list_for_each_safe(w, next, &waitings, link)
    {
        if (w->listener == listener)
            answer(w, ECONNREFUSED);
    }
}

/* ---- questions ---- */

/* fd is taken over in any case. *ret_waits: the answer comes later. */
static int reach(const struct inbound_question *q, struct hostfd fd, bool *ret_waits)
{
    bool is_local;
    int r = inbound_total >= PORTS_CONNECTIONS_MAX ? -EUSERS : look_at(fd, &is_local);
    struct inet_socket *found = NULL;
    if (r == 0) {
        found = inet_find_listener(q->port, (uint16_t)q->number);
        r = found ? 0 : -ECONNREFUSED;
    }
    if (r < 0) {
        hostfd_close(&fd);
        return r;
    }
    struct tcp_socket *listener = tcp_of(&found->socket);
    if (tcp_has_place(listener))
        return establish(listener, q->asker, fd, is_local);
    r = wait_for_place(listener, q, fd);
    *ret_waits = r == 0;
    return r;
}

void inbound_connect(const struct inbound_question *q, struct hostfd fd)
{
    bool waits = false;
    int r = reach(q, fd, &waits);
    if (!waits)
        inbound_told(q->number, -r);
}

void inbound_cut(int32_t asker)
{
    struct inbound *in;
    struct waiting *w, *next;
    list_for_each_safe(w, next, &waitings, link)
    {
        if (w->question.asker == asker)
            forget(w);
    }
    list_for_each(in, &connections, link)
    {
        if (in->asker == asker)
            wire_cut(&in->wire);
    }
}
