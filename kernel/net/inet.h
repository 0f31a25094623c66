// SPDX-License-Identifier: Apache-2.0
/*
 * AF_INET and AF_INET6 over the loopback interface: what TCP and UDP share. ip(7), ipv6(7).
 *
 * Addresses are kept as IPv6 ones, of IPv4 as mapped ones (::ffff:a.b.c.d); the socket's family
 * decides only how they are read and shown. "Any" is ::ffff:0.0.0.0 for an IPv4 socket; for an IPv6
 * one it is ::, which takes IPv4 too unless IPV6_V6ONLY is set.
 *
 * Ports. A bound socket, and each accepted connection, is linked into its port: struct inet_port,
 * in a table for TCP and one for UDP. There is no TIME_WAIT: nothing of an old connection can still
 * be under way.
 */
#pragma once

#include "kernel/net/socket.h"

#define INET_RESOLVER_PORT 53

struct inet_port {
    uint16_t number;
    struct list sockets; /* inet_socket.port_link, the oldest first */
    /* Connections that a listener of this port has accepted: nothing new is for them. */
    struct list accepted;
};

struct inet_socket {
    struct socket socket;
    struct inet_endpoint local, remote;
    struct inet_port *port;
    struct list port_link;
    bool port_chosen, address_chosen; /* by bind(2), not by the kernel */
    bool v6_only;
    bool is_reno; /* TCP_CONGESTION */
    int *options; /* values of the table in inet_option.c, NULL: all at their defaults */
};

static inline struct inet_socket *inet_of(struct socket *s)
{
    return (struct inet_socket *)s;
}

/* ---- addresses: inet.c ---- */

extern const struct in6_addr inet_any4, inet_loopback4, inet_resolver_address;

struct in6_addr inet_mapped(uint32_t address /* host order */);
/* Of a mapped address, in host order. */
uint32_t inet_v4(const struct in6_addr *a);
bool inet_is_any(const struct in6_addr *a);
bool inet_is_same(const struct inet_endpoint *a, const struct inet_endpoint *b);

enum inet_kind { INET_ANY, INET_LOOPBACK, INET_BROADCAST, INET_MULTICAST, INET_ELSEWHERE };
enum inet_kind inet_kind(const struct in6_addr *a);

/*
 * Reads an address of the socket's family; mixed: an IPv6 socket takes IPv4 addresses too. -EINVAL:
 * too short; -EAFNOSUPPORT.
 */
int inet_parse(const struct inet_socket *i, const struct net_address *a, bool mixed,
               struct inet_endpoint *ret);
void inet_format(int family, const struct inet_endpoint *e, struct net_address *ret);

/*
 * Where a packet to *destination goes (any: to the loopback address) and from which address it
 * comes. -ENETUNREACH, -EACCES for broadcasts without SO_BROADCAST.
 */
int inet_route(const struct inet_socket *i, struct inet_endpoint *destination,
               struct in6_addr *ret_source);

/* With a gateway, whether a is an address of eth0 (interface.h). */
bool inet_is_own_address(const struct in6_addr *a);

/*
 * Only the gateway can reach it, and there is one: unicast that is not the sandbox's own. Of IPv6
 * only while that leads anywhere, and nothing that means a link.
 */
bool inet_is_outside(const struct in6_addr *a);

/*
 * The resolver's address and port, which no guest can bind; with a gateway, port 53 of every
 * address outside is the resolver too.
 */
bool inet_is_resolver(const struct inet_endpoint *e);

int inet_bind(struct socket *s, struct thread *t, const struct net_address *a);
int inet_name(struct socket *s, enum socket_end end, struct net_address *ret);
void inet_describe(struct inet_socket *i, struct net_socket_info *info);
/* What a socket holds beyond struct socket goes. */
void inet_done(struct socket *s);

/* ---- ports: inet_port.c ---- */

/* Binds i to local.address and this port, 0: a free one. -EADDRINUSE, -ENOMEM. */
int inet_bind_port(struct inet_socket *i, uint16_t number);
/*
 * A free port for a connection that goes to i->remote. -EADDRNOTAVAIL.
 */
int inet_bind_ephemeral(struct inet_socket *i);
/* Puts an accepted connection into its listener's port. */
void inet_join_port(struct inet_socket *i, struct inet_port *port);
void inet_unbind(struct inet_socket *i);
/* Two sockets may be bound alike (SO_REUSEADDR) until one listens: listen(2) asks again. */
bool inet_port_conflicts(const struct inet_socket *i);
/* Another connection of i's port has the same two ends. */
bool inet_connection_exists(const struct inet_socket *i);
/* Who gets a packet (a connection) from source to destination; NULL: nobody. */
struct inet_socket *inet_find_receiver(int type, const struct inet_endpoint *source,
                                       const struct inet_endpoint *destination);

/* Who listens on a TCP port, by whatever address: that of 127.0.0.1 rather than that of ::1. NULL:
 * nobody. */
struct inet_socket *inet_find_listener(uint16_t number, uint16_t source_port);
/*
 * A TCP port from which nobody sends, and which is no other end, at this address, of the listener's
 * connections either. 0: none.
 */
uint16_t inet_unused_port(const struct inet_socket *listener, const struct in6_addr *address);

/* ---- options: inet_option.c ---- */

int inet_set_option(struct socket *s, int level, int name, const struct socket_option *o);
int inet_get_option(struct socket *s, int level, int name, const struct socket_option *o);
/* The value of an option that is in the table there. */
int inet_option(const struct inet_socket *i, int level, int name);
/* Options of an accepted connection: its listener's. -ENOMEM. */
int inet_inherit_options(struct inet_socket *i, const struct inet_socket *parent);

/* ---- tcp.c, udp.c ---- */

int tcp_create(int family, struct socket **ret);
int udp_create(int family, struct socket **ret);
/* TCP_INFO. */
int tcp_get_info(struct socket *s, const struct socket_option *o);
