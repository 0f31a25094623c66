// SPDX-License-Identifier: Apache-2.0
/*
 * Memory that lives and ends with one policy.
 */
#pragma once

#include "lib/base/base.h"

struct arena_piece {
    struct arena_piece *next;
    size_t used, capacity;
    char data[] __attribute__((aligned(16)));
};

struct arena {
    struct arena_piece *pieces; /* the one that is being filled first; {0} is an empty arena */
};

void arena_done(struct arena *a);

/* count elements of size bytes, all zeros; NULL when memory runs out. count may be 0. */
void *arena_new(struct arena *a, size_t count, size_t size);

char *arena_copy(struct arena *a, const char *text, size_t size);
