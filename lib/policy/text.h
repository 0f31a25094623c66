// SPDX-License-Identifier: Apache-2.0
/*
 * Globs, for names and for text. Not for other rooms.
 */
#pragma once

#include "lib/base/base.h"

/* A '*' stands for any bytes, also none. Takes a time linear in the text and the glob. */
bool policy_glob_matches(const char *glob, const char *text, size_t size);
