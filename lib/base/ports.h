// SPDX-License-Identifier: Apache-2.0
/*
 * Connections from outside to ports on which programs of a sandbox listen, as its kernel has them
 * and whoever asks for them sees them: kernel/net/inbound.h, sandbox/port_ask.h.
 */
#pragma once

#include "lib/base/base.h"

/* Of one sandbox at once, with those that wait for a place in a listener's queue: EUSERS. They
 * count until the program has closed its end. */
#define PORTS_CONNECTIONS_MAX 512
/* How long one may wait for such a place: ETIMEDOUT. */
#define PORTS_WAIT_MAX_MS     60000
#define PORTS_WAIT_DEFAULT_MS 10000

#define PORTS_PROGRAM_MAX 16 /* TASK_COMM_LEN */

struct ports_listener {
    uint8_t address[16]; /* IPv4: a mapped one, ::ffff:a.b.c.d */
    uint16_t port;       /* host order, never 0 */
    uint8_t v6_only;     /* of ::, whether 0.0.0.0 is not meant too */
    uint8_t unused;
    uint32_t uid;                    /* in the sandbox, as is pid */
    int32_t pid;                     /* who made the socket */
    uint32_t waiting, backlog;       /* connections that nobody has accepted yet, and their most */
    char program[PORTS_PROGRAM_MAX]; /* NUL-terminated, a guest's bytes; empty: it has ended */
};

/* What fits into one answer; the rest is left out, and that is said. */
#define PORTS_LISTED_MAX 1024

/*
 * Whether somebody's descriptor, which may be anything, is what such a connection can be: a
 * connected stream socket of TCP, or, *ret_is_local, of AF_UNIX. 0; -ENOTSOCK, -EPROTOTYPE,
 * -ENOTCONN; -EINVAL: closing it may wait (SO_LINGER).
 */
int ports_look_at(int fd, bool *ret_is_local);
