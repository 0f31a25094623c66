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
uint64_t store_next_number(void);
