// SPDX-License-Identifier: Apache-2.0
#include "gateway/route.h"

#include "gateway/channel.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static bool has_v6;

/* connect(2) of a datagram socket finds a route and a source address, and sends nothing. */
static bool look(void)
{
    /* Of 2000::/3, from which all public addresses are: any default route has it. */
    struct sockaddr_in6 a = {
        .sin6_family = AF_INET6, .sin6_port = htons(443), .sin6_addr.s6_addr = {0x2a, 0, [15] = 1}};
    socklen_t size = sizeof(a);
    _cleanup_close_ int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &size) < 0)
        return false;
    return !IN6_IS_ADDR_LINKLOCAL(&a.sin6_addr) && !IN6_IS_ADDR_LOOPBACK(&a.sin6_addr);
}

bool route_has_v6(void)
{
    bool found = look();
    if (found != has_v6) {
        has_v6 = found;
        channel_send_network(found);
    }
    return found;
}

void route_tell(void)
{
    has_v6 = look();
    channel_send_network(has_v6);
}
