// SPDX-License-Identifier: Apache-2.0
/*
 * The lines of a head or a trailer, out of pieces of any size. Not for other rooms.
 *
 * What is wrong is found at the byte that makes it so, from the bytes before it alone: what comes
 * out does not depend on where the pieces were cut.
 */
#pragma once

#include "lib/base/buf.h"
#include "lib/http/error.h"

struct http_lines {
    struct buf text; /* what the owner keeps, and behind it the line that is being read */
    size_t line_at;  /* where that line begins */
    size_t line_max_bytes;
    size_t total_max_bytes;
    size_t total_bytes; /* taken, line ends included */
    bool has_cr;
    bool is_visible_only; /* of the next line: no TAB, nothing from 0x80 on */
};

/* more_bytes: what the owner may append itself. */
void http_lines_init(struct http_lines *l, size_t line_max_bytes, size_t total_max_bytes,
                     size_t more_bytes);
void http_lines_done(struct http_lines *l);

/* Forgets what was read; keeps the memory. */
void http_lines_reset(struct http_lines *l);

/*
 * Takes bytes up to the end of a line. HTTP_DONE: text from line_at on is the line, without its
 * CRLF; before the next call, the owner makes text what it wants to keep and calls
 * http_lines_keep(). HTTP_FAILED: *ret_error.
 */
enum http_progress http_lines_take(struct http_lines *l, const char *data, size_t size,
                                   size_t *ret_taken, enum http_error *ret_error);

/* All of text stays, and the next line begins behind it. */
void http_lines_keep(struct http_lines *l);
