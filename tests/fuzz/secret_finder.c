// SPDX-License-Identifier: Apache-2.0
/*
 * Needles and a text: what comes out does not depend on the pieces; a needle is seen when it is
 * there; without replacements all bytes come out, late by less than the longest needle.
 *
 *   byte 0: bytes of a piece, less 1; byte 1: needles; each: a byte, its size, and its bytes; then
 *   the text
 */
#include "lib/secret/finder.h"
#include "tests/fuzz/input.h"

#define NEEDLES_MAX      24
#define NEEDLE_MAX_BYTES 32
#define OUT_MAX_BYTES    (1 << 22)

static const struct finder_bytes replacements[4] = {
    {"", 0}, {"x", 1}, {"abc", 3}, {"0123456789", 10}};

static struct buf run(const struct finder *f, const struct finder_bytes *by, uint64_t active,
                      const struct input *text, size_t piece, size_t longest, uint64_t *ret_seen)
{
    struct buf out = BUF_INIT(OUT_MAX_BYTES);
    struct finder_stream s;
    finder_begin(&s, f, by, active);
    for (size_t at = 0; at < text->size; at += piece) {
        size_t n = MIN(piece, text->size - at);
        CHECK(finder_take(&s, text->data + at, n, &out) == 0);
        CHECK(active || out.size + longest > at + n || longest == 0);
    }
    CHECK(finder_end(&s, &out) == 0);
    *ret_seen = s.seen;
    return out;
}

static bool is_same(const struct buf *b, const void *data, size_t size)
{
    return b->size == size && (size == 0 || !memcmp(b->data, data, size));
}

static void check(const struct finder *f, const struct finder_needle *needles, size_t count,
                  const struct input *text, size_t piece)
{
    struct finder_bytes by[NEEDLES_MAX];
    uint64_t seen, seen_whole, there = 0;
    size_t longest = 0;
    for (size_t i = 0; i < count; i++) {
        const struct finder_bytes *b = &needles[i].bytes;
        by[i] = replacements[i % 4];
        longest = MAX(longest, b->size);
        if (memmem(text->data, text->size, b->data, b->size))
            there |= UINT64_C(1) << needles[i].tag;
    }
    struct buf whole = run(f, by, FINDER_ALL_TAGS, text, SIZE_MAX / 2, longest, &seen_whole);
    struct buf pieces = run(f, by, FINDER_ALL_TAGS, text, piece, longest, &seen);
    CHECK(is_same(&whole, pieces.data, pieces.size));
    CHECK(seen == seen_whole && seen == there);
    buf_done(&pieces);
    pieces = run(f, by, 0, text, piece, longest, &seen);
    CHECK(is_same(&pieces, text->data, text->size) && seen == there);
    buf_done(&pieces);
    buf_done(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct finder_needle needles[NEEDLES_MAX] = {0};
    struct finder *f = NULL;
    size_t piece = 1 + (size_t)input_byte(&in), count = input_byte(&in) % (NEEDLES_MAX + 1),
           kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct finder_bytes *b = &needles[kept].bytes;
        b->data = input_bytes(&in, 1 + input_byte(&in) % NEEDLE_MAX_BYTES, &b->size);
        needles[kept].tag = (unsigned)(i % 8);
        kept += b->size > 0;
    }
    CHECK(finder_new(needles, kept, &f) == 0);
    check(f, needles, kept, &in, piece);
    finder_free(f);
    return 0;
}
