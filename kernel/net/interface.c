// SPDX-License-Identifier: Apache-2.0
/*
 * netdevice(7).
 */
#include "kernel/net/interface.h"

#include "kernel/net/gateway.h"
#include "kernel/net/socket.h"

#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <net/if_arp.h>

#define NETWORK6 0xfd, 0x67, 0x6c, 0x6f, 0x76, 0x65

const struct in6_addr interface_address6 = {.s6_addr = {NETWORK6, [15] = 0x15}};
const struct in6_addr interface_router6 = {.s6_addr = {NETWORK6, [15] = 0x02}};

static const struct interface interfaces[] = {
    {
        .name = "lo",
        .index = INTERFACE_LOOPBACK_INDEX,
        .flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING | IFF_LOWER_UP,
        .type = ARPHRD_LOOPBACK,
        .mtu = 65536,
        .queue = 1000,
        .address = INADDR_LOOPBACK,
        .netmask = 0xff000000,
        .prefix_bits = 8,
        .address6 = &in6addr_loopback,
        .prefix6_bits = 128,
        .queueing = "noqueue",
    },
    {
        .name = "eth0",
        .index = 2,
        .flags = IFF_UP | IFF_BROADCAST | IFF_RUNNING | IFF_MULTICAST | IFF_LOWER_UP,
        .type = ARPHRD_ETHER,
        .mtu = 1500,
        .queue = 1000,
        .hardware = {0x02, 0x00, 0x0a, 0x00, 0x02, 0x0f},
        .address = 0x0a00020f,
        .netmask = 0xffffff00,
        .broadcast = 0x0a0002ff,
        .prefix_bits = 24,
        .address6 = &interface_address6,
        .prefix6_bits = INTERFACE_PREFIX6_BITS,
        .queueing = "fq_codel",
    },
};

const struct interface *interface_at(size_t i)
{
    size_t count = gateway_exists() ? ARRAY_SIZE(interfaces) : 1;
    return i < count ? &interfaces[i] : NULL;
}

const struct in6_addr *interface_v6(const struct interface *f)
{
    bool is_own = f->index == INTERFACE_LOOPBACK_INDEX;
    return is_own || gateway_has_v6() ? f->address6 : NULL;
}

const struct interface *interface_by_name(const char *name, size_t size)
{
    const struct interface *f;
    for (size_t i = 0; (f = interface_at(i)); i++)
        if (strnlen(name, size) == strlen(f->name) && !memcmp(name, f->name, strlen(f->name)))
            return f;
    return NULL;
}

const struct interface *interface_by_index(int index)
{
    const struct interface *f;
    for (size_t i = 0; (f = interface_at(i)); i++)
        if (f->index == index)
            return f;
    return NULL;
}

static struct sockaddr ipv4(uint32_t address)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
    struct sockaddr sa;
    memcpy(&sa, &in, sizeof(sa));
    return sa;
}

/* The list of interfaces that have an IPv4 address. */
static long get_list(struct call *c, struct gaddr argument)
{
    struct ifconf list;
    struct ifreq entry;
    const struct interface *f;
    int r = call_read(c, &list, argument, sizeof(list));
    if (r < 0)
        return r;
    if (list.ifc_len < 0)
        return -EINVAL;
    struct gaddr buffer = gaddr_at((uintptr_t)list.ifc_buf);
    size_t room = buffer.v ? (size_t)list.ifc_len : SIZE_MAX, used = 0;
    for (size_t i = 0; (f = interface_at(i)) && room - used >= sizeof(entry); i++) {
        memset(&entry, 0, sizeof(entry));
        memcpy(entry.ifr_name, f->name, strlen(f->name));
        entry.ifr_addr = ipv4(f->address);
        if (buffer.v && call_write(c, gaddr_plus(buffer, used), &entry, sizeof(entry)) < 0)
            return -EFAULT;
        used += sizeof(entry);
    }
    list.ifc_len = (int)used;
    return call_write(c, argument, &list, sizeof(list));
}

/* Fills what is asked for. */
static long fill(unsigned request, const struct interface *f, struct ifreq *ifr)
{
    switch (request) {
    case SIOCGIFFLAGS:
        ifr->ifr_flags = (short)(f->flags & ~IFF_LOWER_UP);
        return 0;
    case SIOCGIFINDEX:
        ifr->ifr_ifindex = f->index;
        return 0;
    case SIOCGIFMTU:
        ifr->ifr_mtu = (int)f->mtu;
        return 0;
    case SIOCGIFMETRIC:
        ifr->ifr_metric = 0;
        return 0;
    case SIOCGIFTXQLEN:
        ifr->ifr_qlen = (int)f->queue;
        return 0;
    case SIOCGIFHWADDR:
        memset(&ifr->ifr_hwaddr, 0, sizeof(ifr->ifr_hwaddr));
        ifr->ifr_hwaddr.sa_family = (sa_family_t)f->type;
        memcpy(ifr->ifr_hwaddr.sa_data, f->hardware, sizeof(f->hardware));
        return 0;
    case SIOCGIFMAP:
        memset(&ifr->ifr_map, 0, sizeof(ifr->ifr_map));
        return 0;
    case SIOCGIFADDR:
    case SIOCGIFDSTADDR:
        ifr->ifr_addr = ipv4(f->address);
        return 0;
    case SIOCGIFNETMASK:
        ifr->ifr_netmask = ipv4(f->netmask);
        return 0;
    case SIOCGIFBRDADDR:
        ifr->ifr_broadaddr = ipv4(f->broadcast);
        return 0;
    default:
        return -ENOTTY;
    }
}

static bool is_address_request(unsigned request)
{
    return request == SIOCGIFADDR || request == SIOCGIFDSTADDR || request == SIOCGIFNETMASK ||
           request == SIOCGIFBRDADDR;
}

static bool is_change(unsigned request)
{
    switch (request) {
    case SIOCSIFFLAGS:
    case SIOCSIFADDR:
    case SIOCSIFDSTADDR:
    case SIOCSIFNETMASK:
    case SIOCSIFBRDADDR:
    case SIOCSIFMTU:
    case SIOCSIFMETRIC:
    case SIOCSIFHWADDR:
    case SIOCSIFNAME:
    case SIOCSIFTXQLEN:
    case SIOCADDMULTI:
    case SIOCDELMULTI:
    case SIOCADDRT:
    case SIOCDELRT:
        return true;
    default:
        return false;
    }
}

static long get_name(struct call *c, struct gaddr argument)
{
    struct ifreq ifr;
    int r = call_read(c, &ifr, argument, sizeof(ifr));
    if (r < 0)
        return r;
    const struct interface *f = interface_by_index(ifr.ifr_ifindex);
    if (!f)
        return -ENODEV;
    memset(ifr.ifr_name, 0, sizeof(ifr.ifr_name));
    memcpy(ifr.ifr_name, f->name, strlen(f->name));
    return call_write(c, argument, &ifr, sizeof(ifr));
}

/* Of Linux's loopback device it says no more than that it is up. */
static long ethtool(struct call *c, struct gaddr argument)
{
    struct ifreq ifr = {0};
    struct ethtool_value value;
    int r = call_read(c, &ifr, argument, sizeof(ifr));
    struct gaddr at = gaddr_at((uintptr_t)ifr.ifr_data);
    if (r == 0)
        r = call_read(c, &value.cmd, at, sizeof(value.cmd));
    if (r < 0)
        return r;
    ifr.ifr_name[IFNAMSIZ - 1] = '\0';
    if (!interface_by_name(ifr.ifr_name, IFNAMSIZ))
        return -ENODEV;
    if (value.cmd != ETHTOOL_GLINK)
        return -EOPNOTSUPP;
    value.data = 1;
    return call_write(c, at, &value, sizeof(value));
}

long interface_ioctl(struct call *c, int family, unsigned request, struct gaddr argument)
{
    struct ifreq ifr;
    if (request == SIOCGIFCONF)
        return get_list(c, argument);
    if (request == SIOCGIFNAME)
        return get_name(c, argument);
    if (request == SIOCETHTOOL)
        return ethtool(c, argument);
    if (is_change(request))
        return -EPERM;
    memset(&ifr, 0, sizeof(ifr));
    if (fill(request, interface_at(0), &ifr) < 0 ||
        (is_address_request(request) && family != AF_INET))
        return -ENOTTY;
    int r = call_read(c, &ifr, argument, sizeof(ifr));
    if (r < 0)
        return r;
    ifr.ifr_name[IFNAMSIZ - 1] = '\0';
    const struct interface *f = interface_by_name(ifr.ifr_name, IFNAMSIZ);
    if (!f)
        return -ENODEV;
    fill(request, f, &ifr);
    return call_write(c, argument, &ifr, sizeof(ifr));
}
