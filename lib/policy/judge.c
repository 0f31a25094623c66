// SPDX-License-Identifier: Apache-2.0
/*
 * The verdict on a flow: structure, the floor, the rules from the top, agreement of names.
 *
 * A rule says yes, no, or that it can't tell yet. The first yes wins, then the default. Rules that
 * could not tell are passed, and held: when one of them could change what comes out, the flow waits
 * for more evidence; at the last stage, a rule that allows is left out, and one that denies denies.
 */
#include "lib/policy/floor.h"
#include "lib/policy/internal.h"

#define DNS_OVER_TLS_PORT 853
#define SMTP_PORT         25

/* Rules that could not tell. */
struct held {
    size_t allow_count, deny_count;
    bool is_looked_into; /* one of them sees more than where the flow goes */
    bool terminates_tls; /* one of them needs what is inside of TLS */
};

static bool is_in_ports(const struct policy_port_range *ports, size_t count, uint16_t port)
{
    for (size_t i = 0; i < count; i++)
        if (port >= ports[i].first && port <= ports[i].last)
            return true;
    return false;
}

static bool has_secret_for(const struct policy_view *v, const char *name)
{
    const struct policy_document *d = v->document;
    for (size_t i = 0; i < d->secret_count; i++) {
        const struct policy_secret *secret = &d->secrets[i];
        if (policy_secret_is_for_requests(secret) &&
            policy_secret_is_for(secret, name, v->flow.port))
            return true;
    }
    return false;
}

/* rule may be NULL: the default. */
static bool needs_termination(const struct policy_view *v, const struct policy_rule *rule)
{
    const struct policy_document *d = v->document;
    enum policy_tls tls = policy_rule_tls(d, rule);
    bool is_port = !d->tls.port_count || is_in_ports(d->tls.ports, d->tls.port_count, v->flow.port);
    if (v->flow.protocol != POLICY_TCP || tls == POLICY_TLS_PASSTHROUGH || !is_port)
        return false;
    if (tls == POLICY_TLS_TERMINATE || (rule && (rule->http || rule->transform_count)))
        return true;
    struct policy_name name = policy_view_name(v);
    return name.state == POLICY_NAME_GIVEN && has_secret_for(v, name.text);
}

static void hold(struct held *held, const struct policy_view *v, const struct policy_rule *rule)
{
    const struct policy_document *d = v->document;
    bool may_inject =
        rule->is_allow && d->secret_count && policy_rule_tls(d, rule) != POLICY_TLS_PASSTHROUGH;
    held->allow_count += rule->is_allow;
    held->deny_count += !rule->is_allow;
    held->is_looked_into |=
        rule->http || rule->transform_count || rule->tls != POLICY_TLS_AUTO || may_inject;
    held->terminates_tls |= needs_termination(v, rule);
}

static void wait_for_more(const struct policy_view *v, const struct held *held,
                          const struct policy_rule *winner, struct policy_verdict *ret)
{
    policy_verdict_deny(ret, POLICY_CAUSE_PENDING);
    ret->wait =
        v->flow.sni.state == POLICY_NAME_PENDING ? POLICY_WAIT_FIRST_BYTES : POLICY_WAIT_REQUEST;
    ret->terminates_tls = held->terminates_tls || (winner && needs_termination(v, winner));
}

/* A verdict by a rule, or by the default where it is NULL, if what is held can't change it. */
static void settle(const struct policy_view *v, const struct held *held,
                   const struct policy_rule *rule, struct policy_verdict *ret)
{
    size_t others = ret->action == POLICY_ALLOW ? held->deny_count : held->allow_count;
    if (others || (held->is_looked_into && held->allow_count + held->deny_count)) {
        wait_for_more(v, held, rule, ret);
        return;
    }
    if (rule)
        policy_verdict_set_rule(ret, v->document, rule);
    if (ret->action == POLICY_ALLOW)
        ret->terminates_tls = needs_termination(v, rule);
}

static bool is_doh_name(const void *what _unused_, const char *name)
{
    return policy_floor_is_doh_name(name);
}

static void allow(struct policy_verdict *ret)
{
    ret->action = POLICY_ALLOW;
    ret->words = NULL;
}

/*
 * The default. Where it allows, other resolvers than ours stay closed, as names would be of no use
 * then: DNS over HTTPS by what is known of the flow (no flow waits for it), over TLS by its port.
 */
static void judge_default(const struct policy_view *v, const struct held *held,
                          struct policy_verdict *ret)
{
    const struct policy_document *d = v->document;
    enum policy_name_state name = policy_view_name(v).state;
    if (!d->allows_by_default) {
        settle(v, held, NULL, ret);
        return;
    }
    if (!d->dns.is_open && (policy_floor_is_doh_address(&v->flow.address) ||
                            policy_view_shows(v, is_doh_name, NULL))) {
        policy_verdict_deny(ret, POLICY_CAUSE_BUILTIN);
    } else if (!d->dns.is_open && v->flow.port == DNS_OVER_TLS_PORT) {
        policy_verdict_deny(ret, POLICY_CAUSE_PROTO);
    } else if (d->denies_nameless && name != POLICY_NAME_GIVEN && !v->flow.resolved_count) {
        if (name == POLICY_NAME_PENDING && !v->is_last) {
            wait_for_more(v, held, NULL, ret);
            return;
        }
        policy_verdict_deny(ret, POLICY_CAUSE_NAME_MISSING);
    } else {
        allow(ret);
    }
    settle(v, held, NULL, ret);
}

static void scan(const struct policy_view *v, struct policy_verdict *ret)
{
    const struct policy_document *d = v->document;
    struct held held = {0};
    for (size_t i = 0; i < d->rule_count; i++) {
        const struct policy_rule *rule = &d->rules[i];
        enum policy_answer answer = policy_view_answer(v, rule);
        if (answer == POLICY_YES) {
            if (rule->is_allow)
                allow(ret);
            settle(v, &held, rule, ret);
            return;
        }
        if (answer == POLICY_UNKNOWN && !v->is_last) {
            hold(&held, v, rule);
        } else if (answer == POLICY_UNKNOWN && !rule->is_allow) {
            policy_verdict_deny(ret, POLICY_CAUSE_UNREADABLE);
            ret->rule = (int)i;
            if (rule->reason)
                ret->words = rule->reason;
            return;
        }
    }
    judge_default(v, &held, ret);
}

/* A rule that allows the address, as far as address, port and protocol go. */
static bool has_address_rule(const struct policy_view *v)
{
    const struct policy_document *d = v->document;
    for (size_t i = 0; i < d->rule_count; i++) {
        const struct policy_rule *rule = &d->rules[i];
        if (rule->is_allow && policy_rule_holds(d, rule) &&
            (rule->to == POLICY_TO_CIDR || rule->to == POLICY_TO_GROUP) &&
            rule->protocols & 1U << v->flow.protocol && policy_rule_has_port(rule, v->flow.port) &&
            policy_view_has_address(v, rule))
            return true;
    }
    return false;
}

/* Whether the floor closes it, and then the verdict. */
static bool is_closed(const struct policy_view *v, enum policy_cause cause,
                      struct policy_verdict *ret)
{
    const struct policy_operator *op = v->op;
    if (v->flow.protocol == POLICY_TCP && v->flow.port == SMTP_PORT && !(op && op->allows_smtp)) {
        policy_verdict_deny_smtp(ret);
        return true;
    }
    enum policy_group class = policy_floor_class(op, &v->flow.address);
    if (class == POLICY_GROUP_PUBLIC)
        return false;
    if (policy_floor_is_exempt(op, &v->flow.address, class) && has_address_rule(v))
        return false;
    policy_verdict_deny_class(ret, cause, class);
    return true;
}

static bool is_malformed_name(const struct policy_name *name)
{
    return name->state == POLICY_NAME_GIVEN &&
           (!name->text || !policy_host_is_canonical(name->text));
}

static bool is_malformed(const struct policy_flow *f)
{
    if ((f->port == 0) != (f->protocol == POLICY_ICMP) || f->protocol > POLICY_ICMP)
        return true;
    for (size_t i = 0; i < f->resolved_count; i++)
        if (!policy_host_is_canonical(f->resolved[i]))
            return true;
    /* RFC 6066, section 3: no address may stand in an SNI. */
    return f->sni.state == POLICY_NAME_LITERAL || f->target.state == POLICY_NAME_UNREADABLE ||
           is_malformed_name(&f->target) || is_malformed_name(&f->sni) ||
           is_malformed_name(&f->authority);
}

static bool is_resolved(const struct policy_flow *f, const char *name)
{
    for (size_t i = 0; i < f->resolved_count; i++)
        if (!strcmp(f->resolved[i], name))
            return true;
    return false;
}

/* All names that the flow shows are one, and it is of those that our resolver gave, if any. */
static bool names_agree(const struct policy_flow *f)
{
    const struct policy_name *names[] = {&f->target, &f->sni, &f->authority};
    const char *seen = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (names[i]->state == POLICY_NAME_LITERAL)
            return false;
        if (names[i]->state != POLICY_NAME_GIVEN)
            continue;
        if (seen && strcmp(seen, names[i]->text))
            return false;
        seen = names[i]->text;
        if (f->resolved_count && !is_resolved(f, seen))
            return false;
    }
    return true;
}

static void find_near(const struct policy_view *v, struct policy_verdict *ret)
{
    const struct policy_document *d = v->document;
    for (size_t i = 0; i < d->rule_count; i++) {
        enum policy_cause near = policy_view_near(v, &d->rules[i]);
        if (near == POLICY_CAUSE_NONE)
            continue;
        policy_verdict_set_near(ret, near, (int)i);
        return;
    }
}

static void judge_one(const struct policy_view *v, struct policy_verdict *ret)
{
    policy_verdict_init(ret);
    scan(v, ret);
    if (ret->action != POLICY_ALLOW || ret->rule < 0 ||
        !policy_view_is_by_name(v, &v->document->rules[ret->rule]))
        return;
    if (names_agree(&v->flow)) {
        ret->name = policy_view_name(v).text;
    } else {
        policy_verdict_init(ret);
        policy_verdict_deny(ret, POLICY_CAUSE_NAME_CONFLICT);
    }
}

static bool shows_name(const struct policy_flow *f)
{
    return f->target.state == POLICY_NAME_GIVEN || f->sni.state == POLICY_NAME_GIVEN ||
           f->authority.state == POLICY_NAME_GIVEN;
}

static bool is_shown(const struct policy_flow *f, const char *name)
{
    return (f->sni.state == POLICY_NAME_GIVEN && !strcmp(f->sni.text, name)) ||
           (f->authority.state == POLICY_NAME_GIVEN && !strcmp(f->authority.text, name));
}

/* Several names lead to the address, and the flow shows one: if it is of them, the others are not
 * meant. */
static void judge_shown_name(struct policy_view *v, struct policy_verdict *ret)
{
    struct policy_flow *f = &v->flow;
    for (size_t i = 0; i < f->resolved_count; i++)
        if (is_shown(f, f->resolved[i])) {
            f->resolved += i;
            f->resolved_count = 1;
            break;
        }
    judge_one(v, ret);
}

/*
 * Several names lead to the address, and the flow shows none: each is judged, and the last one that
 * may be reached is what is dialled. That does no harm, as it is dialled by that name. Only where
 * TLS is to be terminated it has to be known for whom.
 */
static void judge_each_name(struct policy_view *v, struct policy_verdict *ret)
{
    struct policy_verdict one, waiting;
    size_t allow_count = 0, by_name_count = 0, wait_count = 0;
    bool terminates_tls = false;
    for (size_t i = 0; i < v->flow.resolved_count; i++) {
        struct policy_view narrowed = *v;
        narrowed.flow.resolved += i;
        narrowed.flow.resolved_count = 1;
        judge_one(&narrowed, &one);
        if (one.action == POLICY_WAIT && wait_count++ == 0)
            waiting = one;
        if (one.action == POLICY_ALLOW || !allow_count)
            *ret = one;
        if (one.action == POLICY_ALLOW) {
            allow_count++;
            by_name_count += one.name != NULL;
            terminates_tls |= one.terminates_tls;
        }
    }
    if (!allow_count && wait_count)
        *ret = waiting;
    ret->is_ambiguous = by_name_count > 1;
    /* What was denied, if all were, is the last one. */
    v->flow.resolved += v->flow.resolved_count - 1;
    v->flow.resolved_count = 1;
    if (allow_count < 2 || !terminates_tls)
        return;
    bool may_come =
        v->flow.sni.state == POLICY_NAME_PENDING ||
        (v->flow.sni.state == POLICY_NAME_ABSENT && v->flow.authority.state == POLICY_NAME_PENDING);
    policy_verdict_init(ret);
    policy_verdict_deny(ret, may_come ? POLICY_CAUSE_PENDING : POLICY_CAUSE_NAME_MISSING);
    if (may_come) {
        ret->wait = v->flow.sni.state == POLICY_NAME_PENDING ? POLICY_WAIT_FIRST_BYTES
                                                             : POLICY_WAIT_REQUEST;
        ret->terminates_tls = true;
    }
}

void policy_judge(const struct policy *p, const struct policy_operator *op,
                  const struct policy_flow *flow, struct policy_verdict *ret)
{
    struct policy_view v = policy_view_of(p, op, flow);
    policy_verdict_init(ret);
    if (is_malformed(&v.flow))
        policy_verdict_deny(ret, POLICY_CAUSE_MALFORMED);
    else if (is_closed(&v, POLICY_CAUSE_FLOOR, ret))
        return;
    else if (v.flow.resolved_count < 2 || v.flow.target.state == POLICY_NAME_GIVEN)
        judge_one(&v, ret);
    else if (shows_name(&v.flow))
        judge_shown_name(&v, ret);
    else
        judge_each_name(&v, ret);
    if (ret->action == POLICY_DENY && ret->cause == POLICY_CAUSE_DEFAULT)
        find_near(&v, ret);
    policy_verdict_audit(ret, &p->document);
}

void policy_judge_candidate(const struct policy *p, const struct policy_operator *op,
                            const struct policy_flow *flow, const char *name,
                            const struct in6_addr *address, struct policy_verdict *ret)
{
    static const struct policy_name absent = {.state = POLICY_NAME_ABSENT};
    struct policy_flow candidate = {
        .protocol = flow->protocol,
        .port = flow->port,
        .address = *address,
        .resolved = &name,
        .resolved_count = 1,
        .target = absent,
        .sni = absent,
        .authority = absent,
        .request.state = POLICY_NAME_ABSENT,
    };
    struct policy_view v = policy_view_of(p, op, &candidate);
    v.skips_http = true;
    policy_verdict_init(ret);
    if (is_malformed(&v.flow))
        policy_verdict_deny(ret, POLICY_CAUSE_MALFORMED);
    else if (!is_closed(&v, POLICY_CAUSE_RESOLVED, ret))
        scan(&v, ret);
    policy_verdict_audit(ret, &p->document);
}

void policy_judge_shown(const struct policy *p, const struct policy_operator *op,
                        const struct in6_addr *address, struct policy_verdict *ret)
{
    const struct policy_document *d = &p->document;
    struct policy_flow flow = policy_flow_init(POLICY_TCP, address, 0);
    struct policy_view v = policy_view_of(p, op, &flow);
    enum policy_group class = policy_floor_class(op, address);
    bool is_open = class == POLICY_GROUP_PUBLIC;
    for (size_t i = 0; i < d->rule_count && !is_open; i++) {
        const struct policy_rule *rule = &d->rules[i];
        is_open = rule->is_allow && policy_rule_holds(d, rule) &&
                  (rule->to == POLICY_TO_CIDR || rule->to == POLICY_TO_GROUP) &&
                  policy_floor_is_exempt(op, address, class) && policy_view_has_address(&v, rule);
    }
    policy_verdict_init(ret);
    if (is_open)
        allow(ret);
    else
        policy_verdict_deny_class(ret, POLICY_CAUSE_RESOLVED, class);
}

enum policy_answer policy_answer(const struct policy *p, const struct policy_operator *op,
                                 const struct policy_flow *flow, int rule)
{
    struct policy_view v = policy_view_of(p, op, flow);
    if (rule < 0 || (size_t)rule >= p->document.rule_count || is_malformed(&v.flow))
        return POLICY_NO;
    return policy_view_answer(&v, &p->document.rules[rule]);
}
