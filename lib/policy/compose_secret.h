// SPDX-License-Identifier: Apache-2.0
/*
 * The part of compose.h that is about secrets. Not for other rooms.
 */
#pragma once

#include "lib/policy/compose.h"
#include "lib/policy/json_text.h"

/* -EINVAL, and e says "ENTRY: REASON". */
int compose_refuse(struct policy_error *e, const char *entry, size_t size, const char *reason);

/* A port as the document has it, or as a text that it will refuse. NULL: no memory. */
json_t *compose_port(const char *text, size_t size);

bool compose_is_utf8(const char *text, size_t size);

/* Whether the language takes the document; if not, e speaks of the entry in place of it. */
int compose_check(json_t *document, const char *entry, size_t size, struct policy_error *e);

/* Adds the secret that word describes to an object of secrets. 0, -EINVAL and e, -ENOMEM. */
int compose_secret(json_t *secrets, const char *word, const struct policy_words *words,
                   struct policy_error *e);
