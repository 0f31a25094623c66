// SPDX-License-Identifier: Apache-2.0
/*
 * Where in a text a value of JSON stands, for errors that are found when the text is gone. Not for
 * other rooms.
 */
#pragma once

#include "lib/base/base.h"

/*
 * The place of the value at pointer (RFC 6901) in json, which is well-formed. False when there is
 * none, or when a name on the way is written with escapes. Lines and columns count from 1, columns
 * in characters.
 */
bool policy_position_of(const char *json, size_t size, const char *pointer, unsigned *ret_line,
                        unsigned *ret_column);
