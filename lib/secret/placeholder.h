// SPDX-License-Identifier: Apache-2.0
/*
 * Placeholders: what a program in a sandbox has in place of a secret.
 */
#pragma once

#include "lib/base/base.h"

#define PLACEHOLDER_MIN_BYTES 8 /* as the policy language has it */
#define PLACEHOLDER_MAX_BYTES 256
#define PLACEHOLDER_RANDOM    256 /* bytes that one is made of */

/*
 * Makes one that programs take for the value: as long, the well-known beginning of its vendor's
 * tokens kept ("ghp_", "sk-"), of the kinds of characters that the value has (digits, small and
 * capital letters, or only those of base 16), with '-', '_' and '.' where the value has them. So it
 * tells the value's length and shape, and nothing of its characters. A value that would leave less
 * than 64 bits to chance, or is longer than PLACEHOLDER_MAX_BYTES, gets one of a fixed form: the
 * beginning, "glovebox-secret-" and 32 letters and digits. random is for this one alone, from
 * getrandom(2).
 */
void placeholder_make(const char *value, size_t size,
                      const unsigned char random[PLACEHOLDER_RANDOM],
                      char ret[PLACEHOLDER_MAX_BYTES + 1]);
