// SPDX-License-Identifier: Apache-2.0
/*
 * Addresses and networks as policies and flows know them. There is one form: IPv6, in which an
 * IPv4 address is its mapped form (::ffff:a.b.c.d, RFC 4291 section 2.5.5.2), because that is IPv4
 * on the wire. A network of IPv6 that merely reaches over the mapped range (::/0) holds no IPv4
 * address.
 */
#pragma once

#include "lib/base/base.h"

#include <netinet/in.h>

#define POLICY_ADDRESS_TEXT_BYTES 48 /* of the longest address, its NUL counted */

struct policy_net {
    struct in6_addr address; /* bits behind the prefix are 0 */
    uint8_t prefix_bits;     /* of 128: 96 more than people write for IPv4 */
};

/*
 * "1.2.3.4", "1.2.3.0/24", "2001:db8::1", "2001:db8::/32"; one address is a network of its own.
 * Bits behind the prefix are cleared. IPv4 is four decimal numbers without leading zeros and
 * nothing else; there are no zones. 0 or -EINVAL.
 */
int policy_net_parse(const char *text, size_t size, struct policy_net *ret);

bool policy_net_contains(const struct policy_net *net, const struct in6_addr *address);

/* IPv4 in its mapped form; a is in network byte order. */
struct in6_addr policy_address_from_ipv4(struct in_addr a);

/* "1.2.3.4" or the text of RFC 5952. Returns ret. */
const char *policy_address_print(const struct in6_addr *address,
                                 char ret[POLICY_ADDRESS_TEXT_BYTES]);
