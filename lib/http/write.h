// SPDX-License-Identifier: Apache-2.0
/*
 * Heads made anew from parsed parts, never from the bytes that came in, and the chunked coding.
 * All parts are checked: nothing in one can end a line, add a field, or change the framing.
 *
 *   count = http_fields_forward(request.fields, request.field_count);
 *   ... fields are added, changed, taken out
 *   http_request_write(&out, &(struct http_request_head){...});
 *
 * Framing, Host, Connection and Upgrade are written from the arguments. A field that
 * http_field_is_hop() is not accepted among the others.
 */
#pragma once

#include "lib/base/buf.h"
#include "lib/http/head.h"

#define HTTP_CHUNK_HEAD_MAX_BYTES (16 + 2)

struct http_request_head {
    const char *method;
    enum http_target_form form;      /* what is written; ABSOLUTE only to another proxy */
    const char *scheme;              /* of ABSOLUTE: "http" or "https" */
    struct http_authority authority; /* Host; of ABSOLUTE and AUTHORITY, the target's too. Its host
                                      * is there, and with AUTHORITY its port */
    const char *path;                /* not looked at with AUTHORITY; "*" with ASTERISK */
    const char *query;               /* may be NULL */
    const struct http_field *fields;
    size_t field_count;
    struct http_framing framing;     /* NONE, LENGTH, CHUNKED; OPAQUE with AUTHORITY */
    const char *upgrade;             /* a list of protocols to ask for, or NULL */
    const char *proxy_authorization; /* with AUTHORITY: for the proxy that is asked; or NULL */
    bool closes;                     /* no other request will follow */
};

struct http_response_head {
    unsigned status;
    const char *reason;
    const struct http_field *fields;
    size_t field_count;
    struct http_framing framing;
    const char *upgrade; /* of 101: the protocol */
    bool closes;         /* no other response will follow; CLOSE says so anyway */
};

/*
 * What http_request_write() needs to hand on r, as HTTP/1.1, in the form ORIGIN or what goes with
 * its method: its fields as they are, so after http_fields_forward(). Borrows from r.
 */
struct http_request_head http_request_head_of(const struct http_request *r);

/* Likewise for a response. */
struct http_response_head http_response_head_of(const struct http_response *r);

/*
 * How content that came with this framing goes on to a client of this version: HTTP/1.0 knows no
 * chunks, so they become content that ends with the connection.
 */
struct http_framing http_framing_for(struct http_framing framing, enum http_version client);

/* Whether a head can be written: each part is what it has to be, and none says more than it is. */
bool http_request_is_valid(const struct http_request_head *h);
bool http_response_is_valid(const struct http_response_head *h);

/*
 * Append a head with the empty line at its end. 0; or, with out as it was, -EINVAL for a part that
 * can't be written or framing that does not go with the rest; -ENOMEM or -E2BIG as buf_append(),
 * which leave out failed.
 */
int http_request_write(struct buf *out, const struct http_request_head *h);
int http_response_write(struct buf *out, const struct http_response_head *h);

/*
 * What stands in front of size bytes of content as one chunk: returns the length of it. size is
 * not 0, and CR LF follows the content.
 */
size_t http_chunk_head(char out[HTTP_CHUNK_HEAD_MAX_BYTES + 1], uint64_t size);

/* Appends the end of chunked content. As http_request_write(); -EINVAL also for a field that may
 * not stand in a trailer. */
int http_chunks_end(struct buf *out, const struct http_field *trailers, size_t count);
