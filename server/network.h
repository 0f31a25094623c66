// SPDX-License-Identifier: Apache-2.0
/*
 * What a client says of a sandbox's network, as a policy document (docs/policy.md). An entry of
 * allowOut beats every one of denyOut; what is in neither is denied when everything is (by
 * allow_internet_access false, by 0.0.0.0/0 in denyOut, or by the server's default).
 */
#pragma once

#include "lib/base/buf.h"

#include "server/scope.h"

struct network_wish {
    const json_t *network;  /* the object, or NULL */
    int internet;           /* allow_internet_access: 0, 1; -1: not said */
    bool allows_egress;     /* the server's default */
    enum scope_egress most; /* that the key may give */
};

/*
 * Appends the document to policy, or nothing: no network at all. 0; or a status of HTTP with the
 * sentence in why (constant): 400, 403, 501; or -ENOMEM.
 */
int network_compile(const struct network_wish *w, struct buf *policy, const char **ret_why);
