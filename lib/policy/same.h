// SPDX-License-Identifier: Apache-2.0
/*
 * What of a document holds for as long as a sandbox runs, as it was set up at the start: name
 * servers, roots and the authority of TLS, the proxy, secrets.
 */
#pragma once

#include "lib/policy/document.h"

/* The place of what is other in b than in a, "/secrets"; NULL: nothing. */
const char *policy_find_lasting_change(const struct policy_document *a,
                                       const struct policy_document *b);
