// SPDX-License-Identifier: Apache-2.0
/*
 * Whether two documents say the same, for what can't be changed while a sandbox runs.
 */
#pragma once

#include "lib/policy/document.h"

bool policy_resolvers_are_same(const struct policy_document *a, const struct policy_document *b);

/* All that is said of each secret, in the same order. */
bool policy_secrets_are_same(const struct policy_document *a, const struct policy_document *b);
