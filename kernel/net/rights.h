// SPDX-License-Identifier: Apache-2.0
/*
 * Open files on their way from one process to another: SCM_RIGHTS of unix(7).
 *
 * Rules. A set is `in flight` from the time it is put into a message until it is received or
 * dropped; then each file counts against the sender's user (RLIMIT_NOFILE, ETOOMANYREFS) and
 * against LIMIT_FILES_IN_FLIGHT, and for a unix socket among them its own `in_flight` count grows.
 *
 * A socket can lie in its own queue, or two in each other's: then no process can reach them, yet
 * each keeps the other. rights_collect() finds such sockets: those all of whose references come
 * from queues of sockets that are themselves only reachable that way. It is run shortly after a
 * descriptor of a unix socket was closed, from a timer, never within another operation.
 */
#pragma once

#include "kernel/fs/vfs.h"
#include "lib/base/list.h"

#define RIGHTS_MAX 253 /* SCM_MAX_FD */

struct rights {
    struct list link; /* among those that are to be dropped */
    size_t count;
    uid_t user; /* whom they count against while in flight */
    bool in_flight;
    size_t capacity;
    struct file *files[];
};

/* An empty set for up to capacity files. NULL when out of memory. */
struct rights *rights_new(size_t capacity);
/* Drops the set and its files; safe at any depth of sockets within sockets. NULL is none. */
void rights_free(struct rights *r);
static inline void rights_freep(struct rights **r)
{
    rights_free(*r);
}
#define _cleanup_rights_ __attribute__((cleanup(rights_freep)))

/* Adds a file, counted; -EINVAL when the set is full. */
int rights_add(struct rights *r, struct file *f);
/* A set of the same files, not in flight (MSG_PEEK). NULL when out of memory. */
struct rights *rights_copy(const struct rights *r);

/*
 * Marks r in flight for this user. soft_limit: RLIMIT_NOFILE; privileged senders are held only to
 * the sandbox's own limit. -ETOOMANYREFS, -ENOMEM.
 */
int rights_launch(struct rights *r, uid_t user, size_t soft_limit, bool privileged);
/* Marks r received: no longer in flight. */
void rights_land(struct rights *r);

/* A descriptor of a unix socket was closed: what has become unreachable is collected soon. */
void rights_collect_soon(void);
/* Finds and drops what no process can reach any more, unless that has just been done. */
void rights_collect(void);
