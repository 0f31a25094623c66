// SPDX-License-Identifier: Apache-2.0
/*
 * Labels: words that whoever makes a sandbox puts on it to find it again, KEY=VALUE. They mean
 * nothing to it, and its programs do not see them.
 *
 * In a record they are lines KEY=VALUE, in the order in which they were given, one for a key.
 */
#pragma once

#include "sandbox/error.h"
#include "sandbox/strv.h"

#define LABELS_MAX            32
#define LABEL_KEY_MAX_BYTES   63
#define LABEL_VALUE_MAX_BYTES 255
#define LABELS_TEXT_MAX_BYTES (LABELS_MAX * (LABEL_KEY_MAX_BYTES + LABEL_VALUE_MAX_BYTES + 2) + 1)

/* Whether a key of that size can be one: letters, digits and ._-/, the first a letter or digit. */
bool label_is_key(const char *key, size_t size);

/*
 * Adds "KEY=VALUE", or "KEY" for an empty value; one of that key is replaced. Values are UTF-8
 * without control characters. 0, or negative errno with "REASON; NEXT STEP".
 */
int labels_add(struct strv *labels, const char *word, struct sandbox_error *e);

/* The lines; what there is no room for is left out. */
void labels_write(const struct strv *labels, char ret[static LABELS_TEXT_MAX_BYTES]);

/* Appends one that was read, if it is one and there is room. */
void labels_append(char text[static LABELS_TEXT_MAX_BYTES], const char *word);

/* Whether a label of text is that: "KEY" of any value, or "KEY=VALUE". */
bool labels_match(const char *text, const char *filter);

/* The value of a key in text: its bytes, *ret_size of them; NULL: there is none. */
const char *labels_find(const char *text, const char *key, size_t *ret_size);
