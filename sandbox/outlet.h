// SPDX-License-Identifier: Apache-2.0
/*
 * Writing to a descriptor that belongs to the caller without ever waiting in write(2), and without
 * switching it to O_NONBLOCK: that would change it for everybody who shares it, the caller's shell
 * too.
 *
 * A pipe or terminal is opened a second time through /proc/self/fd, which gives a file description
 * of our own; a socket is written with MSG_DONTWAIT; a regular file never waits. Where the second
 * opening is refused (a terminal of another user), little pieces are written when poll(2) says so.
 */
#pragma once

#include "lib/base/base.h"

struct outlet {
    int fd;      /* to write to and to poll; -1: closed */
    bool is_own; /* to be closed by us */
    bool is_socket;
    bool must_poll;   /* a write may wait: only after POLLOUT, and not more than max_bytes */
    bool is_terminal; /* and such a write ends where a terminal asks for room once more */
    size_t max_bytes;
};

#define OUTLET_CLOSED ((struct outlet){.fd = -1})

/* fd is borrowed until outlet_close(). These never fail. */
void outlet_open(struct outlet *o, int fd);
/*
 * For who is sealed and can neither open anything again nor ask a terminal: fd as it is. Where it
 * may wait, a device of characters is written as a terminal is.
 */
void outlet_open_sealed(struct outlet *o, int fd);
void outlet_close(struct outlet *o);

/*
 * Writes what can be written without waiting; polled says that poll(2) has just found it writable.
 * Bytes written, -EAGAIN when it has to be polled, or the error.
 */
ssize_t outlet_write(struct outlet *o, const void *data, size_t size, bool polled);
