// SPDX-License-Identifier: Apache-2.0
/*
 * A TCP connection whose other end is outside of the sandbox. Its bytes pass through a connected
 * stream socket of the host, the wire: of a connection that a program has asked for (outbound.h),
 * or that somebody outside has (inbound.h). The guest's socket stays a struct tcp_socket; while it
 * is connected, its operations are those here (s->ops), which work on the host's descriptor and
 * never block.
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
#include "lib/base/buf.h"

struct wire {
    struct tcp_socket *owner; /* borrowed: it ends this before it goes */
    struct hostfd fd;         /* none while the gateway is asked */
    struct host_watch watch;
    bool is_watched;
    bool is_asked;    /* for from outside: while bytes pass, the sandbox is not idle */
    bool is_local;    /* a socket of AF_UNIX: only here it is said that nothing more is read */
    bool is_pair;     /* the gateway is between */
    bool is_stopped;  /* and wants no more written into the pair */
    bool is_finished; /* what is in the pair is the last */
    struct buf rest;  /* what it held last, to be read first */
    /* The owner lets go of it, is_reset: cuts it off. Before the descriptor is closed. */
    void (*end)(struct wire *w, bool is_reset);
};

/* Of a zeroed struct, which wire_end() frees: it is the first thing in its memory. */
void wire_init(struct wire *w, struct tcp_socket *owner, void (*end)(struct wire *, bool));

/*
 * From now on fd, w's in any case, is the other end of the owner, which is connected. 0 or negative
 * errno: -ENOMEM, -ENOSPC.
 */
int wire_connect(struct wire *w, struct hostfd fd);

/* Another descriptor for the same connection, when w is stopped: what the old one still held is
 * read first. */
void wire_replace(struct wire *w, struct hostfd fd);

/* The connection is cut off, from outside. */
void wire_cut(struct wire *w);

/* Gives up the connection, or the attempt, of t, if there is one. */
void wire_end(struct tcp_socket *t, bool is_reset);
