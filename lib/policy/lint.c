// SPDX-License-Identifier: Apache-2.0
#include "lib/policy/lint.h"

#include "lib/policy/floor.h"
#include "lib/policy/internal.h"
#include "lib/policy/patterns.h"
#include "lib/policy/ranges.h"
#include "lib/text/utf8.h"

#include <idn2.h>
#include <stdarg.h>
#include <stdio.h>

#define SSH_PORT        22
#define COMPARISONS_MAX 2000000

struct linter {
    const struct policy_document *document;
    void (*found)(const struct policy_warning *w, void *context);
    void *context;
    size_t comparisons; /* of patterns that may still be made to find rules that are not reached */
};

static void warn(const struct linter *l, const char *code, const struct policy_rule *rule,
                 const char *format, ...) _printf_(4, 5);

static void warn(const struct linter *l, const char *code, const struct policy_rule *rule,
                 const char *format, ...)
{
    struct policy_warning w = {.code = code, .rule = -1};
    va_list args;
    if (rule)
        w.rule = (int)(rule - l->document->rules);
    va_start(args, format);
    vsnprintf(w.text, sizeof(w.text), format, args);
    va_end(args);
    l->found(&w, l->context);
}

static bool covers_ports(const struct policy_rule *outer, const struct policy_rule *inner)
{
    if (!outer->port_count)
        return true;
    for (size_t i = 0; i < inner->port_count; i++) {
        bool is_covered = false;
        for (size_t j = 0; j < outer->port_count && !is_covered; j++)
            is_covered = outer->ports[j].first <= inner->ports[i].first &&
                         outer->ports[j].last >= inner->ports[i].last;
        if (!is_covered)
            return false;
    }
    return inner->port_count > 0;
}

static bool covers_destination(const struct policy_rule *outer, const struct policy_rule *inner)
{
    if (outer->to == POLICY_TO_ANY)
        return true;
    if (outer->to != inner->to)
        return false;
    switch (outer->to) {
    case POLICY_TO_DOMAIN:
        return policy_patterns_cover(&outer->patterns, &inner->patterns);
    case POLICY_TO_CIDR:
        return policy_ranges_cover(outer->ranges, outer->range_count, inner->ranges,
                                   inner->range_count);
    default:
        return !(inner->groups & ~outer->groups);
    }
}

static bool covers_phases(const struct policy_rule *outer, const struct policy_rule *inner)
{
    return !outer->phases || (inner->phases && !(inner->phases & ~outer->phases));
}

/* Whatever inner matches of those protocols, outer matched before. */
static bool covers(const struct policy_rule *outer, const struct policy_rule *inner,
                   unsigned protocols)
{
    return !(protocols & ~outer->protocols) && !outer->http && !outer->is_pinned &&
           covers_phases(outer, inner) && covers_ports(outer, inner) &&
           covers_destination(outer, inner);
}

/* How many patterns are compared to see whether outer covers inner. */
static size_t count_comparisons(const struct policy_patterns *outer,
                                const struct policy_patterns *inner)
{
    return 1 + inner->exact_count + inner->below_count + inner->label_count * outer->label_count +
           inner->glob_count * outer->glob_count;
}

static void find_unreachable(struct linter *l, const struct policy_rule *rule)
{
    for (const struct policy_rule *before = l->document->rules; before < rule; before++) {
        size_t comparisons = count_comparisons(&before->patterns, &rule->patterns);
        if (comparisons > l->comparisons)
            return;
        l->comparisons -= comparisons;
        const unsigned tcp = 1U << POLICY_TCP;
        bool is_whole = covers(before, rule, rule->protocols);
        if (!is_whole && (rule->has_protocols || !covers(before, rule, tcp)))
            continue;
        warn(l, "unreachable_rule", rule,
             "can never match%s, as rule \"%s\" above it matches first; put it above that one, or "
             "leave it out",
             is_whole ? "" : " a TCP flow", before->id);
        return;
    }
}

/* Hosts below which anybody may have a place of their own. */
static const char *const shared_hosts[] = {
    "api.github.com",
    "github.com",
    "gist.github.com",
    "gitlab.com",
    "bitbucket.org",
    "huggingface.co",
    "raw.githubusercontent.com",
    "pastebin.com",
    "hooks.slack.com",
    "discord.com",
    "api.telegram.org",
    "x.amazonaws.com",
    "x.s3.amazonaws.com",
    "s3.amazonaws.com",
    "x.cloudfront.net",
    "x.blob.core.windows.net",
    "x.azurewebsites.net",
    "storage.googleapis.com",
    "x.storage.googleapis.com",
    "x.run.app",
    "x.web.app",
    "x.workers.dev",
    "x.pages.dev",
    "x.r2.dev",
    "x.vercel.app",
    "x.netlify.app",
    "x.github.io",
    "x.herokuapp.com",
    "x.fly.dev",
    "x.ngrok.io",
    "x.ngrok-free.app",
    "x.trycloudflare.com",
    "x.onrender.com",
};

/* Under which names are sold or given away; some that are common. */
static const char *const suffixes[] = {
    "co.uk", "org.uk", "com.au", "co.jp", "com.br", "co.in", "co.nz", "com.cn", "com.mx", "co.za",
};

static bool is_in(const char *const *list, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i], text))
            return true;
    return false;
}

static void find_shared_hosts(const struct linter *l, const struct policy_rule *rule)
{
    for (size_t i = 0; i < ARRAY_SIZE(shared_hosts); i++) {
        const char *host = shared_hosts[i];
        if (!policy_patterns_match(&rule->patterns, host))
            continue;
        warn(
            l, "broad_multi_tenant_host", rule,
            "allows %s%s, where anybody can have data sent to; narrow it with \"http\", or take it "
            "as open",
            strncmp(host, "x.", 2) ? host : "*.", strncmp(host, "x.", 2) ? "" : host + 2);
        return;
    }
}

enum script { SCRIPT_LATIN = 1, SCRIPT_GREEK = 2, SCRIPT_CYRILLIC = 4 };

/* Of those whose letters look like each other's; 0 for the rest. */
static unsigned script_of(uint32_t code)
{
    if ((code >= 'a' && code <= 'z') || (code >= 0xdf && code <= 0x24f))
        return SCRIPT_LATIN;
    if (code >= 0x370 && code <= 0x3ff)
        return SCRIPT_GREEK;
    return code >= 0x400 && code <= 0x52f ? SCRIPT_CYRILLIC : 0;
}

static bool has_mixed_label(const char *name)
{
    char *shown = NULL;
    unsigned scripts = 0;
    bool is_mixed = false;
    if (!strstr(name, "xn--") || idn2_to_unicode_8z8z(name, &shown, 0) != IDN2_OK)
        return false;
    for (const char *c = shown; *c && !is_mixed;) {
        uint32_t code;
        int used = text_utf8_decode(c, strlen(c), &code);
        if (used <= 0)
            break;
        scripts = code == '.' ? 0 : scripts | script_of(code);
        is_mixed = scripts & (scripts - 1);
        c += used;
    }
    idn2_free(shown);
    return is_mixed;
}

static void find_mixed_scripts(const struct linter *l, const struct policy_rule *rule)
{
    const struct policy_patterns *p = &rule->patterns;
    for (size_t i = 0; i < p->exact_count + p->below_count; i++) {
        const char *name = i < p->exact_count ? p->exact[i] : p->below[i - p->exact_count];
        if (!has_mixed_label(name))
            continue;
        warn(
            l, "mixed_script_label", rule,
            "has letters of several scripts in one label of %s, as names have that are to be taken "
            "for others; write it anew with the keyboard",
            name);
        return;
    }
}

static void find_broad_names(const struct linter *l, const struct policy_rule *rule)
{
    const struct policy_patterns *p = &rule->patterns;
    if (p->any) {
        warn(l, "wildcard_too_broad", rule,
             "allows every name; write the names that are meant, or "
             "\"to\": \"any\"");
        return;
    }
    for (size_t i = 0; i < p->below_count; i++)
        if (is_in(suffixes, ARRAY_SIZE(suffixes), p->below[i])) {
            warn(l, "wildcard_too_broad", rule,
                 "allows all of %s, where anybody can have a name; write one label more",
                 p->below[i]);
            return;
        }
    for (size_t i = 0; i < p->glob_count; i++)
        if (p->globs[i][0] == '*' && p->globs[i][1] != '.') {
            warn(l, "wildcard_too_broad", rule,
                 "has the glob %s, which names of strangers match as well (evil-%s); begin it with "
                 "a "
                 "whole label",
                 p->globs[i], p->globs[i] + 1);
            return;
        }
    if (!rule->http)
        find_shared_hosts(l, rule);
}

/* Of one range at most: that the whole list is in the floor is not asked. */
static void find_floor_overlap(const struct linter *l, const struct policy_rule *rule)
{
    enum policy_group class = POLICY_GROUP_PUBLIC;
    for (size_t i = 0; rule->to == POLICY_TO_CIDR && i < rule->range_count; i++) {
        class = policy_floor_class(NULL, &rule->ranges[i].first);
        if (class != POLICY_GROUP_PUBLIC)
            break;
    }
    for (unsigned i = 0; rule->to == POLICY_TO_GROUP && i < POLICY_GROUP_PUBLIC; i++)
        if (rule->groups & 1U << i)
            class = (enum policy_group)i;
    if (class != POLICY_GROUP_PUBLIC)
        warn(
            l, "floor_overlap", rule,
            "allows addresses of class \"%s\", which stay closed unless the operator exempts them; "
            "leave them out, or ask for that",
            policy_group_names[class]);
}

static void find_tunnels(const struct linter *l, const struct policy_rule *rule)
{
    if (rule->allows_connect)
        warn(l, "tunnel_host", rule,
             "lets its hosts be used as proxies to other hosts; see that "
             "they are your own");
    else if (rule->port_count && policy_rule_has_port(rule, SSH_PORT) &&
             rule->protocols & 1U << POLICY_TCP)
        warn(l, "tunnel_host", rule,
             "allows port 22, and what SSH reaches can reach further; see "
             "that the host is your own, or take it as open");
}

/* Names of networks of caches, and below them: whose servers answer for all of their customers. */
static const char *const shared_caches[] = {
    "cloudfront.net",
    "fastly.net",
    "fastlylb.net",
    "edgekey.net",
    "edgesuite.net",
    "akamai.net",
    "akamaiedge.net",
    "akamaized.net",
    "akamaihd.net",
    "azureedge.net",
    "azurefd.net",
    "b-cdn.net",
    "cdn77.org",
    "cachefly.net",
    "kxcdn.com",
    "llnwd.net",
    "edgecastcdn.net",
    "footprint.net",
    "gcdn.co",
    "stackpathcdn.com",
    "cdn.cloudflare.net",
    "workers.dev",
    "pages.dev",
    "r2.dev",
    "vercel.app",
    "netlify.app",
    "github.io",
    "githubusercontent.com",
    "appspot.com",
    "run.app",
    "web.app",
    "firebaseapp.com",
    "alicdn.com",
    "alikunlun.com",
    "cdn.digitaloceanspaces.com",
};

static bool is_below(const char *name, const char *domain)
{
    size_t size = strlen(name), tail = strlen(domain);
    return size >= tail && !strcmp(name + size - tail, domain) &&
           (size == tail || name[size - tail - 1] == '.');
}

/* The network of caches that a name, or a pattern's words, are of; NULL: none is seen. */
static const char *find_network(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(shared_caches); i++)
        if (is_below(name, shared_caches[i]))
            return shared_caches[i];
    return NULL;
}

/* Whether a secret that is for requests to name has TLS to it terminated. */
static bool has_secret_for(const struct policy_document *d, const char *name)
{
    for (size_t i = 0; i < d->secret_count; i++)
        if (policy_secret_is_for_requests(&d->secrets[i]) &&
            policy_patterns_match(&d->secrets[i].hosts, name))
            return true;
    return false;
}

/* The first of the rule's that is of such a network and that nothing looks into. */
static const char *find_fronted(const struct policy_document *d, const struct policy_rule *rule)
{
    const struct policy_patterns *p = &rule->patterns;
    const struct {
        const char *const *names;
        size_t count;
    } lists[] = {{p->exact, p->exact_count},
                 {p->below, p->below_count},
                 {p->labels, p->label_count},
                 {p->globs, p->glob_count}};
    bool is_auto = policy_rule_tls(d, rule) == POLICY_TLS_AUTO;
    for (size_t k = 0; k < ARRAY_SIZE(lists); k++)
        for (size_t i = 0; i < lists[k].count; i++) {
            const char *name = lists[k].names[i];
            if (find_network(name) && !(is_auto && has_secret_for(d, name)))
                return name;
        }
    return NULL;
}

/*
 * Domain fronting: where TLS passes through, a request in it may be for any host that the servers
 * behind the allowed name answer for. Whose they are can't be seen from a name, unless it is the
 * network's own; so who asks for "passthrough" is told in any case.
 */
static void find_fronting(const struct linter *l, const struct policy_rule *rule)
{
    enum policy_tls tls = policy_rule_tls(l->document, rule);
    if (!(rule->protocols & 1U << POLICY_TCP) || tls == POLICY_TLS_TERMINATE ||
        (tls == POLICY_TLS_AUTO && (rule->http || rule->transform_count)))
        return;
    const char *name = find_fronted(l->document, rule);
    if (name)
        warn(l, "fronting", rule,
             "passes TLS to %s through, and what serves %s answers for strangers as well: a "
             "request for another host can't be seen; say \"tls\": \"terminate\"",
             name, find_network(name));
    else if (rule->tls == POLICY_TLS_PASSTHROUGH)
        warn(l, "fronting", rule,
             "passes TLS through, so where servers are shared, as on a network of caches, a "
             "request for another host can't be seen; leave out \"tls\": \"passthrough\" unless "
             "a client pins its server's certificate");
}

/* What rules leave to the document. */
static void find_fronting_by_default(const struct linter *l)
{
    const struct policy_document *d = l->document;
    bool is_left = false;
    for (size_t i = 0; i < d->rule_count; i++)
        is_left |= d->rules[i].is_allow && d->rules[i].to == POLICY_TO_DOMAIN &&
                   d->rules[i].tls == POLICY_TLS_AUTO;
    if (is_left && d->tls.mode == POLICY_TLS_PASSTHROUGH)
        warn(l, "fronting", NULL,
             "passes TLS through to all names whose rules don't say otherwise, so where servers "
             "are shared, as on a network of caches, a request for another host can't be seen; "
             "leave out \"mode\": \"passthrough\"");
}

static void lint_rule(struct linter *l, const struct policy_rule *rule)
{
    find_unreachable(l, rule);
    if (rule->to == POLICY_TO_DOMAIN)
        find_mixed_scripts(l, rule);
    if (!rule->is_allow)
        return;
    if (rule->to == POLICY_TO_DOMAIN) {
        find_broad_names(l, rule);
        find_fronting(l, rule);
    }
    find_floor_overlap(l, rule);
    find_tunnels(l, rule);
}

static void lint_default(const struct linter *l)
{
    const struct policy_document *d = l->document;
    const struct policy_rule *first_allow = NULL, *first_deny_name = NULL;
    bool has_deny = false;
    for (size_t i = 0; i < d->rule_count; i++) {
        const struct policy_rule *rule = &d->rules[i];
        bool is_plain =
            rule->is_allow && !rule->http && !rule->transform_count && rule->tls == POLICY_TLS_AUTO;
        has_deny |= !rule->is_allow;
        if (is_plain && !first_allow)
            first_allow = rule;
        if (!rule->is_allow && rule->to == POLICY_TO_DOMAIN && !first_deny_name)
            first_deny_name = rule;
    }
    if (!d->allows_by_default)
        return;
    if (first_deny_name && !d->denies_nameless)
        warn(l, "deny_by_name_under_default_allow", first_deny_name,
             "denies names, and a flow that shows none is allowed by default; add \"nameless\": "
             "\"deny\"");
    if (first_allow && !has_deny)
        warn(l, "no_effect_allow", first_allow,
             "allows what is allowed by default; set \"default\": \"deny\"");
}

static void lint_secrets(const struct linter *l)
{
    const struct policy_document *d = l->document;
    for (size_t i = 0; i < d->secret_count; i++) {
        const struct policy_secret *s = &d->secrets[i];
        if (!s->requires_tls)
            warn(l, "plain_http_secret", NULL,
                 "secret \"%s\" may go out without TLS, for everybody on the way to read; leave "
                 "out \"require_tls\": false",
                 s->name);
        if (s->use == POLICY_SECRET_POSTGRES && !s->postgres.has_tls)
            warn(l, "plain_postgres", NULL,
                 "secret \"%s\" logs in to a server that is not verified, and all that follows is "
                 "for everybody on the way to read and change; leave out \"tls\": \"off\"",
                 s->name);
    }
}

void policy_lint(const struct policy *p,
                 void (*found)(const struct policy_warning *w, void *context), void *context)
{
    struct linter l = {&p->document, found, context, COMPARISONS_MAX};
    const struct policy_document *d = l.document;
    for (size_t i = 0; i < d->rule_count; i++)
        lint_rule(&l, &d->rules[i]);
    lint_default(&l);
    find_fronting_by_default(&l);
    if (d->dns.is_open)
        warn(&l, "dns_open", NULL,
             "\"dns\" answers for every name, and a question is a way out; "
             "leave out \"mode\": \"open\"");
    lint_secrets(&l);
}
