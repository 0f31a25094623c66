// SPDX-License-Identifier: Apache-2.0
/*
 * Fields of a message (RFC 9110, section 5), in the order they came in.
 */
#pragma once

#include "lib/base/base.h"

/* Options that one message's fields Connection may hold, empty ones included. */
#define HTTP_OPTIONS_MAX 32

struct http_field {
    const char *name;  /* a token; upper and lower case are alike */
    const char *value; /* without blanks at its ends; may be "" */
};

/* The value of the first field of that name, or NULL. */
const char *http_field_get(const struct http_field *fields, size_t count, const char *name);

/*
 * Takes the next element off a list value ("a, b"): *list is moved behind it, *ret_size bytes from
 * the returned pointer are it, without blanks; may be 0. NULL: there is none any more. A comma
 * in a quoted string is not told apart: for lists of tokens.
 */
const char *http_list_next(const char **list, size_t *ret_size);

/* Whether a list value of a field of that name has this element, upper and lower case alike. */
bool http_field_lists(const struct http_field *fields, size_t count, const char *name,
                      const char *element);

/*
 * Keeps, in their order, what is meant for the other end, and returns how many those are. Left out
 * is what belongs to this connection (RFC 9110, 7.6.1): Connection and what it lists, Keep-Alive,
 * Proxy-Connection, TE, Transfer-Encoding, Upgrade, HTTP2-Settings; what a proxy asks for and is
 * told (Proxy-Authenticate, Proxy-Authorization, Proxy-Authentication-Info); and what the writer
 * makes itself: Host, Content-Length. To be called before fields are added, so that no Connection
 * of a stranger can take those out again.
 */
size_t http_fields_forward(struct http_field *fields, size_t count);

/* Whether it is one of those that http_fields_forward() always leaves out, or alike
 * (http_names_alike()): a server could take Content_Length for a length. */
bool http_field_is_hop(const char *name);

/*
 * Whether a field of that name may not stand in a trailer (RFC 9110, 6.5.1): it would frame the
 * message, route it, change the request, authenticate, or say how the content is to be read. Or a
 * name alike.
 */
bool http_field_is_no_trailer(const char *name);
