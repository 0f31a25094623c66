// SPDX-License-Identifier: Apache-2.0
/*
 * Which secrets may go with a request, and what happens when another's placeholder does.
 */
#include "lib/secret/internal.h"

static bool is_for_host(const struct policy_secret *p, const struct secrets_request *r)
{
    return policy_secret_is_for_requests(p) && r->host && policy_secret_is_for(p, r->host, r->port);
}

static bool has_method(const struct policy_secret *p, const char *method)
{
    /* TRACE has the request sent back, CONNECT has no fields for whom it is connected to. */
    if (!strcmp(method, "TRACE") || !strcmp(method, "CONNECT"))
        return false;
    for (size_t i = 0; i < p->method_count; i++)
        if (!strcmp(p->methods[i], method))
            return true;
    return p->method_count == 0;
}

static bool has_path(const struct policy_secret *p, const char *path)
{
    for (size_t i = 0; i < p->path_count; i++)
        if (policy_path_matches(&p->paths[i], path))
            return true;
    return p->path_count == 0;
}

static bool is_allowed(const struct policy_secret *p, const struct secrets_request *r)
{
    return is_for_host(p, r) && has_method(p, r->method) && has_path(p, r->path) &&
           (r->is_verified_tls || !p->requires_tls);
}

static bool may_pass(const struct policy_secret *p, const struct secrets_request *r)
{
    return p->on_violation == POLICY_VIOLATION_PASSTHROUGH ||
           (r->host && policy_patterns_match(&p->passthrough_hosts, r->host));
}

void secrets_begin(struct secrets_exchange *x, struct secrets *s,
                   const struct secrets_request *request)
{
    *x = (struct secrets_exchange){.secrets = s ? secrets_get(s) : NULL};
    for (size_t i = 0; s && i < s->count; i++) {
        const struct policy_secret *p = &s->document->secrets[i];
        uint64_t bit = UINT64_C(1) << i;
        uint64_t *may = p->use == POLICY_SECRET_SIGNS ? &x->signs : &x->allowed;
        *may |= is_allowed(p, request) ? bit : 0;
        x->passes |= may_pass(p, request) ? bit : 0;
        if (is_for_host(p, request))
            x->scrub = MAX(x->scrub, p->scrub);
    }
}

void secrets_end(struct secrets_exchange *x)
{
    secrets_put(x->secrets);
    x->secrets = NULL;
}

void secrets_note_seen(struct secrets_exchange *x, uint64_t seen)
{
    x->violated |= seen & ~x->allowed & ~x->passes;
}

void secrets_check(struct secrets_exchange *x, const char *text, size_t size)
{
    struct secrets_watch w;
    if (!x->secrets)
        return;
    secrets_watch_begin(&w, x->secrets);
    secrets_watch_take(&w, text, size);
    secrets_note_seen(x, secrets_watch_seen(&w));
}

bool secrets_get_violation(const struct secrets_exchange *x, struct secrets_violation *ret)
{
    const struct policy_secret *gravest = NULL;
    for (size_t i = 0; x->secrets && i < x->secrets->count; i++) {
        const struct policy_secret *p = &x->secrets->document->secrets[i];
        if (x->violated >> i & 1 && (!gravest || (p->on_violation != POLICY_VIOLATION_PASSTHROUGH &&
                                                  p->on_violation > gravest->on_violation)))
            gravest = p;
    }
    if (!gravest)
        return false;
    /* What has no leave to pass as a value does not go out by having leave to pass as another. */
    *ret = (struct secrets_violation){
        .name = gravest->name,
        .action = gravest->on_violation == POLICY_VIOLATION_PASSTHROUGH ? POLICY_VIOLATION_BLOCK
                                                                        : gravest->on_violation};
    return true;
}
