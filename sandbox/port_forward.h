// SPDX-License-Identifier: Apache-2.0
/*
 * A port of this machine from which connections go to a port in a sandbox: listening there, and
 * taking who comes. Addresses are kept as IPv6 ones, of IPv4 as mapped ones.
 */
#pragma once

#include "sandbox/error.h"

#include <netinet/in.h>

#define PORT_FORWARD_TEXT_MAX (INET6_ADDRSTRLEN + 8)

struct port_forward {
    struct in6_addr address; /* :: is that of IPv6 alone */
    uint16_t port;           /* 0: any that is free */
    uint16_t guest_port;
};

/* Whether nobody but this machine gets there. */
bool port_forward_is_private(const struct port_forward *f);

/* "127.0.0.1:8080", "[::1]:8080". */
void port_forward_format(const struct in6_addr *address, uint16_t port,
                         char ret[static PORT_FORWARD_TEXT_MAX]);

/*
 * Listens, and sets f->port if it was 0. A descriptor, non-blocking, or negative errno with the
 * sentence; is_public: what port_forward_is_private() says may be false.
 */
int port_forward_listen(struct port_forward *f, bool is_public, struct sandbox_error *e);

/* Who connected next, as PORT_CONNECT takes it; or negative errno: nobody. */
int port_forward_accept(int listener);

/* Closes a connection of which nothing came: its other end is told so by a reset. */
void port_forward_refuse(int fd);
