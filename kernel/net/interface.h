// SPDX-License-Identifier: Apache-2.0
/*
 * The network interfaces that a sandbox shows: lo, and with a gateway eth0, which has an address of
 * a private network (10.0.2.15/24) and a default route by way of a router (10.0.2.2) that answers
 * nobody; and the same of IPv6 (fd67:6c6f:7665::15/64 and ::2, RFC 4193) while that leads anywhere.
 * An address of that kind makes getaddrinfo(3) sort IPv4 first where a name has both.
 * No packet goes through it: connections are made by the gateway. It is there since
 * programs look for an interface before they believe in a network (getaddrinfo(3), AI_ADDRCONFIG).
 */
#pragma once

#include "lib/base/base.h"

#include <netinet/in.h>

#define INTERFACE_LOOPBACK_INDEX 1
#define INTERFACE_ROUTER         0x0a000202u /* 10.0.2.2 */
#define INTERFACE_PREFIX6_BITS   64

extern const struct in6_addr interface_address6, interface_router6;

struct interface {
    const char *name;
    int index;
    unsigned flags; /* IFF_*, as netlink has them */
    unsigned type;  /* ARPHRD_* */
    uint32_t mtu, queue;
    uint8_t hardware[6];
    uint32_t address, netmask, broadcast; /* IPv4, host order; broadcast 0: none */
    unsigned prefix_bits;
    const struct in6_addr *address6;
    unsigned prefix6_bits;
    const char *queueing;
};

/* Those that there are, one after the other; NULL behind the last. */
const struct interface *interface_at(size_t i);
/* Its address of IPv6; NULL: none now. */
const struct in6_addr *interface_v6(const struct interface *f);
/* By name (size bytes, maybe with NULs behind it), or by index; NULL: none. */
const struct interface *interface_by_name(const char *name, size_t size);
const struct interface *interface_by_index(int index);
