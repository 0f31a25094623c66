// SPDX-License-Identifier: Apache-2.0
/*
 * What one rule says of one flow.
 */
#include "lib/policy/floor.h"
#include "lib/policy/internal.h"
#include "lib/policy/ranges.h"

static const struct policy_name absent = {.state = POLICY_NAME_ABSENT};

struct policy_flow policy_flow_init(enum policy_protocol protocol, const struct in6_addr *address,
                                    uint16_t port)
{
    struct policy_flow flow = {
        .protocol = protocol, .address = *address, .port = port, .target = absent};
    if (protocol != POLICY_TCP) {
        flow.sni = flow.authority = absent;
        flow.request.state = POLICY_NAME_ABSENT;
    }
    return flow;
}

struct policy_view policy_view_of(const struct policy *p, const struct policy_operator *op,
                                  const struct policy_flow *flow)
{
    struct policy_view v = {.document = &p->document, .op = op, .flow = *flow};
    struct policy_flow *f = &v.flow;
    if (f->resolved_count > POLICY_RESOLVED_MAX) {
        f->resolved += f->resolved_count - POLICY_RESOLVED_MAX;
        f->resolved_count = POLICY_RESOLVED_MAX;
    }
    if (f->protocol != POLICY_TCP) {
        f->sni = f->authority = absent;
        f->request.state = POLICY_NAME_ABSENT;
    }
    bool is_pending = f->sni.state == POLICY_NAME_PENDING ||
                      f->authority.state == POLICY_NAME_PENDING ||
                      f->request.state == POLICY_NAME_PENDING;
    v.is_last = !is_pending || f->sni.state == POLICY_NAME_UNREADABLE ||
                f->authority.state == POLICY_NAME_UNREADABLE;
    return v;
}

struct policy_name policy_view_name(const struct policy_view *v)
{
    const struct policy_flow *f = &v->flow;
    if (f->target.state == POLICY_NAME_GIVEN)
        return f->target;
    if (f->resolved_count == 1)
        return (struct policy_name){POLICY_NAME_GIVEN, f->resolved[0]};
    if (f->sni.state == POLICY_NAME_GIVEN)
        return f->sni;
    if (f->authority.state == POLICY_NAME_GIVEN)
        return f->authority;
    if (f->sni.state == POLICY_NAME_UNREADABLE || f->authority.state == POLICY_NAME_UNREADABLE)
        return (struct policy_name){POLICY_NAME_UNREADABLE, NULL};
    if (f->sni.state == POLICY_NAME_PENDING || f->authority.state == POLICY_NAME_PENDING)
        return (struct policy_name){POLICY_NAME_PENDING, NULL};
    return absent;
}

bool policy_view_shows(const struct policy_view *v, bool (*matches)(const void *what, const char *),
                       const void *what)
{
    const struct policy_flow *f = &v->flow;
    const struct policy_name *names[] = {&f->target, &f->sni, &f->authority};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (names[i]->state == POLICY_NAME_GIVEN && matches(what, names[i]->text))
            return true;
    for (size_t i = 0; i < f->resolved_count; i++)
        if (matches(what, f->resolved[i]))
            return true;
    return false;
}

bool policy_rule_is_of_names(const struct policy_rule *rule)
{
    return rule->to == POLICY_TO_DOMAIN ||
           (rule->to == POLICY_TO_GROUP && rule->groups & 1U << POLICY_GROUP_DOH);
}

static bool rule_has_name(const void *what, const char *name)
{
    const struct policy_rule *rule = what;
    return rule->to == POLICY_TO_DOMAIN ? policy_patterns_match(&rule->patterns, name)
                                        : policy_floor_is_doh_name(name);
}

static bool is_in_ranges(const struct policy_view *v, const struct policy_rule *rule)
{
    struct in6_addr inner;
    if (policy_ranges_contain(rule->ranges, rule->range_count, &v->flow.address))
        return true;
    /* An address within another one earns a deny, never an allow. */
    return !rule->is_allow && policy_floor_embedded(v->op, &v->flow.address, &inner) &&
           policy_ranges_contain(rule->ranges, rule->range_count, &inner);
}

static bool is_in_groups(const struct policy_view *v, const struct policy_rule *rule)
{
    const struct in6_addr *address = &v->flow.address;
    if (rule->groups & 1U << policy_floor_class(v->op, address))
        return true;
    if (rule->groups & 1U << POLICY_GROUP_HOST && policy_floor_is_host(v->op, address))
        return true;
    return rule->groups & 1U << POLICY_GROUP_DOH && policy_floor_is_doh_address(address);
}

bool policy_view_has_address(const struct policy_view *v, const struct policy_rule *rule)
{
    switch (rule->to) {
    case POLICY_TO_ANY:
        return true;
    case POLICY_TO_CIDR:
        return is_in_ranges(v, rule);
    case POLICY_TO_GROUP:
        return is_in_groups(v, rule);
    case POLICY_TO_DOMAIN:
        break;
    }
    return false;
}

bool policy_view_is_by_name(const struct policy_view *v, const struct policy_rule *rule)
{
    return policy_rule_is_of_names(rule) && !policy_view_has_address(v, rule);
}

static bool is_resolved(const struct policy_flow *f, const char *name)
{
    for (size_t i = 0; i < f->resolved_count; i++)
        if (!strcmp(f->resolved[i], name))
            return true;
    return false;
}

/* An allow has to have the one name that counts; a deny is content with any that is seen. */
static enum policy_answer answer_names(const struct policy_view *v, const struct policy_rule *rule)
{
    struct policy_name name = policy_view_name(v);
    bool is_unknown = name.state == POLICY_NAME_PENDING || name.state == POLICY_NAME_UNREADABLE;
    if (!rule->is_allow) {
        if (policy_view_shows(v, rule_has_name, rule))
            return POLICY_YES;
        is_unknown |= v->flow.sni.state == POLICY_NAME_UNREADABLE ||
                      v->flow.authority.state == POLICY_NAME_UNREADABLE;
        return is_unknown ? POLICY_UNKNOWN : POLICY_NO;
    }
    if (is_unknown)
        return POLICY_UNKNOWN;
    if (name.state != POLICY_NAME_GIVEN || !rule_has_name(rule, name.text))
        return POLICY_NO;
    return rule->is_pinned && !is_resolved(&v->flow, name.text) ? POLICY_NO : POLICY_YES;
}

static enum policy_answer answer_to(const struct policy_view *v, const struct policy_rule *rule)
{
    if (policy_view_has_address(v, rule))
        return POLICY_YES;
    return policy_rule_is_of_names(rule) ? answer_names(v, rule) : POLICY_NO;
}

static enum policy_answer answer_http(const struct policy_view *v, const struct policy_rule *rule)
{
    if (!rule->http || v->skips_http)
        return POLICY_YES;
    switch (v->flow.request.state) {
    case POLICY_NAME_PENDING:
    case POLICY_NAME_UNREADABLE:
        return POLICY_UNKNOWN;
    case POLICY_NAME_GIVEN:
        return (rule->is_allow ? policy_http_matches : policy_http_could_match)(rule->http,
                                                                                &v->flow.request)
                   ? POLICY_YES
                   : POLICY_NO;
    default:
        return POLICY_NO;
    }
}

bool policy_rule_has_port(const struct policy_rule *rule, uint16_t port)
{
    for (size_t i = 0; i < rule->port_count; i++)
        if (port >= rule->ports[i].first && port <= rule->ports[i].last)
            return true;
    return rule->port_count == 0;
}

bool policy_rule_is_unconditional(const struct policy_rule *rule)
{
    return !rule->port_count && !rule->has_protocols && !rule->http;
}

enum policy_answer policy_view_answer(const struct policy_view *v, const struct policy_rule *rule)
{
    if (!policy_rule_holds(v->document, rule) || !(rule->protocols & 1U << v->flow.protocol) ||
        !policy_rule_has_port(rule, v->flow.port))
        return POLICY_NO;
    enum policy_answer answer = answer_to(v, rule);
    return answer == POLICY_YES ? answer_http(v, rule) : answer;
}

enum policy_cause policy_view_near(const struct policy_view *v, const struct policy_rule *rule)
{
    bool has_protocol = rule->protocols & 1U << v->flow.protocol;
    bool has_port = policy_rule_has_port(rule, v->flow.port);
    if (!rule->is_allow || !policy_rule_holds(v->document, rule) || (!has_protocol && !has_port))
        return POLICY_CAUSE_NONE;
    enum policy_answer answer = answer_to(v, rule);
    if (answer == POLICY_YES && !(has_protocol && has_port))
        return has_port ? POLICY_CAUSE_PROTO : POLICY_CAUSE_PORT;
    if (answer == POLICY_YES && answer_http(v, rule) == POLICY_NO &&
        v->flow.request.state == POLICY_NAME_GIVEN)
        return POLICY_CAUSE_REQUEST;
    if (answer == POLICY_NO && has_protocol && has_port && policy_rule_is_of_names(rule)) {
        struct policy_name name = policy_view_name(v);
        if (name.state != POLICY_NAME_GIVEN || rule_has_name(rule, name.text))
            return POLICY_CAUSE_NAME_MISSING;
    }
    return POLICY_CAUSE_NONE;
}
