// SPDX-License-Identifier: Apache-2.0
/*
 * What the targets of lib/http have in common: an account of all that was read, which must be the
 * same in whatever pieces it came.
 */
#pragma once

#include "lib/http/body.h"
#include "lib/http/syntax.h"
#include "tests/fuzz/input.h"

#define TALK_MAX_BYTES    (1 << 20)
#define TALK_MESSAGES_MAX 8

/* For heads that the writer made: it adds fields to those that came in. */
#define TALK_LIMITS_OF_WRITTEN                                      \
    ((struct http_limits){.line_bytes = HTTP_LINE_MAX_BYTES + 1024, \
                          .head_bytes = 2 * HTTP_HEAD_MAX_BYTES,    \
                          .fields = HTTP_FIELDS_MAX + 8})

static inline void talk_fields(struct buf *account, const struct http_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        CHECK(http_token_is_valid(fields[i].name, strlen(fields[i].name)));
        CHECK(http_value_is_valid(fields[i].value));
        buf_printf(account, "%s: %s\n", fields[i].name, fields[i].value);
    }
}

static inline void talk_framing(struct buf *account, const struct http_framing *f)
{
    buf_printf(account, "framing %d %d %llu\n", f->kind, f->has_length,
               (unsigned long long)f->length);
}

/* One take of a body; *ret_taken bytes of data are gone. */
static inline enum http_progress talk_body(struct buf *account, struct http_body *b,
                                           const char *data, size_t size, size_t *ret_taken)
{
    struct http_slice slice;
    enum http_progress progress = http_body_take(b, data, size, ret_taken, &slice);
    CHECK(*ret_taken <= size);
    if (slice.size > 0) {
        CHECK(slice.data >= data && slice.data + slice.size <= data + *ret_taken);
        buf_append(account, slice.data, slice.size);
    }
    CHECK(progress != HTTP_MORE || *ret_taken > 0 || size == 0);
    CHECK((progress == HTTP_FAILED) == (b->error != HTTP_ERROR_NONE));
    if (progress == HTTP_DONE) {
        buf_append_str(account, "\ntrailers\n");
        for (size_t i = 0; i < b->trailer_count; i++)
            CHECK(!http_field_is_no_trailer(b->trailers[i].name));
        talk_fields(account, b->trailers, b->trailer_count);
    }
    if (progress == HTTP_FAILED)
        buf_printf(account, "\nbody: %s\n", http_error_words(b->error));
    return progress;
}

/* Both accounts are of the same bytes, read in different pieces. */
static inline void talk_check_same(struct buf *a, struct buf *b)
{
    CHECK(!a->failed && !b->failed);
    CHECK(a->size == b->size && (a->size == 0 || !memcmp(a->data, b->data, a->size)));
    buf_done(a);
    buf_done(b);
}
