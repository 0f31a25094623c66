// SPDX-License-Identifier: Apache-2.0
/*
 * What the calls of the socket family share: the socket that a call is about, from run to run, and
 * addresses in the caller's memory.
 */
#pragma once

#include "kernel/net/socket.h"

/* What came with the bytes of a message whose rest is waited for; and the header as it was given.
 */
struct socket_part {
    struct received received;
    socklen_t name_size;
    size_t control_size;
};

/* Kept in c->state while the call is parked. */
struct socket_call {
    struct file *file; /* counted while parked */
    struct socket *socket;
    uint64_t done; /* bytes of the current message that earlier runs have transferred */
    int64_t deadline_ns;
    int first_error;          /* connect(2): what the first run would have answered */
    struct socket_part *part; /* recv(2) and kin, where `done` is not 0; the kept call's */
};

/* The socket of descriptor argument 0, or what was parked. -EBADF, -ENOTSOCK. */
int socket_call_begin(struct call *c, struct socket_call *ret);

static inline bool socket_call_waits(const struct call *c, const struct socket_call *sc)
{
    return !(sc->file->flags & O_NONBLOCK) && !c->timed_out;
}

/* Parks c on q with a copy of sc; timeout_ns 0: for ever. */
long socket_call_park(struct call *c, const struct socket_call *sc, struct waitq *q,
                      int64_t timeout_ns);

/* Runs c again with this copy of sc, after whatever else is on the run queue. */
long socket_call_yield(struct call *c, const struct socket_call *sc);

/* An address argument. -EINVAL for impossible sizes, -EFAULT. */
int socket_read_address(const struct call *c, struct gaddr from, int size, struct net_address *ret);

/* Gives an address back as accept(2) does: cut to *size_at, which then says its full size. */
int socket_write_address(const struct call *c, struct gaddr to, struct gaddr size_at,
                         const struct net_address *a);
