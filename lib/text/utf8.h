// SPDX-License-Identifier: Apache-2.0
/*
 * UTF-8 as Unicode 15 defines it (table 3-7): no overlong forms, no surrogates, nothing past
 * U+10FFFF.
 *
 * What is not well-formed becomes U+FFFD by the practice that Unicode (chapter 3.9, "U+FFFD
 * Substitution of Maximal Subparts") and the WHATWG's decoders recommend: one for the longest piece
 * that begins a well-formed sequence, or for one byte when there is no such piece. So a character
 * that was cut in two is one U+FFFD, and every decoder of that practice agrees on how many there
 * are.
 */
#pragma once

#include "lib/base/buf.h"

#define TEXT_UTF8_MAX_BYTES   4 /* of one character */
#define TEXT_UTF8_REPLACEMENT "\xef\xbf\xbd"

/*
 * The sequence at the start of text, whose size is at least 1. Returns
 *   n > 0   its length, and *ret is its code point;
 *   0       all of text begins a character, and more bytes are needed;
 *   -n < 0  the first n bytes are one ill-formed piece, as above.
 */
int text_utf8_decode(const char *text, size_t size, uint32_t *ret);

/* Bytes that code takes, written to out; code is no surrogate and at most U+10FFFF. */
size_t text_utf8_encode(uint32_t code, char out[TEXT_UTF8_MAX_BYTES]);

/* Appends text, with U+FFFD for what is ill-formed: at most three bytes for one. */
void text_utf8_append_valid(struct buf *b, const char *text, size_t size);

/* Bytes at the end of text that are the beginning of a character: 0 to 3. */
size_t text_utf8_cut_end(const char *text, size_t size);

/* Bytes at the start of text that may be the rest of a character: 0 to 3. */
size_t text_utf8_cut_start(const char *text, size_t size);
