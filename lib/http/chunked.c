// SPDX-License-Identifier: Apache-2.0
/*
 * Readers of chunked content have been told apart by all of these: a bare LF behind a size or in
 * an extension, blanks or signs or "0x" around a size, sizes that overflow, other bytes than CRLF
 * behind a chunk, fields in the trailer that change the request. All are refused.
 */
#include "lib/http/chunked.h"

#include "lib/http/head_parts.h"
#include "lib/http/syntax.h"

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static enum http_error take_size(struct http_body *b, char c)
{
    int digit = hex_value(c);
    if (digit >= 0) {
        if (++b->digits > HTTP_CHUNK_DIGITS_MAX || b->left_bytes > (uint64_t)INT64_MAX >> 4)
            return HTTP_ERROR_CHUNK_SIZE;
        b->left_bytes = b->left_bytes << 4 | (uint64_t)digit;
        return HTTP_ERROR_NONE;
    }
    if (b->digits == 0 || (c != '\r' && c != ';'))
        return HTTP_ERROR_CHUNK_SIZE;
    b->state = c == '\r' ? HTTP_CHUNK_SIZE_LF : HTTP_CHUNK_EXTENSION;
    return HTTP_ERROR_NONE;
}

static enum http_error take_extension(struct http_body *b, char c)
{
    if (c == '\r') {
        b->state = HTTP_CHUNK_SIZE_LF;
        return HTTP_ERROR_NONE;
    }
    if (++b->extension_bytes > HTTP_CHUNK_EXTENSION_MAX_BYTES ||
        (!http_is_visible_byte((unsigned char)c) && !http_is_blank_byte((unsigned char)c)))
        return HTTP_ERROR_CHUNK_EXTENSION;
    return HTTP_ERROR_NONE;
}

static enum http_error take_size_lf(struct http_body *b, char c)
{
    if (c != '\n')
        return HTTP_ERROR_CHUNK_SIZE;
    if (b->left_bytes > b->max_bytes - b->content_bytes)
        return HTTP_ERROR_BODY_LONG;
    b->state = b->left_bytes > 0 ? HTTP_CHUNK_DATA : HTTP_CHUNK_TRAILER;
    b->digits = b->extension_bytes = 0;
    return HTTP_ERROR_NONE;
}

/* One byte of the framing around the content. */
static enum http_error take_framing(struct http_body *b, char c)
{
    switch (b->state) {
    case HTTP_CHUNK_SIZE:
        return take_size(b, c);
    case HTTP_CHUNK_EXTENSION:
        return take_extension(b, c);
    case HTTP_CHUNK_SIZE_LF:
        return take_size_lf(b, c);
    case HTTP_CHUNK_DATA_CR:
        b->state = HTTP_CHUNK_DATA_LF;
        return c == '\r' ? HTTP_ERROR_NONE : HTTP_ERROR_CHUNK_END;
    case HTTP_CHUNK_DATA_LF:
        b->state = HTTP_CHUNK_SIZE;
        return c == '\n' ? HTTP_ERROR_NONE : HTTP_ERROR_CHUNK_END;
    case HTTP_CHUNK_DATA:
    case HTTP_CHUNK_TRAILER:
        break;
    }
    return HTTP_ERROR_NONE;
}

/* A line of the trailer is complete. */
static enum http_error take_trailer_line(struct http_body *b)
{
    struct http_lines *l = &b->lines;
    if (l->text.size == l->line_at) {
        b->trailers = http_field_table(l->text.data, b->trailer_count);
        b->progress = HTTP_DONE;
        return b->trailers ? HTTP_ERROR_NONE : HTTP_ERROR_MEMORY;
    }
    if (++b->trailer_count > HTTP_TRAILER_FIELDS_MAX)
        return HTTP_ERROR_TRAILERS_LONG;
    size_t at = l->line_at;
    enum http_error e = http_field_line(l);
    if (!e && http_field_is_no_trailer(l->text.data + at))
        e = HTTP_ERROR_TRAILER;
    return e;
}

static size_t take_trailer(struct http_body *b, const char *data, size_t size)
{
    size_t taken;
    enum http_progress line = http_lines_take(&b->lines, data, size, &taken, &b->error);
    if (line == HTTP_DONE)
        b->error = take_trailer_line(b);
    else if (b->error == HTTP_ERROR_HEAD_LONG || b->error == HTTP_ERROR_FIELD_LONG)
        b->error = HTTP_ERROR_TRAILERS_LONG;
    return taken;
}

size_t http_chunked_take(struct http_body *b, const char *data, size_t size,
                         struct http_slice *ret_slice)
{
    size_t at = 0;
    while (at < size && b->progress == HTTP_MORE && !b->error) {
        if (b->state == HTTP_CHUNK_TRAILER) {
            at += take_trailer(b, data + at, size - at);
        } else if (b->state == HTTP_CHUNK_DATA) {
            size_t n = (size_t)MIN((uint64_t)(size - at), b->left_bytes);
            *ret_slice = (struct http_slice){data + at, n};
            b->left_bytes -= n;
            if (b->left_bytes == 0)
                b->state = HTTP_CHUNK_DATA_CR;
            return at + n;
        } else {
            b->error = take_framing(b, data[at]);
            at += b->error ? 0 : 1;
        }
    }
    return at;
}
