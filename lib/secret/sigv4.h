// SPDX-License-Identifier: Apache-2.0
/*
 * AWS Signature Version 4, for a request that a guest has signed with keys that are none: its
 * signature is read, for what it was meant to be for, and one is made that counts.
 *
 * "Signature Version 4 signing process" of the AWS General Reference. Of its two ways of writing a
 * path this is S3's for S3 (encoded once, nothing normalized) and the other one for all others.
 * HMAC and SHA-256 are OpenSSL's.
 */
#pragma once

#include "lib/base/buf.h"
#include "lib/policy/policy.h"

#define SIGV4_DATE_BYTES        16                /* 20130524T000000Z */
#define SIGV4_HASH_BYTES        64                /* SHA-256 in hexadecimal */
#define SIGV4_SCOPE_MAX_BYTES   64                /* of a region or a service */
#define SIGV4_CONTENT_MAX_BYTES (4 * 1024 * 1024) /* that is hashed here */

/* What an Authorization field says. */
enum sigv4_kind {
    SIGV4_NONE,      /* it is of another scheme */
    SIGV4_SIGNATURE, /* see struct sigv4_scope */
    SIGV4_OTHER,     /* of this family, and none that can be made here */
    SIGV4_BROKEN,
};

struct sigv4_scope {
    const char *id; /* the access key id; lies in the field */
    size_t id_size;
    char region[SIGV4_SCOPE_MAX_BYTES + 1], service[SIGV4_SCOPE_MAX_BYTES + 1];
    const char *signed_names; /* names of fields, divided by ';', in the field */
    size_t signed_size;
};

enum sigv4_kind sigv4_parse(const char *authorization, struct sigv4_scope *ret);

/*
 * The access key id in a query that has a signature in it (a presigned URL); it lies there. False:
 * it has none. query may be NULL.
 */
bool sigv4_parse_query(const char *query, const char **ret_id, size_t *ret_size);

/* What x-amz-content-sha256 says of the content. */
enum sigv4_content {
    SIGV4_CONTENT_HASHED, /* a hash, or that there is none: it is signed as it stands */
    SIGV4_CONTENT_SIGNED, /* in pieces with signatures of their own */
    SIGV4_CONTENT_UNKNOWN,
};
enum sigv4_content sigv4_content_of(const char *value);

struct sigv4_keys {
    const char *id, *key, *token; /* token NULL: there is none */
    size_t id_size, key_size, token_size;
};

/* All as it will be sent. */
struct sigv4_request {
    const char *method;
    const char *path;
    const char *query;                 /* NULL: there is none */
    const struct policy_field *fields; /* Host among them, and X-Amz-Date */
    size_t field_count;
    const char *date;    /* as sigv4_date() has it */
    const char *content; /* its hash, or what stands for it */
};

void sigv4_date(int64_t now_s, char ret[SIGV4_DATE_BYTES + 1]);
/* False: OpenSSL has no memory. */
bool sigv4_hash(const void *data, size_t size, char ret[SIGV4_HASH_BYTES + 1]);

/*
 * Appends the value of the field Authorization. Signed are the fields that have to be (Host,
 * Content-Type, Content-MD5, X-Amz-*) and those of scope->signed_names, of those that are there. 0;
 * -ENOMEM, -E2BIG: out is failed.
 */
int sigv4_sign(const struct sigv4_request *r, const struct sigv4_scope *scope,
               const struct sigv4_keys *keys, struct buf *out);
