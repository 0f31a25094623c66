// SPDX-License-Identifier: Apache-2.0
/*
 * Which pages of a file hold data: a set of page numbers that is small for files without holes and
 * proportional to the data for files with many. The first 64 pages need no memory of their own.
 */
#pragma once

#include "lib/base/map.h"

struct pageset {
    uint64_t count;  /* pages in the set */
    uint64_t low;    /* pages 0..63 */
    uint64_t end;    /* no page in the set is at or above */
    struct map high; /* chunk number -> bits of its pages, or all of them */
};

/* A set of all zero bytes is a valid empty set. */
void pageset_done(struct pageset *s);

/* Pages of [from, to) that are not in the set. */
uint64_t pageset_count_missing(const struct pageset *s, uint64_t from, uint64_t to);

/* Adds [from, to). 0 or -ENOMEM (then some may have been added). */
int pageset_add(struct pageset *s, uint64_t from, uint64_t to);

/* Takes [from, to) out. A chunk that can't be split for want of memory stays whole. */
void pageset_remove(struct pageset *s, uint64_t from, uint64_t to);

/* page is in the set. */
bool pageset_has(const struct pageset *s, uint64_t page);
