// SPDX-License-Identifier: Apache-2.0
/*
 * JSON as clients send it and are answered: read strictly (one value, no key twice, valid UTF-8, a
 * bounded depth), written in one line.
 *
 * jansson leaves a byte out and goes on when its buffers can't grow; so its allocations are
 * watched, and where one failed there is no result.
 */
#pragma once

#include "lib/base/buf.h"

#include <jansson.h>

/* Before anything of jansson is used. */
void json_start(void);

/*
 * The object in a body; an empty one for a body that is empty or blank. NULL: *ret_why is a
 * sentence, or NULL for no memory.
 */
json_t *json_read_object(const char *text, size_t size, const char **ret_why);

/*
 * The object that a program of a sandbox sent; NUL may be in its strings. NULL: it is none, or
 * there is no memory.
 */
json_t *json_read_message(const char *text, size_t size, unsigned depth_max);

/* Appends a value in one line. 0, -ENOMEM or -E2BIG. */
int json_write(struct buf *out, const json_t *value);

/* Appends text as a string with its quotes; what is no UTF-8 in it becomes U+FFFD. */
void json_append_string(struct buf *out, const char *text);

/*
 * The member of that name when it has the type, JSON_TRUE standing for both truth values. NULL, and
 * *wrong untouched, when it isn't there or is null; NULL and *wrong = name when it is of another
 * type.
 */
json_t *json_member(const json_t *object, const char *name, json_type type, const char **wrong);

/* Whether all members are strings, with `max_bytes` of keys and values together at most. */
bool json_is_string_map(const json_t *object, size_t max_bytes);
