// SPDX-License-Identifier: Apache-2.0
#include "tests/sys/sockets.h"

static char big[300000];

static int bound(const char *name)
{
    struct sockaddr_un a;
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    ASSERT_GE(fd, 0);
    socklen_t size = unix_path(&a, name);
    ASSERT_EQ(bind(fd, (struct sockaddr *)&a, size), 0);
    return fd;
}

static ssize_t send_to(int fd, const char *name, const char *text, int flags)
{
    struct sockaddr_un a;
    socklen_t size = unix_path(&a, name);
    return sendto(fd, text, strlen(text), flags, (struct sockaddr *)&a, size);
}

TEST(datagrams_keep_their_borders)
{
    char back[8] = "";
    open_pair(SOCK_DGRAM);
    EXPECT_EQ(send(pair[0], "abc", 3, 0), 3);
    EXPECT_EQ(send(pair[0], "de", 2, 0), 2);
    EXPECT_EQ(recv(pair[1], back, 8, 0), 3);
    EXPECT_EQ(recv(pair[1], back, 1, 0), 1);
    EXPECT_ERRNO(recv(pair[1], back, 8, MSG_DONTWAIT), EAGAIN);
}

TEST(a_datagram_can_be_empty)
{
    char c;
    open_pair(SOCK_DGRAM);
    EXPECT_EQ(send(pair[0], "", 0, 0), 0);
    EXPECT_EQ(events_of(pair[1], POLLIN), POLLIN);
    EXPECT_EQ(recv(pair[1], &c, 1, MSG_DONTWAIT), 0);
    EXPECT_ERRNO(recv(pair[1], &c, 1, MSG_DONTWAIT), EAGAIN);
}

TEST(truncation_tells_the_full_size)
{
    char back[4];
    struct iovec v = {back, 2};
    struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1};
    open_pair(SOCK_DGRAM);
    EXPECT_EQ(send(pair[0], "abcdef", 6, 0), 6);
    EXPECT_EQ(recvmsg(pair[1], &h, MSG_PEEK | MSG_TRUNC), 6);
    EXPECT_EQ(h.msg_flags, MSG_TRUNC);
    EXPECT_EQ(recvmsg(pair[1], &h, 0), 2);
    EXPECT_EQ(h.msg_flags, MSG_TRUNC);
}

TEST(the_senders_name_comes_with_a_datagram)
{
    char back[8];
    struct sockaddr_un from;
    socklen_t size = sizeof(from);
    int receiver = bound("r"), sender = bound("s"), nameless = socket(AF_UNIX, SOCK_DGRAM, 0);
    EXPECT_EQ(send_to(sender, "r", "x", 0), 1);
    EXPECT_EQ(recvfrom(receiver, back, 8, 0, (struct sockaddr *)&from, &size), 1);
    EXPECT_EQ(size, sizeof(sa_family_t) + 2);
    EXPECT_STR(from.sun_path, "s");
    EXPECT_EQ(send_to(nameless, "r", "x", 0), 1);
    EXPECT_EQ(recvfrom(receiver, back, 8, 0, (struct sockaddr *)&from, &size), 1);
    EXPECT_EQ(size, 0);
}

TEST(sending_errors)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    struct sockaddr_un a;
    EXPECT_ERRNO(send(fd, "x", 1, 0), ENOTCONN);
    EXPECT_ERRNO(send_to(fd, "nobody", "x", 0), ENOENT);
    close(open("file", O_CREAT | O_RDWR, 0666));
    EXPECT_ERRNO(send_to(fd, "file", "x", 0), ECONNREFUSED);
    unix_listener(SOCK_STREAM, "stream", 1);
    EXPECT_ERRNO(send_to(fd, "stream", "x", 0), EPROTOTYPE);
    unix_path(&a, "file");
    a.sun_family = AF_INET;
    EXPECT_ERRNO(sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof(a)), EINVAL);
    EXPECT_ERRNO(sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof(a) + 30), EINVAL);
    close(bound("gone"));
    EXPECT_ERRNO(send_to(fd, "gone", "x", 0), ECONNREFUSED);
}

TEST(a_datagram_must_fit_the_buffer)
{
    open_pair(SOCK_DGRAM);
    EXPECT_ERRNO(send(pair[0], big, sizeof(big), 0), EMSGSIZE);
    EXPECT_EQ(send(pair[0], big, 100000, 0), 100000);
    set_int(pair[0], SOL_SOCKET, SO_SNDBUF, 2500);
    EXPECT_ERRNO(send(pair[0], big, 6000, 0), EMSGSIZE);
}

TEST(a_full_receiver_is_eagain)
{
    int count = 0;
    open_pair(SOCK_DGRAM);
    set_nonblocking(pair[0]);
    while (count < 5000 && send(pair[0], "message", 7, 0) == 7)
        count++;
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_GT(count, 5);
    EXPECT_LT(count, 5000);
    for (int i = 0; i < count; i++)
        EXPECT_EQ(recv(pair[1], big, 8, MSG_DONTWAIT), 7);
    EXPECT_EQ(send(pair[0], "message", 7, 0), 7);
}

TEST(poll_tells_when_a_connected_receiver_has_room)
{
    int receiver = bound("r"), sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    ASSERT_EQ(unix_connect(sender, "r"), 0);
    EXPECT_EQ(events_of(sender, POLLOUT), POLLOUT);
    while (send(sender, "x", 1, 0) == 1)
        ;
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_EQ(events_of(sender, POLLOUT), 0);
    pid_t pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(getppid());
        while (recv(receiver, big, 1, MSG_DONTWAIT) == 1)
            ;
        _exit(0);
    }
    struct pollfd p = {.fd = sender, .events = POLLOUT};
    EXPECT_EQ(poll(&p, 1, 5000), 1);
    waitpid(pid, NULL, 0);
}

TEST(a_blocking_sender_waits_for_room)
{
    int receiver = bound("r"), sender = socket(AF_UNIX, SOCK_DGRAM, 0);
    while (send_to(sender, "r", "x", MSG_DONTWAIT) == 1)
        ;
    EXPECT_EQ(errno, EAGAIN);
    pid_t pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(getppid());
        while (recv(receiver, big, 1, MSG_DONTWAIT) == 1)
            ;
        _exit(0);
    }
    EXPECT_EQ(send_to(sender, "r", "x", 0), 1);
    waitpid(pid, NULL, 0);
}

TEST(a_connected_socket_hears_only_its_peer)
{
    char c;
    int a = bound("a"), b = bound("b"), other = socket(AF_UNIX, SOCK_DGRAM, 0);
    ASSERT_EQ(unix_connect(a, "b"), 0);
    EXPECT_EQ(send_to(b, "a", "x", 0), 1);
    EXPECT_ERRNO(send_to(other, "a", "x", 0), EPERM);
    EXPECT_ERRNO(unix_connect(other, "a"), EPERM);
    EXPECT_EQ(recv(a, &c, 1, MSG_DONTWAIT), 1);
}

TEST(connect_to_nothing_disconnects)
{
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    struct sockaddr_un a;
    socklen_t size = sizeof(a);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    bound("r");
    ASSERT_EQ(unix_connect(fd, "r"), 0);
    EXPECT_EQ(send(fd, "x", 1, 0), 1);
    EXPECT_EQ(getpeername(fd, (struct sockaddr *)&a, &size), 0);
    EXPECT_STR(a.sun_path, "r");
    EXPECT_EQ(connect(fd, &none, sizeof(none)), 0);
    EXPECT_ERRNO(send(fd, "x", 1, 0), ENOTCONN);
    EXPECT_ERRNO(getpeername(fd, (struct sockaddr *)&a, &size), ENOTCONN);
}

TEST(a_closed_receiver_refuses_once)
{
    int receiver = bound("r"), fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    ASSERT_EQ(unix_connect(fd, "r"), 0);
    close(receiver);
    EXPECT_ERRNO(send(fd, "x", 1, 0), ECONNREFUSED);
    EXPECT_ERRNO(send(fd, "x", 1, 0), ENOTCONN);
}

TEST(a_closed_pair_refuses_without_a_signal)
{
    char c;
    open_pair(SOCK_DGRAM);
    close(pair[1]);
    EXPECT_ERRNO(send(pair[0], "x", 1, 0), ECONNREFUSED);
    EXPECT_ERRNO(recv(pair[0], &c, 1, MSG_DONTWAIT), EAGAIN);
}

TEST(a_refusal_loses_what_was_received)
{
    char c;
    open_pair(SOCK_DGRAM);
    EXPECT_EQ(send(pair[1], "x", 1, 0), 1);
    close(pair[1]);
    EXPECT_ERRNO(send(pair[0], "x", 1, 0), ECONNREFUSED);
    EXPECT_ERRNO(recv(pair[0], &c, 1, MSG_DONTWAIT), EAGAIN);
}

TEST(messages_outlive_their_sender)
{
    char back[8] = "";
    int receiver = bound("r"), fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    EXPECT_EQ(send_to(fd, "r", "last", 0), 4);
    close(fd);
    EXPECT_EQ(recv(receiver, back, 8, 0), 4);
    EXPECT_STR(back, "last");
}

TEST(shutdown_of_sending_is_epipe_without_a_signal)
{
    open_pair(SOCK_DGRAM);
    EXPECT_EQ(shutdown(pair[0], SHUT_WR), 0);
    EXPECT_ERRNO(send(pair[0], "x", 1, 0), EPIPE);
    EXPECT_EQ(send(pair[1], "x", 1, 0), 1);
}

TEST(shutdown_of_receiving_ends_a_blocking_read)
{
    char c;
    open_pair(SOCK_DGRAM);
    EXPECT_EQ(shutdown(pair[0], SHUT_RD), 0);
    EXPECT_EQ(recv(pair[0], &c, 1, 0), 0);
    EXPECT_ERRNO(send(pair[1], "x", 1, 0), EPIPE);
}

TEST(the_first_datagram_is_counted)
{
    int n = -1;
    open_pair(SOCK_DGRAM);
    EXPECT_EQ(ioctl(pair[1], FIONREAD, &n), 0);
    EXPECT_EQ(n, 0);
    EXPECT_EQ(send(pair[0], "abc", 3, 0), 3);
    EXPECT_EQ(send(pair[0], "de", 2, 0), 2);
    EXPECT_EQ(ioctl(pair[1], FIONREAD, &n), 0);
    EXPECT_EQ(n, 3);
}

TEST(many_messages_in_one_call)
{
    char out[3][4] = {"a", "bb", "ccc"}, in[4][4];
    struct mmsghdr send_vector[3] = {0}, receive_vector[4] = {0};
    struct iovec out_iov[3], in_iov[4];
    open_pair(SOCK_DGRAM);
    for (int i = 0; i < 3; i++) {
        out_iov[i] = (struct iovec){out[i], (size_t)i + 1};
        send_vector[i].msg_hdr = (struct msghdr){.msg_iov = &out_iov[i], .msg_iovlen = 1};
    }
    for (int i = 0; i < 4; i++) {
        in_iov[i] = (struct iovec){in[i], 4};
        receive_vector[i].msg_hdr = (struct msghdr){.msg_iov = &in_iov[i], .msg_iovlen = 1};
    }
    EXPECT_EQ(sendmmsg(pair[0], send_vector, 3, 0), 3);
    EXPECT_EQ(send_vector[2].msg_len, 3);
    EXPECT_EQ(recvmmsg(pair[1], receive_vector, 4, MSG_DONTWAIT, NULL), 3);
    EXPECT_EQ(receive_vector[0].msg_len, 1);
    EXPECT_EQ(receive_vector[2].msg_len, 3);
    EXPECT_ERRNO(recvmmsg(pair[1], receive_vector, 4, MSG_DONTWAIT, NULL), EAGAIN);
}

/* More than is sent, or received, without looking at what else there is to do. */
TEST(as_many_messages_in_one_call_as_there_can_be)
{
    enum { COUNT = 1024, SIZE = 4096 };
    static char out[SIZE], in[SIZE];
    static struct mmsghdr vector[COUNT];
    struct iovec out_iov = {out, SIZE}, in_iov = {in, SIZE};
    int status, got = 0;
    open_pair(SOCK_DGRAM);
    for (int i = 0; i < COUNT; i++)
        vector[i].msg_hdr = (struct msghdr){.msg_iov = &out_iov, .msg_iovlen = 1};
    pid_t child = fork();
    if (child == 0)
        _exit(sendmmsg(pair[0], vector, COUNT, 0) != COUNT || vector[COUNT - 1].msg_len != SIZE);
    for (int i = 0; i < COUNT; i++)
        vector[i].msg_hdr = (struct msghdr){.msg_iov = &in_iov, .msg_iovlen = 1};
    while (got < COUNT) {
        int n = recvmmsg(pair[1], vector, (unsigned)(COUNT - got), 0, NULL);
        ASSERT_GT(n, 0);
        EXPECT_EQ(vector[n - 1].msg_len, SIZE);
        got += n;
    }
    EXPECT_ERRNO(recv(pair[1], in, SIZE, MSG_DONTWAIT), EAGAIN);
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(recvmmsg_waits_for_one)
{
    char in[2][4];
    struct mmsghdr vector[2] = {0};
    struct iovec iov[2];
    open_pair(SOCK_DGRAM);
    for (int i = 0; i < 2; i++) {
        iov[i] = (struct iovec){in[i], 4};
        vector[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i], .msg_iovlen = 1};
    }
    pid_t pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(getppid());
        _exit(send(pair[0], "x", 1, 0) != 1);
    }
    EXPECT_EQ(recvmmsg(pair[1], vector, 2, MSG_WAITFORONE, NULL), 1);
    struct timespec bad = {0, 1000000000};
    EXPECT_ERRNO(recvmmsg(pair[1], vector, 2, 0, &bad), EINVAL);
    waitpid(pid, NULL, 0);
}

TEST(sendmmsg_stops_at_the_first_error)
{
    struct iovec good = {(void *)"x", 1}, bad = {(void *)8, 4};
    struct mmsghdr vector[3] = {0};
    open_pair(SOCK_DGRAM);
    vector[0].msg_hdr = vector[2].msg_hdr = (struct msghdr){.msg_iov = &good, .msg_iovlen = 1};
    vector[1].msg_hdr = (struct msghdr){.msg_iov = &bad, .msg_iovlen = 1};
    EXPECT_EQ(sendmmsg(pair[0], vector, 3, 0), 1);
    EXPECT_ERRNO(sendmmsg(pair[0], vector + 1, 2, 0), EFAULT);
}

TEST(message_headers_are_checked)
{
    struct iovec v = {(void *)"x", 1};
    struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1025};
    struct sockaddr_un a;
    open_pair(SOCK_DGRAM);
    EXPECT_ERRNO(sendmsg(pair[0], &h, 0), EMSGSIZE);
    h.msg_iovlen = 1;
    h.msg_name = &a;
    h.msg_namelen = (socklen_t)-1;
    EXPECT_ERRNO(sendmsg(pair[0], &h, 0), EINVAL);
    EXPECT_ERRNO(sendmsg(pair[0], (struct msghdr *)8, 0), EFAULT);
    EXPECT_ERRNO(recvmsg(pair[0], (struct msghdr *)8, 0), EFAULT);
}
