// SPDX-License-Identifier: Apache-2.0
/*
 * What a policy does with one destination, from the look-up of its name to the request.
 */
#pragma once

#include "lib/policy/policy.h"
#include "sandbox/error.h"

#include <jansson.h>
#include <stdio.h>

#define EXPLAIN_STEPS_MAX 5

struct explain_options {
    const char *method;
    struct in6_addr address; /* that the name leads to */
    bool has_address;
};

struct explain_step {
    const char *name; /* dns, connect, hello, request, dial */
    char subject[512];
    struct policy_verdict verdict;
};

struct explanation {
    char target[512]; /* as it was read */
    struct explain_step steps[EXPLAIN_STEPS_MAX];
    size_t step_count;
    bool is_allowed;
    /* What the last verdict on the flow was about, for the rules; none for a question. */
    bool has_flow;
    struct policy_flow flow;
    /* Borrowed by the flow. */
    struct policy_host host;
    const char *resolved[1];
    char path[2048], query[2048];
};

/*
 * 0, whatever the verdict; -EINVAL and e when the target is none. p, target and o are borrowed for
 * as long as *ret is used; *ret must not be moved.
 */
int policy_explain(const struct policy *p, const char *target, const struct explain_options *o,
                   struct explanation *ret, struct sandbox_error *e);

void explanation_print(const struct policy *p, const struct explanation *x, FILE *out);

/* NULL when memory runs out. */
json_t *explanation_make_json(const struct policy *p, const struct explanation *x);
