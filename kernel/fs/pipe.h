// SPDX-License-Identifier: Apache-2.0
/*
 * Pipes and FIFOs: pipe(7), fifo(7).
 */
#pragma once

#include "kernel/fs/vfs.h"

struct pipe;

/* Both ends of a new pipe. flags: O_NONBLOCK, O_DIRECT, O_CLOEXEC is the caller's. */
int pipe_create(int flags, struct file **ret_read, struct file **ret_write);

/*
 * What the inode of a FIFO has as file_ops. Its `open` registers the new end at once (ENXIO for a
 * writer that would not wait and finds no reader) and wakes the other side; the file that comes out
 * is in a half state until the other side was there once: pipe_open_is_complete(). Putting the file
 * takes the end back, so an interrupted open(2) needs nothing else.
 */
extern const struct file_ops pipe_file_ops;
/* True for every file that is not a FIFO still waiting for its other side. */
bool pipe_open_is_complete(const struct file *f);

/*
 * open(2) of a FIFO: waits for the other side as fifo(7) says. Called again at each wake-up until
 * it answers 0 with *ret set, or an error; -EAGAIN means: wait on pipe_open_queue(inode). state is
 * a word of the call that must be 0 at first; p is looked at only then. It holds the end that is
 * registered meanwhile: a call that ends otherwise gives it to pipe_open_cancel().
 */
int pipe_open_fifo(struct path p, int flags, uint64_t *state, struct file **ret);
void pipe_open_cancel(uint64_t *state);
/* Of an inode that has an end open or half open. */
struct waitq *pipe_open_queue(struct inode *i);

/* The pipe of a file, or NULL when it is none. */
struct pipe *pipe_of(const struct file *f);

/* fcntl F_GETPIPE_SZ, F_SETPIPE_SZ (bytes); -EBUSY, -EPERM. */
long pipe_size(struct pipe *p);
long pipe_set_size(struct pipe *p, size_t bytes, bool privileged);

/* Plain access for splice, tee and vmsplice: bytes available, free, copy without consuming. */
size_t pipe_readable_bytes(const struct pipe *p);
size_t pipe_writable_bytes(const struct pipe *p);
bool pipe_has_writer(const struct pipe *p);
bool pipe_has_reader(const struct pipe *p);
/* Copies out up to size bytes from offset without consuming; then pipe_consume(). */
size_t pipe_peek(const struct pipe *p, size_t offset, void *data, size_t size);
void pipe_consume(struct pipe *p, size_t size);
/* Appends up to size bytes; the number taken, or -EPIPE without readers, -EAGAIN when full. */
ssize_t pipe_append(struct pipe *p, const void *data, size_t size);
