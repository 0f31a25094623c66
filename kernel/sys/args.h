// SPDX-License-Identifier: Apache-2.0
/*
 * What the families that deal with files ask of their arguments: descriptors, names, ranges; and
 * how a parked call keeps hold of its files.
 *
 * A blocked call of Linux holds its open file description: another thread that closes the
 * descriptor, or opens another file at its number, does not disturb it. Here the handler is run
 * again from its start, so what it looked up the first time stands in c->state while it is parked.
 */
#pragma once

#include "kernel/fs/vfs.h"

/* access_ok() of Linux: what makes a transfer EFAULT before anything else is looked at. */
bool args_range_ok(struct gaddr addr, size_t size);

/* The file of a descriptor, borrowed. NULL: -EBADF; args_file() gives no O_PATH files. */
struct file *args_file(const struct call *c, int fd);
struct file *args_any_file(const struct call *c, int fd);

/* Copies a path of at most GUEST_PATH_MAX bytes. -EFAULT, -ENAMETOOLONG; args_path(): -ENOENT for
 * "". */
int args_path(const struct call *c, struct gaddr addr, char *name);
int args_path_or_empty(const struct call *c, struct gaddr addr, char *name);

/* As args_path_or_empty() when AT_EMPTY_PATH is in at_flags (then a null pointer is "" too). */
int args_path_at(const struct call *c, struct gaddr addr, int at_flags, char *name);

/* Where the walk of name begins: dirfd is looked at only if name is relative. -EBADF, -ENOTDIR. */
int args_base(const struct call *c, int dirfd, const char *name, struct walk_base *ret);

/*
 * Resolves name for the calling thread: counted path. With WALK_EMPTY_OK, "" is whatever dirfd is
 * open on, be it no directory at all. cred NULL: the thread's.
 */
int args_walk(const struct call *c, int dirfd, const char *name, unsigned walk_flags,
              const struct cred *cred, struct path *ret);

/* Path put in the cleanup of a variable. */
#define _cleanup_path_ __attribute__((cleanup(path_put)))

/* The file that this parked call holds, or what fd is now (as args_file()). */
struct file *args_held_file(const struct call *c, int fd);

/* file_park() on f, which the call holds from now on. */
long args_park(struct call *c, struct file *f, uint32_t events);

/* The same for calls between two files; args_held_pair() is false on -EBADF. */
bool args_held_pair(const struct call *c, int fd_in, int fd_out, struct file **ret_in,
                    struct file **ret_out);
long args_park_pair(struct call *c, struct file *in, struct file *out, struct file *on,
                    uint32_t events);

/*
 * Ends this run of a long transfer so that others get their turn: the handler goes on in the next
 * round of the main loop, or, if it waits for something that nobody wakes it for, after a moment;
 * at c->progress. Signals wait until it is through.
 */
long args_yield(struct call *c, struct file *f, bool waits);
long args_yield_pair(struct call *c, struct file *in, struct file *out, bool waits);
