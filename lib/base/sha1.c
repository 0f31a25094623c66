// SPDX-License-Identifier: Apache-2.0
#include "lib/base/sha1.h"

void sha1_init(struct sha1 *s)
{
    *s = (struct sha1){{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}, 0, {0}};
}

static uint32_t rotate(uint32_t word, unsigned bits)
{
    return word << bits | word >> (32 - bits);
}

/* RFC 3174, 5: f(t; B, C, D) + K(t). */
static uint32_t mix(unsigned t, uint32_t b, uint32_t c, uint32_t d)
{
    if (t < 20)
        return ((b & c) | (~b & d)) + 0x5a827999;
    if (t < 40)
        return (b ^ c ^ d) + 0x6ed9eba1;
    if (t < 60)
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    return (b ^ c ^ d) + 0xca62c1d6;
}

static void add_block(struct sha1 *s)
{
    uint32_t w[80], a = s->state[0], b = s->state[1], c = s->state[2], d = s->state[3],
                    e = s->state[4];
    for (unsigned t = 0; t < 16; t++)
        w[t] = (uint32_t)s->block[4 * t] << 24 | (uint32_t)s->block[4 * t + 1] << 16 |
               (uint32_t)s->block[4 * t + 2] << 8 | s->block[4 * t + 3];
    for (unsigned t = 16; t < 80; t++)
        w[t] = rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    for (unsigned t = 0; t < 80; t++) {
        uint32_t next = rotate(a, 5) + mix(t, b, c, d) + e + w[t];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    s->state[0] += a;
    s->state[1] += b;
    s->state[2] += c;
    s->state[3] += d;
    s->state[4] += e;
}

void sha1_add(struct sha1 *s, const void *data, size_t size)
{
    const uint8_t *at = data;
    while (size > 0) {
        size_t used = s->bytes % sizeof(s->block);
        size_t part = MIN(size, sizeof(s->block) - used);
        memcpy(s->block + used, at, part);
        s->bytes += part;
        at += part;
        size -= part;
        if (used + part == sizeof(s->block))
            add_block(s);
    }
}

void sha1_finish(struct sha1 *s, uint8_t ret[SHA1_BYTES])
{
    uint8_t length[8];
    for (unsigned i = 0; i < 8; i++)
        length[i] = (uint8_t)(s->bytes * 8 >> (56 - 8 * i));
    sha1_add(s, "\x80", 1);
    while (s->bytes % sizeof(s->block) != sizeof(s->block) - sizeof(length))
        sha1_add(s, "", 1);
    sha1_add(s, length, sizeof(length));
    for (unsigned i = 0; i < SHA1_BYTES; i++)
        ret[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}
