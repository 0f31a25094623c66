// SPDX-License-Identifier: Apache-2.0
/*
 * Classes of addresses. Not for other rooms.
 */
#pragma once

#include "lib/policy/document.h"

/* As documents write it: "metadata", ... */
extern const char *const policy_group_names[POLICY_GROUP_COUNT];

/*
 * The class of an address: METADATA to PUBLIC. An IPv6 address that carries an IPv4 address in one
 * of the ways that translators know has the class of the inner one, when it has none of its own.
 */
enum policy_group policy_floor_class(const struct policy_operator *op,
                                     const struct in6_addr *address);

/*
 * The IPv4 address within (NAT64, 6to4, ISATAP, IPv4-compatible, IPv4-translated), mapped. False:
 * there is none. A mapped address is IPv4 itself and has none within.
 */
bool policy_floor_embedded(const struct policy_operator *op, const struct in6_addr *address,
                           struct in6_addr *ret);

/* One of the machine's own addresses, whatever other class it has. */
bool policy_floor_is_host(const struct policy_operator *op, const struct in6_addr *address);

/* Whether the operator exempted it. */
bool policy_floor_is_exempt(const struct policy_operator *op, const struct in6_addr *address,
                            enum policy_group class);

/* Names of metadata services. */
bool policy_floor_is_metadata_name(const char *name);

/* Well-known public resolvers of DNS over HTTPS or TLS. */
bool policy_floor_is_doh_name(const char *name);
bool policy_floor_is_doh_address(const struct in6_addr *address);
