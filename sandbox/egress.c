// SPDX-License-Identifier: Apache-2.0
#include "sandbox/egress.h"

#include "lib/policy/enforced.h"
#include "sandbox/spec.h"

int egress_check(const struct policy_document *d, struct sandbox_error *e)
{
    struct policy_error wrong;
    int r = policy_check_enforced(d, &wrong);
    return r < 0 ? sandbox_error_set(e, r, "%s", wrong.text) : 0;
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
    policy_free(p);
    if (r < 0)
        return r;
    char *copy = strndup(json, size);
    if (!copy)
        return sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again");
    free(s->policy);
    s->policy = copy;
    s->installs_ca = installs_ca;
    return 0;
}
