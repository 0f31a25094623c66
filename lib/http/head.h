// SPDX-License-Identifier: Apache-2.0
/*
 * Heads of HTTP/1.1 and HTTP/1.0 messages (RFC 9110, RFC 9112), for servers and proxies that must
 * not see another message than their neighbours do. So what the RFCs let a lenient reader repair
 * is refused here: bare CR and LF, folded fields, blanks before a colon, two lengths.
 *
 * Narrower than the RFCs: a second Content-Length even when it is equal, any Transfer-Encoding but
 * "chunked", an authority with anything but names, addresses and ports, trailers and Connection in
 * some number only; HTTP/1.0 connections never persist. Wider, because it is common and can't be
 * misread: any visible byte but '#' in a path or query, a status line without its second space, and
 * status codes up to 999.
 *
 *   struct http_request_parser p;
 *   http_request_init(&p, NULL);
 *   http_request_take(&p, data, size, &taken)      as often as there is something, until it is
 *                                                  HTTP_DONE: p.request; or HTTP_FAILED: p.error
 *   ... the body: body.h, with p.request.framing
 *   http_request_reset(&p)                         for the next one of this connection
 *   http_request_done(&p)
 *
 * Nothing is read or written here, and what comes out does not depend on how the bytes were cut.
 * A parser holds at most the head and its table of fields. All strings of a request or response
 * are borrowed from its parser until that is reset or done; a parser does not move in memory.
 */
#pragma once

#include "lib/http/authority.h"
#include "lib/http/error.h"
#include "lib/http/fields.h"
#include "lib/http/lines.h"

#define HTTP_LINE_MAX_BYTES   8192
#define HTTP_HEAD_MAX_BYTES   65536
#define HTTP_FIELDS_MAX       100
#define HTTP_METHOD_MAX_BYTES 32
#define HTTP_EMPTY_LINES_MAX  4  /* before a request line (RFC 9112, 2.2) */
#define HTTP_INTERIM_MAX      16 /* responses 1xx before the final one */

struct http_limits {
    size_t line_bytes; /* of a line, without its CRLF */
    size_t head_bytes; /* of all lines with theirs */
    size_t fields;
};

#define HTTP_LIMITS_DEFAULT                                  \
    ((struct http_limits){.line_bytes = HTTP_LINE_MAX_BYTES, \
                          .head_bytes = HTTP_HEAD_MAX_BYTES, \
                          .fields = HTTP_FIELDS_MAX})

enum http_version { HTTP_1_0, HTTP_1_1 };

/* Where a message's content ends (RFC 9112, section 6). */
enum http_body_kind {
    HTTP_BODY_NONE,
    HTTP_BODY_LENGTH,
    HTTP_BODY_CHUNKED,
    HTTP_BODY_CLOSE,  /* of responses alone: where the connection ends */
    HTTP_BODY_OPAQUE, /* there is no HTTP any more: CONNECT, 101 */
};

struct http_framing {
    enum http_body_kind kind;
    bool has_length; /* LENGTH; and NONE, when a response to HEAD or a 304 tells the length that the
                      * content would have */
    uint64_t length; /* bytes, at most INT64_MAX */
};

/* RFC 9112, 3.2. */
enum http_target_form {
    HTTP_TARGET_ORIGIN,    /* /path?query */
    HTTP_TARGET_ABSOLUTE,  /* http://host/path?query: asked of a proxy */
    HTTP_TARGET_AUTHORITY, /* host:port: CONNECT, and nothing else */
    HTTP_TARGET_ASTERISK,  /* "*": OPTIONS, and nothing else */
};

struct http_request {
    const char *method; /* as it came: methods are told apart by case */
    enum http_version version;
    enum http_target_form form;
    const char *target; /* as it came */
    const char *scheme; /* "http" or "https" of an absolute target, else NULL */
    /*
     * Whom it is for: the target's authority, else the field Host. Where there are both, they name
     * the same host and port, or the request is refused (421). Only HTTP/1.0 can have none.
     */
    struct http_authority authority;
    const char *path;  /* from the '/' on, or "*"; "" for CONNECT. Nothing in it is decoded */
    const char *query; /* behind the '?'; NULL: there is none */
    struct http_field *fields;
    size_t field_count;
    struct http_framing framing;
    bool persists;         /* another request may follow */
    bool expects_continue; /* Expect: 100-continue (RFC 9110, 10.1.1) */
    const char *upgrade;   /* the protocols that it asks to change to, or NULL. Never h2c, whose
                            * request would have to be answered in HTTP/2 */
};

struct http_request_parser {
    enum http_error error;
    struct http_request request; /* after HTTP_DONE */
    /* for http_request_take() */
    struct http_limits limits;
    struct http_lines lines;
    enum http_progress progress;
    unsigned empty_lines;
    bool has_start_line;
    size_t field_count;
    char host[HTTP_HOST_MAX_BYTES + 1];
};

/* limits: NULL for the defaults. Nothing is allocated yet. */
void http_request_init(struct http_request_parser *p, const struct http_limits *limits);
void http_request_done(struct http_request_parser *p);

/* For the next request; keeps the memory. After HTTP_FAILED too, though no bytes can follow. */
void http_request_reset(struct http_request_parser *p);

/*
 * Takes what belongs to the head: *ret_taken bytes, all of them unless it is HTTP_DONE or
 * HTTP_FAILED. What follows HTTP_DONE is the body. size may be 0.
 */
enum http_progress http_request_take(struct http_request_parser *p, const char *data, size_t size,
                                     size_t *ret_taken);

/* Some of a request is here: a connection that ends now ends in the middle of it. */
bool http_request_has_begun(const struct http_request_parser *p);

struct http_response {
    unsigned status; /* 100 to 999 */
    enum http_version version;
    const char *reason; /* may be "" */
    struct http_field *fields;
    size_t field_count;
    struct http_framing framing;
    bool persists;
    const char *upgrade; /* of 101: the protocol that it changes to; NULL else */
};

struct http_response_parser {
    enum http_error error;
    struct http_response response; /* after HTTP_DONE */
    /* for http_response_take() */
    struct http_limits limits;
    struct http_lines lines;
    enum http_progress progress;
    bool has_start_line, is_head, is_connect, asks_upgrade;
    unsigned interim;
    size_t field_count;
};

/* To be followed by http_response_expect(). */
void http_response_init(struct http_response_parser *p, const struct http_limits *limits);
void http_response_done(struct http_response_parser *p);

/*
 * The next head is of a response to a request with this method; asks_upgrade: which asked to change
 * the protocol, so that 101 is an answer. Forgets the last response; keeps the memory.
 */
void http_response_expect(struct http_response_parser *p, const char *method, bool asks_upgrade);

/* As http_request_take(). */
enum http_progress http_response_take(struct http_response_parser *p, const char *data, size_t size,
                                      size_t *ret_taken);

/* It was an interim response (1xx but 101): the final one, to the same request, is still to come.
 */
bool http_response_is_interim(const struct http_response *r);

/* Goes on to the response after an interim one; HTTP_INTERIM_MAX of them are let by. */
void http_response_next(struct http_response_parser *p);

bool http_response_has_begun(const struct http_response_parser *p);
