// SPDX-License-Identifier: Apache-2.0
/*
 * Reads the presentation language of TLS (RFC 8446, section 3): big-endian numbers, and vectors
 * with their length in front. Each returns false, with nothing read, when there is too little.
 */
#pragma once

#include "lib/base/base.h"

struct tls_reader {
    const uint8_t *data;
    size_t size;
};

static inline bool tls_read_bytes(struct tls_reader *in, size_t size, struct tls_reader *ret)
{
    if (size > in->size)
        return false;
    *ret = (struct tls_reader){in->data, size};
    if (size > 0)
        in->data += size;
    in->size -= size;
    return true;
}

/* size: at most 8 bytes. */
static inline bool tls_read_number(struct tls_reader *in, size_t size, uint64_t *ret)
{
    struct tls_reader bytes;
    uint64_t n = 0;
    if (!tls_read_bytes(in, size, &bytes))
        return false;
    for (size_t i = 0; i < size; i++)
        n = n << 8 | bytes.data[i];
    *ret = n;
    return true;
}

/* length_size: bytes of the length. */
static inline bool tls_read_vector(struct tls_reader *in, size_t length_size,
                                   struct tls_reader *ret)
{
    struct tls_reader rest = *in;
    uint64_t size;
    if (!tls_read_number(&rest, length_size, &size) || !tls_read_bytes(&rest, size, ret))
        return false;
    *in = rest;
    return true;
}
