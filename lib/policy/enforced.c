// SPDX-License-Identifier: Apache-2.0
#include "lib/policy/enforced.h"

#include <stdio.h>

#define ADVICE "this version of Glovebox can't do it; leave it out"

static int refuse(struct policy_error *e, const char *pointer, const char *what)
{
    *e = (struct policy_error){.line = 0};
    snprintf(e->pointer, sizeof(e->pointer), "%s", pointer);
    snprintf(e->text, sizeof(e->text), "%s: %s, " ADVICE, pointer, what);
    return -EOPNOTSUPP;
}

/* Whether it asks for it by name. */
static bool asks_for_icmp(const struct policy_rule *r)
{
    return r->is_allow && r->has_protocols && (r->protocols & 1u << POLICY_ICMP);
}

static bool has_forward(const struct policy_rule *r)
{
    for (size_t i = 0; i < r->transform_count; i++)
        if (r->transforms[i].forward_url)
            return true;
    return false;
}

static int check_rule(const struct policy_rule *r, size_t i, struct policy_error *e)
{
    const struct {
        bool is_asked;
        const char *field, *what;
    } rows[] = {
        {has_forward(r), "transforms", "requests are not forwarded to another host"},
        {asks_for_icmp(r), "proto", "ICMP is not carried"},
    };
    char pointer[64];
    for (size_t n = 0; n < ARRAY_SIZE(rows); n++) {
        if (!rows[n].is_asked)
            continue;
        snprintf(pointer, sizeof(pointer), "/rules/%zu/%s", i, rows[n].field);
        return refuse(e, pointer, rows[n].what);
    }
    return 0;
}

static bool has_password(const struct policy_document *d)
{
    const char *wanted = d->upstream->password_ref;
    for (size_t i = 0; wanted && i < d->secret_count; i++)
        if (!strcmp(d->secrets[i].name, wanted))
            return true;
    return !wanted;
}

static int check_rest(const struct policy_document *d, struct policy_error *e)
{
    const struct {
        bool is_asked;
        const char *pointer, *what;
    } rows[] = {
        {d->dns.is_virtual, "/dns/answer", "addresses are shown as they are"},
        {d->dns.resolver_count > 8, "/dns/resolvers", "no more than 8 resolvers"},
        {d->tls.client_cert_count > 0, "/tls/client_certs", "servers are shown no certificate"},
        {d->upstream && d->upstream->type == POLICY_UPSTREAM_HTTPS, "/upstream/type",
         "no TLS is spoken to a proxy"},
        {d->upstream && d->upstream->resolves_remotely, "/upstream/resolve",
         "names are looked up here"},
        {d->upstream && !has_password(d), "/upstream/password_ref", "no secret has that name"},
        {!d->log.redacts_query, "/log/redact_query", "queries are never logged"},
        {d->limits.decode_ratio != POLICY_DECODE_RATIO, "/limits/decode_ratio",
         "answers are not decoded"},
        {d->limits.decode_bytes != POLICY_DECODE_BYTES, "/limits/decode_bytes",
         "answers are not decoded"},
        {d->ingress.host_mask, "/ingress/host_mask", "nothing comes in"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].is_asked)
            return refuse(e, rows[i].pointer, rows[i].what);
    return 0;
}

int policy_check_enforced(const struct policy_document *d, struct policy_error *e)
{
    int r = 0;
    for (size_t i = 0; i < d->rule_count && r == 0; i++)
        r = check_rule(&d->rules[i], i, e);
    return r == 0 ? check_rest(d, e) : r;
}
