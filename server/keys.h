// SPDX-License-Identifier: Apache-2.0
/*
 * API keys, of which only digests are kept. Each is a tenant: it sees the sandboxes that were made
 * with it.
 */
#pragma once

#include "server/text.h"

/*
 * Makes sure that there is a key: the given one is valid from now on; without it one is made when
 * there is none yet, and out is it, else "". 0 or negative errno.
 */
int keys_start(const char *given, char out[API_KEY_SIZE + 1]);

/* The number of a valid key: 1 and *ret; 0: it is none; or negative errno. */
int keys_find(const char *text, int64_t *ret);
