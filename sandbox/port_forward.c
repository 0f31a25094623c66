// SPDX-License-Identifier: Apache-2.0
#include "sandbox/port_forward.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>

#define BACKLOG 256

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

bool port_forward_is_private(const struct port_forward *f)
{
    return IN6_IS_ADDR_V4MAPPED(&f->address) ? f->address.s6_addr[12] == IN_LOOPBACKNET
                                             : IN6_IS_ADDR_LOOPBACK(&f->address);
}

void port_forward_format(const struct in6_addr *address, uint16_t port,
                         char ret[static PORT_FORWARD_TEXT_MAX])
{
    char text[INET6_ADDRSTRLEN] = "?";
    bool is_v4 = IN6_IS_ADDR_V4MAPPED(address);
    inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? &address->s6_addr[12] : (const void *)address,
              text, sizeof(text));
    snprintf(ret, PORT_FORWARD_TEXT_MAX, is_v4 ? "%s:%u" : "[%s]:%u", text, port);
}

static socklen_t make_address(const struct port_forward *f, union address *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (IN6_IS_ADDR_V4MAPPED(&f->address)) {
        ret->in.sin_family = AF_INET;
        ret->in.sin_port = htons(f->port);
        memcpy(&ret->in.sin_addr, &f->address.s6_addr[12], sizeof(ret->in.sin_addr));
        return sizeof(ret->in);
    }
    ret->in6.sin6_family = AF_INET6;
    ret->in6.sin6_port = htons(f->port);
    ret->in6.sin6_addr = f->address;
    return sizeof(ret->in6);
}

static int try_listen(struct port_forward *f)
{
    const int one = 1;
    union address a;
    socklen_t size = make_address(f, &a);
    _cleanup_close_ int fd =
        socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (a.any.sa_family == AF_INET6 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0)
        return -errno;
    if (bind(fd, &a.any, size) < 0 || listen(fd, BACKLOG) < 0 || getsockname(fd, &a.any, &size) < 0)
        return -errno;
    f->port = ntohs(a.any.sa_family == AF_INET ? a.in.sin_port : a.in6.sin6_port);
    return TAKE_FD(fd);
}

int port_forward_listen(struct port_forward *f, bool is_public, struct sandbox_error *e)
{
    char text[PORT_FORWARD_TEXT_MAX];
    port_forward_format(&f->address, f->port, text);
    if (!is_public && !port_forward_is_private(f))
        return sandbox_error_set(e, -EACCES,
                                 "%s: others than this machine could connect; say --public if they "
                                 "may, or use 127.0.0.1",
                                 text);
    int fd = try_listen(f);
    switch (fd < 0 ? -fd : 0) {
    case 0:
        return fd;
    case EACCES:
        return sandbox_error_set(e, fd,
                                 "%s: the machine does not give you ports this low; take one above "
                                 "1023",
                                 text);
    case EADDRINUSE:
        return sandbox_error_set(e, fd,
                                 "%s: the port is in use; take another one, or 0 for any that is "
                                 "free",
                                 text);
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
        return sandbox_error_set(e, fd, "%s: is no address of this machine; ip address lists them",
                                 text);
    default:
        return sandbox_error_set(e, fd, "%s: %s; take another one", text, strerror(-fd));
    }
}

int port_forward_accept(int listener)
{
    const int one = 1;
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    /* Whoever vanishes without a word is not to keep a place for ever. */
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    return fd < 0 ? -errno : fd;
}

void port_forward_refuse(int fd)
{
    const struct linger cut = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &cut, sizeof(cut));
    close(fd);
}
