// SPDX-License-Identifier: Apache-2.0
/*
 * Options of ip(7), ipv6(7), tcp(7) and udp(7). Most say something about packets, of which there
 * are none here: they are checked, kept and reported.
 */
#include "kernel/net/inet.h"

#include <linux/capability.h>
#include <linux/in6.h>
#include <net/if.h>
#include <netinet/tcp.h>

#define LOOPBACK_INDEX 1
#define LOOPBACK_MTU   65536
#define CONGESTION_MAX 16

#ifndef TCP_TX_DELAY
#define TCP_TX_DELAY 37
#endif
#define IPV6_ADDR_PREFERENCES_OPTION 72
#define IPV6_FREEBIND_OPTION         78
#define IP_LOCAL_PORT_RANGE_OPTION   51

enum {
    ROW_FLAG = 1,    /* any value but 0 is 1 */
    ROW_BYTE = 2,    /* one byte will do: the old IPv4 options */
    ROW_DEFAULT = 4, /* -1 puts the initial value back */
    ROW_STREAM = 8,  /* of TCP sockets only */
    ROW_RAISE = 16,  /* what is too little becomes the least */
};

static const struct option_row {
    int level, name;
    int least, most, initial;
    unsigned flags;
} rows[] = {
    {IPPROTO_IP, IP_TOS, INT32_MIN, INT32_MAX, 0, ROW_BYTE},
    {IPPROTO_IP, IP_TTL, 1, 255, 64, ROW_BYTE | ROW_DEFAULT},
    {IPPROTO_IP, IP_PKTINFO, 0, 0, 0, ROW_BYTE | ROW_FLAG},
    {IPPROTO_IP, IP_RECVERR, 0, 0, 0, ROW_BYTE | ROW_FLAG},
    {IPPROTO_IP, IP_RECVTTL, 0, 0, 0, ROW_BYTE | ROW_FLAG},
    {IPPROTO_IP, IP_RECVTOS, 0, 0, 0, ROW_BYTE | ROW_FLAG},
    {IPPROTO_IP, IP_RECVOPTS, 0, 0, 0, ROW_BYTE | ROW_FLAG},
    {IPPROTO_IP, IP_RETOPTS, 0, 0, 0, ROW_BYTE | ROW_FLAG},
    {IPPROTO_IP, IP_RECVORIGDSTADDR, 0, 0, 0, ROW_BYTE | ROW_FLAG},
    {IPPROTO_IP, IP_MTU_DISCOVER, 0, 5, IP_PMTUDISC_WANT, ROW_BYTE},
    {IPPROTO_IP, IP_MULTICAST_TTL, 0, 255, 1, ROW_BYTE | ROW_DEFAULT},
    {IPPROTO_IP, IP_MULTICAST_LOOP, 0, 0, 1, ROW_BYTE | ROW_FLAG},
    {IPPROTO_IP, IP_MULTICAST_ALL, 0, 1, 1, ROW_BYTE},
    {IPPROTO_IP, IP_FREEBIND, 0, 0, 0, ROW_BYTE | ROW_FLAG},
    {IPPROTO_IP, IP_MINTTL, 0, 255, 0, ROW_BYTE},
    {IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 0, 0, 0, ROW_BYTE | ROW_FLAG},
    {IPPROTO_IP, IP_ROUTER_ALERT, 0, 0, 0, ROW_BYTE | ROW_FLAG},
    {IPPROTO_IP, IP_LOCAL_PORT_RANGE_OPTION, INT32_MIN, INT32_MAX, 0, 0},
    {IPPROTO_IPV6, IPV6_UNICAST_HOPS, 0, 255, 64, ROW_DEFAULT},
    {IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 0, 255, 1, ROW_DEFAULT},
    {IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0, 1, 1, 0},
    {IPPROTO_IPV6, IPV6_RECVPKTINFO, 0, 0, 0, ROW_FLAG},
    {IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 0, 0, 0, ROW_FLAG},
    {IPPROTO_IPV6, IPV6_RECVTCLASS, 0, 0, 0, ROW_FLAG},
    {IPPROTO_IPV6, IPV6_RECVERR, 0, 0, 0, ROW_FLAG},
    {IPPROTO_IPV6, IPV6_RECVORIGDSTADDR, 0, 0, 0, ROW_FLAG},
    {IPPROTO_IPV6, IPV6_TCLASS, 0, 255, 0, ROW_DEFAULT},
    {IPPROTO_IPV6, IPV6_MTU_DISCOVER, 0, 5, IPV6_PMTUDISC_WANT, 0},
    {IPPROTO_IPV6, IPV6_DONTFRAG, 0, 0, 0, ROW_FLAG},
    {IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, 0, 0, 1, ROW_FLAG},
    {IPPROTO_IPV6, IPV6_FREEBIND_OPTION, 0, 0, 0, ROW_FLAG},
    {IPPROTO_IPV6, IPV6_ADDR_PREFERENCES_OPTION, 0, INT32_MAX, 2, 0},
    {IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0, 1, 1, 0},
    {IPPROTO_TCP, TCP_NODELAY, 0, 0, 0, ROW_FLAG | ROW_STREAM},
    {IPPROTO_TCP, TCP_MAXSEG, 88, 32767, 536, ROW_STREAM},
    {IPPROTO_TCP, TCP_CORK, 0, 0, 0, ROW_FLAG | ROW_STREAM},
    {IPPROTO_TCP, TCP_KEEPIDLE, 1, 32767, 7200, ROW_STREAM},
    {IPPROTO_TCP, TCP_KEEPINTVL, 1, 32767, 75, ROW_STREAM},
    {IPPROTO_TCP, TCP_KEEPCNT, 1, 127, 9, ROW_STREAM},
    {IPPROTO_TCP, TCP_SYNCNT, 1, 127, 6, ROW_STREAM},
    {IPPROTO_TCP, TCP_LINGER2, INT32_MIN, INT32_MAX, 60, ROW_STREAM},
    {IPPROTO_TCP, TCP_DEFER_ACCEPT, 0, INT32_MAX, 0, ROW_STREAM | ROW_RAISE},
    {IPPROTO_TCP, TCP_WINDOW_CLAMP, 0, INT32_MAX, 0, ROW_STREAM},
    {IPPROTO_TCP, TCP_QUICKACK, 0, 0, 1, ROW_FLAG | ROW_STREAM},
    {IPPROTO_TCP, TCP_USER_TIMEOUT, 0, INT32_MAX, 0, ROW_STREAM},
    {IPPROTO_TCP, TCP_FASTOPEN, 0, INT32_MAX, 0, ROW_STREAM},
    {IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 0, 1, 0, ROW_STREAM},
    {IPPROTO_TCP, TCP_NOTSENT_LOWAT, INT32_MIN, INT32_MAX, -1, ROW_STREAM},
    {IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, 0, 1, 0, ROW_STREAM},
    {IPPROTO_TCP, TCP_THIN_DUPACK, 0, 1, 0, ROW_STREAM},
    {IPPROTO_TCP, TCP_SAVE_SYN, 0, 2, 0, ROW_STREAM},
    {IPPROTO_TCP, TCP_TX_DELAY, 0, INT32_MAX, 0, ROW_STREAM},
};

static const struct option_row *find_row(const struct inet_socket *i, int level, int name)
{
    bool is_stream = i->socket.type == SOCK_STREAM;
    if ((level == IPPROTO_TCP && !is_stream) ||
        (level == IPPROTO_IPV6 && i->socket.family != AF_INET6))
        return NULL;
    for (size_t n = 0; n < ARRAY_SIZE(rows); n++)
        if (rows[n].level == level && rows[n].name == name)
            return &rows[n];
    return NULL;
}

static int row_value(const struct inet_socket *i, const struct option_row *row)
{
    return i->options ? i->options[row - rows] : row->initial;
}

int inet_option(const struct inet_socket *i, int level, int name)
{
    const struct option_row *row = find_row(i, level, name);
    return row ? row_value(i, row) : 0;
}

static int row_set(struct inet_socket *i, const struct option_row *row, int value)
{
    if (!i->options) {
        i->options = malloc(ARRAY_SIZE(rows) * sizeof(*i->options));
        if (!i->options)
            return -ENOMEM;
        for (size_t n = 0; n < ARRAY_SIZE(rows); n++)
            i->options[n] = rows[n].initial;
    }
    i->options[row - rows] = value;
    return 0;
}

int inet_inherit_options(struct inet_socket *i, const struct inet_socket *parent)
{
    i->v6_only = parent->v6_only;
    i->is_reno = parent->is_reno;
    if (!parent->options)
        return 0;
    i->options = malloc(ARRAY_SIZE(rows) * sizeof(*i->options));
    if (!i->options)
        return -ENOMEM;
    memcpy(i->options, parent->options, ARRAY_SIZE(rows) * sizeof(*i->options));
    return 0;
}

/* An int, or for the options of IPv4 one byte: ip_setsockopt() of Linux. */
static int read_value(const struct socket_option *o, bool byte_will_do, int *ret)
{
    unsigned char byte;
    if (o->size >= (int)sizeof(*ret) || !byte_will_do)
        return option_read_int(o, ret);
    *ret = 0;
    if (o->size == 0)
        return 0;
    int r = option_read(o, &byte, sizeof(byte));
    if (r == 0)
        *ret = byte;
    return r;
}

static int set_row(struct inet_socket *i, const struct option_row *row,
                   const struct socket_option *o)
{
    int value;
    int r = read_value(o, row->flags & ROW_BYTE, &value);
    if (r < 0)
        return r;
    if (row->flags & ROW_FLAG)
        value = value != 0;
    else if ((row->flags & ROW_DEFAULT) && value == -1)
        value = row->initial;
    else if (row->name == TCP_MAXSEG && row->level == IPPROTO_TCP && value == 0)
        value = row->initial;
    else if ((row->flags & ROW_RAISE) && value < row->least)
        value = row->least;
    else if (value < row->least || value > row->most)
        return -EINVAL;
    /* The type of service is a byte, whose last two bits belong to the protocol of streams. */
    if (row->level == IPPROTO_IP && row->name == IP_TOS)
        value = i->socket.type == SOCK_STREAM ? value & 0xfc : value & 0xff;
    return row_set(i, row, value);
}

static int get_row(struct inet_socket *i, const struct option_row *row,
                   const struct socket_option *o)
{
    int value = row_value(i, row);
    if ((row->flags & ROW_BYTE) && o->size > 0 && o->size < (int)sizeof(value) && value >= 0 &&
        value <= 255) {
        unsigned char byte = (unsigned char)value;
        return option_write(o, &byte, sizeof(byte));
    }
    return option_write_int(o, value);
}

/* ---- multicast: no packet ever comes, so memberships are checked and not kept ---- */

static int set_membership4(const struct socket_option *o)
{
    struct ip_mreqn request = {.imr_ifindex = 0};
    size_t given = MIN((size_t)o->size, sizeof(request));
    if (given < sizeof(struct ip_mreq))
        return -EINVAL;
    int r = call_read(o->call, &request, o->value, given);
    if (r < 0)
        return r;
    if (!IN_MULTICAST(ntohl(request.imr_multiaddr.s_addr)))
        return -EINVAL;
    bool by_index = given == sizeof(request) && request.imr_ifindex != 0;
    bool is_loopback = by_index ? request.imr_ifindex == LOOPBACK_INDEX
                                : ntohl(request.imr_address.s_addr) >> 24 == IN_LOOPBACKNET;
    return is_loopback ? 0 : -ENODEV;
}

static int set_membership6(const struct socket_option *o)
{
    struct ipv6_mreq request;
    int r = option_read(o, &request, sizeof(request));
    if (r < 0)
        return r;
    if (!IN6_IS_ADDR_MULTICAST(&request.ipv6mr_multiaddr))
        return -EINVAL;
    return request.ipv6mr_interface == LOOPBACK_INDEX ? 0 : -ENODEV;
}

static int set_interface4(const struct socket_option *o)
{
    struct ip_mreqn request = {.imr_ifindex = 0};
    size_t given = MIN((size_t)o->size, sizeof(request));
    if (given < sizeof(struct in_addr))
        return -EINVAL;
    int r;
    if (given >= sizeof(struct ip_mreq))
        r = call_read(o->call, &request, o->value, given);
    else
        r = call_read(o->call, &request.imr_address, o->value, sizeof(request.imr_address));
    if (r < 0)
        return r;
    uint32_t address = ntohl(request.imr_address.s_addr);
    if (request.imr_ifindex)
        return request.imr_ifindex == LOOPBACK_INDEX ? 0 : -EADDRNOTAVAIL;
    return address == INADDR_ANY || address >> 24 == IN_LOOPBACKNET ? 0 : -EADDRNOTAVAIL;
}

static int set_interface6(const struct socket_option *o)
{
    int index;
    int r = option_read_int(o, &index);
    if (r < 0)
        return r;
    return index == 0 || index == LOOPBACK_INDEX ? 0 : -ENODEV;
}

/* ---- what is more than a number ---- */

static int set_v6_only(struct inet_socket *i, const struct socket_option *o)
{
    int value;
    int r = option_read_int(o, &value);
    if (r < 0)
        return r;
    if (i->port)
        return -EINVAL;
    i->v6_only = value != 0;
    return 0;
}

static int set_congestion(struct inet_socket *i, const struct socket_option *o)
{
    char name[CONGESTION_MAX] = "";
    if (o->size < 1)
        return -EINVAL;
    int r = call_read(o->call, name, o->value, MIN((size_t)o->size, sizeof(name) - 1));
    if (r < 0)
        return r;
    bool is_reno = strcmp(name, "reno") == 0;
    if (!is_reno && strcmp(name, "cubic") != 0)
        return -ENOENT;
    i->is_reno = is_reno;
    return 0;
}

static int need_admin(const struct socket_option *o)
{
    return cred_has_cap(o->call->thread->cred, CAP_NET_ADMIN) ? 0 : -EPERM;
}

static int set_ip(struct inet_socket *i, int name, const struct socket_option *o)
{
    switch (name) {
    case IP_ADD_MEMBERSHIP:
        return i->socket.type == SOCK_STREAM ? -EPROTO : set_membership4(o);
    case IP_DROP_MEMBERSHIP:
        return i->socket.type == SOCK_STREAM ? -EPROTO : -EADDRNOTAVAIL;
    case IP_MULTICAST_IF:
        return i->socket.type == SOCK_STREAM ? -EINVAL : set_interface4(o);
    case IP_TRANSPARENT:
        return need_admin(o);
    case IP_OPTIONS:
        return o->size == 0 ? 0 : -EINVAL;
    default:
        return -ENOPROTOOPT;
    }
}

static int set_ipv6(struct inet_socket *i, int name, const struct socket_option *o)
{
    if (i->socket.family != AF_INET6)
        return -ENOPROTOOPT;
    switch (name) {
    case IPV6_V6ONLY:
        return set_v6_only(i, o);
    case IPV6_JOIN_GROUP:
        return i->socket.type == SOCK_STREAM ? -EPROTO : set_membership6(o);
    case IPV6_LEAVE_GROUP:
        return i->socket.type == SOCK_STREAM ? -EPROTO : -EADDRNOTAVAIL;
    case IPV6_MULTICAST_IF:
        return i->socket.type == SOCK_STREAM ? -ENOPROTOOPT : set_interface6(o);
    case IPV6_TRANSPARENT:
        return need_admin(o);
    default:
        return -ENOPROTOOPT;
    }
}

int inet_set_option(struct socket *s, int level, int name, const struct socket_option *o)
{
    struct inet_socket *i = inet_of(s);
    const struct option_row *row = find_row(i, level, name);
    if (row)
        return set_row(i, row, o);
    switch (level) {
    case IPPROTO_IP:
        return set_ip(i, name, o);
    case IPPROTO_IPV6:
        return set_ipv6(i, name, o);
    case IPPROTO_TCP:
        if (s->type == SOCK_STREAM && name == TCP_CONGESTION)
            return set_congestion(i, o);
        return -ENOPROTOOPT;
    default:
        return -ENOPROTOOPT;
    }
}

static int get_mtu(const struct inet_socket *i, const struct socket_option *o)
{
    if (i->socket.state != SOCKET_CONNECTED)
        return -ENOTCONN;
    return option_write_int(o, LOOPBACK_MTU);
}

static int get_ip(struct inet_socket *i, int name, const struct socket_option *o)
{
    struct in_addr any = {INADDR_ANY};
    switch (name) {
    case IP_MTU:
        return get_mtu(i, o);
    case IP_MULTICAST_IF:
        return option_write(o, &any, sizeof(any));
    case IP_OPTIONS:
        return option_write(o, "", 0);
    case IP_TRANSPARENT:
        return option_write_int(o, 0);
    default:
        return -ENOPROTOOPT;
    }
}

static int get_ipv6(struct inet_socket *i, int name, const struct socket_option *o)
{
    if (i->socket.family != AF_INET6)
        return -ENOPROTOOPT;
    switch (name) {
    case IPV6_V6ONLY:
        return option_write_int(o, i->v6_only);
    case IPV6_MTU:
        return get_mtu(i, o);
    case IPV6_MULTICAST_IF:
    case IPV6_TRANSPARENT:
        return option_write_int(o, 0);
    default:
        return -ENOPROTOOPT;
    }
}

static int get_tcp(struct inet_socket *i, int name, const struct socket_option *o)
{
    if (i->socket.type != SOCK_STREAM)
        return -ENOPROTOOPT;
    switch (name) {
    case TCP_INFO:
        return tcp_get_info(&i->socket, o);
    case TCP_CONGESTION: {
        static const char names[2][CONGESTION_MAX] = {"cubic", "reno"};
        return option_write(o, names[i->is_reno], CONGESTION_MAX);
    }
    default:
        return -ENOPROTOOPT;
    }
}

int inet_get_option(struct socket *s, int level, int name, const struct socket_option *o)
{
    struct inet_socket *i = inet_of(s);
    const struct option_row *row = find_row(i, level, name);
    if (row)
        return get_row(i, row, o);
    switch (level) {
    case IPPROTO_IP:
        return get_ip(i, name, o);
    case IPPROTO_IPV6:
        return get_ipv6(i, name, o);
    case IPPROTO_TCP:
        return get_tcp(i, name, o);
    default:
        return -ENOPROTOOPT;
    }
}
