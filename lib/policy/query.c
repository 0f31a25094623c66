// SPDX-License-Identifier: Apache-2.0
/*
 * The verdict on a DNS question: a name that no rule could allow is never asked for upstream, as a
 * question is a message too.
 */
#include "lib/policy/floor.h"
#include "lib/policy/internal.h"
#include "lib/policy/ranges.h"

#include <stdio.h>

#define RECORD_OPT      41
#define RECORD_LAST     65279 /* RFC 6895: from here on private use, and no data */
#define RECORD_META     128   /* 128 to 255: questions and signatures, no data */
#define RECORD_META_END 255

static const struct {
    const char *name;
    uint16_t type;
} records[] = {
    {"A", 1},           {"NS", 2},      {"CNAME", 5},  {"SOA", 6},   {"NULL", 10},   {"PTR", 12},
    {"HINFO", 13},      {"MX", 15},     {"TXT", 16},   {"AAAA", 28}, {"LOC", 29},    {"SRV", 33},
    {"NAPTR", 35},      {"CERT", 37},   {"DNAME", 39}, {"DS", 43},   {"SSHFP", 44},  {"RRSIG", 46},
    {"NSEC", 47},       {"DNSKEY", 48}, {"NSEC3", 50}, {"TLSA", 52}, {"SMIMEA", 53}, {"CDS", 59},
    {"OPENPGPKEY", 61}, {"SVCB", 64},   {"HTTPS", 65}, {"SPF", 99},  {"URI", 256},   {"CAA", 257},
};

int policy_dns_type_parse(const char *name, uint16_t *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(records); i++)
        if (!strcmp(records[i].name, name)) {
            *ret = records[i].type;
            return 0;
        }
    if (strncmp(name, "TYPE", 4) || name[4] < '1' || name[4] > '9' || strlen(name) > 9 ||
        strspn(name + 4, "0123456789") != strlen(name + 4))
        return -EINVAL;
    unsigned long type = strtoul(name + 4, NULL, 10);
    if (type == RECORD_OPT || (type >= RECORD_META && type <= RECORD_META_END) ||
        type > RECORD_LAST)
        return -EINVAL;
    *ret = (uint16_t)type;
    return 0;
}

void policy_dns_type_name(uint16_t type, char ret[static POLICY_DNS_TYPE_SIZE])
{
    for (size_t i = 0; i < ARRAY_SIZE(records); i++)
        if (records[i].type == type) {
            snprintf(ret, POLICY_DNS_TYPE_SIZE, "%s", records[i].name);
            return;
        }
    snprintf(ret, POLICY_DNS_TYPE_SIZE, "TYPE%u", type);
}

static bool has_type(const uint16_t *types, size_t count, uint16_t type)
{
    for (size_t i = 0; i < count; i++)
        if (types[i] == type)
            return true;
    return false;
}

/* Of names of one label only those that a rule has word for word: the rest are search lists and
 * names of machines on the operator's network. */
static bool could_allow(const struct policy_rule *rule, const char *name)
{
    bool is_single = !strchr(name, '.');
    if (!rule->is_allow)
        return false;
    if (rule->to == POLICY_TO_ANY)
        return !is_single;
    if (rule->to == POLICY_TO_GROUP)
        return (rule->groups & 1U << POLICY_GROUP_PUBLIC && !is_single) ||
               (rule->groups & 1U << POLICY_GROUP_DOH && policy_floor_is_doh_name(name));
    if (rule->to != POLICY_TO_DOMAIN)
        return false;
    if (!is_single)
        return policy_patterns_match(&rule->patterns, name);
    struct policy_patterns exact = {.exact = rule->patterns.exact,
                                    .exact_count = rule->patterns.exact_count};
    return policy_patterns_match(&exact, name);
}

/* Every flow to the name is denied by this rule, whatever else it has. */
static bool denies_all(const struct policy_rule *rule, const char *name)
{
    if (rule->is_allow || !policy_rule_is_unconditional(rule))
        return false;
    switch (rule->to) {
    case POLICY_TO_ANY:
        return true;
    case POLICY_TO_DOMAIN:
        return policy_patterns_match(&rule->patterns, name);
    case POLICY_TO_CIDR:
        return policy_ranges_are_all(rule->ranges, rule->range_count);
    case POLICY_TO_GROUP: /* what is not public is in the floor */
        return rule->groups & 1U << POLICY_GROUP_PUBLIC ||
               (rule->groups & 1U << POLICY_GROUP_DOH && policy_floor_is_doh_name(name));
    }
    return false;
}

static bool is_localhost(const char *name)
{
    static const char localhost[] = "localhost";
    const size_t size = sizeof(localhost) - 1, length = strlen(name);
    return length >= size && !strcmp(name + length - size, localhost) &&
           (length == size || name[length - size - 1] == '.');
}

static void allow(struct policy_verdict *ret)
{
    ret->action = POLICY_ALLOW;
    ret->words = NULL;
}

/*
 * The rules from the top to the first that denies the name without a condition; the first that
 * could allow it is named. Returns whether one of those has the type besides.
 */
static bool scan(const struct policy_document *d, const char *name, uint16_t type,
                 struct policy_verdict *ret)
{
    bool allows_type = false;
    for (size_t i = 0; i < d->rule_count; i++) {
        const struct policy_rule *rule = &d->rules[i];
        if (!policy_rule_holds(d, rule))
            continue;
        if (denies_all(rule, name)) {
            if (ret->rule < 0)
                policy_verdict_set_rule(ret, d, rule);
            return allows_type;
        }
        if (!could_allow(rule, name))
            continue;
        allows_type |= has_type(rule->dns_types, rule->dns_type_count, type);
        if (ret->rule < 0) {
            allow(ret);
            policy_verdict_set_rule(ret, d, rule);
        }
    }
    return allows_type;
}

static void judge_default(const struct policy_document *d, const char *name,
                          struct policy_verdict *ret)
{
    bool is_for_all = d->allows_by_default && strchr(name, '.');
    if (is_for_all && !d->dns.is_open && policy_floor_is_doh_name(name))
        policy_verdict_deny(ret, POLICY_CAUSE_BUILTIN);
    else if (is_for_all)
        allow(ret);
    else
        policy_verdict_deny(ret, POLICY_CAUSE_DNS_NAME);
}

void policy_judge_query(const struct policy *p, const char *name, uint16_t type,
                        struct policy_verdict *ret)
{
    const struct policy_document *d = &p->document;
    policy_verdict_init(ret);
    if (!policy_host_is_canonical(name)) {
        policy_verdict_deny(ret, POLICY_CAUSE_MALFORMED);
        return;
    }
    if (is_localhost(name) || policy_floor_is_metadata_name(name)) {
        policy_verdict_deny_class(ret, POLICY_CAUSE_FLOOR,
                                  is_localhost(name) ? POLICY_GROUP_LOOPBACK
                                                     : POLICY_GROUP_METADATA);
        return;
    }
    bool allows_type = scan(d, name, type, ret);
    if (ret->rule < 0)
        judge_default(d, name, ret);
    if (ret->action == POLICY_DENY && d->dns.is_open && strchr(name, '.')) {
        policy_verdict_init(ret);
        allow(ret);
    }
    if (ret->action == POLICY_ALLOW && !allows_type &&
        !has_type(d->dns.types, d->dns.type_count, type))
        policy_verdict_deny(ret, POLICY_CAUSE_DNS_TYPE);
    policy_verdict_audit(ret, d);
}
