// SPDX-License-Identifier: Apache-2.0
/*
 * /proc/PID/net: the sandbox's sockets and interfaces. Columns as in Linux's
 * Documentation/networking/proc_net_tcp.rst; kernel addresses are shown as zeros.
 */
#include "kernel/fs/proc/proc.h"

#include "kernel/net/interface.h"
#include "kernel/net/net.h"

#include <linux/ipv6_route.h>
#include <linux/route.h>

#define TCP_WIDTH   149 /* Linux pads lines of these tables */
#define UDP_WIDTH   127
#define ROUTE_WIDTH 127

/* ---- tables of sockets ---- */

struct table {
    struct buf *b;
    int family, type;
    unsigned next_index;
};

/* Addresses are shown as words in the machine's byte order: 127.0.0.1 is 0100007F. */
static void append_endpoint(struct buf *b, int family, const struct in6_addr *a, uint16_t port)
{
    uint32_t words[4];
    memcpy(words, a, sizeof(words));
    if (family == AF_INET)
        buf_printf(b, "%08X:%04X", IN6_IS_ADDR_V4MAPPED(a) ? words[3] : 0, port);
    else
        buf_printf(b, "%08X%08X%08X%08X:%04X", words[0], words[1], words[2], words[3], port);
}

static void pad_line(struct buf *b, size_t line_start, size_t width)
{
    size_t used = b->size - line_start;
    buf_printf(b, "%*s\n", used < width ? (int)(width - used) : 0, "");
}

static void visit_inet(void *context, const struct net_socket_info *i)
{
    struct table *t = context;
    struct buf *b = t->b;
    bool tcp = t->type == SOCK_STREAM;
    if (i->family != t->family || i->type != t->type || (tcp && i->state == NET_TCP_CLOSE))
        return;
    /* Of datagram sockets only those that have a port are in Linux's table. */
    if (!tcp && !i->local_port)
        return;
    size_t line_start = b->size;
    buf_printf(b, tcp ? "%4u: " : "%5u: ", t->next_index++);
    append_endpoint(b, i->family, &i->local, i->local_port);
    buf_append_str(b, " ");
    append_endpoint(b, i->family, &i->remote, i->remote_port);
    buf_printf(b, " %02X %08zX:%08zX 00:00000000 00000000 %5u %8d %lu %zu %016x",
               (unsigned)i->state, i->listening ? 0 : i->tx_bytes, i->rx_bytes, i->uid, 0, i->ino,
               i->refs, 0);
    if (!tcp)
        buf_append_str(b, " 0");
    else if (i->listening)
        buf_append_str(b, " 100 0 0 10 0");
    else
        buf_append_str(b, " 20 4 30 10 -1");
    pad_line(b, line_start, tcp ? TCP_WIDTH : UDP_WIDTH);
}

static int show_inet(struct buf *b, const char *header, int family, int type)
{
    struct table t = {.b = b, .family = family, .type = type};
    size_t line_start = b->size;
    buf_append_str(b, header);
    pad_line(b, line_start, family == AF_INET6 ? 0 : type == SOCK_STREAM ? TCP_WIDTH : UDP_WIDTH);
    net_for_each_socket(visit_inet, &t);
    return 0;
}

#define TCP_HEADER                                                                                \
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout " \
    "inode"
#define UDP_HEADER                                                                                 \
    "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout " \
    "inode ref pointer drops"
#define HEADER6                                                                             \
    "  sl  local_address                         remote_address                        st " \
    "tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"
#define RAW_HEADER                                                                                \
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout " \
    "inode ref pointer drops\n"

static int show_tcp(const struct pseudo_node *n, struct buf *b)
{
    return show_inet(b, TCP_HEADER, AF_INET, SOCK_STREAM);
}

static int show_tcp6(const struct pseudo_node *n, struct buf *b)
{
    return show_inet(b, HEADER6, AF_INET6, SOCK_STREAM);
}

static int show_udp(const struct pseudo_node *n, struct buf *b)
{
    return show_inet(b, UDP_HEADER, AF_INET, SOCK_DGRAM);
}

static int show_udp6(const struct pseudo_node *n, struct buf *b)
{
    return show_inet(b, HEADER6 " ref pointer drops", AF_INET6, SOCK_DGRAM);
}

static void visit_unix(void *context, const struct net_socket_info *i)
{
    struct table *t = context;
    struct buf *b = t->b;
    if (i->family != AF_UNIX)
        return;
    buf_printf(b, "%016x: %08zX 00000000 %08X %04X %02X %5lu", 0, i->refs,
               i->listening ? 0x10000u : 0u, (unsigned)i->type, (unsigned)i->state, i->ino);
    if (i->name_size) {
        /* An abstract name begins with '@', and so is each further NUL of it shown. */
        bool abstract = i->name[0] == '\0';
        size_t size = abstract ? i->name_size : strnlen(i->name, i->name_size);
        buf_append_str(b, " ");
        for (size_t k = 0; k < size; k++)
            buf_append(b, i->name[k] ? &i->name[k] : "@", 1);
    }
    buf_append_str(b, "\n");
}

static int show_unix(const struct pseudo_node *n, struct buf *b)
{
    struct table t = {.b = b};
    buf_append_str(b, "Num       RefCount Protocol Flags    Type St Inode Path\n");
    net_for_each_socket(visit_unix, &t);
    return 0;
}

/* ---- counts ---- */

struct counts {
    unsigned all, tcp, udp, tcp6, udp6;
};

static void visit_count(void *context, const struct net_socket_info *i)
{
    struct counts *c = context;
    bool stream = i->type == SOCK_STREAM;
    c->all++;
    if (i->family == AF_INET)
        *(stream ? &c->tcp : &c->udp) += 1;
    else if (i->family == AF_INET6)
        *(stream ? &c->tcp6 : &c->udp6) += 1;
}

static int show_sockstat(const struct pseudo_node *n, struct buf *b)
{
    struct counts c = {0};
    net_for_each_socket(visit_count, &c);
    buf_printf(b,
               "sockets: used %u\nTCP: inuse %u orphan 0 tw 0 alloc %u mem 0\n"
               "UDP: inuse %u mem 0\nUDPLITE: inuse 0\nRAW: inuse 0\nFRAG: inuse 0 memory 0\n",
               c.all, c.tcp, c.tcp + c.tcp6, c.udp);
    return 0;
}

static int show_sockstat6(const struct pseudo_node *n, struct buf *b)
{
    struct counts c = {0};
    net_for_each_socket(visit_count, &c);
    buf_printf(b,
               "TCP6: inuse %u\nUDP6: inuse %u\nUDPLITE6: inuse 0\nRAW6: inuse 0\n"
               "FRAG6: inuse 0 memory 0\n",
               c.tcp6, c.udp6);
    return 0;
}

/* ---- tables ---- */

/* Nothing is counted. */
static int show_dev(const struct pseudo_node *n, struct buf *b)
{
    const struct interface *f;
    buf_append_str(
        b,
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs "
        "drop fifo colls carrier compressed\n");
    for (size_t i = 0; (f = interface_at(i)); i++)
        buf_printf(b, "%6s: %7d %7d %4d %4d %4d %5d %10d %9d %8d %7d %4d %4d %4d %5d %7d %10d\n",
                   f->name, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    return 0;
}

/* bits: of the destination, 0 for the default route. As rtnetlink has them. */
static void append_route(struct buf *b, const struct interface *f, unsigned bits)
{
    size_t line_start = b->size;
    uint32_t mask = bits ? f->netmask : 0, gateway = bits ? 0 : INTERFACE_ROUTER;
    buf_printf(b, "%s\t%08X\t%08X\t%04X\t0\t0\t0\t%08X\t0\t0\t0", f->name, htonl(f->address & mask),
               htonl(gateway), RTF_UP | (bits ? 0 : RTF_GATEWAY), htonl(mask));
    pad_line(b, line_start, ROUTE_WIDTH);
}

static int show_route(const struct pseudo_node *n, struct buf *b)
{
    const struct interface *f;
    size_t line_start = b->size;
    buf_append_str(b, "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU"
                      "\tWindow\tIRTT");
    pad_line(b, line_start, ROUTE_WIDTH);
    for (size_t i = 1; (f = interface_at(i)); i++) {
        append_route(b, f, 0);
        append_route(b, f, f->prefix_bits);
    }
    return 0;
}

static void append_hex(struct buf *b, const struct in6_addr *a)
{
    for (size_t i = 0; i < sizeof(a->s6_addr); i++)
        buf_printf(b, "%02x", a->s6_addr[i]);
}

struct route6 {
    struct in6_addr destination, next;
    unsigned bits, metric, flags;
    const char *interface;
};

static void append_route6(struct buf *b, const struct route6 *r)
{
    append_hex(b, &r->destination);
    buf_printf(b, " %02x ", r->bits);
    append_hex(b, &in6addr_any);
    buf_append_str(b, " 00 ");
    append_hex(b, &r->next);
    buf_printf(b, " %08x 00000001 00000000 %08x %8s\n", r->metric, r->flags, r->interface);
}

#define METRIC_OF_KERNEL 256
#define METRIC_OF_USER   1024

static int show_ipv6_route(const struct pseudo_node *n, struct buf *b)
{
    const struct interface *f;
    for (size_t i = 0; (f = interface_at(i)); i++) {
        const struct in6_addr *own = interface_v6(f);
        if (!own)
            continue;
        struct route6 net = {.destination = *own,
                             .bits = f->prefix6_bits,
                             .metric = METRIC_OF_KERNEL,
                             .flags = RTF_UP,
                             .interface = f->name};
        const struct route6 local = {.destination = *own,
                                     .bits = 128,
                                     .flags = RTF_LOCAL | RTF_NONEXTHOP | RTF_UP,
                                     .interface = f->name};
        const struct route6 far = {.next = interface_router6,
                                   .metric = METRIC_OF_USER,
                                   .flags = RTF_UP | RTF_GATEWAY,
                                   .interface = f->name};
        memset(net.destination.s6_addr + net.bits / 8, 0, sizeof(*own) - net.bits / 8);
        if (net.bits < 128) {
            append_route6(b, &net);
            append_route6(b, &far);
        }
        append_route6(b, &local);
    }
    return 0;
}

#define SCOPE_HOST        0x10
#define ADDRESS_PERMANENT 0x80

static int show_if_inet6(const struct pseudo_node *n, struct buf *b)
{
    const struct interface *f;
    for (size_t i = 0; (f = interface_at(i)); i++) {
        if (!interface_v6(f))
            continue;
        append_hex(b, interface_v6(f));
        buf_printf(b, " %02x %02x %02x %02x %8s\n", f->index, f->prefix6_bits,
                   f->index == INTERFACE_LOOPBACK_INDEX ? SCOPE_HOST : 0, ADDRESS_PERMANENT,
                   f->name);
    }
    return 0;
}

static const char snmp_text[] =
    "Ip: Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors ForwDatagrams InUnknownProtos "
    "InDiscards InDelivers OutRequests OutDiscards OutNoRoutes ReasmTimeout ReasmReqds ReasmOKs "
    "ReasmFails FragOKs FragFails FragCreates\n"
    "Ip: 2 64 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    "Icmp: InMsgs InErrors InCsumErrors InDestUnreachs OutMsgs OutErrors OutDestUnreachs\n"
    "Icmp: 0 0 0 0 0 0 0\n"
    "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets "
    "CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors\n"
    "Tcp: 1 200 120000 -1 0 0 0 0 0 0 0 0 0 0 0\n"
    "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors "
    "IgnoredMulti MemErrors\n"
    "Udp: 0 0 0 0 0 0 0 0 0\n";

const struct pseudo_entry proc_net_children[] = {
    PSEUDO_SHOWN("tcp", show_tcp),
    PSEUDO_SHOWN("tcp6", show_tcp6),
    PSEUDO_SHOWN("udp", show_udp),
    PSEUDO_SHOWN("udp6", show_udp6),
    PSEUDO_SHOWN("unix", show_unix),
    PSEUDO_TEXT("raw", RAW_HEADER),
    PSEUDO_TEXT("raw6", HEADER6 " ref pointer drops\n"),
    PSEUDO_TEXT("packet", "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n"),
    PSEUDO_TEXT("netlink",
                "sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    "
                "Drops    Inode\n"),
    PSEUDO_SHOWN("dev", show_dev),
    PSEUDO_SHOWN("route", show_route),
    PSEUDO_SHOWN("ipv6_route", show_ipv6_route),
    PSEUDO_SHOWN("if_inet6", show_if_inet6),
    PSEUDO_TEXT("arp",
                "IP address       HW type     Flags       HW address            Mask     Device\n"),
    PSEUDO_TEXT("snmp", snmp_text),
    PSEUDO_TEXT("snmp6", ""),
    PSEUDO_SHOWN("sockstat", show_sockstat),
    PSEUDO_SHOWN("sockstat6", show_sockstat6),
    PSEUDO_TEXT("wireless", ""),
    {0},
};
