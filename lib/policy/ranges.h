// SPDX-License-Identifier: Apache-2.0
/*
 * Sets of addresses as sorted ranges. Not for other rooms.
 */
#pragma once

#include "lib/policy/document.h"

/* A network of IPv6 over the mapped addresses holds none of them: see net.h. */
struct policy_address_range policy_range_of(const struct policy_net *net);

/* Sorts the ranges and makes one of those that touch. Returns how many are left. */
size_t policy_ranges_merge(struct policy_address_range *ranges, size_t count);

/* Of merged ranges. */
bool policy_ranges_contain(const struct policy_address_range *ranges, size_t count,
                           const struct in6_addr *address);

/* Whether all of inner is in outer; both are merged. */
bool policy_ranges_cover(const struct policy_address_range *outer, size_t outer_count,
                         const struct policy_address_range *inner, size_t inner_count);

/* Whether every address, IPv4 and IPv6, is in them. */
bool policy_ranges_are_all(const struct policy_address_range *ranges, size_t count);
