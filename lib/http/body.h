// SPDX-License-Identifier: Apache-2.0
/*
 * The content of a message, as slices of the bytes it comes in: nothing is copied, and memory is
 * constant for content of any length. Only a trailer's fields are kept, in a bounded buffer.
 *
 *   http_body_init(&b, &request.framing, max_bytes);
 *   do {
 *       progress = http_body_take(&b, data, size, &taken, &slice);
 *       ... slice.size bytes at slice.data are content; they lie in data
 *       data += taken, size -= taken;
 *   } while (progress == HTTP_MORE && size > 0);
 *   http_body_done(&b);
 *
 * What follows HTTP_DONE is the next message. Chunk extensions are checked and dropped.
 */
#pragma once

#include "lib/http/head.h"

#define HTTP_CHUNK_DIGITS_MAX          16
#define HTTP_CHUNK_EXTENSION_MAX_BYTES 256  /* of one chunk */
#define HTTP_TRAILER_MAX_BYTES         8192 /* all of it */
#define HTTP_TRAILER_FIELDS_MAX        32

#define HTTP_BODY_ANY_LENGTH UINT64_MAX

struct http_slice {
    const char *data; /* borrowed from what was given; NULL when size is 0 */
    size_t size;
};

enum http_chunk_state {
    HTTP_CHUNK_SIZE,
    HTTP_CHUNK_EXTENSION,
    HTTP_CHUNK_SIZE_LF,
    HTTP_CHUNK_DATA,
    HTTP_CHUNK_DATA_CR,
    HTTP_CHUNK_DATA_LF,
    HTTP_CHUNK_TRAILER,
};

struct http_body {
    enum http_error error;
    uint64_t content_bytes;      /* given so far */
    struct http_field *trailers; /* after HTTP_DONE of a chunked body; borrowed */
    size_t trailer_count;
    uint64_t left_bytes; /* behind the slice: of the chunk, or of content with a length */
    /* for http_body_take() */
    enum http_progress progress;
    enum http_body_kind kind;
    uint64_t max_bytes;
    enum http_chunk_state state;
    unsigned digits, extension_bytes;
    struct http_lines lines;
};

/* max_bytes: more content than that is HTTP_ERROR_BODY_LONG, as soon as it is announced. */
void http_body_init(struct http_body *b, const struct http_framing *framing, uint64_t max_bytes);
void http_body_done(struct http_body *b);

/*
 * Takes framing and at most one slice: *ret_taken bytes, which may be fewer than size while it is
 * HTTP_MORE. A body that has nothing more to come is HTTP_DONE at once; size may be 0.
 */
enum http_progress http_body_take(struct http_body *b, const char *data, size_t size,
                                  size_t *ret_taken, struct http_slice *ret_slice);

/*
 * Where content ends otherwise than by its own bytes, in HTTP/2: it has ended, and these are the
 * lines of the trailer behind it, with the empty one. HTTP_DONE or HTTP_FAILED.
 */
enum http_progress http_body_take_trailer(struct http_body *b, const char *lines, size_t size);

/* The connection has ended: HTTP_DONE where that is the body's end, or it was complete;
 * HTTP_FAILED else. */
enum http_progress http_body_end(struct http_body *b);
