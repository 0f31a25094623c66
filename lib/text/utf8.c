// SPDX-License-Identifier: Apache-2.0
#include "lib/text/utf8.h"

int text_utf8_decode(const char *text, size_t size, uint32_t *ret)
{
    const unsigned char *data = (const unsigned char *)text;
    unsigned char c = data[0], low = 0x80, high = 0xbf;
    if (c < 0x80) {
        *ret = c;
        return 1;
    }
    if (c < 0xc2 || c > 0xf4)
        return -1;
    int length = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    uint32_t code = c & (0x7fu >> length);
    if (c == 0xe0)
        low = 0xa0; /* no overlong forms */
    else if (c == 0xed)
        high = 0x9f; /* no surrogates */
    else if (c == 0xf0)
        low = 0x90;
    else if (c == 0xf4)
        high = 0x8f; /* nothing past U+10FFFF */
    for (int i = 1; i < length; i++) {
        if ((size_t)i >= size)
            return 0;
        if (data[i] < low || data[i] > high)
            return -i;
        code = code << 6 | (data[i] & 0x3f);
        low = 0x80;
        high = 0xbf;
    }
    *ret = code;
    return length;
}

size_t text_utf8_encode(uint32_t code, char out[TEXT_UTF8_MAX_BYTES])
{
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)(first[length] | code);
    return length;
}

static size_t ascii_run(const char *text, size_t size)
{
    size_t run = 0;
    while (run < size && (unsigned char)text[run] < 0x80)
        run++;
    return run;
}

void text_utf8_append_valid(struct buf *b, const char *text, size_t size)
{
    size_t at = 0;
    while (at < size) {
        size_t valid = ascii_run(text + at, size - at);
        uint32_t code;
        int length = 1;
        while (at + valid < size &&
               (length = text_utf8_decode(text + at + valid, size - at - valid, &code)) > 0)
            valid += (size_t)length;
        buf_append(b, text + at, valid);
        at += valid;
        if (at == size)
            return;
        buf_append_str(b, TEXT_UTF8_REPLACEMENT);
        at += length < 0 ? (size_t)-length : size - at;
    }
}

size_t text_utf8_cut_end(const char *text, size_t size)
{
    uint32_t code;
    for (size_t i = 1; i <= MIN(size, (size_t)TEXT_UTF8_MAX_BYTES - 1); i++)
        if (((unsigned char)text[size - i] & 0xc0) != 0x80)
            return text_utf8_decode(text + size - i, i, &code) == 0 ? i : 0;
    return 0;
}

size_t text_utf8_cut_start(const char *text, size_t size)
{
    size_t i = 0;
    while (i < MIN(size, (size_t)TEXT_UTF8_MAX_BYTES - 1) &&
           ((unsigned char)text[i] & 0xc0) == 0x80)
        i++;
    return i;
}
