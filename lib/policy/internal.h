// SPDX-License-Identifier: Apache-2.0
/*
 * What the files of this folder know of a policy, and of a judgement on its way. Not for other
 * rooms.
 */
#pragma once

#include "lib/policy/arena.h"
#include "lib/policy/document.h"

struct policy {
    struct arena arena;
    struct policy_document document;
};

/* What holds for TLS under a rule (NULL: the default) that may leave it to the document. */
enum policy_tls policy_rule_tls(const struct policy_document *d, const struct policy_rule *rule);

bool policy_rule_has_port(const struct policy_rule *rule, uint16_t port);

/* Nothing but the destination decides whether the rule matches. */
bool policy_rule_is_unconditional(const struct policy_rule *rule);

/* A flow as a rule sees it: what cannot come is absent, and N0 may be one name of several. */
struct policy_view {
    const struct policy_document *document;
    const struct policy_operator *op;
    struct policy_flow flow;
    bool is_last;    /* nothing more can come */
    bool skips_http; /* predicates are taken as satisfied */
};

struct policy_view policy_view_of(const struct policy *p, const struct policy_operator *op,
                                  const struct policy_flow *flow);

/* The name that counts for a rule that allows. */
struct policy_name policy_view_name(const struct policy_view *v);

/* Whether a name that the flow shows, or one of N0, is one that matches says yes to. */
bool policy_view_shows(const struct policy_view *v, bool (*matches)(const void *what, const char *),
                       const void *what);

enum policy_answer policy_view_answer(const struct policy_view *v, const struct policy_rule *rule);

/* Whether the rule, which matches, does so by a name. */
bool policy_view_is_by_name(const struct policy_view *v, const struct policy_rule *rule);

/* Whether the rule's addresses have that of the view, whatever its ports, protocols and HTTP. */
bool policy_view_has_address(const struct policy_view *v, const struct policy_rule *rule);

/* By what one thing a rule that allows missed the flow; NONE: by more, or by none. */
enum policy_cause policy_view_near(const struct policy_view *v, const struct policy_rule *rule);

/* An empty verdict: deny by default. */
void policy_verdict_init(struct policy_verdict *v);

void policy_verdict_deny(struct policy_verdict *v, enum policy_cause cause);
void policy_verdict_deny_class(struct policy_verdict *v, enum policy_cause cause,
                               enum policy_group class);
void policy_verdict_deny_smtp(struct policy_verdict *v);
/* Denied by default, and rule misses it by that alone: so it is told. */
void policy_verdict_set_near(struct policy_verdict *v, enum policy_cause near, int rule);
void policy_verdict_set_rule(struct policy_verdict *v, const struct policy_document *d,
                             const struct policy_rule *rule);

/* In audit mode a deny that is not the floor's becomes one that is only logged. */
void policy_verdict_audit(struct policy_verdict *v, const struct policy_document *d);
