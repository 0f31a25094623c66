// SPDX-License-Identifier: Apache-2.0
/*
 * Secrets of a sandbox, whose programs know placeholders alone: what may be filled in for a
 * request, filling it in, finding placeholders where they may not go, and taking values out of
 * answers.
 *
 * A request goes through these steps, in this order, after it was parsed strictly and relieved of
 * the fields of its hop, so that no Connection of the guest can take a field out again:
 *
 *   secrets_begin(&x, secrets, &request)
 *   secrets_check(&x, target, ...)             the target,
 *   secrets_check_field(&x, name, value)       and each field that goes on
 *   secrets_get_violation(&x, &violation)      true: it is not sent
 *   secrets_fill_query(), secrets_fill_field() what the guest sent
 *   secrets_expand(&x, value, &out)            fields that the policy sets; they replace the
 *                                              guest's, and are neither checked nor filled in
 *   secrets_body_begin(), _take(), _end()      its content; trailers as fields
 *   secrets_scrub_*()                          the answer, when x.scrub says so
 *   secrets_end(&x)
 *
 * It is the sender of requests that must not follow a redirect: each request is judged by whom it
 * goes to.
 *
 * A struct secrets is never changed. To change a value or a policy, make another one; who began
 * with the old one keeps it to its end, as it counts references (not atomically: one thread).
 * Values lie in memory as pages.h has it; what was filled in is in the caller's buffers,
 * to be wiped with secret_wipe_buf(). Nothing here writes a log, and no error quotes a value.
 */
#pragma once

#include "lib/policy/document.h"
#include "lib/secret/finder.h"

#define SECRET_VALUE_MAX_BYTES       8192 /* what one line of HTTP takes (HTTP_LINE_MAX_BYTES) */
#define SECRET_VALUES_MAX_BYTES      (64 * 1024) /* of all secrets of a sandbox */
#define SECRET_LEAST_BYTES           8 /* of those that are to be found in answers again */
#define SECRET_FIELD_MAX_BYTES       (16 * 1024) /* of a field with secrets filled in */
#define SECRET_SIGNING_KEY_MAX_BYTES 256

/* The value of the secret of that name. */
struct secret_value {
    const char *name;
    const char *placeholder;
    const char *value;
    size_t size; /* of value */
};

struct secrets;

struct secret_error {
    char text[512];   /* "secret NAME: REASON; NEXT STEP", never with a value */
    size_t reason;    /* where the REASON begins in it */
    const char *name; /* of the secret, borrowed from who gave it; NULL: it is not of one */
};

/*
 * values has one for each secret of document, in its order; all is copied. document is borrowed, it
 * has to live as long as what is returned. 0 and *ret with one reference; -EINVAL and e: a value
 * that can't be in a header field (CR, LF, NUL, other controls), that is too long or too short, a
 * placeholder that is part of another one or of a value; -ENOMEM and e.
 */
int secrets_new(const struct policy_document *document, const struct secret_value *values,
                size_t count, struct secrets **ret, struct secret_error *e);

/*
 * The same with another value for the one of that name; v->placeholder is not looked at. As
 * secrets_new(); -ENOENT and e: old has none of that name. old stays.
 */
int secrets_renew(const struct secrets *old, const struct secret_value *v, struct secrets **ret,
                  struct secret_error *e);

/*
 * For another document, which is borrowed likewise: what old has of it stays, value and
 * placeholder, and fresh has the rest, in any order; all of fresh is used. old may be NULL: it has
 * none. 0 and *ret, NULL when document has no secrets; -EINVAL and e, also for one without a value;
 * -ENOMEM and e. old stays.
 */
int secrets_follow(const struct secrets *old, const struct policy_document *document,
                   const struct secret_value *fresh, size_t fresh_count, struct secrets **ret,
                   struct secret_error *e);

/*
 * Whether all that is looked for in answers of inner is looked for, and replaced, by outer too.
 * Both may be NULL.
 */
bool secrets_cover(const struct secrets *outer, const struct secrets *inner);

/* What it was made for. */
const struct policy_document *secrets_document(const struct secrets *s);

/* Of the i-th of it; borrowed. */
const char *secrets_placeholder(const struct secrets *s, size_t i);

struct secrets *secrets_get(struct secrets *s);

/* The last reference wipes the values. s may be NULL. */
void secrets_put(struct secrets *s);

size_t secrets_count(const struct secrets *s);

/*
 * A value itself, by its place in the document, for who authenticates with it in other ways than by
 * a request's fields. Borrowed, and not NUL-terminated.
 */
const char *secrets_value(const struct secrets *s, size_t i, size_t *ret_size);

/* Empties and frees a buffer that held a value. */
void secret_wipe_buf(struct buf *b);

/* A request, as far as the conditions of secrets go. */
struct secrets_request {
    const char *host; /* canonical; who gets it: for "forward" its host. By this name it is dialled,
                       * and for TLS the certificate was verified. NULL: dialled by address */
    uint16_t port;
    const char *method;
    const char *path;     /* without the query */
    bool is_verified_tls; /* false: in the clear */
};

struct secrets_exchange {
    uint64_t allowed;  /* 1 << place in the document: may be filled in */
    uint64_t signs;    /* the same: may sign */
    uint64_t used;     /* was filled in, or has signed */
    uint64_t violated; /* its placeholder was found where it may not go */
    /*
     * What is to be done with the answer: the most that a secret for this host asks, whatever the
     * request's method and path; to be raised to what a transform asks. Not OFF: ask for
     * "Accept-Encoding: identity".
     */
    enum policy_scrub scrub;
    /* for secrets_*() */
    struct secrets *secrets;
    uint64_t passes; /* its placeholder may go there as it is */
};

/* Takes a reference until secrets_end(). request is not kept. s may be NULL: there are none. */
void secrets_begin(struct secrets_exchange *x, struct secrets *s,
                   const struct secrets_request *request);
void secrets_end(struct secrets_exchange *x);

/*
 * Looks for placeholders that may not go with this request: as they are, percent-encoded, with
 * escapes of JSON, in base 64 at any alignment; of a field Authorization also in Basic credentials.
 */
void secrets_check(struct secrets_exchange *x, const char *text, size_t size);
void secrets_check_field(struct secrets_exchange *x, const char *name, const char *value);

struct secrets_violation {
    const char *name; /* of the secret; borrowed from the document */
    enum policy_violation action;
};

/* The gravest one so far; false: there is none. Never PASSTHROUGH. */
bool secrets_get_violation(const struct secrets_exchange *x, struct secrets_violation *ret);

/*
 * What a field's value or a query (without the '?') becomes. 1: out has it, in a query
 * percent-encoded; 0: there is nothing to fill in, and out is untouched; -ENOMEM, -E2BIG: more than
 * out or SECRET_FIELD_MAX_BYTES takes. A value holds no byte that would end the field.
 */
int secrets_fill_field(struct secrets_exchange *x, const char *name, const char *value,
                       struct buf *out);
int secrets_fill_query(struct secrets_exchange *x, const char *query, struct buf *out);

/*
 * Appends a value of "set_headers", each ${secret.NAME} replaced. 0; -EACCES: that secret may not
 * go with this request, which is a violation (secrets_get_violation()), and the request is not
 * sent; -ENOMEM, -E2BIG. out is untouched on failure.
 */
int secrets_expand(struct secrets_exchange *x, const char *value, struct buf *out);

/*
 * The keys to sign the request with, for who has signed it as the access key id of size bytes. 1:
 * id is the placeholder of one, and *ret borrows the values from x's secrets. 0: of none. -EACCES:
 * of one, and its keys may not all be used for this request, which is a violation.
 */
struct sigv4_keys;
int secrets_find_keys(struct secrets_exchange *x, const char *id, size_t size,
                      struct sigv4_keys *ret);

/* Looks at a stream for placeholders, however they are written. */
struct secrets_watch {
    struct finder_stream plain;
    struct finder_stream percent, json; /* of what it is when it is decoded */
    struct secrets_escape {
        unsigned char bytes[6];
        unsigned count;
    } percent_escape, json_escape;
};

/* The content of a request. */
struct secrets_body {
    struct secrets_exchange *exchange;
    struct finder_stream fill;
    struct secrets_watch watch;
};

/*
 * True: filling in may change its length, so it is to be framed anew (chunked). content_type, which
 * may be NULL, says how values are written: in JSON and in forms escaped. is_encoded: it has a
 * Content-Encoding, nothing is filled in.
 */
bool secrets_body_begin(struct secrets_body *b, struct secrets_exchange *x,
                        const char *content_type, bool is_encoded);

/*
 * Appends to out what may be sent. 0; -EACCES: a violation that asks to block, nothing of this call
 * is in out, and the request is to be cut off; -ENOMEM, -E2BIG.
 */
int secrets_body_take(struct secrets_body *b, const void *data, size_t size, struct buf *out);
int secrets_body_end(struct secrets_body *b, struct buf *out);

/*
 * Takes values out of an answer: as they are, in base 64 (three alignments, both alphabets; up to
 * six bits at each end stay), in hexadecimal, percent-encoded, escaped as JSON. Each is replaced by
 * the placeholder in the same encoding, so the length may change: frame the content anew. For all
 * secrets whose "scrub" is not "off". A server that wants to can always say it otherwise.
 */
struct secrets_scrub {
    struct finder_stream stream;
};
void secrets_scrub_begin(struct secrets_scrub *c, struct secrets_exchange *x);
int secrets_scrub_take(struct secrets_scrub *c, const void *data, size_t size, struct buf *out);
int secrets_scrub_end(struct secrets_scrub *c, struct buf *out);

/* How many bytes the longest thing has that is searched for. */
size_t secrets_scrub_longest(const struct secrets *s);

/* Of one text at once, as a field's value. 1: out has it; 0: there is nothing, out is untouched. */
int secrets_scrub_text(struct secrets_exchange *x, const char *text, struct buf *out);
