// SPDX-License-Identifier: Apache-2.0
/*
 * TCP to the outside: a connection that the gateway has admitted, made, and handed over as a
 * connected socket of the host. The guest's socket stays a struct tcp_socket; while it is
 * connected, the operations are those here (s->ops), which work on the host's descriptor and never
 * block.
 *
 *   IDLE --connect(2)--> CONNECTING --CONNECTED--> CONNECTED --------> closed by the guest, or cut
 *     ^                     |  (the gateway judges and dials)             by the gateway
 *     +----- an error ------+
 *
 * The descriptor is the connection itself, or (ACCEPTED) one end of a pair of which the gateway has
 * the other, as it has to see what is said. When it has seen enough (STOP, DIRECT), the connection
 * takes the place of the pair: nothing is sent in between, and what the pair still held is kept
 * here, to be read first.
 *
 * Waiting. The descriptor is watched only for what somebody was told to wait for: -EAGAIN, a short
 * transfer and a poll that finds nothing arm it, and the first event disarms it.
 *
 * What differs from Linux: urgent data is sent as ordinary data; SO_RCVLOWAT has no effect, nor has
 * MSG_WAITALL for a peek; bytes that were read for a buffer that turned out to be bad are lost;
 * SO_LINGER with a time doesn't wait.
 */
#pragma once

#include "kernel/net/tcp.h"
#include "lib/base/gateway.h"

/* As tcp_connect() after the route was found: 0, and t's socket is CONNECTING; or -errno. */
int outbound_begin(struct tcp_socket *t, const struct thread *thread);

/* Gives up the connection, or the attempt, of t, if there is one. is_reset: it is cut off. */
void outbound_end(struct tcp_socket *t, bool is_reset);

/*
 * The gateway says something about flow id: FINISH, STOP, DIRECT, which brings the connection, or
 * RESET. fd: the callee's. What is about no flow, or not to be said of it now, has no effect.
 */
void outbound_told(uint64_t id, enum gateway_type type, struct hostfd fd);

/* The gateway has ended. */
void outbound_cut_all(void);
