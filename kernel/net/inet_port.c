// SPDX-License-Identifier: Apache-2.0
#include "kernel/net/inet.h"

#include "kernel/core/kernel.h"

/* net.ipv4.ip_local_port_range */
#define EPHEMERAL_FIRST 32768
#define EPHEMERAL_COUNT (60999 - EPHEMERAL_FIRST + 1)

/* By number. No map: a search for a free port looks at all of them. */
static struct inet_port *tcp_ports[UINT16_MAX + 1], *udp_ports[UINT16_MAX + 1];

static struct inet_port **table_of(int type)
{
    return type == SOCK_STREAM ? tcp_ports : udp_ports;
}

typedef bool (*is_socket)(const struct inet_socket *other, const struct inet_socket *i);

/* Another socket of this port than i of which `is` is true. */
static bool any_other(const struct inet_port *port, const struct inet_socket *i, is_socket is)
{
    const struct inet_socket *other;
    list_for_each(other, &port->sockets, port_link) if (other != i && is(other, i)) return true;
    list_for_each(other, &port->accepted, port_link) if (other != i && is(other, i)) return true;
    return false;
}

/* Two local addresses that one packet could be for. */
static bool overlaps(const struct inet_socket *a, const struct inet_socket *b)
{
    const struct in6_addr *x = &a->local.address, *y = &b->local.address;
    bool x_any6 = IN6_IS_ADDR_UNSPECIFIED(x), y_any6 = IN6_IS_ADDR_UNSPECIFIED(y);
    bool x_v4 = IN6_IS_ADDR_V4MAPPED(x), y_v4 = IN6_IS_ADDR_V4MAPPED(y);
    if (IN6_ARE_ADDR_EQUAL(x, y))
        return true;
    if (x_any6)
        return !y_v4 || !a->v6_only;
    if (y_any6)
        return !x_v4 || !b->v6_only;
    return x_v4 && y_v4 && (inet_is_any(x) || inet_is_any(y));
}

/* a wants what b has. The rules of SO_REUSEADDR and SO_REUSEPORT: socket(7). */
static bool may_share(const struct socket *a, const struct socket *b)
{
    if (a->reuse_address && b->reuse_address && b->state != SOCKET_LISTENING)
        return true;
    return a->reuse_port && b->reuse_port && a->uid == b->uid;
}

static bool is_in_the_way(const struct inet_socket *other, const struct inet_socket *i)
{
    return overlaps(i, other) && !may_share(&i->socket, &other->socket);
}

bool inet_port_conflicts(const struct inet_socket *i)
{
    return any_other(i->port, i, is_in_the_way);
}

static bool is_same_connection(const struct inet_socket *other, const struct inet_socket *i)
{
    return other->socket.state == SOCKET_CONNECTED && inet_is_same(&other->local, &i->local) &&
           inet_is_same(&other->remote, &i->remote);
}

bool inet_connection_exists(const struct inet_socket *i)
{
    return any_other(i->port, i, is_same_connection);
}

static void join(struct inet_socket *i, struct inet_port *port, struct list *list)
{
    i->port = port;
    i->local.port = port->number;
    list_append(list, &i->port_link);
}

void inet_join_port(struct inet_socket *i, struct inet_port *port)
{
    join(i, port, &port->accepted);
}

static struct inet_port *port_new(struct inet_port **table, uint16_t number)
{
    struct inet_port *port = calloc(1, sizeof(*port));
    if (!port)
        return NULL;
    port->number = number;
    list_init(&port->sockets);
    list_init(&port->accepted);
    return table[number] = port;
}

/* Binds to a port that was found to be usable. */
static int take_port(struct inet_socket *i, struct inet_port *port, uint16_t number)
{
    if (!port)
        port = port_new(table_of(i->socket.type), number);
    if (!port)
        return -ENOMEM;
    join(i, port, &port->sockets);
    return 0;
}

void inet_unbind(struct inet_socket *i)
{
    struct inet_port *port = i->port;
    if (!port)
        return;
    list_remove(&i->port_link);
    i->port = NULL;
    i->local.port = 0;
    i->port_chosen = false;
    if (list_is_empty(&port->sockets) && list_is_empty(&port->accepted)) {
        table_of(i->socket.type)[port->number] = NULL;
        free(port);
    }
}

/* Connections to other places only: one more to a new place can be told apart from them. */
static bool is_not_apart(const struct inet_socket *other, const struct inet_socket *i)
{
    return other->port_chosen || other->socket.state != SOCKET_CONNECTED ||
           inet_is_same(&other->remote, &i->remote);
}

static bool is_usable(const struct inet_socket *i, const struct inet_port *port, bool connecting)
{
    if (!port)
        return true;
    return !any_other(port, i, connecting ? is_not_apart : is_in_the_way);
}

/* Unused ports first; only then those that can be shared. 0, -ENOMEM, or none_left. */
static int bind_free_port(struct inet_socket *i, bool connecting, int none_left)
{
    struct inet_port **table = table_of(i->socket.type);
    uint32_t start;
    kernel_random(&start, sizeof(start));
    for (int sharing = 0; sharing < 2; sharing++) {
        for (uint32_t n = 0; n < EPHEMERAL_COUNT; n++) {
            uint16_t number =
                (uint16_t)(EPHEMERAL_FIRST + (start % EPHEMERAL_COUNT + n) % EPHEMERAL_COUNT);
            struct inet_port *port = table[number];
            if (!port || (sharing && is_usable(i, port, connecting)))
                return take_port(i, port, number);
        }
    }
    return none_left;
}

int inet_bind_port(struct inet_socket *i, uint16_t number)
{
    if (number == 0)
        return bind_free_port(i, false, -EADDRINUSE);
    struct inet_port *port = table_of(i->socket.type)[number];
    if (!is_usable(i, port, false))
        return -EADDRINUSE;
    return take_port(i, port, number);
}

int inet_bind_ephemeral(struct inet_socket *i)
{
    return bind_free_port(i, i->remote.port != 0, -EADDRNOTAVAIL);
}

/* How well i suits a packet; -1: not at all. */
static int score(const struct inet_socket *i, const struct inet_endpoint *source,
                 const struct inet_endpoint *destination)
{
    bool v4 = IN6_IS_ADDR_V4MAPPED(&destination->address);
    const struct in6_addr *local = &i->local.address;
    int points = 0;
    if (i->socket.type == SOCK_STREAM && i->socket.state != SOCKET_LISTENING)
        return -1;
    if (!inet_is_any(local)) {
        if (!IN6_ARE_ADDR_EQUAL(local, &destination->address))
            return -1;
        points += 2;
    } else if (v4 ? i->v6_only : i->socket.family == AF_INET) {
        return -1;
    }
    if (i->socket.type == SOCK_DGRAM && i->socket.state == SOCKET_CONNECTED) {
        if (!inet_is_same(&i->remote, source))
            return -1;
        points += 4;
    }
    return points + (v4 == (i->socket.family == AF_INET));
}

/* Sockets that share by SO_REUSEPORT get their part each; of others the youngest gets all. */
struct inet_socket *inet_find_receiver(int type, const struct inet_endpoint *source,
                                       const struct inet_endpoint *destination)
{
    const struct inet_port *port = table_of(type)[destination->port];
    struct inet_socket *best = NULL, *i;
    int best_score = -1;
    unsigned alike = 0;
    if (!port)
        return NULL;
    list_for_each(i, &port->sockets, port_link)
    {
        int points = score(i, source, destination);
        if (points < 0 || points < best_score)
            continue;
        bool shares = best && points == best_score && i->socket.reuse_port;
        alike = shares ? alike + 1 : 1;
        best_score = points;
        if (!shares || (uint32_t)(source->port * 2654435761u) % alike == 0)
            best = i;
    }
    return best;
}

struct inet_socket *inet_find_listener(uint16_t number, uint16_t source_port)
{
    const struct in6_addr *const loopbacks[] = {&inet_loopback4, &in6addr_loopback};
    const struct inet_port *port = tcp_ports[number];
    struct inet_socket *i;
    for (size_t n = 0; n < ARRAY_SIZE(loopbacks); n++) {
        const struct inet_endpoint from = {*loopbacks[n], source_port},
                                   to = {*loopbacks[n], number};
        i = inet_find_receiver(SOCK_STREAM, &from, &to);
        if (i)
            return i;
    }
    if (!port)
        return NULL;
    list_for_each(i, &port->sockets, port_link) if (i->socket.state == SOCKET_LISTENING) return i;
    return NULL;
}

static bool is_other_end(const struct inet_port *port, const struct inet_endpoint *e)
{
    const struct inet_socket *i;
    list_for_each(i, &port->accepted, port_link) if (inet_is_same(&i->remote, e)) return true;
    return false;
}

uint16_t inet_unused_port(const struct inet_socket *listener, const struct in6_addr *address)
{
    uint32_t start;
    kernel_random(&start, sizeof(start));
    for (uint32_t n = 0; n < EPHEMERAL_COUNT; n++) {
        uint16_t number =
            (uint16_t)(EPHEMERAL_FIRST + (start % EPHEMERAL_COUNT + n) % EPHEMERAL_COUNT);
        const struct inet_endpoint e = {*address, number};
        if (!tcp_ports[number] && !is_other_end(listener->port, &e))
            return number;
    }
    return 0;
}
