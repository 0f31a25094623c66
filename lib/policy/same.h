// SPDX-License-Identifier: Apache-2.0
/*
 * What of a document holds for as long as a sandbox runs, as it was set up at the start: name
 * servers, roots and the authority of TLS, the proxy, keys for SSH. Other secrets may come and go,
 * but none becomes another one under its name: programs have its placeholder.
 */
#pragma once

#include "lib/policy/document.h"

/*
 * The place of what is other in b than in a, "/secrets"; NULL: nothing. Who has secrets and leaves
 * out the whole field has forgotten them: to take all away is to say "secrets": {}.
 */
const char *policy_find_lasting_change(const struct policy_document *a,
                                       const struct policy_document *b);

/* The secret of that name, borrowed, or NULL. */
const struct policy_secret *policy_find_secret(const struct policy_document *d, const char *name);

/* Whether both have the same secrets, in the same order. */
bool policy_have_same_secrets(const struct policy_document *a, const struct policy_document *b);
