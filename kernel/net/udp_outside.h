// SPDX-License-Identifier: Apache-2.0
/*
 * UDP to the outside. A socket has a peer for each address that it sends to: a connected UDP socket
 * of the host, which the gateway has judged, made, and handed over. So whoever is not that peer is
 * not heard, and nobody else can be sent to. The guest's socket sees the address that it used.
 *
 *   ASKED --CONNECTED--> OPEN ----> ended: idle, the guest's socket closed or connected elsewhere,
 *     |                             or cut by the gateway
 *     +-----an error---> DENIED --> forgotten after a moment, so that who goes on asks anew
 *
 * A few datagrams are kept while a peer is ASKED, further ones are lost, as in a network. What was
 * denied is told as an ICMP message would (ECONNREFUSED to a connected socket, to others only with
 * IP_RECVERR), at which clients of QUIC change to TCP.
 *
 * What differs from Linux: options about the packet (IP_TOS, IP_TTL, IP_MTU_DISCOVER) have no
 * effect outside, and the source port there is not that of the guest's socket.
 */
#pragma once

#include "kernel/net/udp.h"

struct waitq;

void udp_outside_init(struct udp_socket *u);

/*
 * Sends m, which is taken over, to its destination. t: who sends, or NULL. 0, also for what is
 * lost; -EAGAIN with *ret_wait: the host takes no more now; or another negative errno of send(2).
 */
int udp_outside_send(struct udp_socket *u, struct message *m, const struct thread *t,
                     struct waitq **ret_wait);

/* The socket has room again for what comes in. */
void udp_outside_resume(struct udp_socket *u);

/* Ends all peers but the one with this address (NULL: all). */
void udp_outside_end(struct udp_socket *u, const struct inet_endpoint *but);

/* What was denied is asked anew: there may be another policy. */
void udp_outside_forget(void);

/* The gateway has cut flow id. False: it is none of UDP. */
bool udp_outside_cut(uint64_t id);

/* The gateway has ended. */
void udp_outside_cut_all(void);
