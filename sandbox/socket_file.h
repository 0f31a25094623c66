// SPDX-License-Identifier: Apache-2.0
/*
 * The socket of a running sandbox in its user's registry, beside its record, as .NAME: of type
 * SOCK_SEQPACKET, non-blocking. It is removed with the record, also when its starter was killed.
 */
#pragma once

#include "sandbox/registry.h"

/* Of the sandbox that r has entered. A descriptor or negative errno. */
int socket_file_listen(const struct registry *r, int backlog);

/*
 * To the one of that name. A descriptor (blocking) or negative errno: -ENOENT, -ECONNREFUSED: there
 * is none.
 */
int socket_file_connect(const struct registry *r, const char *name);

/* One message with a descriptor. 0 or negative errno; does not wait. */
int socket_file_send(int socket, const void *data, size_t size, int fd);

/*
 * One message, and the descriptor that came with it, or -1. Its size, also when it is more than
 * fits; 0: the end; negative errno, -EAGAIN: nothing is there.
 */
ssize_t socket_file_receive(int socket, void *data, size_t size, int *ret_fd);
