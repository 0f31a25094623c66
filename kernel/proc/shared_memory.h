// SPDX-License-Identifier: Apache-2.0
/*
 * Shared anonymous memory (mmap(2) MAP_SHARED without a file, or of /dev/zero). The host keeps all
 * of its pages while any part of it is mapped by anybody, and shows in no mapping how many they
 * are. So it is not its use that is bounded but its size: what may exist of it altogether is at
 * most as large as the sandbox's memory.
 *
 * Nobody tells when the last mapping goes. When there is no room, the host is asked how many there
 * still are (proc_pid_maps(5)); of so many sizes, the largest are taken to be those that live.
 */
#pragma once

#include "lib/base/base.h"

/* Before t makes memory of this size: 0, or -ENOMEM. */
struct thread;
int shared_memory_reserve(const struct thread *t, uint64_t bytes);

/* All that may exist is not more than this. */
uint64_t shared_memory_most_bytes(void);
