// SPDX-License-Identifier: Apache-2.0
/*
 * Descriptor table of a process: number -> open file, close-on-exec flag. Shared by threads
 * (CLONE_FILES), copied by fork.
 *
 * host_slot: what the host's descriptor table of the tasks holds at the same number. Only mmap(2)
 * of a file and execveat(2) put something there (see sys/mm.c); it is inert, since no other call
 * that takes a descriptor reaches the host.
 */
#pragma once

#include "kernel/core/limits.h"
#include "kernel/fs/vfs.h"

#define FD_LIMIT LIMIT_DESCRIPTORS /* hard ceiling of RLIMIT_NOFILE in a sandbox */

#define HOST_SLOT_NONE    0
#define HOST_SLOT_UNKNOWN 1 /* the host has something, and mmap must not rely on what */

struct fd_entry {
    struct file *file; /* NULL: free */
    bool cloexec;
    uint64_t host_slot; /* HOST_SLOT_*, or identifies the mapped object */
};

struct fdtable {
    size_t refs;
    size_t capacity;
    size_t first_free; /* no free number is below this */
    struct fd_entry *entries;
};

struct fdtable *fdtable_new(void);                     /* NULL when out of memory */
struct fdtable *fdtable_copy(const struct fdtable *t); /* counts every file */
struct fdtable *fdtable_get(struct fdtable *t);
void fdtable_put(struct fdtable *t);

/* The file of fd, borrowed, or NULL (-EBADF). */
struct file *fdtable_file(const struct fdtable *t, int fd);
struct fd_entry *fdtable_entry(const struct fdtable *t, int fd);

/*
 * Puts a file (takes over the reference on success only) at the lowest free number >= from, below
 * limit (RLIMIT_NOFILE). The number, -EMFILE, -EINVAL (from >= limit), -ENOMEM.
 */
int fdtable_install(struct fdtable *t, struct file *f, int from, size_t limit, bool cloexec);

/* As dup2: puts the file at exactly fd, closing what was there. fd, -EBADF (over the limit),
 * -ENOMEM. */
int fdtable_install_at(struct fdtable *t, struct file *f, int fd, size_t limit, bool cloexec);

/*
 * Closes fd; -EBADF. owner identifies the process for POSIX locks (fcntl(2)): the table itself, as
 * on Linux; fdtable_put() and fdtable_install_at() give it as owner.
 */
int fdtable_close(struct fdtable *t, int fd, const void *owner);

/* exec: closes what is close-on-exec, and forgets every host slot. */
void fdtable_exec(struct fdtable *t, const void *owner);
