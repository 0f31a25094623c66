// SPDX-License-Identifier: Apache-2.0
#include "lib/base/map.h"

#define MAP_SMALLEST 16

static uint64_t seed_value = 0x9e3779b97f4a7c15ULL;

void map_seed(uint64_t seed)
{
    seed_value = seed | 1;
}

/* The finaliser of splitmix64 over the key and a secret seed. */
static uint64_t mix(uint64_t x)
{
    x ^= seed_value;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

uint64_t map_hash_bytes(const void *data, size_t size)
{
    const unsigned char *p = data;
    uint64_t hash = mix(size);
    while (size >= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        hash = mix(hash ^ word);
        p += 8;
        size -= 8;
    }
    uint64_t tail = 0;
    memcpy(&tail, p, size);
    return mix(hash ^ tail);
}

void map_done(struct map *m)
{
    free(m->slots);
    *m = (struct map){0};
}

static struct map_slot *map_find(const struct map *m, uint64_t key)
{
    size_t mask = m->capacity - 1;
    for (size_t i = mix(key) & mask;; i = (i + 1) & mask) {
        struct map_slot *slot = &m->slots[i];
        if (!slot->value || slot->key == key)
            return slot;
    }
}

void *map_get(const struct map *m, uint64_t key)
{
    return m->count ? map_find(m, key)->value : NULL;
}

static int map_grow(struct map *m)
{
    size_t capacity = m->capacity ? m->capacity * 2 : MAP_SMALLEST;
    struct map bigger = {calloc(capacity, sizeof(struct map_slot)), capacity, m->count};
    if (!bigger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < m->capacity; i++)
        if (m->slots[i].value)
            *map_find(&bigger, m->slots[i].key) = m->slots[i];
    free(m->slots);
    *m = bigger;
    return 0;
}

int map_set(struct map *m, uint64_t key, void *value)
{
    if ((m->count + 1) * 4 > m->capacity * 3) {
        int r = map_grow(m);
        if (r < 0)
            return r;
    }
    struct map_slot *slot = map_find(m, key);
    if (!slot->value)
        m->count++;
    slot->key = key;
    slot->value = value;
    return 0;
}

void *map_remove(struct map *m, uint64_t key)
{
    if (!m->count)
        return NULL;
    struct map_slot *slot = map_find(m, key);
    void *value = slot->value;
    if (!value)
        return NULL;
    slot->value = NULL;
    m->count--;
    /* Entries behind the hole that were pushed past it move back, so that no tombstones are needed.
     */
    size_t mask = m->capacity - 1;
    size_t hole = (size_t)(slot - m->slots);
    for (size_t i = (hole + 1) & mask; m->slots[i].value; i = (i + 1) & mask) {
        size_t home = mix(m->slots[i].key) & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            m->slots[hole] = m->slots[i];
            m->slots[i].value = NULL;
            hole = i;
        }
    }
    return value;
}

bool map_next(const struct map *m, size_t *cursor, uint64_t *ret_key, void **ret_value)
{
    for (size_t i = *cursor; i < m->capacity; i++) {
        if (!m->slots[i].value)
            continue;
        *cursor = i + 1;
        *ret_key = m->slots[i].key;
        *ret_value = m->slots[i].value;
        return true;
    }
    return false;
}
