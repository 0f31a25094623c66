// SPDX-License-Identifier: Apache-2.0
/*
 * signalfd(2): reads the pending signals of whoever reads, not of who made it.
 */
#pragma once

#include "kernel/fs/vfs.h"
#include "kernel/proc/signal.h"

/* flags: SFD_NONBLOCK. */
int signalfd_create_file(sigmask_t mask, int flags, struct file **ret);

/* False: f is no signalfd. */
bool signalfd_set_mask(struct file *f, sigmask_t mask);
