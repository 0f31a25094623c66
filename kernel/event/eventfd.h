// SPDX-License-Identifier: Apache-2.0
/*
 * eventfd(2): a counter that can be waited for.
 */
#pragma once

#include "kernel/fs/vfs.h"

/* flags: EFD_SEMAPHORE, EFD_NONBLOCK. */
int eventfd_create_file(uint64_t count, int flags, struct file **ret);
