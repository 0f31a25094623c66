// SPDX-License-Identifier: Apache-2.0
/*
 * Sockets, as the other rooms see them. A sandbox has no network: every socket is a data structure
 * of this process. AF_UNIX, TCP and UDP over the loopback addresses, and the route dumps of
 * netlink; what leads outside is made by the gateway (outbound.h,
 * udp_outside.h), what comes from there by the starter (inbound.h).
 *
 * The loopback addresses are 127.0.0.0/8 and ::1; 0.0.0.0 and :: stand for them where a connection
 * goes. All other destinations are unreachable at once without a gateway. 127.0.0.53 port 53
 * answers names, see resolver.h.
 */
#pragma once

#include "kernel/fs/vfs.h"

#include <netinet/in.h>
#include <sys/socket.h>

struct socket;

/* The socket of a file, borrowed, or NULL when it is none. */
struct socket *socket_of(const struct file *f);

/* As the `st` column of /proc/net/tcp; UDP: ESTABLISHED when connected, else CLOSE. */
enum net_tcp_state {
    NET_TCP_ESTABLISHED = 1,
    NET_TCP_SYN_SENT = 2,
    NET_TCP_FIN_WAIT2 = 5,
    NET_TCP_CLOSE = 7,
    NET_TCP_CLOSE_WAIT = 8,
    NET_TCP_LISTEN = 10,
};

/* One socket as /proc/net and the like show it. IPv4 addresses are mapped ones (::ffff:a.b.c.d). */
struct net_socket_info {
    int family, type, protocol;
    uint64_t ino; /* 0: not accepted yet */
    uid_t uid;
    size_t refs;
    int state; /* enum net_tcp_state; AF_UNIX: SS_UNCONNECTED 1, SS_CONNECTED 3 */
    pid_t pid; /* who made it */
    bool listening, v6_only;
    struct in6_addr local, remote;
    uint16_t local_port, remote_port; /* host order */
    size_t rx_bytes, tx_bytes;        /* a listener: connections waiting, backlog */
    const char *name;                 /* AF_UNIX: path, or abstract name after its NUL; borrowed */
    size_t name_size;
};

/* Calls visit for each socket, in the order of their making. visit must not open or close sockets.
 */
void net_for_each_socket(void (*visit)(void *context, const struct net_socket_info *info),
                         void *context);
