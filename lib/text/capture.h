// SPDX-License-Identifier: Apache-2.0
/*
 * Keeps the beginning and the end of a stream of any length in bounded memory, and knows how much
 * lay between them.
 *
 *   struct text_capture c;
 *   text_capture_init(&c, limit);
 *   text_capture_take(&c, data, size);         as often as there is something
 *   text_capture_end(&c, &excerpt);            0, and c is empty
 *   text_excerpt_append_valid(&excerpt, &b);
 */
#pragma once

#include "lib/base/buf.h"

#define TEXT_CAPTURE_MAX_BYTES (256u * 1024 * 1024) /* of a limit */

struct text_capture {
    struct buf head;
    char *tail; /* a ring of tail_max bytes, made when the head is full */
    size_t tail_max;
    uint64_t tail_total; /* bytes that ever went into it */
    uint64_t total_bytes;
    bool is_failed; /* memory ran out: bytes are missing */
};

/* Bytes of a stream: all of it, or its head and tail with a gap between. */
struct text_excerpt {
    struct buf kept; /* head and tail, as they came */
    size_t gap_at;   /* where in kept the tail begins; the head's size in the stream, too */
    uint64_t omitted_bytes;
    uint64_t total_bytes; /* kept.size + omitted_bytes */
};

/*
 * limit_bytes: what is kept at most, 1 to TEXT_CAPTURE_MAX_BYTES; one half is the beginning, one
 * the end. Memory is taken as the stream needs it.
 */
void text_capture_init(struct text_capture *c, size_t limit_bytes);
void text_capture_done(struct text_capture *c);

void text_capture_take(struct text_capture *c, const char *data, size_t size);

/*
 * Moves what was kept to *ret, which the caller frees with text_excerpt_done(). The gap begins and
 * ends between characters: one that it would cut is left out whole. 0, or -ENOMEM when some of the
 * stream is missing for want of memory.
 */
int text_capture_end(struct text_capture *c, struct text_excerpt *ret);

void text_excerpt_done(struct text_excerpt *e);

/*
 * Appends it as text: valid UTF-8 (utf8.h), otherwise unchanged; in the gap a line of its own that
 * says how many bytes were left out. May fail as buf_append() does.
 */
void text_excerpt_append_valid(const struct text_excerpt *e, struct buf *b);

/* The line in the gap, for whoever renders head and tail otherwise. */
void text_excerpt_append_gap(const struct text_excerpt *e, struct buf *b);
