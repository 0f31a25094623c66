// SPDX-License-Identifier: Apache-2.0
#include "sandbox/egress.h"

#include "lib/policy/enforced.h"
#include "sandbox/spec.h"

#include <stdio.h>

#define KNOWN_HOSTS_MAX_BYTES (512 * 1024)

int egress_check(const struct policy_document *d, struct sandbox_error *e)
{
    struct policy_error wrong;
    int r = policy_check_enforced(d, &wrong);
    return r < 0 ? sandbox_error_set(e, r, "%s", wrong.text) : 0;
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void describe(const struct policy_document *d, char *ret, size_t size)
{
    int n = snprintf(ret, size, "%s by default, %zu rule%s",
                     d->allows_by_default ? "allow" : "deny", d->rule_count, plural(d->rule_count));
    if (d->secret_count > 0)
        n += snprintf(ret + n, size - (size_t)n, ", %zu secret%s", d->secret_count,
                      plural(d->secret_count));
    if (d->is_audit)
        snprintf(ret + n, size - (size_t)n, ", only watched");
}

static int make_known_hosts(const struct policy_document *d, char **ret, struct sandbox_error *e)
{
    struct buf b = BUF_INIT(KNOWN_HOSTS_MAX_BYTES);
    if (!policy_has_ssh(d))
        return 0;
    if (policy_write_known_hosts(d, &b) < 0) {
        buf_done(&b);
        return sandbox_error_set(e, -E2BIG,
                                 "the hosts and \"host_keys\" of its secrets for SSH are too many; "
                                 "leave some out");
    }
    *ret = b.data;
    return 0;
}

int sandbox_spec_set_policy(struct sandbox_spec *s, const char *json, size_t size,
                            struct sandbox_error *e)
{
    struct policy_error wrong;
    struct policy *p = policy_parse(json, size, &wrong);
    if (!p)
        return sandbox_error_set(e, -EINVAL, "%s", wrong.text);
    const struct policy_document *d = policy_get_document(p);
    int r = egress_check(d, e);
    bool installs_ca = d->tls.installs_ca;
    char *known_hosts = NULL;
    if (r == 0)
        r = make_known_hosts(d, &known_hosts, e);
    describe(d, s->policy_words, sizeof(s->policy_words));
    policy_free(p);
    if (r < 0)
        return r;
    char *copy = strndup(json, size);
    if (!copy) {
        free(known_hosts);
        return sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again");
    }
    free(s->policy);
    free(s->known_hosts);
    s->policy = copy;
    s->known_hosts = known_hosts;
    s->installs_ca = installs_ca;
    return 0;
}
