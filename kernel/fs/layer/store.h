// SPDX-License-Identifier: Apache-2.0
/*
 * Files of the store: unnamed, or named by number while their descriptor is closed.
 *
 * kernel.store_dir is a folder that others use too, so what needs a name gets it in a folder of the
 * sandbox's own, made at first need. It is locked (flock) as long as the kernel lives: what a
 * killed one left behind is removed by the next kernel that starts there.
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

/* Removes the folders of kernels that are gone. At start-up; failures do no harm. */
void store_sweep(void);
/* Removes the own folder, at the end. */
void store_remove(void);
