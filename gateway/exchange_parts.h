// SPDX-License-Identifier: Apache-2.0
/*
 * An exchange from within. Not for other files than exchange_*.c and request_*.c.
 *
 *   exchange.c           bytes in, ends, deadlines
 *   exchange_request.c   a request: judged, changed, written, its content
 *   exchange_response.c  what answers it
 *   exchange_answer.c    answers of our own, the ends that follow from them, records
 *   exchange_tunnel.c    what a guest says first behind a CONNECT
 *   exchange_judge.c     what the policy says of a request
 *   exchange_secrets.c   secrets in requests, and out of responses
 *   exchange_sign.c      requests that are signed with secrets
 *   exchange_wire.c      heads and trailers as they are written, in HTTP/1.1 or for a wire
 *   exchange_fields.c, exchange_body.c   parts of messages
 */
#pragma once

#include "gateway/exchange.h"
#include "gateway/exchange_body.h"
#include "gateway/exchange_fields.h"
#include "gateway/flight.h"
#include "lib/secret/secrets.h"
#include "lib/secret/sigv4.h"

/* Of either buffer of what is to be sent: EXCHANGE_OUT_BYTES, and a head or what has been made of
 * one piece of content. */
#define EXCHANGE_OUT_MAX_BYTES (8 * 1024 * 1024)

/* Of content that goes through what fills in, or scrubs, at once: there a byte may become several
 * thousand, here no more than 32, as of a short secret with a long placeholder. */
#define EXCHANGE_FILLED_BYTES   ((size_t)1024)
#define EXCHANGE_SCRUBBED_BYTES ((size_t)16 * 1024)

enum request_state {
    REQUEST_HEAD,
    REQUEST_BODY,
    REQUEST_SENT, /* the next one waits for the response to this one */
};

enum response_state {
    RESPONSE_NONE, /* no request is out: nothing may come */
    RESPONSE_HEAD,
    RESPONSE_BODY,
    RESPONSE_DONE, /* before its request was complete */
};

/* What is decided of a request. */
struct decision {
    unsigned status; /* to refuse it with; 0: it is allowed */
    char reason[POLICY_REASON_MAX_BYTES];
    const char *words; /* for the guest, when it is refused; borrowed from the policy */
    int rule;          /* that allowed it, or -1 */
    bool would_deny;   /* only to be logged: no rule applies to it */
    bool is_elsewhere; /* only to be logged: it is for another host than the connection */
};

/* Of a request that is signed anew. */
struct exchange_signing {
    bool is_on;
    struct sigv4_scope scope; /* borrows from the request */
    struct sigv4_keys keys;   /* borrows from the secrets */
    const char *content;      /* what is signed of it */
    bool holds;               /* its content is held back until all is there; */
    bool has_held;            /* it is: */
    struct buf held;
    char hash[SIGV4_HASH_BYTES + 1];
};

struct exchange {
    struct exchange_setup setup;
    char name[POLICY_NAME_MAX_BYTES + 1]; /* "": by address */
    bool is_dialled;
    struct in6_addr address; /* at which */
    enum exchange_dial dial; /* of a flow that has no server yet */
    struct buf to_guest, to_server;
    enum exchange_end guest_end, server_end;
    bool is_opaque, guest_has_ended, server_has_ended;
    bool is_used; /* a request was answered */
    bool is_lost; /* there will be no server; the first request is told why: */
    char lost_reason[POLICY_REASON_MAX_BYTES], lost_words[256];
    int64_t active_ns, request_ns, response_ns; /* the last byte; the first of a head, or 0 */

    enum request_state request_state;
    struct http_request_parser request;
    struct http_body request_content;
    struct exchange_body request_body;
    const char *upgrade;             /* that was asked for, or NULL */
    const char *proxy_authorization; /* of a CONNECT: for the proxy that it is sent to; or NULL */
    bool drops_trailers;

    enum response_state response_state;
    struct http_response_parser response;
    struct http_body response_content;
    struct exchange_body response_body;
    bool closes; /* after this response */

    struct policy_host tunnel_to; /* of a CONNECT */
    uint16_t tunnel_port;
    struct flight *flight; /* what the guest says first in a tunnel, until it is judged; or NULL */
    struct flight_line line; /* its first line, while that may become a request */
    bool has_open_line;

    struct secrets_exchange secrets;        /* from the request's head to the record */
    const struct policy_document *document; /* that secrets is of; lives as long */
    enum policy_scrub scrub;
    struct secrets_body filled;
    struct secrets_scrub scrubbed;
    bool fills, scrubs; /* content goes through one of them */
    bool grows;         /* what fills in may make it longer */
    bool has_secrets;   /* secrets is begun */
    struct exchange_signing signing;
    struct buf made; /* what came out of them */

    /* for the record */
    bool is_recording;
    char authority[HTTP_HOST_MAX_BYTES + 8];
    unsigned status;
    bool is_allowed, would_deny;
    char reason[POLICY_REASON_MAX_BYTES];
    char words[256]; /* of a refusal */
    char rule[POLICY_ID_MAX_BYTES + 1];
    uint64_t guest_tx, guest_rx;
    const char *violation;
    enum policy_violation violation_action;
};

/* ---- exchange_request.c ---- */

/* Takes a part of data; 0: nothing more for now. */
size_t exchange_request_take(struct exchange *x, const char *data, size_t size);
void exchange_request_end(struct exchange *x);

bool exchange_has_content(const struct http_request *r);

/* ---- exchange_wire.c ---- */

/* 0 or a negative error, upon which nothing was written. */
int exchange_write_request(struct exchange *x, const struct http_request_head *h,
                           const struct exchange_fields *fields, bool hides_query);
int exchange_write_response(struct exchange *x, const struct http_response_head *h);
int exchange_end_request(struct exchange *x, const struct http_field *trailers, size_t count);
int exchange_end_response(struct exchange *x, const struct http_field *trailers, size_t count);

/* How content of this framing lies in the bytes that come in and go out. */
struct http_framing exchange_content_framing(const struct exchange *x, struct http_framing f);

/* What a response's framing means: for a wire, content without a length is announced as chunks, so
 * that what would end with the connection ends where it begins. */
struct http_framing exchange_announced_framing(const struct exchange *x, struct http_framing f);

/* ---- exchange_response.c ---- */

size_t exchange_response_take(struct exchange *x, const char *data, size_t size);
void exchange_response_end(struct exchange *x);

/* ---- exchange_answer.c ---- */

/* The message is wrong, or not allowed: answered where that can still be, and then the end. */
void exchange_refuse(struct exchange *x, unsigned status, const char *reason, const char *words);
void exchange_refuse_error(struct exchange *x, enum http_error e);
/* No response can be had: 502, or 504. */
void exchange_fail(struct exchange *x, unsigned status, const char *reason, const char *words);

/* Of both sides; never back. */
void exchange_close(struct exchange *x, enum exchange_end guest, enum exchange_end server);

/* The request and its response are over: the record, and all is forgotten. */
void exchange_finish(struct exchange *x);

/* ---- exchange_tunnel.c ---- */

/* The proxy has said yes. False: no memory. */
bool exchange_tunnel_begin(struct exchange *x);
void exchange_tunnel_free(struct exchange *x);

/* Of the guest, while x->flight is there. */
size_t exchange_tunnel_take(struct exchange *x, const char *data, size_t size);
void exchange_tunnel_end(struct exchange *x);
/* Of the guest, while x->has_open_line: what was taken, and has not gone out. */
void exchange_tunnel_watch(struct exchange *x, const char *data, size_t size);
void exchange_tunnel_expire(struct exchange *x);

/* ---- exchange_judge.c ---- */

/* Judges the place that a tunnel leads to, with the name in its hello. Changes d when it may not be
 * reached. */
void exchange_judge_tunnel(struct exchange *x, const struct policy_name *sni, struct decision *d);

/* Judges a request, whose fields are what will go out. Sets how to dial, where that is open. */
void exchange_judge(struct exchange *x, const struct http_request *r, struct decision *ret);

/* The request as transforms see it; fields has room for r->field_count + 2. */
struct policy_request exchange_policy_request(const struct exchange *x,
                                              const struct http_request *r,
                                              struct policy_field *fields);

/* ---- exchange_sign.c ---- */

/*
 * Whether the request is to be signed, as secrets are begun; x->signing.holds: its content comes
 * first. 0; -EPERM: it can't be, with words for the guest; -EACCES: a violation.
 */
int exchange_sign_begin(struct exchange *x, const struct http_request *r, const char **ret_words);

/* Content is kept from now on; a piece of it. 0, -E2BIG, -ENOMEM: there is too much. */
int exchange_sign_hold(struct exchange *x, const struct http_request *r);
int exchange_sign_keep(struct exchange *x, const void *data, size_t size);
/* All of it is there: the request can be sent. */
int exchange_sign_release(struct exchange *x);

/* Signs what h says, if it is to be signed: fields of h become those of fields. */
int exchange_sign(struct exchange *x, struct http_request_head *h, struct exchange_fields *fields);
void exchange_sign_end(struct exchange *x);

/* ---- exchange_secrets.c ---- */

/* The request is allowed: what it may have. */
void exchange_secrets_begin(struct exchange *x, const struct http_request *r,
                            const struct decision *d);
void exchange_secrets_end(struct exchange *x);

/* False: the request has a placeholder that may not go there. */
bool exchange_secrets_check(struct exchange *x, const struct http_request *r);
void exchange_secrets_refuse(struct exchange *x);

/* Fills in fields, and the query into query: *ret_query, unless there is nothing to fill in. 0, or
 * a negative error. */
int exchange_secrets_fill(struct exchange *x, struct exchange_fields *fields, const char *query,
                          struct buf *filled, const char **ret_query);

/* From now on content goes through what fills in, or what scrubs: framing becomes what is written.
 */
void exchange_secrets_fill_content(struct exchange *x, const struct http_request *r,
                                   struct http_framing *framing);
void exchange_secrets_scrub_content(struct exchange *x, struct http_framing *framing);

/* A slice that came, and its end. 0, or a negative error; -EACCES: a violation. */
int exchange_secrets_request(struct exchange *x, const struct http_slice *slice);
int exchange_secrets_request_end(struct exchange *x);
int exchange_secrets_response(struct exchange *x, const struct http_slice *slice);
int exchange_secrets_response_end(struct exchange *x);

/* Scrubs values of fields. */
int exchange_secrets_scrub(struct exchange *x, struct exchange_fields *fields);
