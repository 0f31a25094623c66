// SPDX-License-Identifier: Apache-2.0
/*
 * Host names in their one canonical form, made here at every place where text comes in: from a
 * policy, a DNS question, a TLS hello, an HTTP request. Whoever compares names compares these.
 *
 *   UTS 46, non-transitional, to A-labels -> lower case -> one dot at the end left out ->
 *   a last label that is a number makes it an IPv4 address as browsers read it (the WHATWG's URL
 *   standard: 127.1, 0x7f.1, 2130706433) or malformed -> labels of 1 to 63 bytes of [a-z0-9_-],
 *   253 bytes in all
 *
 * An IPv6 address stands in brackets. Percent signs, zones, blanks, NULs, user names are malformed.
 */
#pragma once

#include "lib/base/base.h"

#include <netinet/in.h>

#define POLICY_NAME_MAX_BYTES 253
#define POLICY_HOST_MAX_BYTES 1024 /* of text that is looked at at all */

enum policy_host_kind { POLICY_HOST_NAME, POLICY_HOST_ADDRESS };

struct policy_host {
    enum policy_host_kind kind;
    char name[POLICY_NAME_MAX_BYTES + 1]; /* canonical; "" for an address */
    struct in6_addr address;              /* IPv4 mapped; zeros for a name */
};

/*
 * Reads size bytes of text, which may have anything in it. 0; -EINVAL and, where why isn't NULL,
 * what is wrong as a constant text ("has an empty label"); -ENOMEM.
 */
int policy_host_parse(const char *text, size_t size, struct policy_host *ret, const char **why);

/*
 * Likewise with an optional ":PORT" behind it; *ret_port is 0 when there is none, and port 0 is
 * malformed.
 */
int policy_host_parse_with_port(const char *text, size_t size, struct policy_host *ret,
                                uint16_t *ret_port, const char **why);

/* Whether name is what policy_host_parse() makes of a name. */
bool policy_host_is_canonical(const char *name);
