// SPDX-License-Identifier: Apache-2.0
/*
 * Whether the gateway does what a document asks for: lib/policy/enforced.h.
 */
#pragma once

#include "lib/policy/document.h"
#include "sandbox/error.h"

/* 0; -EOPNOTSUPP with "POINTER: REASON; NEXT STEP". */
int egress_check(const struct policy_document *d, struct sandbox_error *e);
