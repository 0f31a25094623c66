// SPDX-License-Identifier: Apache-2.0
/*
 * The first bytes of a client: which protocol they are, and for TLS, to whom they go. Nothing is
 * read or written here; what comes out does not depend on how the bytes were cut.
 */
#pragma once

#include "lib/tls/hello.h"

/* A hello of the longest kind, in many records. */
#define FLIGHT_MAX_BYTES (2 * TLS_HELLO_MAX_BYTES)

enum flight_kind {
    FLIGHT_MORE,
    FLIGHT_TLS,        /* see hello */
    FLIGHT_TLS_BROKEN, /* begins as TLS, and can't be read */
    FLIGHT_HTTP,       /* a request line of HTTP/1 */
    FLIGHT_HTTP2,      /* that with which HTTP/2 begins (RFC 9113, 3.4) */
    FLIGHT_OTHER,      /* another protocol, or the end without a byte */
};

struct flight {
    enum flight_kind kind;
    struct tls_hello_parser hello;
    struct buf bytes; /* all that came; the caller's to send on once the kind is known */
    size_t seen;      /* of bytes, by the parser */
    bool is_open;     /* FLIGHT_OTHER, with a line that has not ended: see flight_line_take() */
};

/*
 * A first line that passes while it comes, as it begins with no method that is known and its client
 * may not say more before it is answered. To some servers any word is a method, though.
 */
struct flight_line {
    enum { FLIGHT_LINE_BEFORE, FLIGHT_LINE_WORD, FLIGHT_LINE_REST, FLIGHT_LINE_OVER } at;
    char last[5];
};

void flight_init(struct flight *f);
void flight_done(struct flight *f);

/* The memory of what it keeps. */
size_t flight_held_bytes(const struct flight *f);

/* Takes all of data, whatever comes out. */
enum flight_kind flight_take(struct flight *f, const void *data, size_t size);

/* No more will come: never FLIGHT_MORE. */
enum flight_kind flight_end(struct flight *f);

/* FLIGHT_HTTP: it is a request after all. FLIGHT_OTHER: it is none; nothing more need be given. */
enum flight_kind flight_line_take(struct flight_line *l, const char *data, size_t size);
