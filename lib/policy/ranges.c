// SPDX-License-Identifier: Apache-2.0
#include "lib/policy/ranges.h"

#define IPV4_PREFIX_BITS 96

/*
 * Ranges are of one family. Sorted are they by family first, so that those of IPv6 which reach over
 * the mapped addresses don't get mixed up with those of IPv4.
 */
static bool is_ipv4(const struct policy_address_range *range)
{
    return IN6_IS_ADDR_V4MAPPED(&range->first) && IN6_IS_ADDR_V4MAPPED(&range->last);
}

struct policy_address_range policy_range_of(const struct policy_net *net)
{
    struct policy_address_range range = {net->address, net->address};
    for (unsigned i = 0; i < sizeof(range.last.s6_addr); i++) {
        unsigned kept = net->prefix_bits > 8 * i ? MIN(net->prefix_bits - 8 * i, 8U) : 0;
        range.last.s6_addr[i] |= (uint8_t)(0xff >> kept);
    }
    return range;
}

static int compare_addresses(const struct in6_addr *a, const struct in6_addr *b)
{
    return memcmp(a->s6_addr, b->s6_addr, sizeof(a->s6_addr));
}

static int compare(const void *a, const void *b)
{
    const struct policy_address_range *x = a, *y = b;
    if (is_ipv4(x) != is_ipv4(y))
        return is_ipv4(x) ? -1 : 1;
    return compare_addresses(&x->first, &y->first);
}

/* False: there is no address behind it. */
static bool next_address(struct in6_addr *a)
{
    for (size_t i = sizeof(a->s6_addr); i-- > 0;)
        if (++a->s6_addr[i])
            return true;
    return false;
}

static bool touches(const struct policy_address_range *before,
                    const struct policy_address_range *behind)
{
    struct in6_addr next = before->last;
    if (is_ipv4(before) != is_ipv4(behind))
        return false;
    return !next_address(&next) || compare_addresses(&behind->first, &next) <= 0;
}

size_t policy_ranges_merge(struct policy_address_range *ranges, size_t count)
{
    size_t kept = 0;
    qsort(ranges, count, sizeof(*ranges), compare);
    for (size_t i = 0; i < count; i++) {
        struct policy_address_range *last = kept ? &ranges[kept - 1] : NULL;
        if (!last || !touches(last, &ranges[i]))
            ranges[kept++] = ranges[i];
        else if (compare_addresses(&ranges[i].last, &last->last) > 0)
            last->last = ranges[i].last;
    }
    return kept;
}

static const struct policy_address_range *find(const struct policy_address_range *ranges,
                                               size_t count,
                                               const struct policy_address_range *wanted)
{
    size_t low = 0, high = count;
    while (low < high) { /* the last one that does not begin behind wanted */
        size_t middle = low + (high - low) / 2;
        if (compare(&ranges[middle], wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct policy_address_range *range = low ? &ranges[low - 1] : NULL;
    return range && is_ipv4(range) == is_ipv4(wanted) &&
                   compare_addresses(&wanted->last, &range->last) <= 0
               ? range
               : NULL;
}

bool policy_ranges_contain(const struct policy_address_range *ranges, size_t count,
                           const struct in6_addr *address)
{
    struct policy_address_range one = {*address, *address};
    return find(ranges, count, &one) != NULL;
}

bool policy_ranges_cover(const struct policy_address_range *outer, size_t outer_count,
                         const struct policy_address_range *inner, size_t inner_count)
{
    for (size_t i = 0; i < inner_count; i++)
        if (!find(outer, outer_count, &inner[i]))
            return false;
    return true;
}

bool policy_ranges_are_all(const struct policy_address_range *ranges, size_t count)
{
    static const struct policy_net ipv6 = {.prefix_bits = 0};
    static const struct policy_net ipv4 = {.address.s6_addr = {[10] = 0xff, [11] = 0xff},
                                           .prefix_bits = IPV4_PREFIX_BITS};
    struct policy_address_range all[] = {policy_range_of(&ipv4), policy_range_of(&ipv6)};
    return policy_ranges_cover(ranges, count, all, ARRAY_SIZE(all));
}
