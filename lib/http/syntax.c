// SPDX-License-Identifier: Apache-2.0
#include "lib/http/syntax.h"

static bool is_alphanumeric(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool http_is_token_byte(unsigned char c)
{
    return is_alphanumeric(c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

bool http_is_value_byte(unsigned char c)
{
    return c == '\t' || (c >= 0x20 && c != 0x7f);
}

bool http_token_is_valid(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (!http_is_token_byte((unsigned char)text[i]))
            return false;
    }
    return size > 0;
}

bool http_value_is_valid(const char *text)
{
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++) {
        if (!http_is_value_byte((unsigned char)text[i]))
            return false;
    }
    return size == 0 || (!http_is_blank_byte((unsigned char)text[0]) &&
                         !http_is_blank_byte((unsigned char)text[size - 1]));
}

static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c | 0x20) : c;
}

bool http_is_word(const char *text, size_t size, const char *word)
{
    for (size_t i = 0; i < size; i++) {
        if (word[i] == '\0' || lower((unsigned char)text[i]) != lower((unsigned char)word[i]))
            return false;
    }
    return word[size] == '\0';
}

bool http_words_equal(const char *a, const char *b)
{
    return http_is_word(a, strlen(a), b);
}

/* As the variable has it. Some servers write only '-' as '_', others all that is no letter or
 * digit. */
static char variable_byte(char c)
{
    if (c >= 'a' && c <= 'z')
        return (char)(c - 'a' + 'A');
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
}

bool http_names_alike(const char *a, const char *b)
{
    while (*a && *b && variable_byte(*a) == variable_byte(*b))
        a++, b++;
    return !*a && !*b;
}

bool http_decimal(const char *text, size_t size, size_t most_digits, uint64_t max, uint64_t *ret)
{
    uint64_t n = 0;
    if (size == 0 || size > most_digits)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        if (__builtin_mul_overflow(n, (uint64_t)10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(text[i] - '0'), &n))
            return false;
    }
    if (n > max)
        return false;
    *ret = n;
    return true;
}
