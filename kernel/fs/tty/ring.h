// SPDX-License-Identifier: Apache-2.0
/*
 * A byte queue over storage of a fixed size that somebody else owns.
 */
#pragma once

#include "lib/base/base.h"

struct ring {
    uint8_t *data;
    size_t capacity;
    size_t start; /* of the oldest byte */
    size_t count;
};

static inline void ring_init(struct ring *r, uint8_t *data, size_t capacity)
{
    *r = (struct ring){.data = data, .capacity = capacity};
}

/* Appends up to size bytes; the number that there was room for. */
static inline size_t ring_put(struct ring *r, const void *data, size_t size)
{
    size = MIN(size, r->capacity - r->count);
    size_t end = (r->start + r->count) % r->capacity;
    size_t first = MIN(size, r->capacity - end);
    if (first)
        memcpy(r->data + end, data, first);
    if (size > first)
        memcpy(r->data, (const uint8_t *)data + first, size - first);
    r->count += size;
    return size;
}

/* The oldest bytes that lie in one piece: their number, 0 when the ring is empty. */
static inline size_t ring_front(const struct ring *r, const uint8_t **ret)
{
    *ret = r->data + r->start;
    return MIN(r->count, r->capacity - r->start);
}

/* Drops the oldest size bytes (at most all). */
static inline void ring_drop(struct ring *r, size_t size)
{
    size = MIN(size, r->count);
    r->start = (r->start + size) % r->capacity;
    r->count -= size;
}

/* Drops the newest bytes, so that at most count are left. */
static inline void ring_keep(struct ring *r, size_t count)
{
    r->count = MIN(r->count, count);
}
