// SPDX-License-Identifier: Apache-2.0
/*
 * The three kinds of advisory locks: POSIX record locks of a process, OFD locks of an open file
 * description (fcntl(2)), flock(2). They hang off the inode.
 *
 * Record locks know only their owner, an address that is never looked into: the descriptor table of
 * the process, as on Linux, or the open file. Before an owner goes, lock_close() or lock_release()
 * must have been called for every file it could have locked.
 */
#pragma once

#include "kernel/fs/vfs.h"

struct file_lock_set;

/*
 * fcntl F_GETLK, F_SETLK, F_SETLKW and the F_OFD_* forms: whole call, parks for W. -EDEADLK is
 * detected. owner: the process (its fdtable owner pointer), pid: what F_GETLK of others reports.
 */
long lock_fcntl(struct file *f, struct call *c, int command, struct gaddr flock_address,
                const void *owner, pid_t pid);
/* pid: what /proc/locks says. */
long lock_flock(struct file *f, struct call *c, int operation, pid_t pid);

/*
 * A parked call holds its file: when it is run again, it goes on with this one, whatever became of
 * the descriptor. NULL on the first run.
 */
struct file *lock_waiting_file(const struct call *c);

/* close(2) of any descriptor of the inode drops the process's record locks on it. */
void lock_close(struct file *f, const void *owner);
/* The last reference of an open file description: drops flock and OFD locks. */
void lock_release(struct file *f);
/* All locks that are held, as the lines of /proc/locks: proc(5). */
void lock_describe_all(struct buf *b);
/* Those that f, or the process with this descriptor table, holds: lines of /proc/PID/fdinfo/FD. */
void lock_describe_file(const struct file *f, const void *owner, struct buf *b);
/* Frees a set when its inode goes. */
void lock_set_free(struct file_lock_set *set);
