// SPDX-License-Identifier: Apache-2.0
/* Secrets of a test, and requests that they are for. */
#pragma once

#include "lib/secret/secrets.h"
#include "tests/harness/harness.h"
#include "tests/unit/policy_support.h"

#define A_VALUE       "s3cret/Value+of \"A\""
#define A_PLACEHOLDER "placeholder-AAAA-0001"
#define B_VALUE       "other~value~of~B"
#define B_PLACEHOLDER "placeholder-BBBB-0002"

struct vault {
    struct policy *policy;
    struct secrets *secrets;
};

/*
 * Two secrets A and B, for a.test and b.test; a and b: more members of their objects, with their
 * comma before them.
 */
struct vault vault_new(const char *a, const char *b);
void vault_done(struct vault *v);

/* GET https://HOST/ over TLS. */
struct secrets_request request_to(const char *host);
