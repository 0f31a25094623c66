// SPDX-License-Identifier: Apache-2.0
/*
 * What is allowed in a document and most likely not meant. Warnings, never errors.
 */
#pragma once

#include "lib/policy/policy.h"

struct policy_warning {
    const char *code; /* "unreachable_rule", ...: docs/policy.md has them all */
    int rule;         /* or -1 */
    char text[512];   /* one line: what, why, what to do */
};

/*
 * Calls found for each, in bounded time (of rules that are never reached not all may be found in a
 * document of extreme size): those of single rules in their order, then those of the document. The
 * warning is valid during the call.
 */
void policy_lint(const struct policy *p,
                 void (*found)(const struct policy_warning *w, void *context), void *context);
