// SPDX-License-Identifier: Apache-2.0
#include "lib/secret/placeholder.h"

#include <stdio.h>

#define LEAST_BITS   64
#define FIXED        "glovebox-secret-"
#define FIXED_RANDOM 32
#define DIGITS       "0123456789"
#define SMALL_HEX    "abcdef"
#define CAPITAL_HEX  "ABCDEF"
#define SMALL        "abcdefghijklmnopqrstuvwxyz"
#define CAPITAL      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define SEPARATORS   "-_."

/* By which programs and people know whose token it is; a longer one before its beginning. */
static const char *const vendors[] = {
    "github_pat_", "ghp_",     "gho_",    "ghu_",     "ghs_",     "ghr_",     "glpat-",   "glsa_",
    "sk-ant-",     "sk-proj-", "sk-",     "sk_live_", "sk_test_", "rk_live_", "rk_test_", "xoxb-",
    "xoxp-",       "xoxa-",    "xapp-",   "AKIA",     "ASIA",     "AIza",     "ya29.",    "npm_",
    "pypi-",       "hf_",      "dop_v1_", "shpat_",   "SG.",      "eyJ",
};

static size_t vendor_size(const char *value, size_t size)
{
    for (size_t i = 0; i < ARRAY_SIZE(vendors); i++) {
        size_t n = strlen(vendors[i]);
        if (n < size && !memcmp(vendors[i], value, n))
            return n;
    }
    return 0;
}

static bool has_any(const char *value, size_t size, const char *set)
{
    for (size_t i = 0; i < size; i++)
        if (value[i] && strchr(set, value[i]))
            return true;
    return false;
}

/* Those of all that value has one of; of letters only those of base 16 when there are no others. */
static void choose_alphabet(const char *value, size_t size, char ret[64])
{
    bool has_small = has_any(value, size, SMALL), has_capital = has_any(value, size, CAPITAL);
    bool is_hex = !has_any(value, size, "ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ") &&
                  has_any(value, size, DIGITS);
    if (!has_small && !has_capital && !has_any(value, size, DIGITS))
        has_small = true;
    snprintf(ret, 64, "%s%s%s", has_any(value, size, DIGITS) ? DIGITS : "",
             !has_small ? ""
             : is_hex   ? SMALL_HEX
                        : SMALL,
             !has_capital ? ""
             : is_hex     ? CAPITAL_HEX
                          : CAPITAL);
}

static bool is_separator(char c)
{
    return c && strchr(SEPARATORS, c);
}

/*
 * Hundredths of a bit that a byte of chance at least leaves in one of count characters: as many of
 * the 256 bytes come to the most likely one.
 */
static size_t hundredths(size_t count)
{
    static const struct {
        size_t count, bits;
    } rows[] = {{10, 329}, {16, 400}, {22, 441}, {26, 467}, {36, 500}, {52, 567}, {62, 567}};
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].count == count)
            return rows[i].bits;
    return 0;
}

static size_t fill(const char *shape, size_t size, const char *alphabet,
                   const unsigned char *random, char *ret)
{
    size_t count = strlen(alphabet), chosen = 0;
    for (size_t i = 0; i < size; i++) {
        if (is_separator(shape[i])) {
            ret[i] = shape[i];
            continue;
        }
        ret[i] = alphabet[random[i] * count >> 8];
        chosen++;
    }
    ret[size] = 0;
    return chosen;
}

void placeholder_make(const char *value, size_t size,
                      const unsigned char random[PLACEHOLDER_RANDOM],
                      char ret[PLACEHOLDER_MAX_BYTES + 1])
{
    char alphabet[64];
    size_t kept = vendor_size(value, size);
    memcpy(ret, value, kept);
    if (size <= PLACEHOLDER_MAX_BYTES) {
        choose_alphabet(value + kept, size - kept, alphabet);
        size_t chosen = fill(value + kept, size - kept, alphabet, random, ret + kept);
        if (chosen * hundredths(strlen(alphabet)) >= LEAST_BITS * 100)
            return;
    }
    memcpy(ret + kept, FIXED, strlen(FIXED));
    kept += strlen(FIXED);
    static const char shape[FIXED_RANDOM + 1] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    fill(shape, FIXED_RANDOM, DIGITS SMALL CAPITAL, random, ret + kept);
}
