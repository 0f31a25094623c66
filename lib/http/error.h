// SPDX-License-Identifier: Apache-2.0
/*
 * What can be wrong with an HTTP/1.1 message, and what a server answers then.
 *
 * After any of them nobody knows where the next message begins: answer, and close the connection.
 * The status is for a request; a response that is wrong is 502 (RFC 9110, 15.6.3), whatever it is.
 */
#pragma once

#include "lib/base/base.h"

enum http_error {
    HTTP_ERROR_NONE,
    HTTP_ERROR_MEMORY,
    HTTP_ERROR_START_LINE,
    HTTP_ERROR_METHOD_LONG,
    HTTP_ERROR_VERSION,
    HTTP_ERROR_TARGET,
    HTTP_ERROR_TARGET_LONG,
    HTTP_ERROR_BYTE,
    HTTP_ERROR_LINE_END,
    HTTP_ERROR_EMPTY_LINES,
    HTTP_ERROR_FIELD,
    HTTP_ERROR_FIELD_BLANK,
    HTTP_ERROR_FIELD_FOLDED,
    HTTP_ERROR_FIELD_LONG,
    HTTP_ERROR_HEAD_LONG,
    HTTP_ERROR_FIELDS_MANY,
    HTTP_ERROR_HOST,
    HTTP_ERROR_HOST_MISSING,
    HTTP_ERROR_HOST_REPEATED,
    HTTP_ERROR_HOST_OTHER,
    HTTP_ERROR_CONNECTION,
    HTTP_ERROR_LENGTH,
    HTTP_ERROR_LENGTH_REPEATED,
    HTTP_ERROR_LENGTH_MISSING,
    HTTP_ERROR_LENGTH_AND_CODING,
    HTTP_ERROR_CODING,
    HTTP_ERROR_CODING_OLD,
    HTTP_ERROR_CONTENT,
    HTTP_ERROR_SWITCH,
    HTTP_ERROR_INTERIM_MANY,
    HTTP_ERROR_CHUNK_SIZE,
    HTTP_ERROR_CHUNK_EXTENSION,
    HTTP_ERROR_CHUNK_END,
    HTTP_ERROR_TRAILER,
    HTTP_ERROR_TRAILERS_LONG,
    HTTP_ERROR_BODY_LONG,
    HTTP_ERROR_TRUNCATED,
    HTTP_ERROR_COUNT,
};

/* What a parser says of the bytes it has had. */
enum http_progress {
    HTTP_MORE,   /* it took all of them, and needs more */
    HTTP_DONE,   /* what it reads is complete; bytes behind it were not taken */
    HTTP_FAILED, /* see its error; it takes nothing any more */
};

/* 400, 411, 413, 414, 421, 431, 501, 503 or 505; 0 for HTTP_ERROR_NONE. */
unsigned http_error_status(enum http_error e);

/* For logs: "malformed", "smuggling" (two readers could see two messages), "limit:head", ... */
const char *http_error_reason(enum http_error e);

/* One line without a line end: "two fields Content-Length". Quotes nothing of the message. */
const char *http_error_words(enum http_error e);
