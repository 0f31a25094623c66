// SPDX-License-Identifier: Apache-2.0
/*
 * The sockets of a running sandbox in its user's registry, beside its record, as .NAME and a
 * suffix: of type SOCK_SEQPACKET, non-blocking. They are removed with the record, also when its
 * starter was killed.
 */
#pragma once

#include "sandbox/registry.h"

/* What they are for; no suffix can be the end of a name. */
#define SOCKET_FILE_UPDATES ""       /* sandbox/updates.h; only with a gateway */
#define SOCKET_FILE_COPIES  "+copy"  /* sandbox/copies.h */
#define SOCKET_FILE_EXECS   "+exec"  /* sandbox/execs.h */
#define SOCKET_FILE_FILES   "+files" /* sandbox/files.h */
#define SOCKET_FILE_PORTS   "+port"  /* sandbox/ports.h */

int socket_file_listen_as(const struct registry *r, const char *suffix, int backlog);
/* To that of the sandbox of that name. A descriptor (blocking), or negative errno: -ENOENT,
 * -ECONNREFUSED: there is none. */
int socket_file_connect_as(const struct registry *r, const char *name, const char *suffix);

/* Likewise, non-blocking, and waits for nobody: -EAGAIN: too many wait there. */
int socket_file_connect_at_once(const struct registry *r, const char *name, const char *suffix);

/* Likewise, blocking: -ETIMEDOUT: so many wait there that there was no place for so long; -EINTR.
 */
int socket_file_connect_within(const struct registry *r, const char *name, const char *suffix,
                               int limit_ms);

/* Of the sandbox that r has entered. A descriptor or negative errno. */
static inline int socket_file_listen(const struct registry *r, int backlog)
{
    return socket_file_listen_as(r, SOCKET_FILE_UPDATES, backlog);
}

/*
 * Who connected next, non-blocking, when it is of the same user, as the host says (SO_PEERCRED).
 * Negative errno: nobody.
 */
int socket_file_accept(int listener);

/* How long nobody is let in when there is no descriptor for him: others of the process, or of the
 * machine, may be in the way. */
#define SOCKET_FILE_REST_NS (50 * NSEC_PER_MSEC)

/* Whether that is why nobody was accepted: who connects stays, and the listener is told of again
 * and again. error: negative. */
bool socket_file_is_short(int error);

/* To that of a running sandbox of this user's, wherever its registry is. A descriptor (blocking),
 * or negative errno, -ENOENT: there is none, with the sentence. */
int socket_file_reach(const char *name, const char *suffix, struct sandbox_error *e);

/* One message with a descriptor. 0 or negative errno; does not wait. */
int socket_file_send(int socket, const void *data, size_t size, int fd);

/*
 * One message, and the descriptor that came with it, or -1. Its size, also when it is more than
 * fits; 0: the end; negative errno, -EAGAIN: nothing is there.
 */
ssize_t socket_file_receive(int socket, void *data, size_t size, int *ret_fd);
