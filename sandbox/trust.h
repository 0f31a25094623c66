// SPDX-License-Identifier: Apache-2.0
/*
 * The authority that a sandbox's gateway makes at its start. It shows certificates of its own in
 * place of servers', and the sandbox's programs trust them: lib/base/trust.h.
 */
#pragma once

#include "lib/base/buf.h"

#define SANDBOX_CA_MAX_BYTES 1024

struct sandbox_ca {
    uint8_t der[SANDBOX_CA_MAX_BYTES]; /* its certificate: X.509 */
    size_t size;                       /* 0: there is none */
    uint32_t subject_hash;             /* X509_subject_name_hash(3) of it */
};

/*
 * Takes over what came with GATEWAY_READY, which may be nothing. 0; -EINVAL for what is no DER of
 * its size, and then *ret is as it was.
 */
int sandbox_ca_set(struct sandbox_ca *ret, const void *der, size_t size, uint32_t subject_hash);

/* Appends it as PEM (RFC 7468), ended by a newline. */
void sandbox_ca_write_pem(const struct sandbox_ca *ca, struct buf *b);
