// SPDX-License-Identifier: Apache-2.0
/*
 * What threads have read and written: proc_pid_io(5), counted where Linux counts it.
 *
 * Calls and characters are those of read(2), write(2) and kin, sendfile(2) and copy_file_range(2),
 * to whatever file. Bytes are those of storage. Written: what was written to files of a file system
 * that has some (super.stored); the same page twice counts twice, no page counts whole, and nothing
 * is taken back when a file is removed at once. Read: what the host fetched for this kernel while a
 * read waited for it. To both what the host counts of the task itself is added when it is asked
 * for: pages of mapped files; of an ended thread that is lost.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct call;
struct file;
struct process;
struct thread;
struct uio;

struct io_count {
    uint64_t read_chars, write_chars;
    uint64_t read_calls, write_calls;
    uint64_t read_bytes, write_bytes;
};

void io_count_add(struct io_count *sum, const struct io_count *more);

/*
 * Asked at the start of a run of a handler: it is the call's first. The call is counted after it,
 * so that a read of /proc/self/io does not find itself.
 */
bool io_count_is_new(const struct call *c);
void io_count_read_call(struct call *c, bool is_new);
void io_count_write_call(struct call *c, bool is_new);

/* The read operation of f, and what it fetched. */
ssize_t io_count_fetch(struct call *c, struct file *f, struct uio *u, off_t *pos, int flags);

/* n bytes (or an error) were moved by c. Returns n. */
ssize_t io_count_read(struct call *c, ssize_t n);
ssize_t io_count_written(struct call *c, ssize_t n);
/* And were taken by f's storage, if it has any. */
ssize_t io_count_stored(struct call *c, const struct file *f, ssize_t n);

/* Of one thread; of a process, its ended threads and the children it has waited for too. */
struct io_count io_count_of_thread(const struct thread *t);
struct io_count io_count_of_process(const struct process *p);
