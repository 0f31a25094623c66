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
    bool is_replacement;    /* of another: nothing at all is a document, too */
};

/*
 * Appends the document to policy, or nothing: no network at all. 0; or a status of HTTP with the
 * sentence in why (constant): 400, 403, 501; or -ENOMEM.
 */
int network_compile(const struct network_wish *w, struct buf *policy, const char **ret_why);

/*
 * Who may connect to ports of the sandbox (network.allowPublicTraffic), and what Host its programs
 * see (maskRequestHost). is_public: when nothing is said. 0; or 400 with the sentence.
 */
int network_check_ports(const json_t *network, bool is_public, bool *ret_is_public,
                        const char **ret_why);

/*
 * network.rules: fields that the gateway adds to requests to a host, which programs in the sandbox
 * don't see. 0; or a status of HTTP with the sentence.
 */
int network_check_rules(const json_t *rules, const char **ret_why);

/* Appends the rules of those hosts that are allowed: that are in the list, or all (allow NULL). */
void network_add_rules(struct buf *out, const json_t *rules, const json_t *allow);

/* A copy for people and records: without the values of fields. NULL: no memory. */
json_t *network_redact(const json_t *network);
