// SPDX-License-Identifier: Apache-2.0
/*
 * SCRAM-SHA-256 (RFC 5802, RFC 7677) as a client, without channel binding, as PostgreSQL has it:
 * the user's name is not in it, the password is ASCII. Digests are OpenSSL's.
 *
 *   scram_begin(), scram_write_first()      --> client-first-message
 *   scram_take_first(server-first-message), scram_write_final() --> client-final-message
 *   scram_take_final(server-final-message)  the server knows the password too
 *
 * What a server may ask for is bounded: more iterations would keep the caller's only thread, fewer
 * would give away a proof that is cheap to guess by.
 */
#pragma once

#include "lib/base/buf.h"

#define SCRAM_MESSAGE_MAX_BYTES 1024
#define SCRAM_ITERATIONS_LEAST  4096 /* RFC 7677, 4 */
#define SCRAM_ITERATIONS_MAX    100000
#define SCRAM_NONCE_BYTES       24 /* of base 64 */
#define SCRAM_HASH_BYTES        32

struct scram {
    char nonce[SCRAM_NONCE_BYTES + 1];
    char server_nonce[256];
    char server_first[SCRAM_MESSAGE_MAX_BYTES + 1];
    unsigned char salt[256];
    size_t salt_size;
    int iterations;
    unsigned char server_signature[SCRAM_HASH_BYTES];
};

/* With 18 bytes of chance. */
void scram_begin(struct scram *s, const unsigned char random[18]);

/* Each appends the message; they fail as buf_append() does. */
int scram_write_first(const struct scram *s, struct buf *out);
int scram_write_final(struct scram *s, const char *password, size_t size, struct buf *out);

/* 0; -EPROTO and why it can't be accepted. */
int scram_take_first(struct scram *s, const char *message, size_t size, const char **ret_why);
int scram_take_final(const struct scram *s, const char *message, size_t size, const char **ret_why);
