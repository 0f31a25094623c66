// SPDX-License-Identifier: Apache-2.0
/*
 * Patterns of host names: from a document's words to what is compared. Not for other rooms.
 */
#pragma once

#include "lib/policy/arena.h"
#include "lib/policy/document.h"

/* Room in ret for count patterns, all of which may be of one kind. 0 or -ENOMEM. */
int policy_patterns_init(struct policy_patterns *ret, struct arena *arena, size_t count);

/*
 * Adds one, which has no port. 0; -ENOMEM; -EINVAL with the end of a sentence in *why: what is
 * wrong with it, and what to write instead.
 */
int policy_patterns_add(struct policy_patterns *p, struct arena *arena, const char *text,
                        const char **why);

/* To be called when all are added. */
void policy_patterns_sort(struct policy_patterns *p);

/* Whether every name that inner matches is matched by outer too, as far as is easily seen. */
bool policy_patterns_cover(const struct policy_patterns *outer,
                           const struct policy_patterns *inner);

bool policy_patterns_are_empty(const struct policy_patterns *p);
