// SPDX-License-Identifier: Apache-2.0
#include "lib/policy/same.h"

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool are_same_texts(const char *const *a, size_t a_count, const char *const *b,
                           size_t b_count)
{
    bool is_same = a_count == b_count;
    for (size_t i = 0; is_same && i < a_count; i++)
        is_same = is_same_text(a[i], b[i]);
    return is_same;
}

static bool are_same_bytes(const void *a, size_t a_size, const void *b, size_t b_size)
{
    return a_size == b_size && (a_size == 0 || !memcmp(a, b, a_size));
}

static bool are_same_patterns(const struct policy_patterns *a, const struct policy_patterns *b)
{
    return a->any == b->any && are_same_texts(a->exact, a->exact_count, b->exact, b->exact_count) &&
           are_same_texts(a->below, a->below_count, b->below, b->below_count) &&
           are_same_texts(a->labels, a->label_count, b->labels, b->label_count) &&
           are_same_texts(a->globs, a->glob_count, b->globs, b->glob_count);
}

static bool are_same_paths(const struct policy_secret *a, const struct policy_secret *b)
{
    bool is_same = a->path_count == b->path_count;
    for (size_t i = 0; is_same && i < a->path_count; i++)
        is_same = a->paths[i].kind == b->paths[i].kind &&
                  is_same_text(a->paths[i].text, b->paths[i].text);
    return is_same;
}

static bool is_same_source(const struct policy_secret *a, const struct policy_secret *b)
{
    return is_same_text(a->name, b->name) && a->source == b->source &&
           are_same_texts(a->source_words, a->source_word_count, b->source_words,
                          b->source_word_count) &&
           is_same_text(a->placeholder, b->placeholder) &&
           are_same_texts(a->env, a->env_count, b->env, b->env_count);
}

static bool are_same_logins(const struct policy_ssh *a, const struct policy_ssh *b)
{
    bool is_same = is_same_text(a->user, b->user) && a->host_key_count == b->host_key_count;
    for (size_t i = 0; is_same && i < a->host_key_count; i++)
        is_same = is_same_text(a->host_keys[i].text, b->host_keys[i].text);
    return is_same;
}

static bool is_same_use(const struct policy_secret *a, const struct policy_secret *b)
{
    return are_same_patterns(&a->hosts, &b->hosts) &&
           are_same_patterns(&a->passthrough_hosts, &b->passthrough_hosts) &&
           are_same_bytes(a->ports, a->port_count * sizeof(*a->ports), b->ports,
                          b->port_count * sizeof(*b->ports)) &&
           are_same_texts(a->methods, a->method_count, b->methods, b->method_count) &&
           are_same_paths(a, b) && a->in_headers == b->in_headers && a->in_basic == b->in_basic &&
           a->in_query == b->in_query && a->in_body == b->in_body &&
           a->on_violation == b->on_violation && a->requires_tls == b->requires_tls &&
           a->scrub == b->scrub && a->use == b->use &&
           is_same_text(a->aws.access_key_id_ref, b->aws.access_key_id_ref) &&
           is_same_text(a->aws.session_token_ref, b->aws.session_token_ref) &&
           is_same_text(a->postgres.user, b->postgres.user) &&
           is_same_text(a->postgres.database, b->postgres.database) &&
           a->postgres.has_tls == b->postgres.has_tls && are_same_logins(&a->ssh, &b->ssh);
}

const struct policy_secret *policy_find_secret(const struct policy_document *d, const char *name)
{
    for (size_t i = 0; i < d->secret_count; i++)
        if (!strcmp(d->secrets[i].name, name))
            return &d->secrets[i];
    return NULL;
}

static bool is_same_secret(const struct policy_secret *a, const struct policy_secret *b)
{
    return is_same_source(a, b) && is_same_use(a, b);
}

bool policy_have_same_secrets(const struct policy_document *a, const struct policy_document *b)
{
    bool is_same = a->secret_count == b->secret_count;
    for (size_t i = 0; is_same && i < a->secret_count; i++)
        is_same = is_same_secret(&a->secrets[i], &b->secrets[i]);
    return is_same;
}

/* The n-th of those that log in by SSH; NULL: there are not so many. */
static const struct policy_secret *find_ssh(const struct policy_document *d, size_t n)
{
    for (size_t i = 0; i < d->secret_count; i++)
        if (d->secrets[i].use == POLICY_SECRET_SSH && n-- == 0)
            return &d->secrets[i];
    return NULL;
}

/* The agent, and the file of the keys of their hosts, are those of the start. */
static bool have_same_keys(const struct policy_document *a, const struct policy_document *b)
{
    for (size_t n = 0;; n++) {
        const struct policy_secret *x = find_ssh(a, n), *y = find_ssh(b, n);
        if (!x || !y)
            return x == y;
        if (!is_same_secret(x, y))
            return false;
    }
}

static bool have_like_secrets(const struct policy_document *a, const struct policy_document *b)
{
    if (a->secret_count > 0 && !b->has_secrets)
        return false;
    for (size_t i = 0; i < b->secret_count; i++) {
        const struct policy_secret *before = policy_find_secret(a, b->secrets[i].name);
        if (before && !is_same_secret(before, &b->secrets[i]))
            return false;
    }
    return have_same_keys(a, b);
}

static bool have_same_resolvers(const struct policy_document *a, const struct policy_document *b)
{
    return are_same_bytes(a->dns.resolvers, a->dns.resolver_count * sizeof(*a->dns.resolvers),
                          b->dns.resolvers, b->dns.resolver_count * sizeof(*b->dns.resolvers));
}

static bool have_same_roots(const struct policy_document *a, const struct policy_document *b)
{
    return are_same_texts(a->tls.extra_ca_pem, a->tls.extra_ca_count, b->tls.extra_ca_pem,
                          b->tls.extra_ca_count);
}

static bool have_same_authority(const struct policy_document *a, const struct policy_document *b)
{
    return a->tls.installs_ca == b->tls.installs_ca;
}

static bool is_same_host(const struct policy_host *a, const struct policy_host *b)
{
    if (a->kind != b->kind)
        return false;
    return a->kind == POLICY_HOST_NAME ? !strcmp(a->name, b->name)
                                       : IN6_ARE_ADDR_EQUAL(&a->address, &b->address);
}

/* Nobody who only means to add a rule shall go past a proxy by leaving it out. */
static bool have_same_proxy(const struct policy_document *a, const struct policy_document *b)
{
    const struct policy_upstream *x = a->upstream, *y = b->upstream;
    if (!x || !y)
        return x == y;
    return x->type == y->type && is_same_host(&x->host, &y->host) && x->port == y->port &&
           is_same_text(x->username, y->username) &&
           is_same_text(x->password_ref, y->password_ref) &&
           are_same_patterns(&x->no_proxy, &y->no_proxy) &&
           x->resolves_remotely == y->resolves_remotely;
}

const char *policy_find_lasting_change(const struct policy_document *a,
                                       const struct policy_document *b)
{
    static const struct {
        const char *place;
        bool (*is_same)(const struct policy_document *a, const struct policy_document *b);
    } rows[] = {
        {"/dns/resolvers", have_same_resolvers},  {"/tls/extra_ca_pem", have_same_roots},
        {"/tls/install_ca", have_same_authority}, {"/upstream", have_same_proxy},
        {"/secrets", have_like_secrets},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (!rows[i].is_same(a, b))
            return rows[i].place;
    return NULL;
}
