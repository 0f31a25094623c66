// SPDX-License-Identifier: Apache-2.0
#include "lib/text/base64.h"

/* count of 1 to 3 bytes. */
static void encode_group(const unsigned char *in, size_t count, char out[4])
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = (uint32_t)in[0] << 16;
    bits |= count > 1 ? (uint32_t)in[1] << 8 : 0;
    bits |= count > 2 ? in[2] : 0;
    for (size_t i = 0; i < 4; i++)
        out[i] = i <= count ? alphabet[bits >> (18 - 6 * i) & 63] : '=';
}

void text_base64_append(struct buf *b, const void *data, size_t size)
{
    const unsigned char *in = data;
    char piece[4 * 256];
    size_t filled = 0;
    for (size_t at = 0; at < size; at += 3) {
        encode_group(in + at, MIN(size - at, (size_t)3), piece + filled);
        filled += 4;
        if (filled == sizeof(piece)) {
            buf_append(b, piece, filled);
            filled = 0;
        }
    }
    buf_append(b, piece, filled);
}
