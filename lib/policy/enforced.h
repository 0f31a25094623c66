// SPDX-License-Identifier: Apache-2.0
/*
 * What of the policy language a gateway does. What a document asks for and it does not do yet is an
 * error, at the start and at an update, never left out in silence.
 */
#pragma once

#include "lib/policy/document.h"

/* 0; -EOPNOTSUPP and e, "POINTER: REASON; NEXT STEP". */
int policy_check_enforced(const struct policy_document *d, struct policy_error *e);
