// SPDX-License-Identifier: Apache-2.0
#include "kernel/net/inet.h"

#include "kernel/net/denied.h"
#include "kernel/net/gateway.h"
#include "kernel/net/interface.h"

#include <linux/capability.h>

#define PORT_PRIVILEGED     1024
#define IPPROTO_COUNT       263 /* IPPROTO_MAX of Linux, after IPPROTO_MPTCP */
#define SOCKADDR_IN6_OLDEST 24  /* without sin6_scope_id: SIN6_LEN_RFC2133 */

#define MAPPED(a, b, c, d)                                           \
    {                                                                \
        {                                                            \
            {                                                        \
                0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d \
            }                                                        \
        }                                                            \
    }

const struct in6_addr inet_any4 = MAPPED(0, 0, 0, 0);
const struct in6_addr inet_loopback4 = MAPPED(127, 0, 0, 1);
const struct in6_addr inet_resolver_address = MAPPED(127, 0, 0, 53);
static const struct in6_addr own_address4 = MAPPED(10, 0, 2, 15);

struct in6_addr inet_mapped(uint32_t address)
{
    struct in6_addr a = inet_any4;
    a.s6_addr32[3] = htonl(address);
    return a;
}

uint32_t inet_v4(const struct in6_addr *a)
{
    return ntohl(a->s6_addr32[3]);
}

bool inet_is_any(const struct in6_addr *a)
{
    return IN6_IS_ADDR_UNSPECIFIED(a) || IN6_ARE_ADDR_EQUAL(a, &inet_any4);
}

bool inet_is_same(const struct inet_endpoint *a, const struct inet_endpoint *b)
{
    return a->port == b->port && IN6_ARE_ADDR_EQUAL(&a->address, &b->address);
}

enum inet_kind inet_kind(const struct in6_addr *a)
{
    if (inet_is_any(a))
        return INET_ANY;
    if (!IN6_IS_ADDR_V4MAPPED(a)) {
        if (IN6_IS_ADDR_MULTICAST(a))
            return INET_MULTICAST;
        return IN6_IS_ADDR_LOOPBACK(a) || inet_is_own_address(a) ? INET_LOOPBACK : INET_ELSEWHERE;
    }
    uint32_t v4 = inet_v4(a);
    if (v4 == INADDR_BROADCAST || v4 == 0x7fffffff)
        return INET_BROADCAST;
    if (IN_MULTICAST(v4))
        return INET_MULTICAST;
    return v4 >> 24 == IN_LOOPBACKNET || inet_is_own_address(a) ? INET_LOOPBACK : INET_ELSEWHERE;
}

/* What is sent to it takes the way over lo, as on Linux. */
bool inet_is_own_address(const struct in6_addr *a)
{
    if (IN6_IS_ADDR_V4MAPPED(a))
        return gateway_exists() && IN6_ARE_ADDR_EQUAL(a, &own_address4);
    return gateway_has_v6() && IN6_ARE_ADDR_EQUAL(a, &interface_address6);
}

bool inet_is_outside(const struct in6_addr *a)
{
    bool has_way =
        IN6_IS_ADDR_V4MAPPED(a) ? gateway_exists() : gateway_has_v6() && !IN6_IS_ADDR_LINKLOCAL(a);
    return has_way && inet_kind(a) == INET_ELSEWHERE;
}

bool inet_is_resolver(const struct inet_endpoint *e)
{
    return e->port == INET_RESOLVER_PORT &&
           (IN6_ARE_ADDR_EQUAL(&e->address, &inet_resolver_address) ||
            inet_is_outside(&e->address));
}

int inet_parse(const struct inet_socket *i, const struct net_address *a, bool mixed,
               struct inet_endpoint *ret)
{
    bool is_v4 = i->socket.family == AF_INET || (mixed && a->any.sa_family == AF_INET);
    size_t least = is_v4 ? sizeof(a->in) : SOCKADDR_IN6_OLDEST;
    if (a->size < sizeof(a->any.sa_family) || a->size < least)
        return -EINVAL;
    if (a->any.sa_family != (is_v4 ? AF_INET : AF_INET6))
        return -EAFNOSUPPORT;
    if (is_v4)
        *ret = (struct inet_endpoint){inet_mapped(ntohl(a->in.sin_addr.s_addr)),
                                      ntohs(a->in.sin_port)};
    else
        *ret = (struct inet_endpoint){a->in6.sin6_addr, ntohs(a->in6.sin6_port)};
    return 0;
}

void inet_format(int family, const struct inet_endpoint *e, struct net_address *ret)
{
    *ret = (struct net_address){0};
    if (family == AF_INET) {
        ret->size = sizeof(ret->in);
        ret->in.sin_family = AF_INET;
        ret->in.sin_port = htons(e->port);
        ret->in.sin_addr.s_addr = e->address.s6_addr32[3];
        return;
    }
    ret->size = sizeof(ret->in6);
    ret->in6.sin6_family = AF_INET6;
    ret->in6.sin6_port = htons(e->port);
    ret->in6.sin6_addr = e->address;
}

int inet_route(const struct inet_socket *i, struct inet_endpoint *destination,
               struct in6_addr *ret_source)
{
    const struct in6_addr *local = &i->local.address;
    bool local_is_v4 = IN6_IS_ADDR_V4MAPPED(local), local_is_any = inet_is_any(local);
    enum inet_kind kind = inet_kind(&destination->address);
    if (kind == INET_BROADCAST && !i->socket.broadcast)
        return -EACCES;
    if (kind == INET_ANY) {
        bool to_v4 = local_is_v4 || IN6_IS_ADDR_V4MAPPED(&destination->address);
        destination->address = to_v4 ? inet_loopback4 : in6addr_loopback;
    } else if (kind == INET_BROADCAST
                   ? inet_v4(&destination->address) == INADDR_BROADCAST
                   : kind != INET_LOOPBACK && !inet_is_outside(&destination->address)) {
        if (kind == INET_ELSEWHERE && !gateway_exists())
            denied_address(&i->socket, destination);
        return -ENETUNREACH;
    }
    bool to_v4 = IN6_IS_ADDR_V4MAPPED(&destination->address);
    if (to_v4 && i->v6_only)
        return -ENETUNREACH;
    /* :: is the only address from which both kinds can be reached. */
    if (to_v4 != local_is_v4 && !(local_is_any && !local_is_v4))
        return -ENETUNREACH;
    bool is_outside = inet_is_outside(&destination->address);
    /* No packet of a loopback address goes out: ip_route_output_key_hash() of Linux. */
    if (is_outside && !local_is_any && !inet_is_own_address(local))
        return -EINVAL;
    if (!local_is_any)
        *ret_source = *local;
    else if (is_outside || inet_is_own_address(&destination->address))
        *ret_source = to_v4 ? own_address4 : interface_address6;
    else
        *ret_source = to_v4 ? inet_loopback4 : in6addr_loopback;
    return 0;
}

/* Addresses that a socket can be bound to: -EADDRNOTAVAIL for those of others. */
static int check_bindable(const struct inet_socket *i, const struct inet_endpoint *e)
{
    enum inet_kind kind = inet_kind(&e->address);
    if (i->v6_only && IN6_IS_ADDR_V4MAPPED(&e->address))
        return -EINVAL;
    bool foreign =
        !inet_option(i, IPPROTO_IP, IP_FREEBIND) &&
        (kind == INET_ELSEWHERE ||
         (i->socket.type == SOCK_STREAM && kind == INET_MULTICAST && i->socket.family == AF_INET6));
    if (foreign || inet_is_resolver(e))
        return foreign ? -EADDRNOTAVAIL : -EADDRINUSE;
    return 0;
}

int inet_bind(struct socket *s, struct thread *t, const struct net_address *a)
{
    struct inet_socket *i = inet_of(s);
    struct inet_endpoint e;
    int r = inet_parse(i, a, false, &e);
    /* An address that is all zeros binds to any, for the sake of old programs: ip(7). */
    if (r == -EAFNOSUPPORT && s->family == AF_INET && a->any.sa_family == AF_UNSPEC &&
        a->in.sin_addr.s_addr == INADDR_ANY) {
        e = (struct inet_endpoint){inet_any4, ntohs(a->in.sin_port)};
        r = 0;
    }
    if (r == 0)
        r = check_bindable(i, &e);
    if (r < 0)
        return r;
    if (e.port && e.port < PORT_PRIVILEGED && !cred_has_cap(t->cred, CAP_NET_BIND_SERVICE))
        return -EACCES;
    if (s->state != SOCKET_IDLE || i->port)
        return -EINVAL;
    struct in6_addr old = i->local.address;
    i->local.address = e.address;
    r = inet_bind_port(i, e.port);
    if (r < 0) {
        i->local.address = old;
        return r;
    }
    i->port_chosen = e.port != 0;
    i->address_chosen = !inet_is_any(&e.address);
    return 0;
}

int inet_name(struct socket *s, enum socket_end end, struct net_address *ret)
{
    const struct inet_socket *i = inet_of(s);
    inet_format(s->family, end != OWN_END ? &i->remote : &i->local, ret);
    return 0;
}

void inet_describe(struct inet_socket *i, struct net_socket_info *info)
{
    info->local = i->local.address;
    info->local_port = i->local.port;
    info->remote = i->remote.address;
    info->remote_port = i->remote.port;
    info->v6_only = i->v6_only;
}

void inet_done(struct socket *s)
{
    struct inet_socket *i = inet_of(s);
    inet_unbind(i);
    free(i->options);
}

static int check_protocol(int type, int protocol, int own)
{
    if (protocol == 0 || protocol == own)
        return 0;
    if (type == SOCK_DGRAM && (protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6))
        return -EACCES; /* net.ipv4.ping_group_range is empty */
    return -EPROTONOSUPPORT;
}

int inet_create(int family, int type, int protocol, struct socket **ret)
{
    if (protocol < 0 || protocol >= IPPROTO_COUNT)
        return -EINVAL;
    if (type == SOCK_RAW)
        return -EPERM;
    if (type != SOCK_STREAM && type != SOCK_DGRAM)
        return -ESOCKTNOSUPPORT;
    int own = type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
    int r = check_protocol(type, protocol, own);
    if (r == 0)
        r = type == SOCK_STREAM ? tcp_create(family, ret) : udp_create(family, ret);
    if (r < 0)
        return r;
    struct inet_socket *i = inet_of(*ret);
    i->socket.protocol = own;
    i->local.address = i->remote.address = family == AF_INET ? inet_any4 : in6addr_any;
    return 0;
}
