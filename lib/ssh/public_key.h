// SPDX-License-Identifier: Apache-2.0
/*
 * Public keys as SSH has them: a blob (RFC 4253, 6.6; RFC 5656, 3.1; RFC 8709, 4), and its text
 * "TYPE BASE64 [COMMENT]" in files. No certificates, and no keys of security keys (sk-*).
 */
#pragma once

#include "lib/ssh/wire.h"

#define SSH_BLOB_MAX       1100 /* of RSA of 8192 bits; larger ones are refused */
#define SSH_KEY_TEXT_MAX   1600 /* TYPE and BASE64 of such a one */
#define SSH_RSA_LEAST_BITS 2048
#define SSH_RSA_MOST_BITS  8192

enum ssh_key_type {
    SSH_KEY_ED25519,
    SSH_KEY_P256,
    SSH_KEY_P384,
    SSH_KEY_P521,
    SSH_KEY_RSA,
    SSH_KEY_TYPES,
};

struct ssh_public_key {
    enum ssh_key_type type;
    struct ssh_bytes point;             /* of ED25519 the key; of a curve, uncompressed */
    struct ssh_bytes exponent, modulus; /* of RSA; the highest byte first, without zeros */
};

/* As a blob begins with it: "ssh-ed25519". */
const char *ssh_key_type_name(enum ssh_key_type type);
/* Of a curve: "nistp256", and the bytes of one coordinate; NULL and 0 for others. */
const char *ssh_key_curve_name(enum ssh_key_type type);
size_t ssh_key_coordinate_bytes(enum ssh_key_type type);

/* Takes a blob apart; what is found is borrowed from it. False: it is none of those above. */
bool ssh_public_key_parse(struct ssh_bytes blob, struct ssh_public_key *ret);

/*
 * Reads the text of size bytes. The size of the blob in ret; 0: it is no such key, and *ret_why
 * says so. *ret_text_size, when not NULL: how much of text is "TYPE BASE64".
 */
size_t ssh_public_key_read(const char *text, size_t size, uint8_t ret[SSH_BLOB_MAX],
                           size_t *ret_text_size, const char **ret_why);

/* RFC 4648, 4, with its padding. The number of bytes; -1: it is none, or more than capacity. */
ssize_t ssh_base64_decode(const char *text, size_t size, uint8_t *ret, size_t capacity);
