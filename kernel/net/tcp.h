// SPDX-License-Identifier: Apache-2.0
/*
 * TCP between sockets of one sandbox: tcp(7), without packets.
 *
 * What a socket sends lies in its peer's receive queue at once: there are no segments, no sequence
 * numbers, no timers. What segments would say are flags:
 *
 *   fin_sent       shutdown(SHUT_WR) or close(2): the peer has `fin_received`
 *   fin_received   reading ends after what is queued; SHUTDOWN_RECEIVE is set
 *   reset          the connection was cut: `error` says how, nothing more can be sent
 *
 * A connection for which the listener has no room waits in the listener's `pending` list, as a SYN
 * that Linux sends again and again. connect_open: connect(2) has begun and its outcome was not yet
 * told.
 *
 * Urgent data is one byte: `mark` says how many bytes of the stream come before it.
 */
#pragma once

#include "kernel/net/inet.h"
#include "kernel/net/resolver.h"

struct tcp_service;
struct wire;

struct tcp_socket {
    struct inet_socket inet;
    struct tcp_socket *peer;     /* counted; NULL: never connected, or let go */
    struct tcp_service *service; /* instead of a peer: the resolver */
    struct wire *wire;           /* likewise: a connection that leads outside, or the wish for it */
    bool fin_sent, fin_received, reset, connect_open;
    struct list pending, pending_link;

    bool has_mark, has_urgent; /* urgent: the byte was not read yet */
    unsigned char urgent;
    size_t mark;
};

static inline struct tcp_socket *tcp_of(struct socket *s)
{
    return (struct tcp_socket *)s;
}

static inline struct socket *tcp_socket(struct tcp_socket *t)
{
    return &t->inet.socket;
}

/* The connection is over in both directions, or cut. */
static inline bool tcp_is_closed(const struct tcp_socket *t)
{
    return t->reset || (t->fin_sent && t->fin_received);
}

/* Cuts the connection of t from the other side: what a RST segment does. */
void tcp_receive_reset(struct tcp_socket *t);
/* The other side sends no more. */
void tcp_receive_fin(struct tcp_socket *t);

/*
 * Room in the peer's queue, bytes of memory; poll(2) tells of a third or more. Without a peer: what
 * goes nowhere before the reset comes back.
 */
size_t tcp_room(struct tcp_socket *t);
bool tcp_is_writable(struct tcp_socket *t);

/* A listener's queue can take one more. */
bool tcp_has_place(const struct tcp_socket *listener);
/*
 * The listener's end of a connection between these two: not connected yet, not in the queue. 0, or
 * -ENFILE, -ENOBUFS.
 */
int tcp_accept_new(struct tcp_socket *listener, const struct inet_endpoint *local,
                   const struct inet_endpoint *remote, struct tcp_socket **ret);

/* Operations that other kinds of connection share with this one. */
int tcp_connect(struct socket *s, struct thread *thread, const struct net_address *a, bool wait,
                struct waitq **ret_wait);
int tcp_listen(struct socket *s, struct thread *thread, int backlog);
int tcp_accept(struct socket *s, struct socket **ret);
int tcp_name(struct socket *s, enum socket_end end, struct net_address *ret);
void tcp_describe(struct socket *s, struct net_socket_info *info);

/* The attempt to connect has failed with this (positive) errno: another one may follow. */
void tcp_refuse(struct tcp_socket *t, int error);
/* The socket's operations are those of tcp.c again. */
void tcp_restore_operations(struct tcp_socket *t);

ssize_t tcp_send(struct socket *s, struct uio *u, int flags, struct sending *m);
ssize_t tcp_receive(struct socket *s, struct uio *u, int flags, struct received *m);

/* ---- tcp_service.c: the resolver as the other end ---- */

/* -ENOMEM. */
int tcp_service_start(struct tcp_socket *t);
void tcp_service_stop(struct tcp_socket *t);
/* Bytes that t's owner sends: taken, or a negative errno. */
ssize_t tcp_service_take(struct tcp_socket *t, struct uio *u);
