// SPDX-License-Identifier: Apache-2.0
/*
 * The last step of calls that make a descriptor.
 */
#pragma once

#include "kernel/fs/vfs.h"

/* Gives f (taken over, put on failure) the lowest free number of the caller: it, -EMFILE, -ENOMEM.
 */
long new_fd_install(struct call *c, struct file *f, bool cloexec);
