// SPDX-License-Identifier: Apache-2.0
/* The words that HTTP is made of (RFC 9110, section 5.6). ASCII only, whatever the locale. */
#pragma once

#include "lib/base/base.h"

/* tchar: what a method and the name of a field are made of. */
bool http_is_token_byte(unsigned char c);

/* What a field's value is made of: visible, blanks, and bytes from 0x80 on, whose meaning is the
 * reader's own. No line ends, no NUL. */
bool http_is_value_byte(unsigned char c);

static inline bool http_is_visible_byte(unsigned char c)
{
    return c > 0x20 && c < 0x7f;
}

static inline bool http_is_blank_byte(unsigned char c)
{
    return c == ' ' || c == '\t';
}

/* At least one byte, all of them tchar. */
bool http_token_is_valid(const char *text, size_t size);

/* Can be written as a value and be read as the same: also without blanks at its ends. May be "". */
bool http_value_is_valid(const char *text);

/* Whether the size bytes of text are word, upper and lower case alike. */
bool http_is_word(const char *text, size_t size, const char *word);

/* The same for two strings. */
bool http_words_equal(const char *a, const char *b);

/*
 * Whether two fields' names are one to a server that makes variables of them, as by CGI (RFC 3875,
 * 4.1.18) and WSGI: X-Api-Key, x_api_key and X.Api-Key are HTTP_X_API_KEY there.
 */
bool http_names_alike(const char *a, const char *b);

/*
 * Digits alone: at least one, at most most_digits, and not more than max. False, and *ret
 * untouched, for all else.
 */
bool http_decimal(const char *text, size_t size, size_t most_digits, uint64_t max, uint64_t *ret);
