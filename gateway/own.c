// SPDX-License-Identifier: Apache-2.0
#include "gateway/own.h"

#include "gateway/gateway.h"
#include "gateway/watch.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESSES_MAX 256 /* of this machine, those of each interface for themselves */
#define ANSWER_BYTES  32768

struct list {
    struct policy_net nets[ADDRESSES_MAX];
    uint32_t interfaces[ADDRESSES_MAX];
    size_t count;
};

static struct list own, broadcasts;
static struct watch socket_watch = WATCH_NONE;

static size_t find(const struct list *l, const struct in6_addr *address, uint32_t interface)
{
    size_t i = 0;
    while (i < l->count &&
           (l->interfaces[i] != interface || !IN6_ARE_ADDR_EQUAL(&l->nets[i].address, address)))
        i++;
    return i;
}

static void set(struct list *l, const struct in6_addr *address, uint32_t interface, bool is_there)
{
    size_t i = find(l, address, interface);
    if (is_there == (i < l->count))
        return;
    if (i == ADDRESSES_MAX)
        gateway_fail("this machine has more than %d addresses", ADDRESSES_MAX);
    /* A new one goes behind all; the last one takes the place of one that went. */
    l->nets[i] = is_there ? (struct policy_net){*address, 128} : l->nets[l->count - 1];
    l->interfaces[i] = is_there ? interface : l->interfaces[l->count - 1];
    l->count = is_there ? l->count + 1 : l->count - 1;
}

/* False: it is none. */
static bool read_address(const struct rtattr *a, int family, struct in6_addr *ret)
{
    struct in_addr v4;
    if (family == AF_INET && RTA_PAYLOAD(a) == sizeof(v4)) {
        memcpy(&v4, RTA_DATA(a), sizeof(v4));
        *ret = policy_address_from_ipv4(v4);
        return true;
    }
    if (family != AF_INET6 || RTA_PAYLOAD(a) != sizeof(*ret))
        return false;
    memcpy(ret, RTA_DATA(a), sizeof(*ret));
    return true;
}

static void take_address(const struct nlmsghdr *h)
{
    const struct ifaddrmsg *m = NLMSG_DATA(h);
    struct in6_addr address, local, broadcast;
    bool has_address = false, has_local = false, has_broadcast = false;
    if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
        return;
    int left = (int)IFA_PAYLOAD(h);
    for (const struct rtattr *a = IFA_RTA(m); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
        if (a->rta_type == IFA_ADDRESS)
            has_address = read_address(a, m->ifa_family, &address);
        else if (a->rta_type == IFA_LOCAL)
            has_local = read_address(a, m->ifa_family, &local);
        else if (a->rta_type == IFA_BROADCAST)
            has_broadcast = read_address(a, m->ifa_family, &broadcast);
    }
    /* Where there are two, IFA_ADDRESS is that of the other end. */
    if (has_local || has_address)
        set(&own, has_local ? &local : &address, m->ifa_index, h->nlmsg_type == RTM_NEWADDR);
    if (has_broadcast)
        set(&broadcasts, &broadcast, m->ifa_index, h->nlmsg_type == RTM_NEWADDR);
}

static void ask_for_all(void)
{
    struct {
        struct nlmsghdr header;
        struct ifaddrmsg address;
    } q = {.header = {.nlmsg_len = sizeof(q),
                      .nlmsg_type = RTM_GETADDR,
                      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};
    if (send(socket_watch.fd, &q, sizeof(q), 0) != (ssize_t)sizeof(q))
        gateway_fail("this machine's addresses: %s", strerror(errno));
}

/* One packet; true: there was one. *ret_is_end: it ends all that was asked for. */
static bool take_packet(int flags, bool *ret_is_end)
{
    static _Alignas(struct nlmsghdr) char packet[ANSWER_BYTES];
    struct sockaddr_nl from = {0};
    socklen_t from_size = sizeof(from);
    ssize_t n = recvfrom(socket_watch.fd, packet, sizeof(packet), flags, (struct sockaddr *)&from,
                         &from_size);
    *ret_is_end = false;
    if (n < 0 && errno == ENOBUFS) { /* more has changed than there was room to tell */
        ask_for_all();
        return true;
    }
    if (n < 0 && errno != EINTR && errno != EAGAIN)
        gateway_fail("this machine's addresses: %s", strerror(errno));
    if (n < 0)
        return errno == EINTR;
    int left = (int)n;
    for (const struct nlmsghdr *h = (const void *)packet; from.nl_pid == 0 && NLMSG_OK(h, left);
         h = NLMSG_NEXT(h, left)) {
        if (h->nlmsg_type == NLMSG_ERROR)
            gateway_fail("this machine's addresses: it does not tell them");
        *ret_is_end |= h->nlmsg_type == NLMSG_DONE;
        if (h->nlmsg_type == RTM_NEWADDR || h->nlmsg_type == RTM_DELADDR)
            take_address(h);
    }
    gateway.operator.host_count = own.count;
    gateway.operator.broadcast_count = broadcasts.count;
    return true;
}

void own_look(void)
{
    bool is_end;
    while (take_packet(MSG_DONTWAIT, &is_end))
        ;
}

static void on_ready(struct watch *w _unused_, uint32_t events _unused_)
{
    own_look();
}

void own_start(void)
{
    const struct sockaddr_nl all = {.nl_family = AF_NETLINK,
                                    .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
    bool is_end = false;
    socket_watch = (struct watch){.fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE),
                                  .ready = on_ready};
    if (socket_watch.fd < 0 ||
        bind(socket_watch.fd, (const struct sockaddr *)&all, sizeof(all)) < 0)
        gateway_fail("this machine's addresses: %s", strerror(errno));
    gateway.operator.host = own.nets;
    gateway.operator.broadcast = broadcasts.nets;
    ask_for_all();
    while (!is_end)
        take_packet(0, &is_end);
    watch_for(&socket_watch, EPOLLIN);
}
