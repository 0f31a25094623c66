// SPDX-License-Identifier: Apache-2.0
/*
 * What dev_super_new() of kernel/fs/filesystems.h needs from the start-up.
 */
#pragma once

#include "kernel/host/hostfd.h"

/*
 * The host's /dev/zero, opened for reading and writing (taken over): what mmap(2) of the sandbox's
 * /dev/zero maps. Without it such a mapping is ENODEV.
 */
void dev_set_zero(struct hostfd zero);
