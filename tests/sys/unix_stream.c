// SPDX-License-Identifier: Apache-2.0
#include "tests/sys/sockets.h"

static char big[65536];
static int *volatile bad_ints = (int *)8;
static volatile sig_atomic_t pipes;

static void on_pipe(int sig)
{
    pipes++;
}

TEST(bytes_flow_both_ways)
{
    char back[8] = "";
    open_pair(SOCK_STREAM);
    EXPECT_EQ(write(pair[0], "abc", 3), 3);
    EXPECT_EQ(send(pair[0], "de", 2, 0), 2);
    EXPECT_EQ(read(pair[1], back, 8), 5);
    EXPECT_STR(back, "abcde");
    EXPECT_EQ(write(pair[1], "x", 1), 1);
    EXPECT_EQ(recv(pair[0], back, 8, 0), 1);
}

TEST(socketpair_checks_its_arguments)
{
    int fds[2];
    EXPECT_ERRNO(socketpair(AF_INET, SOCK_STREAM, 0, fds), EOPNOTSUPP);
    EXPECT_ERRNO(socketpair(AF_UNIX, SOCK_STREAM, 3, fds), EPROTONOSUPPORT);
    EXPECT_ERRNO(socketpair(AF_UNIX, SOCK_RDM, 0, fds), ESOCKTNOSUPPORT);
    EXPECT_ERRNO(socketpair(AF_UNIX, SOCK_STREAM | 0x40, 0, fds), EINVAL);
    EXPECT_ERRNO(socketpair(AF_UNIX, SOCK_STREAM, 0, bad_ints), EFAULT);
}

TEST(socketpair_that_faults_leaves_no_descriptor)
{
    int before = dup(0);
    close(before);
    EXPECT_ERRNO(socketpair(AF_UNIX, SOCK_STREAM, 0, bad_ints), EFAULT);
    EXPECT_EQ(dup(0), before);
}

TEST(flags_of_the_type_reach_the_descriptor)
{
    int fds[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    EXPECT_EQ(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(fcntl(fds[1], F_GETFL), O_RDWR | O_NONBLOCK);
    open_pair(SOCK_STREAM);
    EXPECT_EQ(fcntl(pair[0], F_GETFD), 0);
    EXPECT_EQ(fcntl(pair[0], F_GETFL), O_RDWR);
}

TEST(a_socket_is_a_socket_file)
{
    struct stat st;
    char link[64] = "", path[64];
    open_pair(SOCK_STREAM);
    ASSERT_EQ(fstat(pair[0], &st), 0);
    EXPECT_TRUE(S_ISSOCK(st.st_mode));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", pair[0]);
    EXPECT_GT(readlink(path, link, sizeof(link) - 1), 0);
    EXPECT_EQ(strncmp(link, "socket:[", 8), 0);
    EXPECT_ERRNO(lseek(pair[0], 0, SEEK_SET), ESPIPE);
    EXPECT_ERRNO(pread(pair[0], big, 1, 0), ESPIPE);
}

TEST(other_files_are_no_sockets)
{
    int fds[2];
    ASSERT_EQ(pipe(fds), 0);
    EXPECT_ERRNO(listen(fds[0], 1), ENOTSOCK);
    EXPECT_ERRNO(send(fds[1], "x", 1, 0), ENOTSOCK);
    EXPECT_ERRNO(recv(fds[0], big, 1, 0), ENOTSOCK);
    EXPECT_ERRNO(listen(99, 1), EBADF);
}

TEST(o_path_of_a_socket_is_no_descriptor_to_use)
{
    unix_listener(SOCK_STREAM, "s", 1);
    int fd = open("s", O_PATH);
    ASSERT_GE(fd, 0);
    EXPECT_ERRNO(accept(fd, NULL, NULL), EBADF);
}

TEST(opening_a_bound_socket_is_enxio)
{
    unix_listener(SOCK_STREAM, "s", 1);
    EXPECT_ERRNO(open("s", O_RDWR), ENXIO);
}

TEST(bind_makes_a_socket_with_the_umask)
{
    struct stat st;
    umask(027);
    unix_listener(SOCK_STREAM, "s", 1);
    ASSERT_EQ(stat("s", &st), 0);
    EXPECT_EQ(st.st_mode, S_IFSOCK | 0750);
}

TEST(bind_errors)
{
    struct sockaddr_un a;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), second = socket(AF_UNIX, SOCK_STREAM, 0);
    socklen_t size = unix_path(&a, "s");
    EXPECT_ERRNO(bind(fd, (struct sockaddr *)&a, 1), EINVAL);
    EXPECT_ERRNO(bind(fd, (struct sockaddr *)&a, sizeof(a) + 1), EINVAL);
    EXPECT_ERRNO(bind(fd, (struct sockaddr *)&a, (socklen_t)-1), EINVAL);
    EXPECT_ERRNO(bind(fd, (struct sockaddr *)8, size), EFAULT);
    a.sun_family = AF_INET;
    EXPECT_ERRNO(bind(fd, (struct sockaddr *)&a, size), EINVAL);
    a.sun_family = AF_UNIX;
    ASSERT_EQ(bind(fd, (struct sockaddr *)&a, size), 0);
    EXPECT_ERRNO(bind(second, (struct sockaddr *)&a, size), EADDRINUSE);
    size = unix_path(&a, "other");
    EXPECT_ERRNO(bind(fd, (struct sockaddr *)&a, size), EINVAL);
    EXPECT_ERRNO(access("other", F_OK), ENOENT);
    size = unix_path(&a, "none/s");
    EXPECT_ERRNO(bind(second, (struct sockaddr *)&a, size), ENOENT);
}

TEST(a_path_may_fill_the_whole_array)
{
    struct sockaddr_un a;
    struct {
        struct sockaddr_un a;
        char more[8];
    } back = {0};
    socklen_t size = sizeof(back);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    a.sun_family = AF_UNIX;
    memset(a.sun_path, 'p', sizeof(a.sun_path));
    ASSERT_EQ(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    EXPECT_EQ(getsockname(fd, (struct sockaddr *)&back, &size), 0);
    EXPECT_EQ(size, sizeof(a) + 1);
    EXPECT_EQ(memcmp(back.a.sun_path, a.sun_path, sizeof(a.sun_path)), 0);
}

TEST(names_are_reported)
{
    struct sockaddr_un a;
    socklen_t size = sizeof(a);
    int listener = unix_listener(SOCK_STREAM, "s", 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    EXPECT_EQ(size, sizeof(sa_family_t));
    EXPECT_ERRNO(getpeername(fd, (struct sockaddr *)&a, &size), ENOTCONN);
    ASSERT_EQ(unix_connect(fd, "s"), 0);
    size = sizeof(a);
    EXPECT_EQ(getpeername(fd, (struct sockaddr *)&a, &size), 0);
    EXPECT_EQ(size, sizeof(sa_family_t) + 2);
    EXPECT_STR(a.sun_path, "s");
    size = sizeof(a);
    int server = accept(listener, (struct sockaddr *)&a, &size);
    ASSERT_GE(server, 0);
    EXPECT_EQ(size, sizeof(sa_family_t));
    size = sizeof(a);
    EXPECT_EQ(getsockname(server, (struct sockaddr *)&a, &size), 0);
    EXPECT_STR(a.sun_path, "s");
}

TEST(a_short_buffer_gets_the_name_cut)
{
    struct sockaddr_un a;
    memset(&a, 'z', sizeof(a));
    socklen_t size = 4;
    int fd = unix_listener(SOCK_STREAM, "name", 1);
    EXPECT_EQ(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    EXPECT_EQ(size, sizeof(sa_family_t) + 5);
    EXPECT_EQ(memcmp(a.sun_path, "nazz", 4), 0);
    size = (socklen_t)-1;
    EXPECT_ERRNO(getsockname(fd, (struct sockaddr *)&a, &size), EINVAL);
    EXPECT_ERRNO(getsockname(fd, (struct sockaddr *)&a, (socklen_t *)8), EFAULT);
}

TEST(listen_needs_a_name_and_a_connection_type)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_ERRNO(listen(fd, 1), EINVAL);
    EXPECT_ERRNO(accept(fd, NULL, NULL), EINVAL);
    int datagram = socket(AF_UNIX, SOCK_DGRAM, 0);
    EXPECT_ERRNO(listen(datagram, 1), EOPNOTSUPP);
    EXPECT_ERRNO(accept(datagram, NULL, NULL), EOPNOTSUPP);
    open_pair(SOCK_STREAM);
    EXPECT_ERRNO(listen(pair[0], 1), EINVAL);
}

TEST(connect_errors)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_ERRNO(unix_connect(fd, "nobody"), ENOENT);
    close(open("file", O_CREAT | O_RDWR, 0666));
    EXPECT_ERRNO(unix_connect(fd, "file"), ECONNREFUSED);
    EXPECT_ERRNO(unix_connect(fd, "file/x"), ENOTDIR);
    int packet = unix_listener(SOCK_SEQPACKET, "packet", 1);
    EXPECT_ERRNO(unix_connect(fd, "packet"), EPROTOTYPE);
    int listener = unix_listener(SOCK_STREAM, "s", 1);
    ASSERT_EQ(unix_connect(fd, "s"), 0);
    EXPECT_ERRNO(unix_connect(fd, "s"), EISCONN);
    EXPECT_ERRNO(unix_connect(listener, "s"), EINVAL);
    close(listener);
    close(packet);
    int late = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_ERRNO(unix_connect(late, "s"), ECONNREFUSED);
}

TEST(connect_needs_write_permission)
{
    struct sockaddr_un a;
    if (getuid() == 0)
        SKIP("root may write everywhere");
    unix_listener(SOCK_STREAM, "s", 1);
    ASSERT_EQ(chmod("s", 0500), 0);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_ERRNO(connect(fd, (struct sockaddr *)&a, unix_path(&a, "s")), EACCES);
}

TEST(a_symbolic_link_leads_to_the_socket)
{
    unix_listener(SOCK_STREAM, "s", 1);
    ASSERT_EQ(symlink("s", "link"), 0);
    EXPECT_EQ(unix_connect(socket(AF_UNIX, SOCK_STREAM, 0), "link"), 0);
    ASSERT_EQ(rename("s", "moved"), 0);
    EXPECT_EQ(unix_connect(socket(AF_UNIX, SOCK_STREAM, 0), "moved"), 0);
}

TEST(abstract_names_need_no_file)
{
    struct sockaddr_un a, back;
    socklen_t size = unix_abstract(&a, "a"), back_size = sizeof(back);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), second = socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(bind(fd, (struct sockaddr *)&a, size), 0);
    EXPECT_ERRNO(bind(second, (struct sockaddr *)&a, size), EADDRINUSE);
    EXPECT_EQ(getsockname(fd, (struct sockaddr *)&back, &back_size), 0);
    EXPECT_EQ(back_size, size);
    EXPECT_EQ(memcmp(&a, &back, size), 0);
    ASSERT_EQ(listen(fd, 1), 0);
    EXPECT_EQ(connect(second, (struct sockaddr *)&a, size), 0);
    /* The size is part of the name. */
    int third = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_ERRNO(connect(third, (struct sockaddr *)&a, size + 1), ECONNREFUSED);
    close(fd);
    EXPECT_ERRNO(connect(third, (struct sockaddr *)&a, size), ECONNREFUSED);
    EXPECT_EQ(bind(third, (struct sockaddr *)&a, size), 0);
}

TEST(autobind_gives_an_abstract_name)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    socklen_t size = sizeof(a);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(bind(fd, (struct sockaddr *)&a, sizeof(sa_family_t)), 0);
    EXPECT_EQ(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    EXPECT_EQ(size, sizeof(sa_family_t) + 6);
    EXPECT_EQ(a.sun_path[0], '\0');
    for (int i = 1; i < 6; i++)
        EXPECT_TRUE(strchr("0123456789abcdef", a.sun_path[i]) != NULL);
}

TEST(a_full_backlog_is_eagain_without_blocking)
{
    unix_listener(SOCK_STREAM, "s", 1);
    for (int i = 0; i < 2; i++)
        EXPECT_EQ(unix_connect(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), "s"), 0);
    EXPECT_ERRNO(unix_connect(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), "s"), EAGAIN);
}

TEST(a_full_backlog_blocks_until_accept)
{
    int listener = unix_listener(SOCK_STREAM, "s", 0);
    ASSERT_EQ(unix_connect(socket(AF_UNIX, SOCK_STREAM, 0), "s"), 0);
    pid_t pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(getppid());
        EXPECT_GE(accept(listener, NULL, NULL), 0);
        harness_end_case();
    }
    EXPECT_EQ(unix_connect(socket(AF_UNIX, SOCK_STREAM, 0), "s"), 0);
    int status = -1;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

TEST(connect_waits_no_longer_than_its_timeout)
{
    unix_listener(SOCK_STREAM, "s", 0);
    ASSERT_EQ(unix_connect(socket(AF_UNIX, SOCK_STREAM, 0), "s"), 0);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    set_timeout_ms(fd, SO_SNDTIMEO, 60);
    long start = now_ms();
    EXPECT_ERRNO(unix_connect(fd, "s"), EAGAIN);
    EXPECT_GE(now_ms() - start, 40);
}

TEST(closing_a_listener_resets_who_waits)
{
    char c;
    int listener = unix_listener(SOCK_STREAM, "s", 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(unix_connect(fd, "s"), 0);
    close(listener);
    EXPECT_ERRNO(read(fd, &c, 1), ECONNRESET);
    EXPECT_EQ(read(fd, &c, 1), 0);
}

TEST(a_connection_can_be_used_before_it_is_accepted)
{
    char back[8] = "";
    int listener = unix_listener(SOCK_STREAM, "s", 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(unix_connect(fd, "s"), 0);
    EXPECT_EQ(write(fd, "early", 5), 5);
    close(fd);
    int server = accept(listener, NULL, NULL);
    EXPECT_EQ(read(server, back, 8), 5);
    EXPECT_STR(back, "early");
    EXPECT_EQ(read(server, back, 8), 0);
}

TEST(accept_does_not_block_when_asked)
{
    int listener = unix_listener(SOCK_STREAM, "s", 1);
    set_nonblocking(listener);
    EXPECT_ERRNO(accept(listener, NULL, NULL), EAGAIN);
    EXPECT_ERRNO(accept4(listener, NULL, NULL, 1), EINVAL);
    EXPECT_EQ(all_events_of(listener), 0);
    ASSERT_EQ(unix_connect(socket(AF_UNIX, SOCK_STREAM, 0), "s"), 0);
    EXPECT_EQ(all_events_of(listener), POLLIN);
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    EXPECT_TRUE(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

TEST(accept_times_out)
{
    int listener = unix_listener(SOCK_STREAM, "s", 1);
    set_timeout_ms(listener, SO_RCVTIMEO, 50);
    long start = now_ms();
    EXPECT_ERRNO(accept(listener, NULL, NULL), EAGAIN);
    EXPECT_GE(now_ms() - start, 40);
}

TEST(a_connection_without_a_free_descriptor_is_not_lost)
{
    struct rlimit old, low;
    int listener = unix_listener(SOCK_STREAM, "s", 1);
    ASSERT_EQ(unix_connect(socket(AF_UNIX, SOCK_STREAM, 0), "s"), 0);
    int next = dup(0);
    close(next);
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = (struct rlimit){(rlim_t)next, old.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    EXPECT_ERRNO(accept(listener, NULL, NULL), EMFILE);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
    EXPECT_EQ(accept(listener, NULL, NULL), next);
}

TEST(shutting_down_a_listener_wakes_accept)
{
    int listener = unix_listener(SOCK_STREAM, "s", 1);
    pid_t pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(getppid());
        _exit(shutdown(listener, SHUT_RD) != 0);
    }
    EXPECT_ERRNO(accept(listener, NULL, NULL), EINVAL);
    EXPECT_ERRNO(unix_connect(socket(AF_UNIX, SOCK_STREAM, 0), "s"), ECONNREFUSED);
    waitpid(pid, NULL, 0);
}

TEST(an_unconnected_stream_can_do_nothing)
{
    char c;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un a;
    EXPECT_ERRNO(write(fd, "x", 1), ENOTCONN);
    EXPECT_ERRNO(read(fd, &c, 1), EINVAL);
    EXPECT_ERRNO(sendto(fd, "x", 1, 0, (struct sockaddr *)&a, unix_path(&a, "s")), EOPNOTSUPP);
    EXPECT_EQ(all_events_of(fd), POLLOUT | POLLHUP);
    open_pair(SOCK_STREAM);
    EXPECT_ERRNO(sendto(pair[0], "x", 1, 0, (struct sockaddr *)&a, unix_path(&a, "s")), EISCONN);
}

TEST(reading_ends_when_the_peer_closes)
{
    char c;
    open_pair(SOCK_STREAM);
    EXPECT_EQ(write(pair[0], "x", 1), 1);
    close(pair[0]);
    EXPECT_EQ(all_events_of(pair[1]), POLLIN | POLLOUT | POLLHUP | POLLRDHUP);
    EXPECT_EQ(read(pair[1], &c, 1), 1);
    EXPECT_EQ(read(pair[1], &c, 1), 0);
    EXPECT_EQ(read(pair[1], &c, 1), 0);
}

TEST(writing_to_a_closed_peer_is_sigpipe)
{
    signal(SIGPIPE, on_pipe);
    open_pair(SOCK_STREAM);
    close(pair[0]);
    EXPECT_ERRNO(write(pair[1], "x", 1), EPIPE);
    EXPECT_EQ(pipes, 1);
    EXPECT_ERRNO(send(pair[1], "x", 1, 0), EPIPE);
    EXPECT_EQ(pipes, 2);
    EXPECT_ERRNO(send(pair[1], "x", 1, MSG_NOSIGNAL), EPIPE);
    EXPECT_EQ(pipes, 2);
}

TEST(unread_data_at_close_is_a_reset)
{
    char c;
    signal(SIGPIPE, SIG_IGN);
    open_pair(SOCK_STREAM);
    EXPECT_EQ(write(pair[0], "unread", 6), 6);
    EXPECT_EQ(write(pair[1], "x", 1), 1);
    close(pair[1]);
    EXPECT_TRUE(all_events_of(pair[0]) & POLLERR);
    /* What is there is still read, then the error, then the end. */
    EXPECT_EQ(read(pair[0], &c, 1), 1);
    EXPECT_ERRNO(read(pair[0], &c, 1), ECONNRESET);
    EXPECT_EQ(read(pair[0], &c, 1), 0);
    EXPECT_ERRNO(write(pair[0], "x", 1), EPIPE);
}

TEST(so_error_takes_the_reset)
{
    open_pair(SOCK_STREAM);
    EXPECT_EQ(write(pair[0], "unread", 6), 6);
    close(pair[1]);
    EXPECT_EQ(get_int(pair[0], SOL_SOCKET, SO_ERROR), ECONNRESET);
    EXPECT_EQ(get_int(pair[0], SOL_SOCKET, SO_ERROR), 0);
}

TEST(shutdown_of_one_direction)
{
    char c;
    signal(SIGPIPE, SIG_IGN);
    open_pair(SOCK_STREAM);
    EXPECT_EQ(write(pair[0], "x", 1), 1);
    EXPECT_EQ(shutdown(pair[0], SHUT_WR), 0);
    EXPECT_ERRNO(write(pair[0], "x", 1), EPIPE);
    EXPECT_EQ(all_events_of(pair[1]), POLLIN | POLLOUT | POLLRDHUP);
    EXPECT_EQ(read(pair[1], &c, 1), 1);
    EXPECT_EQ(read(pair[1], &c, 1), 0);
    EXPECT_EQ(write(pair[1], "y", 1), 1);
    EXPECT_EQ(read(pair[0], &c, 1), 1);
    EXPECT_ERRNO(shutdown(pair[0], 3), EINVAL);
    EXPECT_ERRNO(shutdown(pair[0], -1), EINVAL);
}

TEST(shutdown_of_reading_stops_the_peers_writing)
{
    char c;
    signal(SIGPIPE, SIG_IGN);
    open_pair(SOCK_STREAM);
    EXPECT_EQ(write(pair[1], "x", 1), 1);
    EXPECT_EQ(shutdown(pair[0], SHUT_RD), 0);
    EXPECT_ERRNO(write(pair[1], "x", 1), EPIPE);
    EXPECT_EQ(read(pair[0], &c, 1), 1);
    EXPECT_EQ(read(pair[0], &c, 1), 0);
    EXPECT_EQ(write(pair[0], "y", 1), 1);
}

TEST(shutdown_of_both_is_a_hang_up)
{
    open_pair(SOCK_STREAM);
    EXPECT_EQ(shutdown(pair[0], SHUT_RDWR), 0);
    EXPECT_EQ(all_events_of(pair[0]), POLLIN | POLLOUT | POLLHUP | POLLRDHUP);
    EXPECT_EQ(all_events_of(pair[1]), POLLIN | POLLOUT | POLLHUP | POLLRDHUP);
}

TEST(shutdown_needs_no_connection)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(shutdown(fd, SHUT_RDWR), 0);
}

TEST(nothing_to_read_is_eagain)
{
    char c;
    open_pair(SOCK_STREAM);
    EXPECT_ERRNO(recv(pair[0], &c, 1, MSG_DONTWAIT), EAGAIN);
    set_nonblocking(pair[0]);
    EXPECT_ERRNO(read(pair[0], &c, 1), EAGAIN);
    EXPECT_EQ(all_events_of(pair[0]), POLLOUT);
}

TEST(a_full_socket_is_eagain_and_drains)
{
    size_t written = 0, back = 0;
    ssize_t n;
    open_pair(SOCK_STREAM);
    set_nonblocking(pair[0]);
    set_nonblocking(pair[1]);
    while ((n = write(pair[0], big, sizeof(big))) > 0)
        written += (size_t)n;
    EXPECT_ERRNO(write(pair[0], big, 1), EAGAIN);
    EXPECT_GE(written, 100000);
    EXPECT_LE(written, 1000000);
    EXPECT_EQ(events_of(pair[0], POLLOUT), 0);
    while ((n = read(pair[1], big, sizeof(big))) > 0)
        back += (size_t)n;
    EXPECT_EQ(back, written);
    EXPECT_EQ(events_of(pair[0], POLLOUT), POLLOUT);
}

TEST(a_blocking_write_goes_on_until_all_is_taken)
{
    static char data[1 << 20];
    size_t back = 0;
    open_pair(SOCK_STREAM);
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)(i * 7 >> 3);
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[1]);
        _exit(write(pair[0], data, sizeof(data)) != sizeof(data));
    }
    close(pair[0]);
    ssize_t n;
    bool same = true;
    while ((n = read(pair[1], big, sizeof(big))) > 0) {
        same = same && memcmp(big, data + back, (size_t)n) == 0;
        back += (size_t)n;
    }
    EXPECT_EQ(back, sizeof(data));
    EXPECT_TRUE(same);
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(a_send_that_times_out_tells_what_it_sent)
{
    static char data[1 << 20];
    open_pair(SOCK_STREAM);
    set_timeout_ms(pair[0], SO_SNDTIMEO, 50);
    ssize_t n = send(pair[0], data, sizeof(data), 0);
    EXPECT_GT(n, 0);
    EXPECT_LT(n, (ssize_t)sizeof(data));
    EXPECT_ERRNO(send(pair[0], data, sizeof(data), 0), EAGAIN);
}

TEST(a_receive_times_out)
{
    char c;
    open_pair(SOCK_STREAM);
    set_timeout_ms(pair[0], SO_RCVTIMEO, 50);
    long start = now_ms();
    EXPECT_ERRNO(recv(pair[0], &c, 1, 0), EAGAIN);
    EXPECT_ERRNO(read(pair[0], &c, 1), EAGAIN);
    EXPECT_GE(now_ms() - start, 80);
}

TEST(peeking_leaves_the_data)
{
    char back[8] = "";
    open_pair(SOCK_STREAM);
    EXPECT_EQ(write(pair[0], "abc", 3), 3);
    EXPECT_EQ(recv(pair[1], back, 2, MSG_PEEK), 2);
    EXPECT_EQ(recv(pair[1], back, 8, MSG_PEEK), 3);
    EXPECT_EQ(recv(pair[1], back, 8, 0), 3);
    EXPECT_STR(back, "abc");
    EXPECT_ERRNO(recv(pair[1], back, 8, MSG_PEEK | MSG_DONTWAIT), EAGAIN);
}

TEST(waitall_waits_for_all)
{
    char back[8] = "";
    open_pair(SOCK_STREAM);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 4; i++) {
            usleep(10000);
            if (write(pair[0], "ab", 2) != 2)
                _exit(1);
        }
        _exit(0);
    }
    EXPECT_EQ(recv(pair[1], back, 7, MSG_WAITALL), 7);
    EXPECT_STR(back, "abababa");
    waitpid(pid, NULL, 0);
    close(pair[0]);
    EXPECT_EQ(recv(pair[1], back, 7, MSG_WAITALL), 1);
}

TEST(a_low_water_mark_holds_reads_back)
{
    char back[8];
    open_pair(SOCK_STREAM);
    set_int(pair[1], SOL_SOCKET, SO_RCVLOWAT, 4);
    EXPECT_EQ(get_int(pair[1], SOL_SOCKET, SO_RCVLOWAT), 4);
    EXPECT_EQ(write(pair[0], "abc", 3), 3);
    EXPECT_EQ(write(pair[0], "d", 1), 1);
    EXPECT_EQ(read(pair[1], back, 8), 4);
}

TEST(a_read_that_does_not_wait_takes_what_there_is)
{
    char back[8];
    open_pair(SOCK_STREAM);
    set_int(pair[1], SOL_SOCKET, SO_RCVLOWAT, 4);
    EXPECT_EQ(write(pair[0], "abc", 3), 3);
    EXPECT_EQ(recv(pair[1], back, 8, MSG_PEEK | MSG_WAITALL | MSG_DONTWAIT), 3);
    EXPECT_EQ(recv(pair[1], back, 8, MSG_DONTWAIT), 3);
}

TEST(urgent_data_is_not_to_be_had)
{
    char c;
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0), at = -1;
    EXPECT_ERRNO(send(fd, "x", 1, MSG_OOB), EOPNOTSUPP);
    EXPECT_ERRNO(recv(fd, &c, 1, MSG_OOB), EOPNOTSUPP);
    EXPECT_ERRNO(ioctl(fd, SIOCATMARK, &at), EOPNOTSUPP);
    open_pair(SOCK_STREAM);
    EXPECT_EQ(ioctl(pair[0], SIOCATMARK, &at), 0);
    EXPECT_EQ(at, 0);
}

TEST(bad_buffers_are_efault)
{
    open_pair(SOCK_STREAM);
    EXPECT_ERRNO(send(pair[0], (void *)8, 4, 0), EFAULT);
    EXPECT_EQ(write(pair[0], "abc", 3), 3);
    EXPECT_ERRNO(recv(pair[1], (void *)8, 3, 0), EFAULT);
    /* A stream loses nothing by it. */
    EXPECT_EQ(recv(pair[1], big, 8, MSG_DONTWAIT), 3);
}

TEST(unread_bytes_are_counted)
{
    int n = -1;
    open_pair(SOCK_STREAM);
    EXPECT_EQ(write(pair[0], "abc", 3), 3);
    EXPECT_EQ(write(pair[0], "de", 2), 2);
    EXPECT_EQ(ioctl(pair[1], FIONREAD, &n), 0);
    EXPECT_EQ(n, 5);
    EXPECT_EQ(ioctl(pair[0], TIOCOUTQ, &n), 0);
    EXPECT_GE(n, 5);
    EXPECT_EQ(read(pair[1], big, 8), 5);
    EXPECT_EQ(ioctl(pair[0], TIOCOUTQ, &n), 0);
    EXPECT_EQ(n, 0);
    EXPECT_ERRNO(ioctl(unix_listener(SOCK_STREAM, "s", 1), FIONREAD, &n), EINVAL);
}

TEST(an_interrupted_receive_is_eintr)
{
    char c;
    struct sigaction action = {.sa_handler = on_pipe};
    struct itimerval soon = {.it_value = {0, 50000}};
    open_pair(SOCK_STREAM);
    ASSERT_EQ(sigaction(SIGALRM, &action, NULL), 0);
    ASSERT_EQ(setitimer(ITIMER_REAL, &soon, NULL), 0);
    EXPECT_ERRNO(recv(pair[0], &c, 1, 0), EINTR);
}

TEST(a_receive_with_a_timeout_is_not_restarted)
{
    char c;
    struct sigaction action = {.sa_handler = on_pipe, .sa_flags = SA_RESTART};
    struct itimerval soon = {.it_value = {0, 50000}};
    open_pair(SOCK_STREAM);
    set_timeout_ms(pair[0], SO_RCVTIMEO, 5000);
    ASSERT_EQ(sigaction(SIGALRM, &action, NULL), 0);
    ASSERT_EQ(setitimer(ITIMER_REAL, &soon, NULL), 0);
    EXPECT_ERRNO(recv(pair[0], &c, 1, 0), EINTR);
}

TEST(who_connected_is_known_by_its_credentials)
{
    struct ucred u;
    socklen_t size = sizeof(u);
    int listener = unix_listener(SOCK_STREAM, "s", 1);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (unix_connect(fd, "s") != 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &size) != 0)
            _exit(1);
        _exit(u.pid != getppid() || u.uid != getuid());
    }
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    int fd = accept(listener, NULL, NULL);
    EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &size), 0);
    EXPECT_EQ(u.pid, pid);
    EXPECT_EQ(u.uid, getuid());
    EXPECT_EQ(u.gid, getgid());
}

TEST(an_unconnected_socket_has_nobody_at_the_other_end)
{
    struct ucred u;
    socklen_t size = sizeof(u);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &size), 0);
    EXPECT_EQ(u.pid, 0);
    EXPECT_EQ(u.uid, (uid_t)-1);
}

TEST(a_forked_child_shares_the_socket)
{
    char c;
    open_pair(SOCK_STREAM);
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        _exit(write(pair[1], "c", 1) != 1);
    }
    close(pair[1]);
    EXPECT_EQ(read(pair[0], &c, 1), 1);
    EXPECT_EQ(read(pair[0], &c, 1), 0);
    waitpid(pid, NULL, 0);
}

TEST(vectors_are_gathered_and_scattered)
{
    char one[2], two[4] = "";
    struct iovec out[] = {{(void *)"ab", 2}, {(void *)"", 0}, {(void *)"cde", 3}};
    struct iovec in[] = {{one, 2}, {two, 3}};
    open_pair(SOCK_STREAM);
    EXPECT_EQ(writev(pair[0], out, 3), 5);
    EXPECT_EQ(readv(pair[1], in, 2), 5);
    EXPECT_STR(two, "cde");
}

TEST(packets_keep_their_borders)
{
    char back[8];
    struct msghdr h = {0};
    struct iovec v = {back, 2};
    open_pair(SOCK_SEQPACKET);
    EXPECT_EQ(send(pair[0], "abc", 3, MSG_EOR), 3);
    EXPECT_EQ(send(pair[0], "de", 2, 0), 2);
    EXPECT_EQ(send(pair[0], "", 0, 0), 0);
    h.msg_iov = &v;
    h.msg_iovlen = 1;
    EXPECT_EQ(recvmsg(pair[1], &h, 0), 2);
    EXPECT_EQ(h.msg_flags, MSG_TRUNC);
    EXPECT_EQ(recvmsg(pair[1], &h, 0), 2);
    EXPECT_EQ(h.msg_flags, 0);
    EXPECT_EQ(recv(pair[1], back, 8, 0), 0);
    EXPECT_ERRNO(recv(pair[1], back, 8, MSG_DONTWAIT), EAGAIN);
    EXPECT_EQ(write(pair[0], "xyz", 3), 3);
    EXPECT_EQ(recv(pair[1], back, 1, MSG_TRUNC | MSG_PEEK), 3);
    EXPECT_EQ(recv(pair[1], back, 8, 0), 3);
}

TEST(packets_end_when_the_peer_is_gone)
{
    char c;
    open_pair(SOCK_SEQPACKET);
    EXPECT_EQ(send(pair[0], "a", 1, 0), 1);
    close(pair[0]);
    EXPECT_EQ(recv(pair[1], &c, 1, MSG_DONTWAIT), 1);
    EXPECT_EQ(recv(pair[1], &c, 1, MSG_DONTWAIT), 0);
    EXPECT_ERRNO(send(pair[1], "a", 1, MSG_NOSIGNAL), EPIPE);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    EXPECT_ERRNO(recv(fd, &c, 1, 0), ENOTCONN);
    EXPECT_ERRNO(send(fd, "x", 1, 0), ENOTCONN);
}
