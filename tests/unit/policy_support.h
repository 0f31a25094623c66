// SPDX-License-Identifier: Apache-2.0
/*
 * Policies, flows and verdicts in a notation that is short enough for tables.
 *
 * Documents may be written with ' in place of ". A flow is
 *
 *   PROTOCOL ADDRESS PORT [from=NAME,...] [target=NAME] [sni=NAME] [host=NAME] [http=METHOD:PATH]
 *            [dial=NAME@ADDRESS]
 *
 * where "from" are the names that the resolver gave, the latest last. A name is "?" when it may
 * still come, "-" when it can't, "!" when it can't be read, "#" when an address stands there. What
 * is not written is as policy_flow_init() has it.
 *
 * A verdict is "ACTION REASON NAME", with "address" in place of a name for what is dialled by
 * address, and nothing there when it isn't ALLOW. Behind that may stand "+tls" (it is terminated),
 * "+ambiguous", "+audit", "+near:ID", "+bytes" and "+request" (what is waited for).
 */
#pragma once

#include "lib/policy/document.h"
#include "lib/policy/policy.h"

/* Ends the case when the document is refused. */
struct policy *policy_of(const char *document);

struct policy_net net_of(const char *text);

/* The verdict, valid until the next call. */
const char *verdict_of(const struct policy *p, const struct policy_operator *op, const char *flow);

/* The words that are given have to be the first ones of the verdict. */
#define expect_verdict(p, op, flow, verdict) \
    check_verdict(__FILE__, __LINE__, (p), (op), (flow), (verdict))
void check_verdict(const char *file, int line, const struct policy *p,
                   const struct policy_operator *op, const char *flow, const char *verdict);

#define expect_pattern(pattern, name, matches) \
    check_pattern(__FILE__, __LINE__, (pattern), (name), (matches))
void check_pattern(const char *file, int line, const char *pattern, const char *name, bool matches);

/* "ACTION REASON" for a question of a type such as "AAAA". */
#define expect_query(p, name, type, verdict) \
    check_query(__FILE__, __LINE__, (p), (name), (type), (verdict))
void check_query(const char *file, int line, const struct policy *p, const char *name,
                 const char *type, const char *verdict);

/* The document is refused at a place, with a reason that has those words in it. */
#define expect_refused(document, pointer, words) \
    check_refused(__FILE__, __LINE__, (document), (pointer), (words))
void check_refused(const char *file, int line, const char *document, const char *pointer,
                   const char *words);
