// SPDX-License-Identifier: Apache-2.0
/*
 * AF_NETLINK: netlink(7). NETLINK_ROUTE answers what programs ask about interfaces, addresses and
 * routes (rtnetlink(7)) with the loopback interface, and refuses all changes.
 * NETLINK_KOBJECT_UEVENT may be opened and never says anything. Messages to other sockets are not
 * delivered.
 */
#pragma once

#include "kernel/net/socket.h"

#define NETLINK_GROUPS 64

struct netlink_socket {
    struct socket socket;
    uint32_t port; /* its address, nl_pid; 0: not bound yet */
    uint32_t groups_bound;
    uint64_t groups;
    uint32_t peer_port, peer_groups;
    uint32_t options; /* bit n: option n of SOL_NETLINK is on */
};

/*
 * Handles the request messages of one datagram; answers are put into n's own queue. Malformed ones
 * are ignored, as Linux does.
 */
void netlink_route_handle(struct netlink_socket *n, const char *data, size_t size);
