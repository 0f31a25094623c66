// SPDX-License-Identifier: Apache-2.0
#include "lib/policy/net.h"

#include <arpa/inet.h>

#define IPV4_PREFIX_BITS 96

static int parse_bits(const char *text, size_t size, unsigned most, unsigned *ret)
{
    if (size < 1 || size > 3 || (size > 1 && text[0] == '0'))
        return -EINVAL;
    unsigned bits = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -EINVAL;
        bits = 10 * bits + (unsigned)(text[i] - '0');
    }
    if (bits > most)
        return -EINVAL;
    *ret = bits;
    return 0;
}

static void clear_behind(struct in6_addr *a, unsigned bits)
{
    for (unsigned i = 0; i < sizeof(a->s6_addr); i++) {
        unsigned kept = bits > 8 * i ? MIN(bits - 8 * i, 8U) : 0;
        a->s6_addr[i] &= (uint8_t)(0xff00 >> kept);
    }
}

int policy_net_parse(const char *text, size_t size, struct policy_net *ret)
{
    char address[INET6_ADDRSTRLEN];
    const char *slash = memchr(text, '/', size);
    size_t address_size = slash ? (size_t)(slash - text) : size;
    if (address_size >= sizeof(address) || memchr(text, '\0', size))
        return -EINVAL;
    memcpy(address, text, address_size);
    address[address_size] = '\0';

    struct policy_net net;
    struct in_addr v4;
    unsigned most;
    if (inet_pton(AF_INET, address, &v4) == 1) {
        net.address = policy_address_from_ipv4(v4);
        most = 32;
    } else if (inet_pton(AF_INET6, address, &net.address) == 1) {
        most = 128;
    } else {
        return -EINVAL;
    }
    unsigned bits = most;
    if (slash && parse_bits(slash + 1, size - address_size - 1, most, &bits) < 0)
        return -EINVAL;
    net.prefix_bits = (uint8_t)(most == 32 ? IPV4_PREFIX_BITS + bits : bits);
    clear_behind(&net.address, net.prefix_bits);
    *ret = net;
    return 0;
}

bool policy_net_contains(const struct policy_net *net, const struct in6_addr *address)
{
    if (IN6_IS_ADDR_V4MAPPED(address) && net->prefix_bits < IPV4_PREFIX_BITS)
        return false;
    struct in6_addr start = *address;
    clear_behind(&start, net->prefix_bits);
    return !memcmp(&start, &net->address, sizeof(start));
}

struct in6_addr policy_address_from_ipv4(struct in_addr a)
{
    struct in6_addr mapped = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(mapped.s6_addr + 12, &a, sizeof(a));
    return mapped;
}

const char *policy_address_print(const struct in6_addr *address,
                                 char ret[POLICY_ADDRESS_TEXT_BYTES])
{
    const char *text =
        IN6_IS_ADDR_V4MAPPED(address)
            ? inet_ntop(AF_INET, address->s6_addr + 12, ret, POLICY_ADDRESS_TEXT_BYTES)
            : inet_ntop(AF_INET6, address, ret, POLICY_ADDRESS_TEXT_BYTES);
    if (!text)
        ret[0] = '\0';
    return ret;
}
