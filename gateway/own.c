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
    uint32_t told_by[ADDRESSES_MAX]; /* the latest dump that was under way or over then */
    size_t count;
};

static struct list own, broadcasts;
static struct watch socket_watch = WATCH_NONE;

/* All addresses, one after the other. The machine has one dump at a time for a socket (EBUSY). */
static struct {
    uint32_t number;  /* of the last one that was asked for */
    uint32_t begun;   /* of the last one of which something has come */
    bool is_running;  /* its end has not come */
    bool is_outdated; /* more has changed than it tells: another one has to follow */
} dump;

static size_t find(const struct list *l, const struct in6_addr *address, uint32_t interface)
{
    size_t i = 0;
    while (i < l->count &&
           (l->interfaces[i] != interface || !IN6_ARE_ADDR_EQUAL(&l->nets[i].address, address)))
        i++;
    return i;
}

/* The last one takes its place. */
static void take_out(struct list *l, size_t i)
{
    l->count--;
    l->nets[i] = l->nets[l->count];
    l->interfaces[i] = l->interfaces[l->count];
    l->told_by[i] = l->told_by[l->count];
}

static void set(struct list *l, const struct in6_addr *address, uint32_t interface, bool is_there)
{
    size_t i = find(l, address, interface);
    if (!is_there && i < l->count)
        take_out(l, i);
    if (!is_there)
        return;
    if (i == ADDRESSES_MAX)
        gateway_fail("this machine has more than %d addresses", ADDRESSES_MAX);
    l->nets[i] = (struct policy_net){*address, 128};
    l->interfaces[i] = interface;
    l->told_by[i] = dump.begun;
    l->count = MAX(l->count, i + 1);
}

/* Behind a whole dump: those are gone that neither it nor what came since has told. */
static void keep_told(struct list *l)
{
    for (size_t i = l->count; i-- > 0;)
        if (l->told_by[i] != dump.begun)
            take_out(l, i);
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
                      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                      .nlmsg_seq = ++dump.number}};
    dump.is_running = true;
    dump.is_outdated = false;
    if (send(socket_watch.fd, &q, sizeof(q), 0) != (ssize_t)sizeof(q))
        gateway_fail("this machine's addresses: %s", strerror(errno));
}

/* More has changed than there was room to tell. */
static void ask_again(void)
{
    if (dump.is_running)
        dump.is_outdated = true;
    else
        ask_for_all();
}

static void take_message(const struct nlmsghdr *h)
{
    if (h->nlmsg_type == NLMSG_ERROR)
        gateway_fail("this machine's addresses: it does not tell them");
    if (dump.is_running && h->nlmsg_seq == dump.number && h->nlmsg_flags & NLM_F_MULTI) {
        dump.begun = dump.number;
        dump.is_outdated |= (h->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
    }
    if (h->nlmsg_type == RTM_NEWADDR || h->nlmsg_type == RTM_DELADDR)
        take_address(h);
    if (h->nlmsg_type != NLMSG_DONE || !dump.is_running)
        return;
    dump.is_running = false;
    if (dump.is_outdated) {
        ask_for_all();
        return;
    }
    keep_told(&own);
    keep_told(&broadcasts);
}

/* One packet; true: there was one. */
static bool take_packet(int flags)
{
    static _Alignas(struct nlmsghdr) char packet[ANSWER_BYTES];
    struct sockaddr_nl from = {0};
    socklen_t from_size = sizeof(from);
    ssize_t n = recvfrom(socket_watch.fd, packet, sizeof(packet), flags, (struct sockaddr *)&from,
                         &from_size);
    if (n < 0 && errno == ENOBUFS) {
        ask_again();
        return true;
    }
    if (n < 0 && errno != EINTR && errno != EAGAIN)
        gateway_fail("this machine's addresses: %s", strerror(errno));
    if (n < 0)
        return errno == EINTR;
    int left = (int)n;
    for (const struct nlmsghdr *h = (const void *)packet; from.nl_pid == 0 && NLMSG_OK(h, left);
         h = NLMSG_NEXT(h, left))
        take_message(h);
    gateway.operator.host_count = own.count;
    gateway.operator.broadcast_count = broadcasts.count;
    return true;
}

void own_look(void)
{
    while (take_packet(MSG_DONTWAIT))
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
    socket_watch = (struct watch){.fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE),
                                  .ready = on_ready};
    if (socket_watch.fd < 0 ||
        bind(socket_watch.fd, (const struct sockaddr *)&all, sizeof(all)) < 0)
        gateway_fail("this machine's addresses: %s", strerror(errno));
    gateway.operator.host = own.nets;
    gateway.operator.broadcast = broadcasts.nets;
    ask_for_all();
    while (dump.is_running)
        take_packet(0);
    watch_for(&socket_watch, EPOLLIN);
}
