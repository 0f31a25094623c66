// SPDX-License-Identifier: Apache-2.0
/*
 * What the cases about sockets share.
 */
#pragma once

#include "tests/harness/harness.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#ifndef POLLRDHUP
#define POLLRDHUP 0x2000
#endif

#define MAYBE_UNUSED __attribute__((unused))

static int pair[2];

MAYBE_UNUSED static void open_pair(int type)
{
    ASSERT_EQ(socketpair(AF_UNIX, type, 0, pair), 0);
}

MAYBE_UNUSED static void set_nonblocking(int fd)
{
    ASSERT_EQ(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

MAYBE_UNUSED static int events_of(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    EXPECT_GE(poll(&p, 1, 0), 0);
    return p.revents;
}

MAYBE_UNUSED static int all_events_of(int fd)
{
    return events_of(fd, POLLIN | POLLOUT | POLLPRI | POLLRDHUP);
}

/* What comes over the loopback may take a moment: waits for one of these events, not for ever. */
MAYBE_UNUSED static void await(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    EXPECT_EQ(poll(&p, 1, 10000), 1);
}

MAYBE_UNUSED static void set_int(int fd, int level, int name, int value)
{
    ASSERT_EQ(setsockopt(fd, level, name, &value, sizeof(value)), 0);
}

MAYBE_UNUSED static int get_int(int fd, int level, int name)
{
    int value = -12345;
    socklen_t size = sizeof(value);
    EXPECT_EQ(getsockopt(fd, level, name, &value, &size), 0);
    EXPECT_EQ(size, sizeof(value));
    return value;
}

/* Milliseconds on the monotonic clock. */
MAYBE_UNUSED static long now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

MAYBE_UNUSED static void set_timeout_ms(int fd, int name, int ms)
{
    struct timeval tv = {ms / 1000, ms % 1000 * 1000};
    ASSERT_EQ(setsockopt(fd, SOL_SOCKET, name, &tv, sizeof(tv)), 0);
}

/* Address of a path, which must be short; the size for bind(2). */
MAYBE_UNUSED static socklen_t unix_path(struct sockaddr_un *a, const char *path)
{
    memset(a, 0, sizeof(*a));
    a->sun_family = AF_UNIX;
    strcpy(a->sun_path, path);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1);
}

/* An abstract address that no other case uses. */
MAYBE_UNUSED static socklen_t unix_abstract(struct sockaddr_un *a, const char *name)
{
    memset(a, 0, sizeof(*a));
    a->sun_family = AF_UNIX;
    int n =
        snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "glovebox-test-%d-%s", getpid(), name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* A socket that listens at ./name. */
MAYBE_UNUSED static int unix_listener(int type, const char *name, int backlog)
{
    struct sockaddr_un a;
    int fd = socket(AF_UNIX, type, 0);
    ASSERT_GE(fd, 0);
    socklen_t size = unix_path(&a, name);
    ASSERT_EQ(bind(fd, (struct sockaddr *)&a, size), 0);
    ASSERT_EQ(listen(fd, backlog), 0);
    return fd;
}

MAYBE_UNUSED static int unix_connect(int fd, const char *name)
{
    struct sockaddr_un a;
    socklen_t size = unix_path(&a, name);
    return connect(fd, (struct sockaddr *)&a, size);
}

MAYBE_UNUSED static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

MAYBE_UNUSED static int port_of(int fd)
{
    struct sockaddr_in6 a;
    socklen_t size = sizeof(a);
    EXPECT_EQ(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    return ntohs(a.sin6_port); /* at the same place for both families */
}

/* A socket of this type bound to a free port of 127.0.0.1. */
MAYBE_UNUSED static int bound_socket(int type)
{
    struct sockaddr_in a = loopback(0);
    int fd = socket(AF_INET, type, 0);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    return fd;
}

MAYBE_UNUSED static int connect_port(int fd, int port)
{
    struct sockaddr_in a = loopback(port);
    return connect(fd, (struct sockaddr *)&a, sizeof(a));
}

/* A TCP connection: ends[0] connected, ends[1] accepted. */
MAYBE_UNUSED static void tcp_pair(int ends[2])
{
    int listener = bound_socket(SOCK_STREAM);
    ASSERT_EQ(listen(listener, 5), 0);
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(connect_port(ends[0], port_of(listener)), 0);
    ends[1] = accept(listener, NULL, NULL);
    ASSERT_GE(ends[1], 0);
    close(listener);
}
