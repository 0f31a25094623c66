// SPDX-License-Identifier: Apache-2.0
/*
 * Heads of requests and answers on their way through to a program in a sandbox and back. Each is
 * written anew from its parsed parts. Functions of their arguments.
 *
 * What the program is told of who asks (X-Forwarded-*, Forwarded, X-Real-IP) is true: whatever the
 * client says of that itself is left out, also when it is written with '_' for '-', which many
 * programs can't tell apart. What only the server is to know is left out likewise: API keys, the
 * tokens, and where to the request was sent. Via is added to.
 */
#pragma once

#include "lib/http/write.h"

#define PORT_MASK_MAX_BYTES 255
#define PORT_HEAD_MAX_BYTES (HTTP_HEAD_MAX_BYTES + 8192)

/* One that is asked for, and how. */
struct port_origin {
    uint16_t port;
    const char *client; /* its address, of [0-9a-f.:]; may be "" */
    bool is_secure;     /* asked for over TLS */
    /* Of the path: it is no part of what the program is asked for. NULL: there is none. */
    const char *prefix;
    const char *mask;  /* what Host is to be, with ${PORT}; NULL: as the client has it */
    const char *token; /* of the sandbox: not for its programs */
};

/* Whether text can be a mask. */
bool port_mask_is_valid(const char *text);

/* What it is for a port; *ret borrows from host. False: it is none. */
bool port_mask_read(const char *mask, uint16_t port, char host[PORT_MASK_MAX_BYTES + 1],
                    struct http_authority *ret);

/*
 * Appends the head of r as the program gets it. It is to be answered with an end of the connection,
 * or with 101, when *ret_upgrade is true. 0; -EINVAL: it can't be handed on; -ENOMEM, -E2BIG.
 */
int port_request_write(struct buf *out, const struct http_request *r, const struct port_origin *o,
                       bool *ret_upgrade);

/*
 * What goes to a client of this version of a head that the program has answered; it borrows from
 * r and fields. is_path: it was asked for by a path of the server's own, where everything is of one
 * origin for a browser: so it leaves no cookies there nor anything else that holds for an origin,
 * and its pages have no rights there.
 */
#define PORT_FIELDS_MAX (HTTP_FIELDS_MAX + 1)
struct http_response_head port_answer_head(const struct http_response *r, enum http_version client,
                                           bool is_path, struct http_field fields[PORT_FIELDS_MAX]);

/* Keeps those of a trailer that may be handed on; how many those are. */
size_t port_trailers_forward(struct http_field *trailers, size_t count);
