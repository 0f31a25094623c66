// SPDX-License-Identifier: Apache-2.0
#include "kernel/net/netlink.h"

#include "kernel/core/kernel.h"
#include "lib/base/map.h"

#include <linux/sockios.h>

#define PROTOCOL_COUNT 32 /* MAX_LINKS */
#define REQUEST_MAX    32768

static const struct socket_ops netlink_ops;

static struct map ports; /* protocol and port -> struct netlink_socket */

static struct netlink_socket *netlink_of(struct socket *s)
{
    return (struct netlink_socket *)s;
}

static uint64_t port_key(const struct netlink_socket *n, uint32_t port)
{
    return (uint64_t)n->socket.protocol << 32 | port;
}

int netlink_create(int type, int protocol, struct socket **ret)
{
    if (type != SOCK_RAW && type != SOCK_DGRAM)
        return -ESOCKTNOSUPPORT;
    if (protocol < 0 || protocol >= PROTOCOL_COUNT)
        return -EPROTONOSUPPORT;
    if (protocol != NETLINK_ROUTE && protocol != NETLINK_KOBJECT_UEVENT)
        return -EPROTONOSUPPORT;
    struct socket *s = socket_new(sizeof(struct netlink_socket), &netlink_ops, AF_NETLINK, type);
    if (!s)
        return socket_new_error(-ENOMEM);
    s->protocol = protocol;
    *ret = s;
    return 0;
}

static int take_port(struct netlink_socket *n, uint32_t port)
{
    if (map_get(&ports, port_key(n, port)))
        return -EADDRINUSE;
    int r = map_set(&ports, port_key(n, port), n);
    if (r == 0)
        n->port = port;
    return r;
}

/* The process's pid if that is free, else a number that can be no pid. */
static int autobind(struct netlink_socket *n, pid_t pid)
{
    if (n->port)
        return 0;
    uint32_t port = (uint32_t)pid;
    int r = take_port(n, port);
    while (r == -EADDRINUSE) {
        kernel_random(&port, sizeof(port));
        r = take_port(n, port | 0x80000000u);
    }
    return r;
}

/* Whoever calls: the maker's pid stands in for a caller that is not known. */
static pid_t caller_pid(const struct netlink_socket *n, const struct thread *t)
{
    return t ? t->process->pid : n->socket.owner.pid;
}

static int check_address(const struct net_address *a)
{
    return a->size < sizeof(a->nl) || a->nl.nl_family != AF_NETLINK ? -EINVAL : 0;
}

static int netlink_bind(struct socket *s, struct thread *t, const struct net_address *a)
{
    struct netlink_socket *n = netlink_of(s);
    int r = check_address(a);
    if (r < 0)
        return r;
    if (n->port && a->nl.nl_pid != n->port)
        return -EINVAL;
    if (!n->port)
        r = a->nl.nl_pid ? take_port(n, a->nl.nl_pid) : autobind(n, t->process->pid);
    if (r == 0) {
        n->groups_bound = a->nl.nl_groups;
        n->groups = (n->groups & ~(uint64_t)UINT32_MAX) | a->nl.nl_groups;
    }
    return r;
}

/* Nobody here may send to others than the kernel. */
static int check_destination(uint32_t port, uint32_t groups)
{
    return port || groups ? -EPERM : 0;
}

static int netlink_connect(struct socket *s, struct thread *t, const struct net_address *a,
                           bool wait, struct waitq **ret_wait)
{
    struct netlink_socket *n = netlink_of(s);
    if (a->size < sizeof(a->any.sa_family))
        return -EINVAL;
    if (a->any.sa_family == AF_UNSPEC) {
        n->peer_port = n->peer_groups = 0;
        s->state = SOCKET_IDLE;
        return 0;
    }
    int r = check_address(a);
    if (r == 0)
        r = check_destination(a->nl.nl_pid, a->nl.nl_groups);
    if (r == 0)
        r = autobind(n, t->process->pid);
    if (r == 0)
        s->state = SOCKET_CONNECTED;
    return r;
}

static int netlink_listen(struct socket *s, struct thread *t, int backlog)
{
    return -EOPNOTSUPP;
}

static int netlink_accept(struct socket *s, struct socket **ret)
{
    return -EOPNOTSUPP;
}

static int netlink_name(struct socket *s, enum socket_end end, struct net_address *ret)
{
    const struct netlink_socket *n = netlink_of(s);
    *ret = (struct net_address){.size = sizeof(ret->nl)};
    ret->nl.nl_family = AF_NETLINK;
    ret->nl.nl_pid = end != OWN_END ? n->peer_port : n->port;
    ret->nl.nl_groups = end != OWN_END ? n->peer_groups : (uint32_t)n->groups;
    return 0;
}

static int netlink_shutdown(struct socket *s, unsigned how)
{
    return -EOPNOTSUPP;
}

static ssize_t netlink_send(struct socket *s, struct uio *u, int flags, struct sending *out)
{
    struct netlink_socket *n = netlink_of(s);
    int r = 0;
    if (flags & MSG_OOB)
        return -EOPNOTSUPP;
    if (out->to && out->to->size > 0) {
        r = check_address(out->to);
        if (r == 0)
            r = check_destination(out->to->nl.nl_pid, out->to->nl.nl_groups);
    }
    if (r == 0)
        r = autobind(n, caller_pid(n, out->thread));
    if (r < 0)
        return r;
    size_t size = u->left;
    if (size > MIN(s->send_buffer - 32, (size_t)REQUEST_MAX))
        return -EMSGSIZE;
    _cleanup_free_ char *data = malloc(size + 1);
    if (!data)
        return -ENOBUFS;
    ssize_t copied = size > 0 ? uio_copy_in(u, data, size) : 0;
    if (copied < 0 || (size_t)copied != size)
        return -EFAULT;
    if (s->protocol != NETLINK_ROUTE)
        return -ECONNREFUSED;
    netlink_route_handle(n, data, size);
    return (ssize_t)size;
}

static ssize_t netlink_receive(struct socket *s, struct uio *u, int flags, struct received *r)
{
    struct message *m = message_queue_first(&s->receive);
    if (flags & MSG_OOB)
        return -EOPNOTSUPP;
    int error = socket_take_error(s);
    if (error < 0)
        return error;
    if (!m) {
        r->wait = &s->wait;
        return -EAGAIN;
    }
    size_t full = message_size(m), room = u->left;
    ssize_t n = uio_copy_out(u, m->data + m->start, full);
    bool failed = n < 0 || (size_t)n < MIN(full, room);
    r->full_size = full;
    r->flags |= full > room ? MSG_TRUNC : 0;
    r->from.size = sizeof(r->from.nl);
    r->from.nl.nl_family = AF_NETLINK;
    r->has_creds = s->pass_creds;
    if (!(flags & MSG_PEEK)) {
        message_queue_remove(&s->receive, m);
        message_free(m);
    }
    return failed ? -EFAULT : n;
}

static uint32_t netlink_poll(struct socket *s, struct poll_table *table)
{
    uint32_t events = SOCKET_WRITABLE | EPOLLWRBAND;
    if (s->error)
        events |= EPOLLERR;
    if (s->receive.count > 0)
        events |= SOCKET_READABLE;
    return events;
}

/* ---- options ---- */

#define OPTIONS_KEPT                                                                    \
    (1u << NETLINK_PKTINFO | 1u << NETLINK_BROADCAST_ERROR | 1u << NETLINK_NO_ENOBUFS | \
     1u << NETLINK_CAP_ACK | 1u << NETLINK_EXT_ACK | 1u << NETLINK_GET_STRICT_CHK)

static bool is_kept(int name)
{
    return name >= 0 && name < 32 && (OPTIONS_KEPT & 1u << name);
}

static int netlink_set_option(struct socket *s, int level, int name, const struct socket_option *o)
{
    struct netlink_socket *n = netlink_of(s);
    int value = 0;
    if (level != SOL_NETLINK)
        return -ENOPROTOOPT;
    if (o->size >= (int)sizeof(value)) {
        int r = option_read_int(o, &value);
        if (r < 0)
            return r;
    }
    if (is_kept(name)) {
        n->options = (n->options & ~(1u << name)) | (value ? 1u << name : 0);
        return 0;
    }
    if (name != NETLINK_ADD_MEMBERSHIP && name != NETLINK_DROP_MEMBERSHIP)
        return -ENOPROTOOPT;
    if (value < 1 || value > NETLINK_GROUPS)
        return -EINVAL;
    uint64_t group = 1ULL << (value - 1);
    n->groups = name == NETLINK_ADD_MEMBERSHIP ? n->groups | group : n->groups & ~group;
    return 0;
}

static int netlink_get_option(struct socket *s, int level, int name, const struct socket_option *o)
{
    const struct netlink_socket *n = netlink_of(s);
    if (level != SOL_NETLINK)
        return -ENOPROTOOPT;
    if (name == NETLINK_LIST_MEMBERSHIPS) {
        int needed = (int)sizeof(n->groups);
        int r = call_write(o->call, o->value, &n->groups, MIN((size_t)o->size, sizeof(n->groups)));
        return r < 0 ? r : call_write(o->call, o->size_address, &needed, sizeof(needed));
    }
    if (!is_kept(name))
        return -ENOPROTOOPT;
    if (o->size < (int)sizeof(int))
        return -EINVAL;
    return option_write_int(o, (n->options >> name) & 1);
}

static long netlink_ioctl(struct socket *s, struct call *c, unsigned request, struct gaddr argument)
{
    return -ENOTTY;
}

static void netlink_describe(struct socket *s, struct net_socket_info *info)
{
    info->local_port = 0;
}

static void netlink_release(struct socket *s)
{
    struct netlink_socket *n = netlink_of(s);
    message_queue_purge(&s->receive);
    if (n->port)
        map_remove(&ports, port_key(n, n->port));
    n->port = 0;
}

static const struct socket_ops netlink_ops = {
    .bind = netlink_bind,
    .connect = netlink_connect,
    .listen = netlink_listen,
    .accept = netlink_accept,
    .accept_undo = socket_accept_undo,
    .name = netlink_name,
    .shutdown = netlink_shutdown,
    .send = netlink_send,
    .receive = netlink_receive,
    .poll = netlink_poll,
    .set_option = netlink_set_option,
    .get_option = netlink_get_option,
    .ioctl = netlink_ioctl,
    .describe = netlink_describe,
    .release = netlink_release,
};
