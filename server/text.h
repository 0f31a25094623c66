// SPDX-License-Identifier: Apache-2.0
/*
 * Small texts of the protocol: ids, tokens, percent-encoding, base 64, times, signatures. Functions
 * of their arguments, but for those that make something random.
 */
#pragma once

#include "lib/base/buf.h"

#define BOX_ID_SIZE    21 /* "i" and 20 of [a-z0-9] */
#define TOKEN_SIZE     32
#define DIGEST_SIZE    32       /* SHA-256 */
#define SIGNATURE_SIZE (3 + 43) /* "v1_" and a digest in base 64 without padding */
#define API_KEY_SIZE   (4 + 40)
#define UUID_SIZE      36
#define TIME_TEXT_SIZE 24 /* "2026-01-02T03:04:05.678Z" */

/* Before anything is digested. 0 or -ENOMEM. */
int text_start(void);

/* A new id (a new token: of [A-Za-z0-9]) with its NUL. 0 or -errno. */
int text_make_id(const char *prefix, char out[BOX_ID_SIZE + 1]); /* behind the "i", or "" */
int text_make_token(char out[TOKEN_SIZE + 1]);
int text_make_api_key(char out[API_KEY_SIZE + 1]);
int text_make_uuid(char out[UUID_SIZE + 1]); /* RFC 9562, version 4 */

bool text_is_api_key(const char *text);

/*
 * Takes a sandbox's id out of text, which may have "-CLIENT" behind it, as older ones had. False
 * when it can't be one: ids are 1 to 63 of [a-z0-9]; the ones made here have BOX_ID_SIZE.
 */
bool text_read_id(const char *text, size_t size, char out[64]);

int text_digest(const void *data, size_t size, uint8_t out[DIGEST_SIZE]);
void text_hex(const uint8_t *data, size_t size, char *out); /* with a NUL */

/* Whether two texts are equal, in a time that does not tell where they differ. */
bool text_equal_secretly(const char *a, const char *b);

struct signed_parts {
    const char *path;      /* as the query has it, decoded once */
    const char *operation; /* "read" or "write" */
    const char *user;      /* "" when the query has none */
    const char *token;     /* of the sandbox */
    const char *expires;   /* seconds as the query has them; NULL: never */
};

/* The signature of a URL: docs/api.md, Signed URLs. 0 or -ENOMEM. */
int text_sign(const struct signed_parts *p, char out[SIGNATURE_SIZE + 1]);

/*
 * Decodes %XX, and '+' as a blank when plus is set. Appends to out. False for what is no encoding,
 * or when a NUL would come of it.
 */
bool text_percent_decode(const char *text, size_t size, bool plus, struct buf *out);

/*
 * The value of the first parameter of that name in a query, decoded once: 1 and *ret, to be freed;
 * 0: it isn't there; -EINVAL: it can't be decoded; -ENOMEM. query may be NULL.
 */
int text_query_get(const char *query, const char *name, char **ret);

/* Decodes base 64 with the standard alphabet, with or without its padding. 0, -EINVAL, or as
 * buf_append(). */
int text_base64_read(const char *text, size_t size, struct buf *out);

/* A time of CLOCK_REALTIME as RFC 3339 has it, in UTC. */
void text_write_time(int64_t ms, char out[TIME_TEXT_SIZE + 1]);
/* The reverse, for what programs of all languages write. False when it is none. */
bool text_read_time(const char *text, int64_t *ret_ms);

/*
 * Whether metadata (keys and values) has all pairs of a filter, as the query has it after one
 * decoding: a second encoding of "KEY=VALUE&..." whose parts are encoded once more. -EINVAL for one
 * that can't be read, 1 or 0. get gives the value of a key, or NULL.
 */
int text_filter_matches(const char *filter, const char *(*get)(const void *of, const char *key),
                        const void *of);

/* A cursor of a listing: where the next page begins, in the order of (time, id). */
struct cursor {
    int64_t ms;
    char id[64];
};
#define CURSOR_TEXT_MAX 128
void text_write_cursor(const struct cursor *c, char out[CURSOR_TEXT_MAX]);
bool text_read_cursor(const char *text, struct cursor *ret);
