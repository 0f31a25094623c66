// SPDX-License-Identifier: Apache-2.0
/*
 * SHA-1 (RFC 3174), for formats that have it as a checksum. Nothing here relies on it as a
 * signature.
 */
#pragma once

#include "lib/base/base.h"

#define SHA1_BYTES 20

struct sha1 {
    uint32_t state[5];
    uint64_t bytes; /* that were added */
    uint8_t block[64];
};

void sha1_init(struct sha1 *s);
void sha1_add(struct sha1 *s, const void *data, size_t size);
/* s is used up. */
void sha1_finish(struct sha1 *s, uint8_t ret[SHA1_BYTES]);
