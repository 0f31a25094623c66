// SPDX-License-Identifier: Apache-2.0
/* Content as it is written on, with a framing that need not be the one it came with. */
#pragma once

#include "lib/http/body.h"
#include "lib/http/write.h"

struct exchange_body {
    enum http_body_kind kind;
    uint64_t chunk_left_bytes; /* of the chunk that has been announced */
};

/*
 * Appends a slice, with left_bytes more of its chunk to come. A chunk is announced with the size
 * that it came with, so that what is written does not depend on how it was cut. Room is the
 * caller's concern: 0, or as buf_append().
 */
int exchange_body_pass(struct exchange_body *b, struct buf *out, const struct http_slice *slice,
                       uint64_t left_bytes);

/* Appends content that was made here: as a chunk of its own, where there are chunks. */
int exchange_body_write(struct exchange_body *b, struct buf *out, const char *data, size_t size);

/* The content is complete. */
int exchange_body_finish(struct exchange_body *b, struct buf *out,
                         const struct http_field *trailers, size_t count);
