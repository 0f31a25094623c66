// SPDX-License-Identifier: Apache-2.0
/* What heads of requests, heads of responses and trailers have in common. Not for other rooms. */
#pragma once

#include "lib/http/head.h"

#define HTTP_LENGTH_DIGITS_MAX 19

/*
 * The line that is being read is "NAME: VALUE": makes it NAME NUL VALUE NUL in the lines' text, and
 * keeps it.
 */
enum http_error http_field_line(struct http_lines *l);

/* Likewise of a head, which has *count fields before it, and may have `most`. */
enum http_error http_field_next(struct http_lines *l, size_t *count, size_t most);

/* A table, on the heap, of count such fields that stand in text, one behind the other. NULL when
 * memory ran out; of no fields, a table too. */
struct http_field *http_field_table(const char *text, size_t count);

/* "HTTP/1.0" or "HTTP/1.1". */
enum http_error http_version_parse(const char *text, size_t size, enum http_version *ret);

/* What one Connection field or several say. */
struct http_options {
    bool closes;
    bool upgrades;
};
enum http_error http_options_read(const struct http_field *fields, size_t count,
                                  struct http_options *ret);

/* Where the content of a request, of a response ends. */
enum http_error http_frame_request(const struct http_request *r, struct http_framing *ret);
enum http_error http_frame_response(const struct http_response_parser *p,
                                    const struct http_response *r, struct http_framing *ret);
