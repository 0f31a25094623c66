// SPDX-License-Identifier: Apache-2.0
#include "lib/policy/floor.h"
#include "lib/policy/internal.h"

#include <stdio.h>

/* The reason of logs (rule, floor and resolved have more behind it), and the words for a guest. */
static const struct {
    const char *reason, *words;
} causes[] = {
    [POLICY_CAUSE_DEFAULT] = {"default", "this sandbox may not reach that; its network policy does "
                                         "not allow it"},
    [POLICY_CAUSE_RULE] = {"rule:", "this sandbox may not reach that; a rule of its network policy "
                                    "denies it"},
    [POLICY_CAUSE_BUILTIN] = {"rule:builtin:doh-resolvers",
                              "this sandbox asks its own resolver; it may not use another one"},
    [POLICY_CAUSE_FLOOR] = {"floor:", "no sandbox may reach that address"},
    [POLICY_CAUSE_RESOLVED] = {"resolved:", "that name leads to an address that no sandbox may "
                                            "reach"},
    [POLICY_CAUSE_NAME_CONFLICT] = {"name_conflict", "this connection shows names that do not "
                                                     "agree; use one name for all of it"},
    [POLICY_CAUSE_NAME_MISSING] = {"name_missing", "this connection shows no host name, and only "
                                                   "names are allowed; use a name"},
    [POLICY_CAUSE_UNREADABLE] = {"unreadable", "this connection hides its host name, and some "
                                               "names are denied"},
    [POLICY_CAUSE_MALFORMED] = {"malformed", "that is no host name or port"},
    [POLICY_CAUSE_PROTO] = {"proto", "this sandbox may not use that protocol there"},
    [POLICY_CAUSE_PORT] = {"port", "this sandbox may not use that port there"},
    [POLICY_CAUSE_REQUEST] = {"request", "this sandbox may not make that request there"},
    [POLICY_CAUSE_DNS_NAME] = {"dns_name", "this sandbox may not look up that name; its network "
                                           "policy does not allow it"},
    [POLICY_CAUSE_DNS_TYPE] = {"dns_type", "this sandbox may not ask for that type of record"},
    [POLICY_CAUSE_PENDING] = {"pending", ""},
    [POLICY_CAUSE_NONE] = {"", ""},
};

void policy_verdict_init(struct policy_verdict *v)
{
    *v = (struct policy_verdict){.rule = -1, .near = POLICY_CAUSE_NONE, .near_rule = -1};
    policy_verdict_deny(v, POLICY_CAUSE_DEFAULT);
}

void policy_verdict_deny(struct policy_verdict *v, enum policy_cause cause)
{
    v->action = cause == POLICY_CAUSE_PENDING ? POLICY_WAIT : POLICY_DENY;
    v->cause = cause;
    v->words = v->action == POLICY_DENY ? causes[cause].words : NULL;
    snprintf(v->reason, sizeof(v->reason), "%s", causes[cause].reason);
}

void policy_verdict_deny_class(struct policy_verdict *v, enum policy_cause cause,
                               enum policy_group class)
{
    policy_verdict_deny(v, cause);
    snprintf(v->reason, sizeof(v->reason), "%s%s", causes[cause].reason, policy_group_names[class]);
}

void policy_verdict_deny_smtp(struct policy_verdict *v)
{
    policy_verdict_deny(v, POLICY_CAUSE_FLOOR);
    v->words = "no sandbox may use port 25 (SMTP)";
    snprintf(v->reason, sizeof(v->reason), "floor:smtp");
}

void policy_verdict_set_rule(struct policy_verdict *v, const struct policy_document *d,
                             const struct policy_rule *rule)
{
    v->rule = (int)(rule - d->rules);
    v->cause = POLICY_CAUSE_RULE;
    snprintf(v->reason, sizeof(v->reason), "rule:%s", rule->id);
    if (v->action == POLICY_DENY)
        v->words = rule->reason ? rule->reason : causes[POLICY_CAUSE_RULE].words;
}

void policy_verdict_set_near(struct policy_verdict *v, enum policy_cause near, int rule)
{
    v->near = near;
    v->near_rule = rule;
    v->words = causes[near].words;
}

void policy_verdict_audit(struct policy_verdict *v, const struct policy_document *d)
{
    bool is_for_all = v->cause == POLICY_CAUSE_FLOOR || v->cause == POLICY_CAUSE_RESOLVED ||
                      v->cause == POLICY_CAUSE_MALFORMED;
    if (!d->is_audit || v->action != POLICY_DENY || is_for_all)
        return;
    v->action = POLICY_ALLOW;
    v->would_deny = true;
    v->words = NULL;
    v->name = NULL;
}
