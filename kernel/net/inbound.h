// SPDX-License-Identifier: Apache-2.0
/*
 * TCP from outside: somebody who may ask this sandbox's starter wants to speak to a port on which a
 * program listens, and gives a connected stream socket of the host, which becomes the wire (wire.h)
 * of the connection that accept(2) gives out. Its other end is 127.0.0.1, or ::1, and a port from
 * which nobody sends.
 *
 *   asked --> connected: in the listener's queue, then a program's
 *      |          ^
 *      |          | a place is free
 *      +------> waits ------> ETIMEDOUT, or ECONNREFUSED: the listener has gone
 *      +------> refused
 *
 * A connection lives no longer than its asker: inbound_cut().
 *
 * Nothing that is given is trusted to be what it should: it is looked at, used without blocking,
 * and is of no use to the programs but for bytes. What differs from Linux beside what wire.h says:
 * with SO_LINGER and a time of 0 the other end is not told of a reset, unless something was not
 * read.
 */
#pragma once

#include "kernel/host/host.h"
#include "kernel/net/tcp.h"
#include "lib/base/ports.h"

struct inbound_question {
    int32_t number, asker;
    uint16_t port;
    int64_t wait_ns; /* for a place in a full queue; PORTS_WAIT_MAX_MS at most */
};

/*
 * What has come of a question, once: 0, or a positive errno. ECONNREFUSED: nobody listens;
 * ETIMEDOUT; EUSERS: there are too many; ENOTSOCK, EPROTOTYPE, ENOTCONN: the descriptor is no
 * connected stream socket, TCP's or AF_UNIX's, EINVAL: it may block when it is closed; EMFILE:
 * it got lost on the way, since this process may have no more.
 */
extern void (*inbound_told)(int32_t number, int error);

/* fd is taken over in any case. */
void inbound_connect(const struct inbound_question *q, struct hostfd fd);

/* All that this asker has asked for is cut off, and what waits is not answered. */
void inbound_cut(int32_t asker);

/* ---- for tcp.c ---- */

/* A place in the queue may have become free. */
void inbound_admit(struct tcp_socket *listener);
/* It listens no more. */
void inbound_refuse(struct tcp_socket *listener);
