// SPDX-License-Identifier: Apache-2.0
/*
 * Where a program sends a client to, in Location and Content-Location (RFC 9110, 10.2.2 and 8.7),
 * when it was asked for by a path of the server's own: it knows nothing of what stands in front of
 * its paths. So what leads to itself is made to; what leads elsewhere stays as it is.
 *
 * Nothing that it says leads to another path of the server, as its API: a client may send its key
 * to wherever it is redirected on the same server. So "..", also when it is written as "%2e%2e" or
 * behind "\", ends at the program's own root. Functions of their arguments.
 */
#pragma once

#include "lib/http/authority.h"

/* What is known of the request. */
struct port_place {
    const char *prefix; /* of the path: "/sandboxes/ID/ports/PORT" */
    const char *path;   /* behind it, as the program saw it */
    uint16_t port;
    struct http_authority asked; /* Host, as the client had it; host NULL: it had none */
    struct http_authority told;  /* as the program saw it; likewise */
};

bool port_location_is_field(const char *name);

/* 1 and *ret, to be freed, when it is to be another one; 0: it stays; or -ENOMEM. */
int port_location_read(const char *value, const struct port_place *p, char **ret);
