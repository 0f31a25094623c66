// SPDX-License-Identifier: Apache-2.0
#include "lib/http/body.h"

#include "lib/http/chunked.h"

void http_body_init(struct http_body *b, const struct http_framing *framing, uint64_t max_bytes)
{
    *b = (struct http_body){
        .progress = HTTP_MORE,
        .kind = framing->kind,
        .max_bytes = max_bytes,
    };
    http_lines_init(&b->lines, HTTP_TRAILER_MAX_BYTES, HTTP_TRAILER_MAX_BYTES, 16);
    if (b->kind == HTTP_BODY_LENGTH) {
        b->left_bytes = framing->length;
        if (framing->length > max_bytes) {
            b->error = HTTP_ERROR_BODY_LONG;
            b->progress = HTTP_FAILED;
        }
    }
    if (b->kind == HTTP_BODY_NONE || (b->kind == HTTP_BODY_LENGTH && framing->length == 0))
        b->progress = HTTP_DONE;
}

void http_body_done(struct http_body *b)
{
    free(b->trailers);
    http_lines_done(&b->lines);
    *b = (struct http_body){.error = HTTP_ERROR_TRUNCATED, .progress = HTTP_FAILED};
}

/* Content up to where the length or the connection ends. */
static size_t take_plain(struct http_body *b, const char *data, size_t size,
                         struct http_slice *ret_slice)
{
    bool has_length = b->kind == HTTP_BODY_LENGTH;
    uint64_t room = has_length ? b->left_bytes : b->max_bytes - b->content_bytes;
    size_t n = (size_t)MIN((uint64_t)size, room);
    if (n < size && !has_length)
        b->error = HTTP_ERROR_BODY_LONG;
    if (n > 0)
        *ret_slice = (struct http_slice){data, n};
    if (has_length) {
        b->left_bytes -= n;
        if (b->left_bytes == 0)
            b->progress = HTTP_DONE;
    }
    return n;
}

enum http_progress http_body_take(struct http_body *b, const char *data, size_t size,
                                  size_t *ret_taken, struct http_slice *ret_slice)
{
    *ret_taken = 0;
    *ret_slice = (struct http_slice){0};
    if (b->progress != HTTP_MORE || size == 0)
        return b->progress;
    *ret_taken = b->kind == HTTP_BODY_CHUNKED ? http_chunked_take(b, data, size, ret_slice)
                                              : take_plain(b, data, size, ret_slice);
    b->content_bytes += ret_slice->size;
    if (b->error)
        b->progress = HTTP_FAILED;
    return b->progress;
}

enum http_progress http_body_take_trailer(struct http_body *b, const char *lines, size_t size)
{
    struct http_slice none;
    size_t taken;
    b->kind = HTTP_BODY_CHUNKED;
    b->state = HTTP_CHUNK_TRAILER;
    if (http_body_take(b, lines, size, &taken, &none) == HTTP_MORE) {
        b->error = HTTP_ERROR_TRUNCATED;
        b->progress = HTTP_FAILED;
    }
    return b->progress;
}

enum http_progress http_body_end(struct http_body *b)
{
    if (b->progress == HTTP_MORE) {
        bool is_end = b->kind == HTTP_BODY_CLOSE || b->kind == HTTP_BODY_OPAQUE;
        b->progress = is_end ? HTTP_DONE : HTTP_FAILED;
        b->error = is_end ? HTTP_ERROR_NONE : HTTP_ERROR_TRUNCATED;
    }
    return b->progress;
}
