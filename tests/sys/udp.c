// SPDX-License-Identifier: Apache-2.0
#include "tests/sys/sockets.h"

#include <linux/sockios.h>

static char big[70000];

static ssize_t send_port(int fd, int port, const void *data, size_t size)
{
    struct sockaddr_in a = loopback(port);
    return sendto(fd, data, size, 0, (struct sockaddr *)&a, sizeof(a));
}

static int closed_port(void)
{
    int fd = bound_socket(SOCK_DGRAM), port = port_of(fd);
    close(fd);
    return port;
}

TEST(who_waits_is_told_the_sender)
{
    int a = bound_socket(SOCK_DGRAM), b = bound_socket(SOCK_DGRAM);
    struct sockaddr_in to = loopback(port_of(a)), from;
    pid_t child = fork();
    if (child == 0) {
        harness_wait_until_sleeps(getppid());
        _exit(sendto(b, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) != 1);
    }
    char byte;
    socklen_t size = sizeof(from);
    EXPECT_EQ(recvfrom(a, &byte, 1, 0, (struct sockaddr *)&from, &size), 1);
    EXPECT_EQ(size, sizeof(from));
    EXPECT_EQ(ntohs(from.sin_port), port_of(b));
    int status;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(a_datagram_arrives_with_its_source)
{
    struct sockaddr_in from;
    socklen_t size = sizeof(from);
    int a = bound_socket(SOCK_DGRAM), b = bound_socket(SOCK_DGRAM);
    EXPECT_EQ(send_port(a, port_of(b), "abc", 3), 3);
    EXPECT_EQ(recvfrom(b, big, 8, 0, (struct sockaddr *)&from, &size), 3);
    EXPECT_EQ(size, sizeof(from));
    EXPECT_EQ(ntohs(from.sin_port), port_of(a));
    EXPECT_EQ(ntohl(from.sin_addr.s_addr), INADDR_LOOPBACK);
}

TEST(sending_binds_to_a_free_port)
{
    int a = socket(AF_INET, SOCK_DGRAM, 0), b = bound_socket(SOCK_DGRAM);
    EXPECT_EQ(port_of(a), 0);
    EXPECT_EQ(send_port(a, port_of(b), "x", 1), 1);
    EXPECT_GT(port_of(a), 0);
    struct sockaddr_in name;
    socklen_t size = sizeof(name);
    EXPECT_EQ(getsockname(a, (struct sockaddr *)&name, &size), 0);
    EXPECT_EQ(name.sin_addr.s_addr, INADDR_ANY);
}

TEST(a_datagram_can_be_empty_or_large)
{
    int a = bound_socket(SOCK_DGRAM), b = bound_socket(SOCK_DGRAM);
    EXPECT_EQ(send_port(a, port_of(b), "", 0), 0);
    EXPECT_EQ(events_of(b, POLLIN), POLLIN);
    EXPECT_EQ(recv(b, big, 8, MSG_DONTWAIT), 0);
    EXPECT_EQ(send_port(a, port_of(b), big, 65507), 65507);
    EXPECT_EQ(recv(b, big, sizeof(big), 0), 65507);
    EXPECT_ERRNO(send_port(a, port_of(b), big, 65508), EMSGSIZE);
}

TEST(truncation_tells_the_full_size)
{
    struct iovec v = {big, 2};
    struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1};
    int a = bound_socket(SOCK_DGRAM), b = bound_socket(SOCK_DGRAM);
    EXPECT_EQ(send_port(a, port_of(b), "abcdef", 6), 6);
    EXPECT_EQ(recv(b, big, 1, MSG_PEEK | MSG_TRUNC), 6);
    EXPECT_EQ(recvmsg(b, &h, 0), 2);
    EXPECT_EQ(h.msg_flags, MSG_TRUNC);
    EXPECT_ERRNO(recv(b, big, 8, MSG_DONTWAIT), EAGAIN);
}

TEST(sending_errors)
{
    struct sockaddr_in a = loopback(0);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    EXPECT_ERRNO(send(fd, "x", 1, 0), EDESTADDRREQ);
    EXPECT_ERRNO(sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof(a)), EINVAL);
    a = loopback(9);
    EXPECT_ERRNO(sendto(fd, "x", 1, 0, (struct sockaddr *)&a, 8), EINVAL);
    a.sin_family = AF_UNIX;
    EXPECT_ERRNO(sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof(a)), EAFNOSUPPORT);
    a.sin_family = AF_INET;
    EXPECT_ERRNO(sendto(fd, "x", 1, MSG_OOB, (struct sockaddr *)&a, sizeof(a)), EOPNOTSUPP);
    EXPECT_ERRNO(sendto(fd, (void *)8, 1, 0, (struct sockaddr *)&a, sizeof(a)), EFAULT);
    EXPECT_ERRNO(send(fd, big, 65536, 0), EMSGSIZE);
    int fd6 = socket(AF_INET6, SOCK_DGRAM, 0);
    if (fd6 >= 0)
        EXPECT_ERRNO(send(fd6, big, 65536, 0), EDESTADDRREQ); /* is looked for first */
}

TEST(broadcasts_need_permission)
{
    struct sockaddr_in a = loopback(9);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    a.sin_addr.s_addr = htonl(INADDR_BROADCAST);
    EXPECT_ERRNO(sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof(a)), EACCES);
    a.sin_addr.s_addr = htonl(0x7fffffff);
    EXPECT_ERRNO(sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof(a)), EACCES);
    EXPECT_ERRNO(connect(fd, (struct sockaddr *)&a, sizeof(a)), EACCES);
}

TEST(there_is_no_way_out)
{
    struct sockaddr_in a = loopback(53);
    if (!harness_is_inside())
        SKIP("the machine may have a network");
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    a.sin_addr.s_addr = htonl(0x08080808);
    EXPECT_ERRNO(sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof(a)), ENETUNREACH);
    EXPECT_ERRNO(connect(fd, (struct sockaddr *)&a, sizeof(a)), ENETUNREACH);
}

TEST(tcp_calls_are_not_for_udp)
{
    int fd = bound_socket(SOCK_DGRAM);
    EXPECT_ERRNO(listen(fd, 1), EOPNOTSUPP);
    EXPECT_ERRNO(accept(fd, NULL, NULL), EOPNOTSUPP);
    EXPECT_ERRNO(shutdown(fd, SHUT_RDWR), ENOTCONN);
}

TEST(a_connected_socket_filters)
{
    int a = bound_socket(SOCK_DGRAM), b = bound_socket(SOCK_DGRAM), c = bound_socket(SOCK_DGRAM);
    ASSERT_EQ(connect_port(a, port_of(b)), 0);
    EXPECT_EQ(send_port(c, port_of(a), "no", 2), 2);
    EXPECT_EQ(send_port(b, port_of(a), "yes", 3), 3);
    EXPECT_EQ(recv(a, big, 8, MSG_DONTWAIT), 3);
    EXPECT_ERRNO(recv(a, big, 8, MSG_DONTWAIT), EAGAIN);
    EXPECT_EQ(send(a, "x", 1, 0), 1);
    EXPECT_EQ(recv(b, big, 8, MSG_DONTWAIT), 1);
    /* An address overrides the peer. */
    EXPECT_EQ(send_port(a, port_of(c), "y", 1), 1);
    EXPECT_EQ(recv(c, big, 8, MSG_DONTWAIT), 1);
}

TEST(connect_can_be_done_again_and_undone)
{
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    struct sockaddr_in name;
    socklen_t size = sizeof(name);
    int a = socket(AF_INET, SOCK_DGRAM, 0), b = bound_socket(SOCK_DGRAM);
    EXPECT_ERRNO(getpeername(a, (struct sockaddr *)&name, &size), ENOTCONN);
    ASSERT_EQ(connect_port(a, port_of(b)), 0);
    EXPECT_EQ(getsockname(a, (struct sockaddr *)&name, &size), 0);
    EXPECT_EQ(ntohl(name.sin_addr.s_addr), INADDR_LOOPBACK);
    EXPECT_EQ(getpeername(a, (struct sockaddr *)&name, &size), 0);
    EXPECT_EQ(ntohs(name.sin_port), port_of(b));
    EXPECT_EQ(connect_port(a, port_of(bound_socket(SOCK_DGRAM))), 0);
    EXPECT_EQ(connect(a, &none, sizeof(none)), 0);
    EXPECT_EQ(port_of(a), 0);
    EXPECT_ERRNO(send(a, "x", 1, 0), EDESTADDRREQ);
}

TEST(a_closed_port_refuses_a_connected_socket)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    ASSERT_EQ(connect_port(fd, closed_port()), 0);
    EXPECT_EQ(send(fd, "x", 1, 0), 1);
    await(fd, 0);
    EXPECT_TRUE(all_events_of(fd) & POLLERR);
    EXPECT_ERRNO(recv(fd, big, 1, MSG_DONTWAIT), ECONNREFUSED);
    EXPECT_ERRNO(recv(fd, big, 1, MSG_DONTWAIT), EAGAIN);
    EXPECT_EQ(send(fd, "x", 1, 0), 1);
    await(fd, 0);
    EXPECT_ERRNO(send(fd, "x", 1, 0), ECONNREFUSED);
    EXPECT_EQ(send(fd, "x", 1, 0), 1);
    await(fd, 0);
    EXPECT_EQ(get_int(fd, SOL_SOCKET, SO_ERROR), ECONNREFUSED);
}

TEST(an_unconnected_socket_does_not_hear_of_refusals)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    EXPECT_EQ(send_port(fd, closed_port(), "x", 1), 1);
    usleep(10000);
    EXPECT_ERRNO(recv(fd, big, 1, MSG_DONTWAIT), EAGAIN);
    EXPECT_EQ(all_events_of(fd), POLLOUT);
}

TEST(a_refusal_wakes_a_blocked_reader)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    ASSERT_EQ(connect_port(fd, closed_port()), 0);
    pid_t pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(getppid());
        _exit(send(fd, "x", 1, 0) != 1);
    }
    EXPECT_ERRNO(recv(fd, big, 1, 0), ECONNREFUSED);
    waitpid(pid, NULL, 0);
}

TEST(shutdown_wakes_a_blocked_reader)
{
    int fd = bound_socket(SOCK_DGRAM);
    ASSERT_EQ(connect_port(fd, 9), 0);
    pid_t pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(getppid());
        _exit(shutdown(fd, SHUT_RD) != 0);
    }
    EXPECT_EQ(recv(fd, big, 1, 0), 0);
    waitpid(pid, NULL, 0);
    EXPECT_EQ(shutdown(fd, SHUT_WR), 0);
    EXPECT_ERRNO(send(fd, "x", 1, 0), EPIPE);
}

TEST(a_full_receiver_loses_datagrams)
{
    int a = bound_socket(SOCK_DGRAM), b = bound_socket(SOCK_DGRAM), got = 0;
    set_int(b, SOL_SOCKET, SO_RCVBUF, 20000);
    for (int i = 0; i < 200; i++)
        EXPECT_EQ(send_port(a, port_of(b), big, 1000), 1000);
    while (recv(b, big, 1000, MSG_DONTWAIT) == 1000)
        got++;
    EXPECT_GT(got, 3);
    EXPECT_LT(got, 100);
}

TEST(the_first_datagram_is_counted)
{
    int a = bound_socket(SOCK_DGRAM), b = bound_socket(SOCK_DGRAM), n = -1;
    EXPECT_EQ(send_port(a, port_of(b), "abc", 3), 3);
    EXPECT_EQ(send_port(a, port_of(b), "de", 2), 2);
    EXPECT_EQ(ioctl(b, FIONREAD, &n), 0);
    EXPECT_EQ(n, 3);
    EXPECT_EQ(ioctl(a, SIOCOUTQ, &n), 0);
    EXPECT_EQ(n, 0);
}

TEST(ports_are_shared_only_by_consent)
{
    int a = bound_socket(SOCK_DGRAM), b = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in at = loopback(port_of(a));
    EXPECT_ERRNO(bind(b, (struct sockaddr *)&at, sizeof(at)), EADDRINUSE);
    set_int(a, SOL_SOCKET, SO_REUSEADDR, 1);
    set_int(b, SOL_SOCKET, SO_REUSEADDR, 1);
    EXPECT_EQ(bind(b, (struct sockaddr *)&at, sizeof(at)), 0);
    int c = bound_socket(SOCK_DGRAM);
    EXPECT_EQ(send_port(c, port_of(a), "x", 1), 1);
    EXPECT_EQ(events_of(b, POLLIN), POLLIN);
    EXPECT_EQ(events_of(a, POLLIN), 0);
}

TEST(reuseport_shares_the_datagrams)
{
    int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in at = loopback(0);
    set_int(a, SOL_SOCKET, SO_REUSEPORT, 1);
    set_int(b, SOL_SOCKET, SO_REUSEPORT, 1);
    ASSERT_EQ(bind(a, (struct sockaddr *)&at, sizeof(at)), 0);
    at = loopback(port_of(a));
    ASSERT_EQ(bind(b, (struct sockaddr *)&at, sizeof(at)), 0);
    for (int i = 0; i < 64; i++)
        EXPECT_EQ(send_port(bound_socket(SOCK_DGRAM), port_of(a), "x", 1), 1);
    EXPECT_EQ(events_of(a, POLLIN), POLLIN);
    EXPECT_EQ(events_of(b, POLLIN), POLLIN);
}

TEST(a_dual_stack_socket_takes_ipv4)
{
    struct sockaddr_in6 any = {.sin6_family = AF_INET6}, from;
    socklen_t size = sizeof(from);
    int a = bound_socket(SOCK_DGRAM), b = socket(AF_INET6, SOCK_DGRAM, 0);
    ASSERT_EQ(bind(b, (struct sockaddr *)&any, sizeof(any)), 0);
    EXPECT_EQ(send_port(a, port_of(b), "x", 1), 1);
    EXPECT_EQ(recvfrom(b, big, 8, 0, (struct sockaddr *)&from, &size), 1);
    EXPECT_TRUE(IN6_IS_ADDR_V4MAPPED(&from.sin6_addr));
    EXPECT_EQ(sendto(b, "back", 4, 0, (struct sockaddr *)&from, size), 4);
    EXPECT_EQ(recv(a, big, 8, MSG_DONTWAIT), 4);
    /* An IPv4 address will do as well. */
    EXPECT_EQ(send_port(b, port_of(a), "v4", 2), 2);
    EXPECT_EQ(recv(a, big, 8, MSG_DONTWAIT), 2);
}

TEST(the_destination_can_be_asked_for)
{
    union {
        char bytes[256];
        struct cmsghdr align;
    } control;
    struct iovec v = {big, 8};
    struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control};
    struct sockaddr_in any = {.sin_family = AF_INET};
    struct in_pktinfo info;
    int a = bound_socket(SOCK_DGRAM), b = socket(AF_INET, SOCK_DGRAM, 0);
    ASSERT_EQ(bind(b, (struct sockaddr *)&any, sizeof(any)), 0);
    set_int(b, IPPROTO_IP, IP_PKTINFO, 1);
    EXPECT_EQ(send_port(a, port_of(b), "x", 1), 1);
    h.msg_controllen = sizeof(control);
    EXPECT_EQ(recvmsg(b, &h, 0), 1);
    struct cmsghdr *c = CMSG_FIRSTHDR(&h);
    ASSERT_TRUE(c != NULL);
    EXPECT_EQ(c->cmsg_level, IPPROTO_IP);
    EXPECT_EQ(c->cmsg_type, IP_PKTINFO);
    memcpy(&info, CMSG_DATA(c), sizeof(info));
    EXPECT_EQ(ntohl(info.ipi_addr.s_addr), INADDR_LOOPBACK);
    EXPECT_EQ(info.ipi_ifindex, 1);
}

/* What comes over IPv4 is told as IPv4 tells it, also to a socket of IPv6. */
TEST(a_socket_of_both_families_hears_of_each_in_its_own_way)
{
    union {
        char bytes[256];
        struct cmsghdr align;
    } control;
    struct iovec v = {big, 8};
    struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control};
    struct sockaddr_in6 any = {.sin6_family = AF_INET6};
    int a = bound_socket(SOCK_DGRAM), b = socket(AF_INET6, SOCK_DGRAM, 0), seen = 0;
    ASSERT_EQ(bind(b, (struct sockaddr *)&any, sizeof(any)), 0);
    set_int(b, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
    set_int(b, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
    set_int(b, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
    set_int(b, IPPROTO_IP, IP_PKTINFO, 1);
    set_int(b, IPPROTO_IP, IP_RECVTOS, 1);
    set_int(b, IPPROTO_IP, IP_RECVTTL, 1);
    EXPECT_EQ(send_port(a, port_of(b), "x", 1), 1);
    h.msg_controllen = sizeof(control);
    EXPECT_EQ(recvmsg(b, &h, 0), 1);
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&h); c; c = CMSG_NXTHDR(&h, c), seen++) {
        if (c->cmsg_level == IPPROTO_IPV6)
            EXPECT_EQ(c->cmsg_type, IPV6_PKTINFO);
        else if (c->cmsg_type == IP_TOS)
            EXPECT_EQ(c->cmsg_len, CMSG_LEN(1));
        else
            EXPECT_TRUE(c->cmsg_type == IP_PKTINFO || c->cmsg_type == IP_TTL);
    }
    EXPECT_EQ(seen, 4);
}

/* Sends with this hop limit in the message itself (-1: none), and says which one arrived. */
static int hop_limit_of(int from, int to, int limit)
{
    union {
        char bytes[256];
        struct cmsghdr align;
    } control;
    struct sockaddr_in a = loopback(port_of(to));
    struct iovec v = {big, 1};
    struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1, .msg_name = &a, .msg_namelen = sizeof(a)};
    if (limit >= 0) {
        h.msg_control = &control;
        h.msg_controllen = CMSG_SPACE(sizeof(limit));
        struct cmsghdr *c = CMSG_FIRSTHDR(&h);
        *c = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(limit)), .cmsg_level = IPPROTO_IP, .cmsg_type = IP_TTL};
        memcpy(CMSG_DATA(c), &limit, sizeof(limit));
    }
    if (sendmsg(from, &h, 0) != 1)
        return -errno;
    h.msg_control = &control;
    h.msg_controllen = sizeof(control);
    EXPECT_EQ(recvmsg(to, &h, 0), 1);
    struct cmsghdr *c = CMSG_FIRSTHDR(&h);
    ASSERT_TRUE(c != NULL);
    EXPECT_EQ(c->cmsg_type, IP_TTL);
    memcpy(&limit, CMSG_DATA(c), sizeof(limit));
    return limit;
}

TEST(the_hop_limit_arrives)
{
    int a = bound_socket(SOCK_DGRAM), b = bound_socket(SOCK_DGRAM);
    set_int(b, IPPROTO_IP, IP_RECVTTL, 1);
    EXPECT_EQ(hop_limit_of(a, b, -1), 64);
    EXPECT_EQ(hop_limit_of(a, b, 7), 7);
    set_int(a, IPPROTO_IP, IP_TTL, 3);
    EXPECT_EQ(hop_limit_of(a, b, -1), 3);
    EXPECT_EQ(hop_limit_of(a, b, 256), -EINVAL);
}

TEST(a_refusal_of_another_address_is_not_the_peers)
{
    int fd = bound_socket(SOCK_DGRAM), peer = bound_socket(SOCK_DGRAM);
    ASSERT_EQ(connect_port(fd, port_of(peer)), 0);
    EXPECT_EQ(send_port(fd, closed_port(), "x", 1), 1);
    usleep(10000);
    EXPECT_EQ(get_int(fd, SOL_SOCKET, SO_ERROR), 0);
}

TEST(the_time_of_arrival_can_be_asked_for)
{
    union {
        char bytes[256];
        struct cmsghdr align;
    } control;
    struct iovec v = {big, 8};
    struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control};
    int a = bound_socket(SOCK_DGRAM), b = bound_socket(SOCK_DGRAM);
    struct timeval tv;
    set_int(b, SOL_SOCKET, SO_TIMESTAMP, 1);
    EXPECT_EQ(send_port(a, port_of(b), "x", 1), 1);
    h.msg_controllen = sizeof(control);
    EXPECT_EQ(recvmsg(b, &h, 0), 1);
    struct cmsghdr *c = CMSG_FIRSTHDR(&h);
    ASSERT_TRUE(c != NULL);
    EXPECT_EQ(c->cmsg_level, SOL_SOCKET);
    EXPECT_EQ(c->cmsg_type, SCM_TIMESTAMP);
    memcpy(&tv, CMSG_DATA(c), sizeof(tv));
    EXPECT_LE(labs(time(NULL) - tv.tv_sec), 2);
}

TEST(memberships_need_an_interface_that_is_there)
{
    struct ip_mreqn request = {.imr_ifindex = 4711};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    request.imr_multiaddr.s_addr = htonl(0xe0000101);
    EXPECT_ERRNO(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request)), ENODEV);
    request.imr_multiaddr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_ERRNO(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request)), EINVAL);
    EXPECT_ERRNO(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, 4), EINVAL);
}

TEST(no_error_queue)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    EXPECT_ERRNO(recv(fd, big, 8, MSG_ERRQUEUE), EAGAIN);
}

/* A query for `name` of this type: its size. */
static size_t query(unsigned char *q, const char *name, int type)
{
    static const unsigned char head[] = {0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    memcpy(q, head, sizeof(head));
    unsigned char *at = q + sizeof(head);
    while (*name) {
        size_t label = strcspn(name, ".");
        *at++ = (unsigned char)label;
        memcpy(at, name, label);
        at += label;
        name += label + (name[label] == '.');
    }
    *at++ = 0;
    *at++ = 0;
    *at++ = (unsigned char)type;
    *at++ = 0;
    *at++ = 1;
    return (size_t)(at - q);
}

static int resolver(int type)
{
    struct sockaddr_in a = loopback(53);
    a.sin_addr.s_addr = htonl(0x7f000035);
    int fd = socket(AF_INET, type, 0);
    ASSERT_EQ(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    return fd;
}

static ssize_t ask(int fd, const char *name, int type, unsigned char *answer)
{
    unsigned char q[512];
    size_t size = query(q, name, type);
    EXPECT_EQ(send(fd, q, size, 0), (ssize_t)size);
    return recv(fd, answer, 512, MSG_DONTWAIT);
}

TEST(the_resolver_answers_at_once)
{
    unsigned char answer[512];
    if (!harness_is_inside())
        SKIP("only a sandbox has this resolver");
    int fd = resolver(SOCK_DGRAM);
    EXPECT_GT(ask(fd, "example.com", 1, answer), 12);
    EXPECT_EQ(answer[0] << 8 | answer[1], 0x1234);
    EXPECT_EQ(answer[3] & 15, 3);
    ssize_t size = ask(fd, "LocalHost", 1, answer);
    EXPECT_EQ(answer[3] & 15, 0);
    EXPECT_EQ(answer[7], 1);
    ASSERT_GT(size, 16);
    EXPECT_EQ(memcmp(answer + size - 4, "\x7f\0\0\x01", 4), 0);
    size = ask(fd, "localhost", 28, answer);
    ASSERT_GT(size, 16);
    EXPECT_EQ(answer[size - 1], 1);
    EXPECT_GT(ask(fd, "localhost", 15, answer), 0);
    EXPECT_EQ(answer[3] & 15, 0);
    EXPECT_EQ(answer[7], 0);
}

TEST(the_resolver_is_strict)
{
    unsigned char q[512], answer[512];
    if (!harness_is_inside())
        SKIP("only a sandbox has this resolver");
    int fd = resolver(SOCK_DGRAM);
    size_t size = query(q, "example.com", 1);
    EXPECT_EQ(send(fd, q, size - 3, 0), (ssize_t)size - 3);
    EXPECT_EQ(recv(fd, answer, 512, MSG_DONTWAIT), 12);
    EXPECT_EQ(answer[3] & 15, 1);
    q[12] = 0xc0; /* a pointer instead of a label */
    EXPECT_EQ(send(fd, q, size, 0), (ssize_t)size);
    EXPECT_EQ(recv(fd, answer, 512, MSG_DONTWAIT), 12);
    q[2] = 0x80; /* an answer, not a query */
    EXPECT_EQ(send(fd, q, size, 0), (ssize_t)size);
    EXPECT_ERRNO(recv(fd, answer, 512, MSG_DONTWAIT), EAGAIN);
    EXPECT_EQ(send(fd, q, 5, 0), 5);
    EXPECT_ERRNO(recv(fd, answer, 512, MSG_DONTWAIT), EAGAIN);
}

TEST(the_resolver_answers_over_tcp)
{
    unsigned char q[514], answer[514];
    if (!harness_is_inside())
        SKIP("only a sandbox has this resolver");
    int fd = resolver(SOCK_STREAM);
    size_t size = query(q + 2, "example.com", 1);
    q[0] = 0;
    q[1] = (unsigned char)size;
    EXPECT_EQ(send(fd, q, 5, 0), 5);
    EXPECT_ERRNO(recv(fd, answer, 512, MSG_DONTWAIT), EAGAIN);
    EXPECT_EQ(send(fd, q + 5, size - 3, 0), (ssize_t)size - 3);
    EXPECT_EQ(recv(fd, answer, 514, MSG_DONTWAIT), (ssize_t)size + 2);
    EXPECT_EQ(answer[1], size);
    EXPECT_EQ(answer[5] & 15, 3);
    EXPECT_EQ(shutdown(fd, SHUT_WR), 0);
    EXPECT_EQ(recv(fd, answer, 512, MSG_DONTWAIT), 0);
}
