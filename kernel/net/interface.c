// SPDX-License-Identifier: Apache-2.0
/*
 * netdevice(7): the one network interface of a sandbox, lo.
 */
#include "kernel/net/socket.h"

#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>

#define LOOPBACK_NAME    "lo"
#define LOOPBACK_INDEX   1
#define LOOPBACK_MTU     65536
#define LOOPBACK_NETMASK 0xff000000u
#define LOOPBACK_QUEUE   1000

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
    int r = call_read(c, &list, argument, sizeof(list));
    if (r < 0)
        return r;
    if (list.ifc_len < 0)
        return -EINVAL;
    struct gaddr buffer = gaddr_at((uintptr_t)list.ifc_buf);
    bool fits = list.ifc_len >= (int)sizeof(entry);
    memset(&entry, 0, sizeof(entry));
    memcpy(entry.ifr_name, LOOPBACK_NAME, sizeof(LOOPBACK_NAME));
    entry.ifr_addr = ipv4(INADDR_LOOPBACK);
    if (buffer.v && fits && call_write(c, buffer, &entry, sizeof(entry)) < 0)
        return -EFAULT;
    list.ifc_len = buffer.v && !fits ? 0 : (int)sizeof(entry);
    return call_write(c, argument, &list, sizeof(list));
}

/* Fills what is asked for; the name was checked. */
static long fill(unsigned request, struct ifreq *ifr)
{
    switch (request) {
    case SIOCGIFFLAGS:
        ifr->ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
        return 0;
    case SIOCGIFINDEX:
        ifr->ifr_ifindex = LOOPBACK_INDEX;
        return 0;
    case SIOCGIFMTU:
        ifr->ifr_mtu = LOOPBACK_MTU;
        return 0;
    case SIOCGIFMETRIC:
        ifr->ifr_metric = 0;
        return 0;
    case SIOCGIFTXQLEN:
        ifr->ifr_qlen = LOOPBACK_QUEUE;
        return 0;
    case SIOCGIFHWADDR:
        memset(&ifr->ifr_hwaddr, 0, sizeof(ifr->ifr_hwaddr));
        ifr->ifr_hwaddr.sa_family = ARPHRD_LOOPBACK;
        return 0;
    case SIOCGIFMAP:
        memset(&ifr->ifr_map, 0, sizeof(ifr->ifr_map));
        return 0;
    case SIOCGIFADDR:
    case SIOCGIFDSTADDR:
        ifr->ifr_addr = ipv4(INADDR_LOOPBACK);
        return 0;
    case SIOCGIFNETMASK:
        ifr->ifr_netmask = ipv4(LOOPBACK_NETMASK);
        return 0;
    case SIOCGIFBRDADDR:
        ifr->ifr_broadaddr = ipv4(INADDR_ANY);
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
    if (ifr.ifr_ifindex != LOOPBACK_INDEX)
        return -ENODEV;
    memset(ifr.ifr_name, 0, sizeof(ifr.ifr_name));
    memcpy(ifr.ifr_name, LOOPBACK_NAME, sizeof(LOOPBACK_NAME));
    return call_write(c, argument, &ifr, sizeof(ifr));
}

long interface_ioctl(struct call *c, int family, unsigned request, struct gaddr argument)
{
    struct ifreq ifr;
    if (request == SIOCGIFCONF)
        return get_list(c, argument);
    if (request == SIOCGIFNAME)
        return get_name(c, argument);
    if (is_change(request))
        return -EPERM;
    memset(&ifr, 0, sizeof(ifr));
    if (fill(request, &ifr) < 0 || (is_address_request(request) && family != AF_INET))
        return -ENOTTY;
    int r = call_read(c, &ifr, argument, sizeof(ifr));
    if (r < 0)
        return r;
    ifr.ifr_name[IFNAMSIZ - 1] = '\0';
    if (strcmp(ifr.ifr_name, LOOPBACK_NAME) != 0)
        return -ENODEV;
    fill(request, &ifr);
    return call_write(c, argument, &ifr, sizeof(ifr));
}
