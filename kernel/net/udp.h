// SPDX-License-Identifier: Apache-2.0
/*
 * A UDP socket: what udp.c and udp_outside.c share.
 */
#pragma once

#include "kernel/net/inet.h"

struct udp_socket {
    struct inet_socket inet;
    struct list peers;    /* outside: udp_outside.c; the one used last first */
    size_t blocked_count; /* of them, whose host sockets take no more now */
    bool is_stalled;      /* what came from outside waits until this socket has room */
};

static inline struct udp_socket *udp_of(struct socket *s)
{
    return (struct udp_socket *)s;
}

/* As an ICMP message tells that something sent to `where` came to nothing. */
void udp_tell_error(struct inet_socket *i, const struct inet_endpoint *where, int error);

/* Whether m fits into the receiver's queue, and putting it there (it is taken over). */
bool udp_has_room(const struct socket *to, const struct message *m);
void udp_enqueue(struct socket *to, struct message *m);
