// SPDX-License-Identifier: Apache-2.0
/*
 * Contents of the host's files, wherever they lie: of the store, of an image, of a mounted folder.
 * The signals that the kernel gets all the time are seen by none of its callers.
 */
#pragma once

#include "lib/base/base.h"

#include <sys/types.h>

/*
 * fallocate(2): 0 or -errno. Signals wait until it is over: the tmpfs of older hosts gives up at
 * any (EINTR) and takes back all that it did, so that the ticker of host/linux.c would let no large
 * request ever end.
 */
int host_io_allocate(int fd, int mode, off_t offset, off_t size);
/*
 * pread(2), until there is no more: bytes, or -errno even behind some. File systems of a network or
 * of another program may give less than there is, or EINTR, when a signal comes, as the ticker's
 * does all the time: then the rest is asked for without any.
 */
ssize_t host_io_read(int fd, char *data, size_t size, off_t pos);
/* pwritev2(2) of one piece: bytes, which may be fewer, or -errno, but never for a signal. */
ssize_t host_io_write(int fd, const char *data, size_t size, off_t pos, int flags);
