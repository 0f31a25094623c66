// SPDX-License-Identifier: Apache-2.0
/*
 * What of the policy language the gateway does. What a document asks for and it does not do yet is
 * an error at the start, never left out in silence.
 */
#pragma once

#include "lib/policy/document.h"
#include "sandbox/error.h"

/* 0; -EOPNOTSUPP with "POINTER: REASON; NEXT STEP". */
int egress_check(const struct policy_document *d, struct sandbox_error *e);
