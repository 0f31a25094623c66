// SPDX-License-Identifier: Apache-2.0
/*
 * Memory that the host holds for guests and that is in no task's nor in this process's resident
 * set: memory files, System V segments, files of a store that lies in memory. Whoever makes such
 * memory says here how much it is.
 */
#pragma once

#include "lib/base/list.h"

struct held_memory {
    uint64_t (*bytes)(void); /* now; asked many times a second while memory is short */
    struct list link;
};

/* Counts h from now on, for good; nothing happens the second time. */
void held_memory_add(struct held_memory *h);

uint64_t held_memory_bytes(void);
