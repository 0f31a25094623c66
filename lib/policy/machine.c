// SPDX-License-Identifier: Apache-2.0
#include "lib/policy/machine.h"

#include <ifaddrs.h>
#include <net/if.h>

static struct policy_net single(const struct sockaddr *a)
{
    struct policy_net net = {.prefix_bits = 128};
    if (a->sa_family == AF_INET)
        net.address =
            policy_address_from_ipv4(((const struct sockaddr_in *)(const void *)a)->sin_addr);
    else
        net.address = ((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
    return net;
}

static bool is_inet(const struct sockaddr *a)
{
    return a && (a->sa_family == AF_INET || a->sa_family == AF_INET6);
}

int policy_machine_read(struct policy_machine *m, struct policy_operator *op)
{
    struct ifaddrs *list;
    size_t own = 0, broadcasts = 0;
    if (getifaddrs(&list) < 0)
        return -errno;
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        if (own == POLICY_MACHINE_ADDRESSES_MAX || broadcasts == POLICY_MACHINE_ADDRESSES_MAX) {
            freeifaddrs(list);
            return -E2BIG;
        }
        if (is_inet(i->ifa_addr))
            m->own[own++] = single(i->ifa_addr);
        /* Without one, libc gives the address itself. */
        if (!(i->ifa_flags & IFF_BROADCAST) || !is_inet(i->ifa_addr) || !is_inet(i->ifa_broadaddr))
            continue;
        struct policy_net net = single(i->ifa_broadaddr);
        if (!IN6_ARE_ADDR_EQUAL(&net.address, &m->own[own - 1].address))
            m->broadcasts[broadcasts++] = net;
    }
    freeifaddrs(list);
    op->host = m->own;
    op->host_count = own;
    op->broadcast = m->broadcasts;
    op->broadcast_count = broadcasts;
    return 0;
}
