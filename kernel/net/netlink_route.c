// SPDX-License-Identifier: Apache-2.0
/*
 * rtnetlink(7): the interfaces of interface.h, their addresses and routes.
 */
#include "kernel/net/interface.h"
#include "kernel/net/netlink.h"

#include <arpa/inet.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>

#define REPLY_MAX 4096
#define FOREVER   0xffffffffu

/* Kinds of message: each group of four types is NEW, DEL, GET, SET. */
#define KIND_OF(type) (((type)-RTM_BASE) & 3)
#define KIND_GET      2

/* The answer to one request, made in the message that will hold it. */
struct reply {
    struct message *m;
    const struct nlmsghdr *request;
    uint32_t port;
    struct nlmsghdr *header; /* of the message that is being made */
};

struct request {
    struct nlmsghdr header;
    const char *payload; /* header.nlmsg_len - NLMSG_HDRLEN bytes, not aligned */
    size_t size;
};

/* Room for size bytes, zeroed; NULL when the reply is full. All replies here are far from that. */
static void *reply_reserve(struct reply *r, size_t size)
{
    size_t aligned = NLMSG_ALIGN(size);
    if (aligned > r->m->capacity - r->m->end)
        return NULL;
    void *at = r->m->data + r->m->end;
    memset(at, 0, aligned);
    r->m->end += aligned;
    return at;
}

static void *reply_begin(struct reply *r, unsigned type, unsigned flags, size_t size)
{
    struct nlmsghdr *h = reply_reserve(r, NLMSG_HDRLEN + size);
    if (!h)
        return NULL;
    h->nlmsg_type = (uint16_t)type;
    h->nlmsg_flags = (uint16_t)flags;
    h->nlmsg_seq = r->request->nlmsg_seq;
    h->nlmsg_pid = r->port;
    h->nlmsg_len = (uint32_t)(NLMSG_HDRLEN + size);
    r->header = h;
    return NLMSG_DATA(h);
}

static void reply_attribute(struct reply *r, unsigned type, const void *data, size_t size)
{
    struct rtattr *a = reply_reserve(r, RTA_LENGTH(size));
    if (!a)
        return;
    a->rta_type = (uint16_t)type;
    a->rta_len = (uint16_t)RTA_LENGTH(size);
    memcpy(RTA_DATA(a), data, size);
    r->header->nlmsg_len = (uint32_t)(r->m->data + r->m->end - (char *)r->header);
}

static void reply_u32(struct reply *r, unsigned type, uint32_t value)
{
    reply_attribute(r, type, &value, sizeof(value));
}

static void reply_u8(struct reply *r, unsigned type, uint8_t value)
{
    reply_attribute(r, type, &value, sizeof(value));
}

static void put_link(struct reply *r, const struct interface *f, unsigned flags)
{
    static const uint8_t everybody[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, nobody[6];
    struct rtnl_link_stats64 stats;
    struct ifinfomsg *link = reply_begin(r, RTM_NEWLINK, flags, sizeof(*link));
    if (!link)
        return;
    link->ifi_type = (unsigned short)f->type;
    link->ifi_index = f->index;
    link->ifi_flags = f->flags;
    memset(&stats, 0, sizeof(stats));
    reply_attribute(r, IFLA_IFNAME, f->name, strlen(f->name) + 1);
    reply_u32(r, IFLA_TXQLEN, f->queue);
    reply_u8(r, IFLA_OPERSTATE, f->broadcast ? IF_OPER_UP : IF_OPER_UNKNOWN);
    reply_u8(r, IFLA_LINKMODE, 0);
    reply_u32(r, IFLA_MTU, f->mtu);
    reply_u32(r, IFLA_GROUP, 0);
    reply_u32(r, IFLA_PROMISCUITY, 0);
    reply_u32(r, IFLA_NUM_TX_QUEUES, 1);
    reply_u32(r, IFLA_NUM_RX_QUEUES, 1);
    reply_u8(r, IFLA_CARRIER, 1);
    reply_attribute(r, IFLA_QDISC, f->queueing, strlen(f->queueing) + 1);
    reply_attribute(r, IFLA_ADDRESS, f->hardware, sizeof(f->hardware));
    reply_attribute(r, IFLA_BROADCAST, f->broadcast ? everybody : nobody, sizeof(nobody));
    reply_attribute(r, IFLA_STATS64, &stats, sizeof(stats));
}

static void reply_v4(struct reply *r, unsigned type, uint32_t address)
{
    reply_u32(r, type, htonl(address));
}

static void put_address(struct reply *r, const struct interface *f, int family)
{
    const struct in6_addr *v6 = interface_v6(f);
    struct ifa_cacheinfo cache = {.ifa_prefered = FOREVER, .ifa_valid = FOREVER};
    struct ifaddrmsg *a = reply_begin(r, RTM_NEWADDR, NLM_F_MULTI, sizeof(*a));
    if (!a)
        return;
    a->ifa_family = (uint8_t)family;
    a->ifa_prefixlen = family == AF_INET ? (uint8_t)f->prefix_bits : (uint8_t)f->prefix6_bits;
    a->ifa_flags = IFA_F_PERMANENT;
    a->ifa_scope = f->broadcast ? RT_SCOPE_UNIVERSE : RT_SCOPE_HOST;
    a->ifa_index = (uint32_t)f->index;
    if (family == AF_INET) {
        reply_v4(r, IFA_ADDRESS, f->address);
        reply_v4(r, IFA_LOCAL, f->address);
        if (f->broadcast)
            reply_v4(r, IFA_BROADCAST, f->broadcast);
        reply_attribute(r, IFA_LABEL, f->name, strlen(f->name) + 1);
    } else {
        reply_attribute(r, IFA_ADDRESS, v6, sizeof(*v6));
    }
    reply_u32(r, IFA_FLAGS, IFA_F_PERMANENT);
    reply_attribute(r, IFA_CACHEINFO, &cache, sizeof(cache));
}

/* One entry of table "local". bits: length of the destination's prefix. */
static void put_route(struct reply *r, int family, const void *destination, unsigned bits,
                      unsigned flags)
{
    size_t size = family == AF_INET ? 4 : 16;
    struct rtmsg *route = reply_begin(r, RTM_NEWROUTE, flags, sizeof(*route));
    if (!route)
        return;
    route->rtm_family = (uint8_t)family;
    route->rtm_dst_len = (uint8_t)bits;
    route->rtm_table = RT_TABLE_LOCAL;
    route->rtm_protocol = RTPROT_KERNEL;
    route->rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE;
    route->rtm_type = RTN_LOCAL;
    reply_u32(r, RTA_TABLE, RT_TABLE_LOCAL);
    reply_attribute(r, RTA_DST, destination, size);
    if (family == AF_INET)
        reply_v4(r, RTA_PREFSRC, INADDR_LOOPBACK);
    reply_u32(r, RTA_OIF, INTERFACE_LOOPBACK_INDEX);
}

/*
 * One entry of table "main", out through f: to its own network, or, with bits 0, to everywhere by
 * way of the router. found: it answers a question for this address.
 */
static void put_route_out(struct reply *r, const struct interface *f, unsigned bits, unsigned flags,
                          const void *found)
{
    struct rtmsg *route = reply_begin(r, RTM_NEWROUTE, flags, sizeof(*route));
    if (!route)
        return;
    route->rtm_family = AF_INET;
    route->rtm_dst_len = found ? 32 : (uint8_t)bits;
    route->rtm_table = RT_TABLE_MAIN;
    route->rtm_protocol = bits ? RTPROT_KERNEL : RTPROT_BOOT;
    route->rtm_scope = bits ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
    route->rtm_type = RTN_UNICAST;
    reply_u32(r, RTA_TABLE, RT_TABLE_MAIN);
    if (found)
        reply_attribute(r, RTA_DST, found, 4);
    else if (bits)
        reply_v4(r, RTA_DST, f->address & f->netmask);
    if (!bits)
        reply_v4(r, RTA_GATEWAY, INTERFACE_ROUTER);
    if (bits || found)
        reply_v4(r, RTA_PREFSRC, f->address);
    reply_u32(r, RTA_OIF, (uint32_t)f->index);
}

/* As put_route_out(), of IPv6. */
static void put_route6_out(struct reply *r, const struct interface *f, unsigned bits,
                           unsigned flags, const void *found)
{
    struct rtmsg *route = reply_begin(r, RTM_NEWROUTE, flags, sizeof(*route));
    struct in6_addr network = *f->address6;
    if (!route)
        return;
    memset(network.s6_addr + INTERFACE_PREFIX6_BITS / 8, 0,
           sizeof(network) - INTERFACE_PREFIX6_BITS / 8);
    route->rtm_family = AF_INET6;
    route->rtm_dst_len = found ? 128 : (uint8_t)bits;
    route->rtm_table = RT_TABLE_MAIN;
    route->rtm_protocol = bits ? RTPROT_KERNEL : RTPROT_BOOT;
    route->rtm_scope = RT_SCOPE_UNIVERSE;
    route->rtm_type = RTN_UNICAST;
    reply_u32(r, RTA_TABLE, RT_TABLE_MAIN);
    if (found)
        reply_attribute(r, RTA_DST, found, sizeof(network));
    else if (bits)
        reply_attribute(r, RTA_DST, &network, sizeof(network));
    if (!bits)
        reply_attribute(r, RTA_GATEWAY, &interface_router6, sizeof(interface_router6));
    if (found)
        reply_attribute(r, RTA_PREFSRC, f->address6, sizeof(*f->address6));
    reply_u32(r, RTA_OIF, (uint32_t)f->index);
}

/* ---- requests ---- */

static int family_of(const struct request *q)
{
    return (unsigned char)q->payload[0]; /* struct rtgenmsg begins every request */
}

static void dump_addresses(struct reply *r, bool v4, bool v6)
{
    const struct interface *f;
    for (size_t i = 0; v4 && (f = interface_at(i)); i++)
        put_address(r, f, AF_INET);
    for (size_t i = 0; v6 && (f = interface_at(i)); i++)
        if (interface_v6(f))
            put_address(r, f, AF_INET6);
}

static void dump_routes(struct reply *r, bool v4, bool v6)
{
    static const uint8_t net4[4] = {127, 0, 0, 0}, host4[4] = {127, 0, 0, 1};
    const struct interface *f;
    for (size_t i = 1; v4 && (f = interface_at(i)); i++) {
        put_route_out(r, f, 0, NLM_F_MULTI, NULL);
        put_route_out(r, f, f->prefix_bits, NLM_F_MULTI, NULL);
    }
    if (v4) {
        put_route(r, AF_INET, net4, 8, NLM_F_MULTI);
        put_route(r, AF_INET, host4, 32, NLM_F_MULTI);
    }
    for (size_t i = 1; v6 && (f = interface_at(i)); i++) {
        if (!interface_v6(f))
            continue;
        put_route6_out(r, f, f->prefix6_bits, NLM_F_MULTI, NULL);
        put_route6_out(r, f, 0, NLM_F_MULTI, NULL);
        put_route(r, AF_INET6, f->address6, 128, NLM_F_MULTI);
    }
    if (v6)
        put_route(r, AF_INET6, &in6addr_loopback, 128, NLM_F_MULTI);
}

static int dump(const struct request *q, struct reply *r)
{
    const struct interface *f;
    int family = family_of(q);
    bool v4 = family == AF_UNSPEC || family == AF_INET;
    bool v6 = family == AF_UNSPEC || family == AF_INET6;
    switch (q->header.nlmsg_type) {
    case RTM_GETLINK:
        for (size_t i = 0; (f = interface_at(i)); i++)
            put_link(r, f, NLM_F_MULTI);
        return 0;
    case RTM_GETADDR:
        dump_addresses(r, v4, v6);
        return 0;
    case RTM_GETROUTE:
        dump_routes(r, v4, v6);
        return 0;
    default:
        return 0; /* neighbours, rules, queues: there are none */
    }
}

/* Attribute `type` behind the first `skip` bytes of the request. Its data, or NULL. */
static const char *find_attribute(const struct request *q, size_t skip, unsigned type,
                                  size_t *ret_size)
{
    size_t at = NLMSG_ALIGN(skip);
    struct rtattr a;
    while (at + sizeof(a) <= q->size) {
        memcpy(&a, q->payload + at, sizeof(a));
        if (a.rta_len < sizeof(a) || a.rta_len > q->size - at)
            return NULL;
        if (a.rta_type == type) {
            *ret_size = a.rta_len - RTA_LENGTH(0);
            return q->payload + at + RTA_LENGTH(0);
        }
        at += RTA_ALIGN(a.rta_len);
    }
    return NULL;
}

static int get_link(const struct request *q, struct reply *r)
{
    struct ifinfomsg link;
    size_t size = 0;
    if (q->size < sizeof(link))
        return -EINVAL;
    memcpy(&link, q->payload, sizeof(link));
    const char *name = find_attribute(q, sizeof(link), IFLA_IFNAME, &size);
    if (link.ifi_index <= 0 && !name)
        return -EINVAL;
    const struct interface *f =
        link.ifi_index > 0 ? interface_by_index(link.ifi_index) : interface_by_name(name, size);
    if (!f)
        return -ENODEV;
    put_link(r, f, 0);
    return 0;
}

static int get_route(const struct request *q, struct reply *r)
{
    struct rtmsg route;
    size_t size = 0;
    if (q->size < sizeof(route))
        return -EINVAL;
    memcpy(&route, q->payload, sizeof(route));
    const char *to = find_attribute(q, sizeof(route), RTA_DST, &size);
    if (route.rtm_family == AF_INET && to && size == 4 && to[0] == IN_LOOPBACKNET) {
        put_route(r, AF_INET, to, 32, 0);
        return 0;
    }
    const struct interface *out = interface_at(1);
    if (route.rtm_family == AF_INET && to && size == 4 && out) {
        uint32_t address;
        memcpy(&address, to, sizeof(address));
        bool is_near = (ntohl(address) & out->netmask) == (out->address & out->netmask);
        put_route_out(r, out, is_near ? out->prefix_bits : 0, 0, to);
        return 0;
    }
    if (route.rtm_family == AF_INET6 && to && size == 16 &&
        memcmp(to, &in6addr_loopback, size) == 0) {
        put_route(r, AF_INET6, to, 128, 0);
        return 0;
    }
    if (route.rtm_family == AF_INET6 && to && size == 16 && out && interface_v6(out)) {
        bool is_near = !memcmp(to, out->address6, INTERFACE_PREFIX6_BITS / 8);
        put_route6_out(r, out, is_near ? out->prefix6_bits : 0, 0, to);
        return 0;
    }
    return route.rtm_family == AF_INET || route.rtm_family == AF_INET6 ? -ENETUNREACH : -EOPNOTSUPP;
}

static int answer(const struct request *q, struct reply *r)
{
    unsigned type = q->header.nlmsg_type;
    if (type < RTM_BASE)
        return 0;
    if (type > RTM_MAX)
        return -EOPNOTSUPP;
    if (q->size < sizeof(struct rtgenmsg))
        return 0;
    if (KIND_OF(type) != KIND_GET)
        return -EPERM;
    if ((q->header.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP)
        return dump(q, r);
    if (type == RTM_GETLINK)
        return get_link(q, r);
    if (type == RTM_GETROUTE)
        return get_route(q, r);
    return -EOPNOTSUPP;
}

static void put_done(struct reply *r)
{
    reply_begin(r, NLMSG_DONE, NLM_F_MULTI, sizeof(int));
}

/* The acknowledgement: with an error also the request itself, unless the socket does not want it.
 */
static void put_error(struct reply *r, const struct request *q, bool capped, int error)
{
    size_t quoted = error && !capped ? q->size : 0;
    if (quoted > REPLY_MAX / 2)
        quoted = 0;
    struct nlmsgerr *e =
        reply_begin(r, NLMSG_ERROR, quoted ? 0 : NLM_F_CAPPED, sizeof(*e) + quoted);
    if (!e)
        return;
    e->error = error;
    e->msg = q->header;
    memcpy((char *)e + sizeof(*e), q->payload, quoted);
}

static bool is_dump(const struct request *q)
{
    unsigned type = q->header.nlmsg_type;
    return type >= RTM_BASE && KIND_OF(type) == KIND_GET &&
           (q->header.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
}

static void handle(struct netlink_socket *n, const struct request *q)
{
    struct reply r = {.request = &q->header, .port = n->port};
    r.m = message_new(REPLY_MAX);
    if (!r.m || n->socket.receive.charge > n->socket.receive_buffer) {
        /* A receiver that is too slow is told so: netlink(7), ENOBUFS. */
        socket_fail(&n->socket, ENOBUFS);
        if (r.m)
            message_free(r.m);
        return;
    }
    int error = answer(q, &r);
    if (error == 0 && is_dump(q))
        put_done(&r);
    else if (error < 0 || (q->header.nlmsg_flags & NLM_F_ACK))
        put_error(&r, q, n->options & 1u << NETLINK_CAP_ACK, error);
    if (r.m->end == 0) {
        message_free(r.m);
        return;
    }
    message_queue_append(&n->socket.receive, r.m);
    socket_wake(&n->socket, SOCKET_READABLE);
}

void netlink_route_handle(struct netlink_socket *n, const char *data, size_t size)
{
    size_t at = 0;
    while (size - at >= sizeof(struct nlmsghdr)) {
        struct request q;
        memcpy(&q.header, data + at, sizeof(q.header));
        if (q.header.nlmsg_len < NLMSG_HDRLEN || q.header.nlmsg_len > size - at)
            return;
        q.payload = data + at + NLMSG_HDRLEN;
        q.size = q.header.nlmsg_len - NLMSG_HDRLEN;
        if (q.header.nlmsg_flags & NLM_F_REQUEST)
            handle(n, &q);
        size_t step = NLMSG_ALIGN(q.header.nlmsg_len);
        if (step > size - at)
            return;
        at += step;
    }
}
