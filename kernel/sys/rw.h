// SPDX-License-Identifier: Apache-2.0
/*
 * What every way of writing to a file shares: write(2) and its kin, and the copies between files.
 */
#pragma once

#include "kernel/fs/vfs.h"

#ifndef RWF_NOAPPEND
#define RWF_NOAPPEND 0x20 /* Linux 6.9: write at the given offset in spite of O_APPEND */
#endif

/*
 * Before *size bytes are written to f at pos: cuts *size to RLIMIT_FSIZE, or sends SIGXFSZ and
 * answers -EFBIG. Nothing is done for other than regular files. After a part of the call was
 * written (c->progress) *size becomes 0 without a signal: the call is over.
 */
int rw_begin_write(struct call *c, struct file *f, off_t pos, size_t *size);

/* Size and limit of a file that is to be made size bytes long: 0, or SIGXFSZ and -EFBIG. */
int rw_check_growth(struct call *c, struct inode *i, off_t size);

/* SIGPIPE to the calling thread. */
void rw_send_sigpipe(struct call *c);

/*
 * Positions that Linux refuses before it looks at the file (rw_verify_area() of its sources):
 * -EINVAL for a negative one, a size that is negative as ssize_t, or a range past the largest
 * offset.
 */
int rw_verify_range(off_t pos, size_t size);

/*
 * One read or write of the file's operation on our own memory, with the position in *pos, with what
 * belongs to it (notification; limits and SIGPIPE for writing). Bytes, or -errno, -EAGAIN too;
 * reading also READ_GOES_ON and READ_WAITS of kernel/fs/vfs.h: the caller yields.
 */
ssize_t rw_read_some(struct call *c, struct file *f, void *data, size_t size, off_t *pos);
ssize_t rw_write_some(struct call *c, struct file *f, const void *data, size_t size, off_t *pos);
