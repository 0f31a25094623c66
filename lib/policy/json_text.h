// SPDX-License-Identifier: Apache-2.0
/*
 * jansson, so that no memory is always noticed: when its buffers can't grow it leaves out a byte of
 * a text and goes on, and "443" would be read as "43". Not for other rooms.
 *
 * Both watch jansson's allocations while they run, by its one set of functions for a process.
 */
#pragma once

#include "lib/base/base.h"

#include <jansson.h>

/*
 * The document of size bytes, without duplicate keys. NULL: *ret_no_memory, or else error says why.
 */
json_t *json_text_load(const char *text, size_t size, json_error_t *error, bool *ret_no_memory);

/* In one line; to be freed with free(). NULL: no memory. */
char *json_text_dump(const json_t *value);
