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
           a->scrub == b->scrub;
}

bool policy_secrets_are_same(const struct policy_document *a, const struct policy_document *b)
{
    bool is_same = a->secret_count == b->secret_count;
    for (size_t i = 0; is_same && i < a->secret_count; i++)
        is_same = is_same_source(&a->secrets[i], &b->secrets[i]) &&
                  is_same_use(&a->secrets[i], &b->secrets[i]);
    return is_same;
}

bool policy_resolvers_are_same(const struct policy_document *a, const struct policy_document *b)
{
    return are_same_bytes(a->dns.resolvers, a->dns.resolver_count * sizeof(*a->dns.resolvers),
                          b->dns.resolvers, b->dns.resolver_count * sizeof(*b->dns.resolvers));
}
