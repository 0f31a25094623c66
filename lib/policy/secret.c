// SPDX-License-Identifier: Apache-2.0
/*
 * What the document says of a secret, for who has one to use.
 */
#include "lib/policy/document.h"

bool policy_secret_is_for_requests(const struct policy_secret *secret)
{
    return secret->use == POLICY_SECRET_IS_FILLED_IN || secret->use == POLICY_SECRET_SIGNS;
}

bool policy_secret_is_for(const struct policy_secret *secret, const char *name, uint16_t port)
{
    bool has_port = false;
    for (size_t i = 0; i < secret->port_count; i++)
        has_port |= port >= secret->ports[i].first && port <= secret->ports[i].last;
    return has_port && policy_patterns_match(&secret->hosts, name);
}

const struct policy_secret *policy_find_postgres(const struct policy_document *d, const char *name,
                                                 uint16_t port)
{
    for (size_t i = 0; i < d->secret_count; i++)
        if (d->secrets[i].use == POLICY_SECRET_POSTGRES &&
            policy_secret_is_for(&d->secrets[i], name, port))
            return &d->secrets[i];
    return NULL;
}
