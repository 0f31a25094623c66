// SPDX-License-Identifier: Apache-2.0
#include "kernel/fs/layer/pageset.h"

#include "kernel/core/limits.h"

#define LOW_PAGES   64
#define CHUNK_PAGES 512
#define CHUNK_WORDS (CHUNK_PAGES / 64)

struct chunk {
    uint64_t bits[CHUNK_WORDS];
};

/* Stands in the map for a chunk whose pages are all in the set. */
static struct chunk full_chunk = {{~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL}};

static size_t chunk_total;

static void chunk_free(struct chunk *c)
{
    if (!c || c == &full_chunk)
        return;
    chunk_total--;
    free(c);
}

void pageset_done(struct pageset *s)
{
    size_t cursor = 0;
    uint64_t key;
    void *value;
    while (map_next(&s->high, &cursor, &key, &value))
        chunk_free(value);
    map_done(&s->high);
    *s = (struct pageset){0};
}

/* Bits [from, to) of a word, to at most 64. */
static uint64_t word_mask(unsigned from, unsigned to)
{
    uint64_t below_to = to == 64 ? ~0ULL : (1ULL << to) - 1;
    return below_to & ~((1ULL << from) - 1);
}

/* Pages of [from, to) that are set. */
static unsigned bits_count(const uint64_t *bits, unsigned from, unsigned to)
{
    unsigned count = 0;
    for (unsigned at = from; at < to; at = (at | 63) + 1)
        count += (unsigned)__builtin_popcountll(bits[at / 64] &
                                                word_mask(at % 64, MIN(to - (at & ~63u), 64u)));
    return count;
}

static void bits_set(uint64_t *bits, unsigned from, unsigned to, bool value)
{
    for (unsigned at = from; at < to; at = (at | 63) + 1) {
        uint64_t mask = word_mask(at % 64, MIN(to - (at & ~63u), 64u));
        bits[at / 64] = value ? bits[at / 64] | mask : bits[at / 64] & ~mask;
    }
}

static unsigned chunk_count(const struct chunk *c, unsigned from, unsigned to)
{
    return c ? bits_count(c->bits, from, to) : 0;
}

/* The part of [from, to) that lies in the chunk of page `from`. */
static unsigned chunk_end(uint64_t from, uint64_t to)
{
    uint64_t start = from - from % CHUNK_PAGES;
    return (unsigned)MIN(to - start, (uint64_t)CHUNK_PAGES);
}

/* Whether [from, to) has more chunks than there are in the set: one byte at 16 TiB makes that
 * millions, for each of which there would be a look. */
static bool is_mostly_holes(const struct pageset *s, uint64_t from, uint64_t to)
{
    return from < to && (to - from) / CHUNK_PAGES > s->high.capacity;
}

/* The part of [from, to) in that chunk, as pages of it; false: there is none. */
static bool chunk_overlap(uint64_t number, uint64_t from, uint64_t to, unsigned *ret_from,
                          unsigned *ret_to)
{
    uint64_t start = number * CHUNK_PAGES;
    if (from >= start + CHUNK_PAGES || to <= start)
        return false;
    *ret_from = (unsigned)(MAX(from, start) - start);
    *ret_to = (unsigned)(MIN(to, start + CHUNK_PAGES) - start);
    return true;
}

/* Pages of [from, to) that are in chunks. */
static uint64_t count_by_chunk(const struct pageset *s, uint64_t from, uint64_t to)
{
    uint64_t number, present = 0;
    size_t cursor = 0;
    unsigned first, last;
    void *c;
    while (map_next(&s->high, &cursor, &number, &c))
        if (chunk_overlap(number, from, to, &first, &last))
            present += chunk_count(c, first, last);
    return present;
}

uint64_t pageset_count_missing(const struct pageset *s, uint64_t from, uint64_t to)
{
    if (from >= to)
        return 0;
    uint64_t present = 0, total = to - from;
    if (from < LOW_PAGES)
        present += bits_count(&s->low, (unsigned)from, (unsigned)MIN(to, (uint64_t)LOW_PAGES));
    uint64_t stop = MIN(to, s->end), at = MAX(from, (uint64_t)LOW_PAGES);
    if (is_mostly_holes(s, at, stop))
        return total - present - count_by_chunk(s, at, stop);
    for (; at < stop; at = at - at % CHUNK_PAGES + CHUNK_PAGES)
        present += chunk_count(map_get(&s->high, at / CHUNK_PAGES), (unsigned)(at % CHUNK_PAGES),
                               chunk_end(at, stop));
    return total - present;
}

/* The chunk with room for changes of its own. NULL when out of memory. */
static struct chunk *chunk_own(struct pageset *s, uint64_t number)
{
    struct chunk *c = map_get(&s->high, number);
    if (c && c != &full_chunk)
        return c;
    struct chunk *own = chunk_total < LIMIT_PAGESET_CHUNKS ? calloc(1, sizeof(*own)) : NULL;
    if (!own)
        return NULL;
    if (c)
        *own = *c;
    if (map_set(&s->high, number, own) < 0) {
        free(own);
        return NULL;
    }
    chunk_total++;
    return own;
}

static int chunk_add(struct pageset *s, uint64_t number, unsigned from, unsigned to)
{
    struct chunk *c = map_get(&s->high, number);
    unsigned present = chunk_count(c, from, to);
    if (present == to - from)
        return 0;
    if (chunk_count(c, 0, CHUNK_PAGES) + (to - from) - present == CHUNK_PAGES) {
        int r = map_set(&s->high, number, &full_chunk);
        if (r < 0)
            return r;
        chunk_free(c);
    } else {
        c = chunk_own(s, number);
        if (!c)
            return -ENOMEM;
        bits_set(c->bits, from, to, true);
    }
    s->count += to - from - present;
    return 0;
}

int pageset_add(struct pageset *s, uint64_t from, uint64_t to)
{
    if (from >= to)
        return 0;
    if (from < LOW_PAGES) {
        unsigned stop = (unsigned)MIN(to, (uint64_t)LOW_PAGES);
        s->count += stop - from - bits_count(&s->low, (unsigned)from, stop);
        bits_set(&s->low, (unsigned)from, stop, true);
    }
    for (uint64_t at = MAX(from, (uint64_t)LOW_PAGES); at < to;
         at = at - at % CHUNK_PAGES + CHUNK_PAGES) {
        unsigned stop = chunk_end(at, to);
        int r = chunk_add(s, at / CHUNK_PAGES, (unsigned)(at % CHUNK_PAGES), stop);
        if (r < 0)
            return r;
        s->end = MAX(s->end, at - at % CHUNK_PAGES + stop);
    }
    s->end = MAX(s->end, MIN(to, (uint64_t)LOW_PAGES));
    return 0;
}

static void chunk_remove(struct pageset *s, uint64_t number, unsigned from, unsigned to)
{
    struct chunk *c = map_get(&s->high, number);
    unsigned present = chunk_count(c, from, to);
    if (present == 0)
        return;
    if (present == chunk_count(c, 0, CHUNK_PAGES)) {
        chunk_free(map_remove(&s->high, number));
    } else {
        c = chunk_own(s, number);
        if (!c)
            return;
        bits_set(c->bits, from, to, false);
    }
    s->count -= present;
}

/* All of the numbers first: the map must not change while it is walked. False: out of memory. */
static bool remove_by_chunk(struct pageset *s, uint64_t from, uint64_t to)
{
    _cleanup_free_ uint64_t *numbers = calloc(s->high.count + 1, sizeof(*numbers));
    size_t cursor = 0, count = 0;
    unsigned first, last;
    void *c;
    if (!numbers)
        return false;
    while (map_next(&s->high, &cursor, &numbers[count], &c))
        count++;
    for (size_t i = 0; i < count; i++)
        if (chunk_overlap(numbers[i], from, to, &first, &last))
            chunk_remove(s, numbers[i], first, last);
    return true;
}

void pageset_remove(struct pageset *s, uint64_t from, uint64_t to)
{
    uint64_t stop = MIN(to, s->end);
    if (from >= stop)
        return;
    if (from < LOW_PAGES) {
        unsigned low_stop = (unsigned)MIN(stop, (uint64_t)LOW_PAGES);
        s->count -= bits_count(&s->low, (unsigned)from, low_stop);
        bits_set(&s->low, (unsigned)from, low_stop, false);
    }
    uint64_t at = MAX(from, (uint64_t)LOW_PAGES);
    if (is_mostly_holes(s, at, stop) && remove_by_chunk(s, at, stop))
        at = stop;
    for (; at < stop; at = at - at % CHUNK_PAGES + CHUNK_PAGES)
        chunk_remove(s, at / CHUNK_PAGES, (unsigned)(at % CHUNK_PAGES), chunk_end(at, stop));
    if (to >= s->end)
        s->end = MIN(s->end, from);
}

bool pageset_has(const struct pageset *s, uint64_t page)
{
    return pageset_count_missing(s, page, page + 1) == 0;
}
