// SPDX-License-Identifier: Apache-2.0
/*
 * Whom a request is for, as its head says: on one listener there are the control plane and every
 * port of every sandbox. The first that applies decides:
 *
 *   1. E2b-Sandbox-Id and E2b-Sandbox-Port    that port of that sandbox; only one of them: 400; the
 *                                             control plane when the port is 49983 and the path
 *                                             begins with /sandboxes/
 *   2. Host: PORT-ID.anything                 likewise; where 1 says something else: 400
 *   3. /sandboxes/ID/ports/PORT/...           likewise, and ... is what is asked for there
 *   4. X-Access-Token                         the sandbox that has this token, port 49983
 *   5. /files with signature= in its query    the sandbox whose token signs it, port 49983
 *   6. else                                   the control plane
 *
 * 4 and 5 are for clients that don't say it: their sandbox has to be looked for.
 */
#pragma once

#include "lib/http/head.h"
#include "server/text.h"

#define ENVD_PORT 49983

enum route_kind {
    ROUTE_CONTROL,
    ROUTE_SANDBOX,   /* id and port */
    ROUTE_TOKEN,     /* look for the token */
    ROUTE_SIGNATURE, /* look for who signs */
    ROUTE_BAD,       /* why */
};

struct route {
    enum route_kind kind;
    char id[64];
    uint16_t port;
    size_t prefix_size; /* of the path, by which it was found: 3; else 0 */
    const char *token;
    const char *why; /* a constant sentence */
};

void route_find(const struct http_request *head, struct route *ret);

/*
 * Whether path is pattern, in which "*" stands for one segment, whatever it is: *ret and *ret_size.
 */
bool route_path_matches(const char *pattern, const char *path, const char **ret, size_t *ret_size);
