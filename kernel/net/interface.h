// SPDX-License-Identifier: Apache-2.0
/*
 * The network interfaces that a sandbox shows: lo, and with a gateway eth0, which has an address of
 * a private network (10.0.2.15/24) and a default route by way of a router (10.0.2.2) that answers
 * nobody. No packet goes through it: connections are made by the gateway. It is there since
 * programs look for an interface before they believe in a network (getaddrinfo(3), AI_ADDRCONFIG).
 */
#pragma once

#include "lib/base/base.h"

#define INTERFACE_LOOPBACK_INDEX 1
#define INTERFACE_ROUTER         0x0a000202u /* 10.0.2.2 */

struct interface {
    const char *name;
    int index;
    unsigned flags; /* IFF_*, as netlink has them */
    unsigned type;  /* ARPHRD_* */
    uint32_t mtu, queue;
    uint8_t hardware[6];
    uint32_t address, netmask, broadcast; /* IPv4, host order; broadcast 0: none */
    unsigned prefix_bits;
    bool has_v6; /* ::1 */
    const char *queueing;
};

/* Those that there are, one after the other; NULL behind the last. */
const struct interface *interface_at(size_t i);
/* By name (size bytes, maybe with NULs behind it), or by index; NULL: none. */
const struct interface *interface_by_name(const char *name, size_t size);
const struct interface *interface_by_index(int index);
