// SPDX-License-Identifier: Apache-2.0
/*
 * The sandbox's memory limit where no cgroup of the host enforces it: the kernel watches
 * (proc/meter.h) what is held (proc/memory_use.h), and past the limit it kills the process that
 * holds most, as the host's out-of-memory killer does.
 *
 * It is less exact than a cgroup: memory can be over the limit for as long as it takes to see it
 * and to kill, some 10 ms. What the host would fill in one go without a look being possible is
 * asked about beforehand: memory_limit_admits().
 */
#pragma once

#include "kernel/proc/process.h"

/* Begins to watch, when kernel.config says so. */
void memory_limit_start(void);

/* The host may fill so many bytes of memory in a single call. False: that would pass the limit. */
bool memory_limit_admits(uint64_t bytes);
