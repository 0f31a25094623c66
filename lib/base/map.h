// SPDX-License-Identifier: Apache-2.0
/*
 * Hash map from a 64-bit key to a pointer: open addressing, keyed hash (a guest that chooses keys
 * can't make it slow), grows by doubling, never shrinks below its smallest table.
 */
#pragma once

#include "lib/base/base.h"

struct map_slot {
    uint64_t key;
    void *value; /* NULL: free */
};

struct map {
    struct map_slot *slots;
    size_t capacity; /* a power of two, or 0 before the first insertion */
    size_t count;
};

/* A map of all zero bytes is a valid empty map. */
void map_done(struct map *m);

/* The value of key, or NULL. */
void *map_get(const struct map *m, uint64_t key);

/* Sets key to value (not NULL), replacing what was there. 0 or -ENOMEM. */
int map_set(struct map *m, uint64_t key, void *value);

/* Removes key; returns what it held, or NULL. */
void *map_remove(struct map *m, uint64_t key);

/* Walks all entries in no order: cursor starts at 0; false at the end. The map must not change. */
bool map_next(const struct map *m, size_t *cursor, uint64_t *ret_key, void **ret_value);

/* Seeds the hash of every map and string hash of this process. Call once, before the first map. */
void map_seed(uint64_t seed);

/* Keyed hash of a byte string, for tables that are keyed by names. */
uint64_t map_hash_bytes(const void *data, size_t size);
