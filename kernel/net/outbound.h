// SPDX-License-Identifier: Apache-2.0
/*
 * TCP to the outside: a connection that the gateway has admitted, made, and handed over as a
 * connected socket of the host, which becomes the wire (wire.h) of the guest's.
 *
 *   IDLE --connect(2)--> CONNECTING --CONNECTED--> CONNECTED --------> closed by the guest, or cut
 *     ^                     |  (the gateway judges and dials)             by the gateway
 *     +----- an error ------+
 *
 * The descriptor is the connection itself, or (ACCEPTED) one end of a pair of which the gateway has
 * the other, as it has to see what is said. When it has seen enough (STOP, DIRECT), the connection
 * takes the place of the pair: nothing is sent in between, and what the pair still held is kept
 * here, to be read first.
 */
#pragma once

#include "kernel/net/tcp.h"
#include "lib/base/gateway.h"

/* As tcp_connect() after the route was found: 0, and t's socket is CONNECTING; or -errno. */
int outbound_begin(struct tcp_socket *t, const struct thread *thread);

/*
 * The gateway says something about flow id: FINISH, STOP, DIRECT, which brings the connection, or
 * RESET. fd: the callee's. What is about no flow, or not to be said of it now, has no effect.
 */
void outbound_told(uint64_t id, enum gateway_type type, struct hostfd fd);

/* The gateway has ended. */
void outbound_cut_all(void);
