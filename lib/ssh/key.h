// SPDX-License-Identifier: Apache-2.0
/*
 * Private keys that sign, and signatures of host keys that are verified: on OpenSSL, which has to
 * be ready (lib/tls), and without I/O.
 *
 * A key comes as OpenSSH writes it (PROTOCOL.key) or as PEM of OpenSSL (PKCS #1, PKCS #8, SEC 1),
 * without a passphrase. What is copied of it meanwhile is wiped.
 */
#pragma once

#include "lib/ssh/public_key.h"

#define SSH_SIGNATURE_MAX 1100

struct ssh_key;

/* NULL, and *ret_why: the reason and the next step. */
struct ssh_key *ssh_key_read(const char *text, size_t size, const char **ret_why);
void ssh_key_free(struct ssh_key *k); /* may be NULL */

/* Borrowed. */
struct ssh_bytes ssh_key_blob(const struct ssh_key *k);

/*
 * What a signature by k is called when a client asks for these flags of the agent's protocol:
 * "ssh-ed25519", "rsa-sha2-512". NULL: there is none; SHA-1 is not used, flags of RSA are for RSA.
 */
const char *ssh_key_algorithm(const struct ssh_key *k, uint32_t flags);

/* Appends a signature (RFC 4253, 6.6). 0, -ENOMEM, or -EIO: the library could not. */
int ssh_key_sign(const struct ssh_key *k, const char *algorithm, struct ssh_bytes data,
                 struct buf *ret);

/* Whether signature is one of data by the key of blob; never one with SHA-1. */
bool ssh_verify(struct ssh_bytes blob, struct ssh_bytes signature, struct ssh_bytes data);
