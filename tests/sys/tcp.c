// SPDX-License-Identifier: Apache-2.0
#include "tests/sys/sockets.h"

#include <linux/sockios.h>

static char big[65536];
static int ends[2];

static int listen_at_free_port(int backlog)
{
    int fd = bound_socket(SOCK_STREAM);
    ASSERT_EQ(listen(fd, backlog), 0);
    return fd;
}

static int connected_to(int listener)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(connect_port(fd, port_of(listener)), 0);
    return fd;
}

/* A port of 127.0.0.1 where nobody is. */
static int closed_port(void)
{
    int fd = bound_socket(SOCK_STREAM), port = port_of(fd);
    close(fd);
    return port;
}

static void set_linger(int fd, int seconds)
{
    struct linger value = {1, seconds};
    ASSERT_EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &value, sizeof(value)), 0);
}

static struct sockaddr_in6 loopback6(int port)
{
    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    a.sin6_addr = in6addr_loopback;
    return a;
}

TEST(bytes_flow_both_ways)
{
    char back[8] = "";
    tcp_pair(ends);
    EXPECT_EQ(write(ends[0], "abc", 3), 3);
    EXPECT_EQ(send(ends[0], "de", 2, 0), 2);
    EXPECT_EQ(recv(ends[1], back, 5, MSG_WAITALL), 5);
    EXPECT_STR(back, "abcde");
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    EXPECT_EQ(read(ends[0], back, 8), 1);
}

TEST(socket_checks_its_arguments)
{
    EXPECT_ERRNO(socket(AF_INET, SOCK_STREAM, IPPROTO_UDP), EPROTONOSUPPORT);
    EXPECT_ERRNO(socket(AF_INET, SOCK_SEQPACKET, 0), ESOCKTNOSUPPORT);
    EXPECT_ERRNO(socket(AF_INET, 77, 0), EINVAL);
    EXPECT_ERRNO(socket(AF_INET, SOCK_STREAM | 0x100, 0), EINVAL);
    EXPECT_ERRNO(socket(99, SOCK_STREAM, 0), EAFNOSUPPORT);
    EXPECT_ERRNO(socket(-1, SOCK_STREAM, 0), EAFNOSUPPORT);
    EXPECT_ERRNO(socket(AF_INET, SOCK_STREAM, -1), EINVAL);
}

TEST(raw_sockets_are_not_to_be_had)
{
    if (getuid() == 0 && !harness_is_inside())
        SKIP("root of the machine may have them");
    EXPECT_ERRNO(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), EPERM);
    EXPECT_ERRNO(socket(AF_PACKET, SOCK_RAW, 0), EPERM);
}

TEST(names_of_both_ends_agree)
{
    struct sockaddr_in a, b;
    socklen_t size = sizeof(a);
    int listener = listen_at_free_port(1), fd = connected_to(listener);
    int server = accept(listener, (struct sockaddr *)&a, &size);
    EXPECT_EQ(size, sizeof(a));
    EXPECT_EQ(getsockname(fd, (struct sockaddr *)&b, &size), 0);
    EXPECT_EQ(memcmp(&a, &b, sizeof(a)), 0);
    EXPECT_EQ(ntohl(a.sin_addr.s_addr), INADDR_LOOPBACK);
    EXPECT_EQ(getpeername(fd, (struct sockaddr *)&b, &size), 0);
    EXPECT_EQ(ntohs(b.sin_port), port_of(listener));
    EXPECT_EQ(port_of(server), port_of(listener));
}

TEST(an_unconnected_socket_has_no_peer)
{
    struct sockaddr_in a;
    socklen_t size = sizeof(a);
    char c;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_ERRNO(getpeername(fd, (struct sockaddr *)&a, &size), ENOTCONN);
    EXPECT_EQ(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    EXPECT_EQ(a.sin_port, 0);
    EXPECT_EQ(a.sin_addr.s_addr, 0);
    EXPECT_ERRNO(recv(fd, &c, 1, 0), ENOTCONN);
    EXPECT_ERRNO(send(fd, &c, 1, MSG_NOSIGNAL), EPIPE);
    EXPECT_ERRNO(shutdown(fd, SHUT_RDWR), ENOTCONN);
    EXPECT_ERRNO(accept(fd, NULL, NULL), EINVAL);
}

TEST(a_new_socket_polls_as_hung_up)
{
    EXPECT_EQ(all_events_of(socket(AF_INET, SOCK_STREAM, 0)), POLLOUT | POLLHUP);
}

TEST(bind_errors)
{
    struct sockaddr_in a = loopback(0);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_ERRNO(bind(fd, (struct sockaddr *)&a, 8), EINVAL);
    a.sin_family = AF_INET6;
    EXPECT_ERRNO(bind(fd, (struct sockaddr *)&a, sizeof(a)), EAFNOSUPPORT);
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(0x08080808);
    EXPECT_ERRNO(bind(fd, (struct sockaddr *)&a, sizeof(a)), EADDRNOTAVAIL);
    a = loopback(0);
    EXPECT_EQ(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    EXPECT_ERRNO(bind(fd, (struct sockaddr *)&a, sizeof(a)), EINVAL);
}

TEST(an_address_of_no_family_binds_to_any)
{
    struct sockaddr_in a = {.sin_family = AF_UNSPEC};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    EXPECT_GT(port_of(fd), 0);
}

TEST(low_ports_are_for_the_privileged)
{
    struct sockaddr_in a = loopback(79);
    FILE *f = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "r");
    int start = 1024;
    if (f && fscanf(f, "%d", &start) != 1)
        start = 1024;
    if (getuid() == 0 || start <= 79)
        SKIP("these may bind low ports");
    EXPECT_ERRNO(bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&a, sizeof(a)), EACCES);
}

TEST(a_port_can_be_had_once)
{
    int fd = bound_socket(SOCK_STREAM), second = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = loopback(port_of(fd));
    EXPECT_ERRNO(bind(second, (struct sockaddr *)&a, sizeof(a)), EADDRINUSE);
    a.sin_addr.s_addr = INADDR_ANY;
    EXPECT_ERRNO(bind(second, (struct sockaddr *)&a, sizeof(a)), EADDRINUSE);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    EXPECT_EQ(bind(second, (struct sockaddr *)&a, sizeof(a)), 0);
    close(fd);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&a, sizeof(a)), 0);
}

TEST(ports_of_tcp_and_udp_are_apart)
{
    int fd = bound_socket(SOCK_STREAM);
    struct sockaddr_in a = loopback(port_of(fd));
    EXPECT_EQ(bind(socket(AF_INET, SOCK_DGRAM, 0), (struct sockaddr *)&a, sizeof(a)), 0);
}

TEST(reuseaddr_shares_a_port_until_one_listens)
{
    int a = socket(AF_INET, SOCK_STREAM, 0), b = socket(AF_INET, SOCK_STREAM, 0);
    set_int(a, SOL_SOCKET, SO_REUSEADDR, 1);
    set_int(b, SOL_SOCKET, SO_REUSEADDR, 1);
    struct sockaddr_in at = loopback(0);
    ASSERT_EQ(bind(a, (struct sockaddr *)&at, sizeof(at)), 0);
    at = loopback(port_of(a));
    EXPECT_EQ(bind(b, (struct sockaddr *)&at, sizeof(at)), 0);
    EXPECT_EQ(listen(a, 1), 0);
    EXPECT_ERRNO(listen(b, 1), EADDRINUSE);
    int c = socket(AF_INET, SOCK_STREAM, 0);
    set_int(c, SOL_SOCKET, SO_REUSEADDR, 1);
    EXPECT_ERRNO(bind(c, (struct sockaddr *)&at, sizeof(at)), EADDRINUSE);
}

TEST(a_server_restarts_while_its_connections_live)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = loopback(0);
    set_int(listener, SOL_SOCKET, SO_REUSEADDR, 1);
    ASSERT_EQ(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    ASSERT_EQ(listen(listener, 1), 0);
    int fd = connected_to(listener), server = accept(listener, NULL, NULL);
    at = loopback(port_of(listener));
    close(listener);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    set_int(listener, SOL_SOCKET, SO_REUSEADDR, 1);
    EXPECT_EQ(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    EXPECT_EQ(write(fd, "x", 1), 1);
    EXPECT_EQ(read(server, big, 8), 1);
    EXPECT_GE(connected_to(listener), 0);
}

TEST(the_port_of_a_connection_is_taken_when_its_listener_is_gone)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = loopback(0);
    ASSERT_EQ(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    ASSERT_EQ(listen(listener, 1), 0);
    int fd = connected_to(listener), server = accept(listener, NULL, NULL);
    at = loopback(port_of(listener));
    close(listener);
    int other = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_ERRNO(bind(other, (struct sockaddr *)&at, sizeof(at)), EADDRINUSE);
    EXPECT_ERRNO(connect(other, (struct sockaddr *)&at, sizeof(at)), ECONNREFUSED);
    EXPECT_EQ(write(fd, "x", 1), 1);
    EXPECT_EQ(read(server, big, 8), 1);
    close(fd);
    close(server);
}

TEST(reuseport_shares_the_connections)
{
    int a = socket(AF_INET, SOCK_STREAM, 0), b = socket(AF_INET, SOCK_STREAM, 0);
    set_int(a, SOL_SOCKET, SO_REUSEPORT, 1);
    set_int(b, SOL_SOCKET, SO_REUSEPORT, 1);
    struct sockaddr_in at = loopback(0);
    ASSERT_EQ(bind(a, (struct sockaddr *)&at, sizeof(at)), 0);
    at = loopback(port_of(a));
    ASSERT_EQ(bind(b, (struct sockaddr *)&at, sizeof(at)), 0);
    ASSERT_EQ(listen(a, 100), 0);
    ASSERT_EQ(listen(b, 100), 0);
    for (int i = 0; i < 64; i++)
        connected_to(a);
    EXPECT_EQ(events_of(a, POLLIN), POLLIN);
    EXPECT_EQ(events_of(b, POLLIN), POLLIN);
    int c = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_ERRNO(bind(c, (struct sockaddr *)&at, sizeof(at)), EADDRINUSE);
}

TEST(listen_chooses_a_port)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(listen(fd, 1), 0);
    EXPECT_GT(port_of(fd), 0);
    EXPECT_EQ(get_int(fd, SOL_SOCKET, SO_ACCEPTCONN), 1);
    EXPECT_EQ(listen(fd, 5), 0);
    tcp_pair(ends);
    EXPECT_ERRNO(listen(ends[0], 1), EINVAL);
}

TEST(a_closed_port_refuses)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), port = closed_port();
    EXPECT_ERRNO(connect_port(fd, port), ECONNREFUSED);
    /* The socket can be used for another try. */
    EXPECT_ERRNO(connect_port(fd, port), ECONNREFUSED);
    int listener = listen_at_free_port(1);
    EXPECT_EQ(connect_port(fd, port_of(listener)), 0);
}

TEST(connect_errors)
{
    struct sockaddr_in a = loopback(1);
    int listener = listen_at_free_port(1), fd = connected_to(listener);
    EXPECT_ERRNO(connect_port(fd, port_of(listener)), EISCONN);
    EXPECT_ERRNO(connect_port(listener, port_of(listener)), EISCONN);
    int other = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_ERRNO(connect(other, (struct sockaddr *)&a, 8), EINVAL);
    EXPECT_ERRNO(connect(other, (struct sockaddr *)&a, 1), EINVAL);
    a.sin_family = AF_UNIX;
    EXPECT_ERRNO(connect(other, (struct sockaddr *)&a, sizeof(a)), EAFNOSUPPORT);
    EXPECT_ERRNO(connect(other, (struct sockaddr *)8, sizeof(a)), EFAULT);
}

TEST(there_is_no_way_out)
{
    static const uint32_t outside[] = {0x08080808, 0xa9fea9fe, 0x0a000001, 0xe0000001, 0xffffffff};
    if (!harness_is_inside())
        SKIP("the machine may have a network");
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(80)};
        a.sin_addr.s_addr = htonl(outside[i]);
        EXPECT_ERRNO(connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&a, sizeof(a)),
                     ENETUNREACH);
    }
    struct sockaddr_in6 a6 = loopback6(80);
    inet_pton(AF_INET6, "2001:db8::7f00:1", &a6.sin6_addr);
    EXPECT_ERRNO(connect(socket(AF_INET6, SOCK_STREAM, 0), (struct sockaddr *)&a6, sizeof(a6)),
                 ENETUNREACH);
    inet_pton(AF_INET6, "::ffff:8.8.8.8", &a6.sin6_addr);
    EXPECT_ERRNO(connect(socket(AF_INET6, SOCK_STREAM, 0), (struct sockaddr *)&a6, sizeof(a6)),
                 ENETUNREACH);
}

TEST(the_address_any_leads_home)
{
    int listener = listen_at_free_port(1), fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = loopback(port_of(listener));
    socklen_t size = sizeof(a);
    a.sin_addr.s_addr = INADDR_ANY;
    EXPECT_EQ(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    EXPECT_EQ(getpeername(fd, (struct sockaddr *)&a, &size), 0);
    EXPECT_EQ(ntohl(a.sin_addr.s_addr), INADDR_LOOPBACK);
}

TEST(connecting_without_blocking_is_told_later)
{
    int listener = listen_at_free_port(1), port = port_of(listener);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    EXPECT_ERRNO(connect_port(fd, port), EINPROGRESS);
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    EXPECT_EQ(poll(&p, 1, 1000), 1);
    EXPECT_EQ(p.revents, POLLOUT);
    EXPECT_EQ(get_int(fd, SOL_SOCKET, SO_ERROR), 0);
    EXPECT_EQ(connect_port(fd, port), 0);
    EXPECT_ERRNO(connect_port(fd, port), EISCONN);
}

TEST(a_refusal_without_blocking_is_in_so_error)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), port = closed_port();
    EXPECT_ERRNO(connect_port(fd, port), EINPROGRESS);
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    EXPECT_EQ(poll(&p, 1, 1000), 1);
    EXPECT_EQ(p.revents, POLLOUT | POLLERR | POLLHUP);
    EXPECT_EQ(get_int(fd, SOL_SOCKET, SO_ERROR), ECONNREFUSED);
    EXPECT_EQ(get_int(fd, SOL_SOCKET, SO_ERROR), 0);
    EXPECT_ERRNO(connect_port(fd, port), ECONNABORTED);
}

TEST(a_refusal_is_told_by_the_next_connect)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), port = closed_port();
    EXPECT_ERRNO(connect_port(fd, port), EINPROGRESS);
    EXPECT_ERRNO(connect_port(fd, port), ECONNREFUSED);
    EXPECT_ERRNO(connect_port(fd, port), EINPROGRESS);
}

TEST(a_full_backlog_keeps_a_connection_waiting)
{
    int listener = listen_at_free_port(0);
    connected_to(listener);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    EXPECT_ERRNO(connect_port(fd, port_of(listener)), EINPROGRESS);
    EXPECT_EQ(all_events_of(fd), 0);
    EXPECT_ERRNO(connect_port(fd, port_of(listener)), EALREADY);
    EXPECT_ERRNO(send(fd, "x", 1, 0), EAGAIN);
    EXPECT_ERRNO(recv(fd, big, 1, 0), EAGAIN);
    EXPECT_GE(accept(listener, NULL, NULL), 0);
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    EXPECT_EQ(poll(&p, 1, 5000), 1);
    EXPECT_EQ(p.revents, POLLOUT);
}

TEST(a_blocking_connect_waits_for_room)
{
    int listener = listen_at_free_port(0);
    connected_to(listener);
    pid_t pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(getppid());
        EXPECT_GE(accept(listener, NULL, NULL), 0);
        harness_end_case();
    }
    EXPECT_GE(connected_to(listener), 0);
    int status = -1;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

TEST(a_connect_that_times_out_is_in_progress)
{
    int listener = listen_at_free_port(0);
    connected_to(listener);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    set_timeout_ms(fd, SO_SNDTIMEO, 100);
    EXPECT_ERRNO(connect_port(fd, port_of(listener)), EINPROGRESS);
}

TEST(closing_a_listener_resets_who_waits)
{
    char c;
    int listener = listen_at_free_port(1), fd = connected_to(listener);
    close(listener);
    EXPECT_ERRNO(read(fd, &c, 1), ECONNRESET);
    EXPECT_EQ(read(fd, &c, 1), 0);
}

TEST(data_can_be_sent_before_accept)
{
    char back[8] = "";
    int listener = listen_at_free_port(1), fd = connected_to(listener);
    EXPECT_EQ(write(fd, "early", 5), 5);
    close(fd);
    struct sockaddr_in a;
    socklen_t size = sizeof(a);
    int server = accept(listener, (struct sockaddr *)&a, &size);
    ASSERT_GE(server, 0);
    EXPECT_EQ(read(server, back, 8), 5);
    EXPECT_STR(back, "early");
    EXPECT_EQ(read(server, back, 8), 0);
}

TEST(an_accepted_socket_does_not_inherit_nonblocking)
{
    int listener = listen_at_free_port(1);
    set_nonblocking(listener);
    EXPECT_ERRNO(accept(listener, NULL, NULL), EAGAIN);
    connected_to(listener);
    int fd = accept(listener, NULL, NULL);
    EXPECT_EQ(fcntl(fd, F_GETFL), O_RDWR);
}

TEST(an_accepted_socket_inherits_options)
{
    int listener = listen_at_free_port(1);
    set_int(listener, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_int(listener, IPPROTO_TCP, TCP_NODELAY, 1);
    connected_to(listener);
    int fd = accept(listener, NULL, NULL);
    EXPECT_EQ(get_int(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(get_int(fd, IPPROTO_TCP, TCP_NODELAY), 1);
}

TEST(reading_ends_when_the_peer_closes)
{
    char c;
    tcp_pair(ends);
    EXPECT_EQ(write(ends[0], "x", 1), 1);
    close(ends[0]);
    EXPECT_EQ(all_events_of(ends[1]), POLLIN | POLLOUT | POLLRDHUP);
    EXPECT_EQ(read(ends[1], &c, 1), 1);
    EXPECT_EQ(read(ends[1], &c, 1), 0);
    EXPECT_EQ(read(ends[1], &c, 1), 0);
}

TEST(writing_to_a_closed_peer_fails_the_second_time)
{
    char c;
    tcp_pair(ends);
    close(ends[0]);
    EXPECT_EQ(send(ends[1], "x", 1, MSG_NOSIGNAL), 1);
    await(ends[1], 0);
    EXPECT_ERRNO(send(ends[1], "x", 1, MSG_NOSIGNAL), EPIPE);
    EXPECT_EQ(read(ends[1], &c, 1), 0);
}

/* An error is there to be polled for and asked for, until somebody is told. */
TEST(writing_to_a_closed_peer_leaves_an_error)
{
    tcp_pair(ends);
    close(ends[0]);
    EXPECT_ERRNO(send(ends[1], (void *)8, 1, MSG_NOSIGNAL), EFAULT);
    EXPECT_EQ(send(ends[1], "x", 1, MSG_NOSIGNAL), 1);
    await(ends[1], 0);
    EXPECT_EQ(all_events_of(ends[1]) & (POLLERR | POLLHUP), POLLERR | POLLHUP);
    EXPECT_EQ(get_int(ends[1], SOL_SOCKET, SO_ERROR), EPIPE);
    EXPECT_EQ(get_int(ends[1], SOL_SOCKET, SO_ERROR), 0);
    EXPECT_ERRNO(send(ends[1], "x", 1, MSG_NOSIGNAL), EPIPE);
}

TEST(a_peer_that_has_shut_both_ways_is_like_a_closed_one)
{
    tcp_pair(ends);
    EXPECT_EQ(shutdown(ends[0], SHUT_RDWR), 0);
    await(ends[1], POLLRDHUP);
    EXPECT_EQ(send(ends[1], "x", 1, MSG_NOSIGNAL), 1);
    await(ends[1], 0);
    EXPECT_ERRNO(send(ends[1], "x", 1, MSG_NOSIGNAL), EPIPE);
    EXPECT_EQ(get_int(ends[0], SOL_SOCKET, SO_ERROR), ECONNRESET);
}

TEST(a_connection_that_was_shut_is_connected)
{
    struct sockaddr_in a;
    int listener = listen_at_free_port(1), fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    a = loopback(port_of(listener));
    EXPECT_ERRNO(connect(fd, (struct sockaddr *)&a, sizeof(a)), EINPROGRESS);
    await(fd, POLLOUT);
    EXPECT_EQ(shutdown(fd, SHUT_WR), 0);
    EXPECT_ERRNO(connect(fd, (struct sockaddr *)&a, sizeof(a)), EISCONN);
}

TEST(not_everything_fits_into_a_connection_that_is_closed)
{
    static char data[1 << 20];
    struct iovec v[64];
    tcp_pair(ends);
    close(ends[0]);
    for (int i = 0; i < 64; i++)
        v[i] = (struct iovec){data, sizeof(data)};
    signal(SIGPIPE, SIG_IGN);
    ssize_t n = writev(ends[1], v, 64);
    EXPECT_LT(n, 64 << 20);
    EXPECT_ERRNO(writev(ends[1], v, 64), EPIPE);
}

TEST(a_broken_pipe_is_sigpipe)
{
    tcp_pair(ends);
    EXPECT_EQ(shutdown(ends[0], SHUT_WR), 0);
    pid_t pid = fork();
    if (pid == 0) {
        ssize_t n = write(ends[0], "x", 1);
        _exit(n < 0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
}

TEST(unread_data_at_close_is_a_reset)
{
    char c;
    tcp_pair(ends);
    EXPECT_EQ(write(ends[0], "unread", 6), 6);
    close(ends[1]);
    await(ends[0], 0);
    EXPECT_TRUE(all_events_of(ends[0]) & POLLERR);
    EXPECT_ERRNO(read(ends[0], &c, 1), ECONNRESET);
    EXPECT_EQ(read(ends[0], &c, 1), 0);
    EXPECT_ERRNO(send(ends[0], "x", 1, MSG_NOSIGNAL), EPIPE);
}

TEST(linger_of_nothing_is_a_reset)
{
    char c;
    struct sockaddr_in a;
    socklen_t size = sizeof(a);
    tcp_pair(ends);
    set_linger(ends[0], 0);
    close(ends[0]);
    await(ends[1], 0);
    EXPECT_EQ(all_events_of(ends[1]), POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP);
    EXPECT_ERRNO(read(ends[1], &c, 1), ECONNRESET);
    EXPECT_ERRNO(getpeername(ends[1], (struct sockaddr *)&a, &size), ENOTCONN);
}

TEST(a_reset_wakes_a_blocked_reader)
{
    char c;
    tcp_pair(ends);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        set_linger(ends[0], 0);
        harness_wait_until_sleeps(getppid());
        _exit(0);
    }
    set_linger(ends[0], 0);
    close(ends[0]);
    EXPECT_ERRNO(read(ends[1], &c, 1), ECONNRESET);
    waitpid(pid, NULL, 0);
}

TEST(half_a_close)
{
    char c;
    tcp_pair(ends);
    EXPECT_EQ(write(ends[0], "x", 1), 1);
    EXPECT_EQ(shutdown(ends[0], SHUT_WR), 0);
    EXPECT_EQ(shutdown(ends[0], SHUT_WR), 0);
    EXPECT_ERRNO(send(ends[0], "x", 1, MSG_NOSIGNAL), EPIPE);
    EXPECT_EQ(read(ends[1], &c, 1), 1);
    EXPECT_EQ(read(ends[1], &c, 1), 0);
    EXPECT_EQ(write(ends[1], "y", 1), 1);
    EXPECT_EQ(read(ends[0], &c, 1), 1);
    EXPECT_EQ(shutdown(ends[1], SHUT_WR), 0);
    EXPECT_EQ(read(ends[0], &c, 1), 0);
    await(ends[0], 0);
    EXPECT_EQ(all_events_of(ends[0]), POLLIN | POLLOUT | POLLHUP | POLLRDHUP);
    EXPECT_ERRNO(shutdown(ends[0], SHUT_RDWR), ENOTCONN);
    EXPECT_ERRNO(shutdown(ends[1], 3), EINVAL);
}

TEST(shutdown_of_reading_still_takes_data)
{
    char c;
    tcp_pair(ends);
    EXPECT_EQ(shutdown(ends[0], SHUT_RD), 0);
    EXPECT_EQ(read(ends[0], &c, 1), 0);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    usleep(10000);
    EXPECT_EQ(read(ends[0], &c, 1), 1);
    EXPECT_EQ(all_events_of(ends[0]), POLLIN | POLLOUT | POLLRDHUP);
}

TEST(shutting_down_a_listener_wakes_accept)
{
    int listener = listen_at_free_port(1);
    pid_t pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(getppid());
        _exit(shutdown(listener, SHUT_RDWR) != 0);
    }
    EXPECT_ERRNO(accept(listener, NULL, NULL), EINVAL);
    waitpid(pid, NULL, 0);
    EXPECT_ERRNO(connect_port(socket(AF_INET, SOCK_STREAM, 0), port_of(listener)), ECONNREFUSED);
}

TEST(connect_to_nothing_disconnects)
{
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    char c;
    tcp_pair(ends);
    EXPECT_EQ(connect(ends[0], &none, sizeof(none)), 0);
    await(ends[1], 0);
    EXPECT_ERRNO(read(ends[1], &c, 1), ECONNRESET);
    EXPECT_ERRNO(send(ends[0], "x", 1, MSG_NOSIGNAL), ECONNRESET);
    EXPECT_ERRNO(send(ends[0], "x", 1, MSG_NOSIGNAL), EPIPE);
    int listener = listen_at_free_port(1);
    EXPECT_EQ(connect_port(ends[0], port_of(listener)), 0);
    int server = accept(listener, NULL, NULL);
    close(ends[1]);
    EXPECT_EQ(write(ends[0], "new", 3), 3);
    EXPECT_EQ(read(server, big, 8), 3);
}

TEST(a_large_transfer_arrives_whole)
{
    static char data[4 << 20];
    size_t back = 0;
    ssize_t n;
    tcp_pair(ends);
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)(i * 13 >> 4);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        _exit(write(ends[0], data, sizeof(data)) != sizeof(data));
    }
    close(ends[0]);
    bool same = true;
    while ((n = read(ends[1], big, 50000)) > 0) {
        same = same && memcmp(big, data + back, (size_t)n) == 0;
        back += (size_t)n;
    }
    EXPECT_EQ(back, sizeof(data));
    EXPECT_TRUE(same);
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(a_full_connection_is_eagain_and_drains)
{
    size_t written = 0, back = 0;
    ssize_t n;
    tcp_pair(ends);
    set_nonblocking(ends[0]);
    while ((n = write(ends[0], big, sizeof(big))) > 0)
        written += (size_t)n;
    EXPECT_ERRNO(write(ends[0], big, 1), EAGAIN);
    EXPECT_EQ(events_of(ends[0], POLLOUT), 0);
    while (back < written && (n = read(ends[1], big, sizeof(big))) > 0)
        back += (size_t)n;
    EXPECT_EQ(back, written);
    struct pollfd p = {.fd = ends[0], .events = POLLOUT};
    EXPECT_EQ(poll(&p, 1, 5000), 1);
}

TEST(peeking_and_discarding)
{
    char back[8] = "";
    tcp_pair(ends);
    EXPECT_EQ(write(ends[0], "abcdef", 6), 6);
    EXPECT_EQ(recv(ends[1], back, 3, MSG_PEEK), 3);
    EXPECT_EQ(recv(ends[1], NULL, 2, MSG_TRUNC), 2);
    EXPECT_EQ(recv(ends[1], back, 8, 0), 4);
    EXPECT_STR(back, "cdef");
}

TEST(unread_bytes_are_counted)
{
    int n = -1;
    tcp_pair(ends);
    EXPECT_EQ(write(ends[0], "abc", 3), 3);
    await(ends[1], POLLIN);
    EXPECT_EQ(ioctl(ends[1], FIONREAD, &n), 0);
    EXPECT_EQ(n, 3);
    EXPECT_EQ(ioctl(ends[0], SIOCOUTQ, &n), 0);
    EXPECT_EQ(ioctl(ends[0], SIOCOUTQNSD, &n), 0);
    EXPECT_EQ(n, 0);
    EXPECT_ERRNO(ioctl(listen_at_free_port(1), FIONREAD, &n), EINVAL);
    EXPECT_ERRNO(ioctl(ends[0], 0x5499, &n), ENOTTY);
}

TEST(an_urgent_byte_stands_beside_the_stream)
{
    char back[8] = "", c = 0;
    int at = -1;
    tcp_pair(ends);
    EXPECT_ERRNO(recv(ends[1], &c, 1, MSG_OOB), EINVAL);
    EXPECT_EQ(send(ends[0], "abU", 3, MSG_OOB), 3);
    EXPECT_EQ(write(ends[0], "cd", 2), 2);
    usleep(10000);
    await(ends[1], POLLPRI);
    EXPECT_EQ(all_events_of(ends[1]), POLLIN | POLLOUT | POLLPRI);
    EXPECT_EQ(recv(ends[1], &c, 1, MSG_OOB), 1);
    EXPECT_EQ(c, 'U');
    EXPECT_EQ(recv(ends[1], back, 8, 0), 2);
    EXPECT_STR(back, "ab");
    EXPECT_EQ(ioctl(ends[1], SIOCATMARK, &at), 0);
    EXPECT_EQ(at, 1);
    EXPECT_EQ(recv(ends[1], back, 8, 0), 2);
    EXPECT_STR(back, "cd");
    EXPECT_EQ(ioctl(ends[1], SIOCATMARK, &at), 0);
    EXPECT_EQ(at, 0);
}

TEST(an_urgent_byte_can_stay_in_the_stream)
{
    char back[8] = "";
    tcp_pair(ends);
    set_int(ends[1], SOL_SOCKET, SO_OOBINLINE, 1);
    EXPECT_EQ(write(ends[0], "ab", 2), 2);
    EXPECT_EQ(send(ends[0], "U", 1, MSG_OOB), 1);
    await(ends[1], POLLPRI);
    EXPECT_EQ(recv(ends[1], back, 8, 0), 2);
    EXPECT_EQ(recv(ends[1], back, 8, 0), 1);
    EXPECT_EQ(back[0], 'U');
}

TEST(receive_times_out)
{
    char c;
    tcp_pair(ends);
    set_timeout_ms(ends[0], SO_RCVTIMEO, 50);
    long start = now_ms();
    EXPECT_ERRNO(recv(ends[0], &c, 1, 0), EAGAIN);
    EXPECT_ERRNO(read(ends[0], &c, 1), EAGAIN);
    EXPECT_GE(now_ms() - start, 80);
    EXPECT_EQ(write(ends[1], "abc", 3), 3);
    EXPECT_EQ(recv(ends[0], big, 8, MSG_WAITALL), 3);
}

TEST(receive_gives_no_address)
{
    struct sockaddr_in a;
    socklen_t size = sizeof(a);
    tcp_pair(ends);
    EXPECT_EQ(sendto(ends[0], "x", 1, 0, (struct sockaddr *)&a, 0), 1);
    EXPECT_EQ(recvfrom(ends[1], big, 1, 0, (struct sockaddr *)&a, &size), 1);
    EXPECT_EQ(size, 0);
}

TEST(ipv6_has_a_loopback_too)
{
    struct sockaddr_in6 a = loopback6(0), peer;
    socklen_t size = sizeof(a);
    int listener = socket(AF_INET6, SOCK_STREAM, 0), fd = socket(AF_INET6, SOCK_STREAM, 0);
    ASSERT_EQ(bind(listener, (struct sockaddr *)&a, sizeof(a)), 0);
    ASSERT_EQ(listen(listener, 1), 0);
    a = loopback6(port_of(listener));
    ASSERT_EQ(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    ASSERT_GE(accept(listener, (struct sockaddr *)&peer, &size), 0);
    EXPECT_EQ(size, sizeof(peer));
    EXPECT_TRUE(IN6_IS_ADDR_LOOPBACK(&peer.sin6_addr));
    EXPECT_EQ(ntohs(peer.sin6_port), port_of(fd));
    EXPECT_ERRNO(connect_port(socket(AF_INET, SOCK_STREAM, 0), port_of(listener)), ECONNREFUSED);
}

static int listen_any6(bool v6_only)
{
    struct sockaddr_in6 a = {.sin6_family = AF_INET6};
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, v6_only);
    ASSERT_EQ(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    ASSERT_EQ(listen(fd, 5), 0);
    return fd;
}

TEST(a_dual_stack_listener_takes_ipv4)
{
    struct sockaddr_in6 peer;
    socklen_t size = sizeof(peer);
    int listener = listen_any6(false), fd = connected_to(listener);
    EXPECT_GE(accept(listener, (struct sockaddr *)&peer, &size), 0);
    EXPECT_EQ(peer.sin6_family, AF_INET6);
    EXPECT_TRUE(IN6_IS_ADDR_V4MAPPED(&peer.sin6_addr));
    EXPECT_EQ(ntohs(peer.sin6_port), port_of(fd));
    struct sockaddr_in a = loopback(port_of(listener));
    EXPECT_ERRNO(bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&a, sizeof(a)),
                 EADDRINUSE);
}

TEST(an_ipv6_only_listener_does_not)
{
    int listener = listen_any6(true);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_ERRNO(connect_port(fd, port_of(listener)), ECONNREFUSED);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port_of(listener))};
    EXPECT_EQ(bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&a, sizeof(a)), 0);
    int value = 0;
    EXPECT_ERRNO(setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &value, sizeof(value)), EINVAL);
}

TEST(a_mapped_address_reaches_ipv4)
{
    int listener = listen_at_free_port(1), fd = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 a = loopback6(port_of(listener));
    socklen_t size = sizeof(a);
    inet_pton(AF_INET6, "::ffff:127.0.0.1", &a.sin6_addr);
    EXPECT_EQ(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    EXPECT_EQ(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    EXPECT_TRUE(IN6_IS_ADDR_V4MAPPED(&a.sin6_addr));
    int only = socket(AF_INET6, SOCK_STREAM, 0);
    set_int(only, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    inet_pton(AF_INET6, "::ffff:127.0.0.1", &a.sin6_addr);
    a.sin6_port = htons((uint16_t)port_of(listener));
    EXPECT_ERRNO(connect(only, (struct sockaddr *)&a, sizeof(a)), ENETUNREACH);
}

TEST(an_ipv4_address_is_wrong_for_an_ipv6_socket)
{
    struct sockaddr_in a = loopback(1);
    struct sockaddr_in6 a6 = loopback6(1);
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    EXPECT_ERRNO(connect(fd, (struct sockaddr *)&a, sizeof(a)), EINVAL);
    a6.sin6_family = AF_INET;
    EXPECT_ERRNO(connect(fd, (struct sockaddr *)&a6, sizeof(a6)), EAFNOSUPPORT);
}

TEST(a_socket_can_be_connected_to_itself)
{
    char c = 0;
    int fd = bound_socket(SOCK_STREAM);
    ASSERT_EQ(connect_port(fd, port_of(fd)), 0);
    EXPECT_EQ(write(fd, "x", 1), 1);
    EXPECT_EQ(read(fd, &c, 1), 1);
    EXPECT_EQ(c, 'x');
    EXPECT_EQ(shutdown(fd, SHUT_WR), 0);
    EXPECT_EQ(read(fd, &c, 1), 0);
}

TEST(shutdown_before_connecting_is_noted)
{
    char c;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_ERRNO(shutdown(fd, SHUT_RDWR), ENOTCONN);
    EXPECT_EQ(all_events_of(fd), POLLIN | POLLOUT | POLLHUP | POLLRDHUP);
    EXPECT_EQ(recv(fd, &c, 1, MSG_DONTWAIT), 0);
}

TEST(tcp_info_tells_the_state)
{
    struct tcp_info info;
    socklen_t size = sizeof(info);
    int listener = listen_at_free_port(1), fd = connected_to(listener);
    EXPECT_EQ(getsockopt(listener, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
    EXPECT_EQ(info.tcpi_state, TCP_LISTEN);
    EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
    EXPECT_EQ(info.tcpi_state, TCP_ESTABLISHED);
    close(accept(listener, NULL, NULL));
    await(fd, POLLIN);
    EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
    EXPECT_EQ(info.tcpi_state, TCP_CLOSE_WAIT);
    size = 1;
    EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
    EXPECT_EQ(size, 1);
}

TEST(many_connections_at_once)
{
    int listener = listen_at_free_port(200), fds[200];
    for (int i = 0; i < 100; i++) {
        fds[2 * i] = connected_to(listener);
        fds[2 * i + 1] = accept(listener, NULL, NULL);
        EXPECT_EQ(write(fds[2 * i], &i, sizeof(i)), sizeof(i));
    }
    for (int i = 0; i < 100; i++) {
        int got = -1;
        EXPECT_EQ(read(fds[2 * i + 1], &got, sizeof(got)), sizeof(got));
        EXPECT_EQ(got, i);
    }
}
