// SPDX-License-Identifier: Apache-2.0
/* What the files of this folder that stand on OpenSSL share. */
#pragma once

#include "lib/ssh/public_key.h"

#include <openssl/evp.h>

/* The parts of a key as numbers, the highest byte first; those of another type are empty. */
struct ssh_key_parts {
    struct ssh_public_key public;
    struct ssh_bytes secret; /* of ED25519 the seed; of a curve the number; of RSA d */
    struct ssh_bytes p, q, inverse;
};

/* A key for OpenSSL; NULL: it is none, or there is no memory. Without a secret: to verify. */
EVP_PKEY *ssh_evp_new(const struct ssh_key_parts *parts);

/* A file of OpenSSH. NULL, and *ret_why. */
EVP_PKEY *ssh_key_file_read(const char *text, size_t size, const char **ret_why);
