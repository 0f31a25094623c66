// SPDX-License-Identifier: Apache-2.0
/* host calls: getsockopt poll restart_syscall */
#include "lib/base/ports.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

static int get_number(int fd, int name, int *ret)
{
    socklen_t size = sizeof(*ret);
    return getsockopt(fd, SOL_SOCKET, name, ret, &size) < 0 ? -errno : 0;
}

/* A close(2) that waits for what was sent would hold up all others. */
static bool may_block(int fd)
{
    struct linger linger = {.l_onoff = 1};
    socklen_t size = sizeof(linger);
    return getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &size) < 0 || linger.l_onoff;
}

/* What is connected, and new, can be written to; what listens or was never connected can't. */
static bool is_connected(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, 0) == 1 && p.revents == POLLOUT;
}

int ports_look_at(int fd, bool *ret_is_local)
{
    int domain, type, protocol;
    int r = get_number(fd, SO_DOMAIN, &domain);
    if (r == 0)
        r = get_number(fd, SO_TYPE, &type);
    if (r == 0)
        r = get_number(fd, SO_PROTOCOL, &protocol);
    if (r < 0)
        return r;
    bool is_tcp = (domain == AF_INET || domain == AF_INET6) && protocol == IPPROTO_TCP;
    if (type != SOCK_STREAM || (!is_tcp && domain != AF_UNIX))
        return -EPROTOTYPE;
    if (may_block(fd))
        return -EINVAL;
    if (!is_connected(fd))
        return -ENOTCONN;
    *ret_is_local = domain == AF_UNIX;
    return 0;
}
