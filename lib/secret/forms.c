// SPDX-License-Identifier: Apache-2.0
#include "lib/secret/forms.h"

static const char alphabets[2][65] = {
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
};

static void set(char *ret, size_t at, char c)
{
    if (ret)
        ret[at] = c;
}

/* The six bits from bit `at` on; beyond the end are zeros, and so before the start. */
static unsigned six_bits(const char *value, size_t size, size_t before, size_t at)
{
    unsigned bits = 0;
    for (size_t i = 0; i < 6; i++) {
        size_t byte = (at + i) / 8;
        unsigned char c = 0;
        if (byte >= before && byte - before < size)
            c = (unsigned char)value[byte - before];
        bits = bits << 1 | (c >> (7 - (at + i) % 8) & 1);
    }
    return bits;
}

size_t form_base64(const char *value, size_t size, enum base64_alphabet alphabet, char *ret)
{
    size_t count = (size * 8 + 5) / 6, padded = (size + 2) / 3 * 4;
    for (size_t i = 0; i < padded; i++)
        set(ret, i, i < count ? alphabets[alphabet][six_bits(value, size, 0, 6 * i)] : '=');
    return padded;
}

size_t form_base64_core(const char *value, size_t size, unsigned before,
                        enum base64_alphabet alphabet, char *ret)
{
    size_t first = (before * 8 + 5) / 6, end = (before + size) * 8 / 6;
    for (size_t i = first; i < end; i++)
        set(ret, i - first, alphabets[alphabet][six_bits(value, size, before, 6 * i)]);
    return end > first ? end - first : 0;
}

bool form_base64_decode(const char *text, size_t size, char *ret, size_t *ret_size)
{
    size_t done = 0;
    uint32_t bits = 0;
    if (size % 4 == 0)
        for (int i = 0; i < 2 && size > 0 && text[size - 1] == '='; i++)
            size--;
    if (size % 4 == 1)
        return false;
    for (size_t i = 0; i < size; i++) {
        const char *at = text[i] ? strchr(alphabets[BASE64_STANDARD], text[i]) : NULL;
        if (!at)
            return false;
        bits = bits << 6 | (uint32_t)(at - alphabets[BASE64_STANDARD]);
        if (i % 4 != 0)
            ret[done++] = (char)(bits >> (6 - 2 * (i % 4)));
    }
    *ret_size = done;
    return true;
}

static char hex_digit(unsigned value, bool is_upper)
{
    return (is_upper ? "0123456789ABCDEF" : "0123456789abcdef")[value & 15];
}

int form_hex_digit(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void set_hex(char *ret, size_t at, unsigned char c, bool is_upper)
{
    set(ret, at, hex_digit(c >> 4, is_upper));
    set(ret, at + 1, hex_digit(c, is_upper));
}

size_t form_hex(const char *value, size_t size, bool is_upper, char *ret)
{
    for (size_t i = 0; i < size; i++)
        set_hex(ret, 2 * i, (unsigned char)value[i], is_upper);
    return 2 * size;
}

/* RFC 3986, section 2.3. */
static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("-._~", c));
}

size_t form_percent(const char *value, size_t size, const struct form_percent *how, char *ret)
{
    size_t done = 0;
    for (size_t i = 0; i < size; i++) {
        char c = value[i];
        if (c == ' ' && how->has_plus) {
            set(ret, done++, '+');
        } else if (is_unreserved(c) || (c && strchr(how->kept, c))) {
            set(ret, done++, c);
        } else {
            set(ret, done, '%');
            set_hex(ret, done + 1, (unsigned char)c, !how->is_lower);
            done += 3;
        }
    }
    return done;
}

size_t form_json(const char *value, size_t size, const struct form_json *how, char *ret)
{
    size_t done = 0;
    for (size_t i = 0; i < size; i++) {
        char c = value[i];
        if ((unsigned char)c < 0x20 || (c && strchr(how->also_escaped, c))) {
            static const char escape[] = "\\u00";
            for (size_t k = 0; k < 4; k++)
                set(ret, done + k, escape[k]);
            set_hex(ret, done + 4, (unsigned char)c, false);
            done += 6;
            continue;
        }
        if (c == '"' || c == '\\' || (c == '/' && how->has_slash))
            set(ret, done++, '\\');
        set(ret, done++, c);
    }
    return done;
}
