// SPDX-License-Identifier: Apache-2.0
/*
 * Files of the store: unnamed, or named by number while their descriptor is closed.
 *
 * kernel.store_dir is the sandbox's own folder. Its starter made it, and removes it with all that
 * is in it when the kernel is gone (sandbox/store.h).
 */
#pragma once

#include "kernel/core/kernel.h"

/*
 * A new empty file, read-write; its descriptor or -errno. *ret_named: the host could not make it
 * without a name, so it has the name `number`.
 */
int store_create(uint64_t number, bool *ret_named);
/* Gives an unnamed file its name. False: the host can't. */
bool store_name(int fd, uint64_t number);
/* Opens a named one again (flags O_RDWR or O_RDONLY). */
int store_open(uint64_t number, int flags);
void store_unlink(uint64_t number);
/* A read-only descriptor of what fd is open on. */
int store_reopen_read_only(int fd);
/*
 * fallocate(2) of any file of the host: 0 or -errno. Signals wait until it is over: the tmpfs of
 * older hosts gives up at any (EINTR) and takes back all that it did, so that the ticker of
 * host/linux.c would let no large request ever end.
 */
int store_allocate(int fd, int mode, off_t offset, off_t size);
/*
 * pread(2) of any file of the host, until there is no more: bytes, or -errno even behind some.
 * File systems of a network or of another program may give less than there is, or EINTR, when a
 * signal comes, as the ticker's does all the time: then the rest is asked for without any.
 */
ssize_t store_read(int fd, char *data, size_t size, off_t pos);
/* pwritev2(2) of one piece: bytes, which may be fewer, or -errno, but never for a signal. */
ssize_t store_write(int fd, const char *data, size_t size, off_t pos, int flags);
uint64_t store_next_number(void);
