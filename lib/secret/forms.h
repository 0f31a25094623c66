// SPDX-License-Identifier: Apache-2.0
/*
 * The encodings in which a value travels. Not for other rooms. Each writer gives the number of
 * bytes; ret may be NULL, only to count.
 */
#pragma once

#include "lib/base/base.h"

enum base64_alphabet { BASE64_STANDARD, BASE64_URL };

/* With padding (RFC 4648, section 4 and 5). */
size_t form_base64(const char *value, size_t size, enum base64_alphabet alphabet, char *ret);

/*
 * What every base 64 text has in it that encodes the value behind `before` (0 to 2) bytes of a
 * group of three: the characters that no neighbour has a part in.
 */
size_t form_base64_core(const char *value, size_t size, unsigned before,
                        enum base64_alphabet alphabet, char *ret);

/* Strict: whole groups, padded or not, standard alphabet. False: it is none. */
bool form_base64_decode(const char *text, size_t size, char *ret, size_t *ret_size);

size_t form_hex(const char *value, size_t size, bool is_upper, char *ret);

/* Percent-encoded but for letters, digits, "-._~" and what is in kept; a blank as '+' when asked.
 */
struct form_percent {
    const char *kept;
    bool is_lower, has_plus;
};
size_t form_percent(const char *value, size_t size, const struct form_percent *how, char *ret);

/* The inside of a string of JSON; also_escaped: written as \u00xx besides; has_slash: "\/". */
struct form_json {
    const char *also_escaped;
    bool has_slash;
};
size_t form_json(const char *value, size_t size, const struct form_json *how, char *ret);

/* The value of a digit of base 16, or -1. */
int form_hex_digit(unsigned char c);
