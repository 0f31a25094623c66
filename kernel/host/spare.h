// SPDX-License-Identifier: Apache-2.0
/*
 * Descriptors that are there when all are in use.
 *
 * Guests can make this process use up its descriptors: memory files, files of mounted folders,
 * processes. What it reads in /proc to hold them to their limits must not fail for that, and a
 * process must not come into being that it can't watch. So a few descriptors are kept open, and
 * given up for such a purpose when there is no other; and one for each process that is on its way.
 */
#pragma once

#include "kernel/host/hostfd.h"

/* Keeps the spare ones from now on: descriptors of dir (borrowed), which is /proc. 0 or -errno. */
int spare_start(struct hostfd dir);

/* openat(2) of a name below dir, with a spare descriptor when there is no other: it, or -errno. */
int spare_open(struct hostfd dir, const char *name, int flags);

/* After a descriptor of spare_open() was closed, by whomever: what was given up is kept again. */
void spare_refill(void);

/*
 * A descriptor that stands for one that will be needed. 0; or -EMFILE, -ENFILE: there is none. None
 * is kept before spare_start().
 */
int spare_reserve(struct hostfd *ret);

/* Gives one back that was not needed after all: the next to be reserved, or closed. */
void spare_unreserve(struct hostfd *fd);
