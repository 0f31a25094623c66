// SPDX-License-Identifier: Apache-2.0
#include "tests/sys/sockets.h"

#include <sys/time.h>

#define RIGHTS_MAX 253

union control {
    char bytes[CMSG_SPACE(sizeof(int) * 300) + CMSG_SPACE(sizeof(struct ucred))];
    struct cmsghdr align;
};

static union control control;
static char text[64];
static struct iovec iov;

static struct msghdr header(size_t text_size, size_t control_size)
{
    iov = (struct iovec){text, text_size};
    return (struct msghdr){.msg_iov = &iov,
                           .msg_iovlen = 1,
                           .msg_control = control_size ? &control : NULL,
                           .msg_controllen = control_size};
}

static ssize_t send_fds(int socket, const int *fds, int count, int flags)
{
    struct msghdr h = header(1, CMSG_SPACE(sizeof(int) * (size_t)count));
    struct cmsghdr *c = CMSG_FIRSTHDR(&h);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
    memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)count);
    return sendmsg(socket, &h, flags);
}

static ssize_t send_fd(int socket, int fd)
{
    return send_fds(socket, &fd, 1, 0);
}

/* The first descriptor of a message with `room` bytes for ancillary data; -1: none came. */
static int receive_fd(int socket, size_t room, int flags, int *ret_flags)
{
    struct msghdr h = header(sizeof(text), room);
    int fd = -1;
    EXPECT_GE(recvmsg(socket, &h, flags), 0);
    if (ret_flags)
        *ret_flags = h.msg_flags;
    struct cmsghdr *c = h.msg_controllen ? CMSG_FIRSTHDR(&h) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(c), sizeof(fd));
    return fd;
}

static ssize_t send_creds(int socket, pid_t pid, uid_t uid, gid_t gid)
{
    struct ucred u = {pid, uid, gid};
    struct msghdr h = header(1, CMSG_SPACE(sizeof(u)));
    struct cmsghdr *c = CMSG_FIRSTHDR(&h);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_CREDENTIALS;
    c->cmsg_len = CMSG_LEN(sizeof(u));
    memcpy(CMSG_DATA(c), &u, sizeof(u));
    return sendmsg(socket, &h, 0);
}

static bool receive_creds(int socket, struct ucred *ret)
{
    struct msghdr h = header(sizeof(text), sizeof(control));
    EXPECT_GE(recvmsg(socket, &h, 0), 0);
    struct cmsghdr *c = CMSG_FIRSTHDR(&h);
    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
        return false;
    EXPECT_EQ(c->cmsg_len, CMSG_LEN(sizeof(*ret)));
    memcpy(ret, CMSG_DATA(c), sizeof(*ret));
    return true;
}

static int next_fd(void)
{
    int fd = dup(0);
    close(fd);
    return fd;
}

TEST(a_file_is_handed_over)
{
    int fds[2];
    char c = 0;
    open_pair(SOCK_STREAM);
    ASSERT_EQ(pipe(fds), 0);
    EXPECT_EQ(send_fd(pair[0], fds[0]), 1);
    close(fds[0]);
    int got = receive_fd(pair[1], sizeof(control), 0, NULL);
    ASSERT_GE(got, 0);
    EXPECT_EQ(write(fds[1], "p", 1), 1);
    EXPECT_EQ(read(got, &c, 1), 1);
    EXPECT_EQ(c, 'p');
}

TEST(the_open_file_is_shared_not_opened_again)
{
    open_pair(SOCK_STREAM);
    int fd = open("file", O_CREAT | O_RDWR, 0666);
    EXPECT_EQ(write(fd, "abcdef", 6), 6);
    EXPECT_EQ(send_fd(pair[0], fd), 1);
    int got = receive_fd(pair[1], sizeof(control), 0, NULL);
    EXPECT_EQ(lseek(got, 0, SEEK_CUR), 6);
    EXPECT_EQ(lseek(got, 2, SEEK_SET), 2);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 2);
}

TEST(another_process_receives)
{
    open_pair(SOCK_STREAM);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = receive_fd(pair[1], sizeof(control), 0, NULL);
        _exit(write(fd, "child", 5) != 5);
    }
    int fd = open("file", O_CREAT | O_RDWR, 0666);
    EXPECT_EQ(send_fd(pair[0], fd), 1);
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 5);
}

TEST(files_come_to_who_waits_for_them)
{
    open_pair(SOCK_STREAM);
    pid_t child = fork();
    if (child == 0) {
        harness_wait_until_sleeps(getppid());
        _exit(send_fd(pair[0], 0) != 1);
    }
    int fd = receive_fd(pair[1], sizeof(control), 0, NULL);
    int status;
    EXPECT_GE(fd, 0);
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(many_files_in_one_message)
{
    int fds[RIGHTS_MAX + 1];
    struct msghdr h;
    open_pair(SOCK_DGRAM);
    for (int i = 0; i <= RIGHTS_MAX; i++)
        fds[i] = 0;
    EXPECT_ERRNO(send_fds(pair[0], fds, RIGHTS_MAX + 1, 0), EINVAL);
    EXPECT_EQ(send_fds(pair[0], fds, RIGHTS_MAX, 0), 1);
    h = header(1, sizeof(control));
    EXPECT_EQ(recvmsg(pair[1], &h, 0), 1);
    EXPECT_EQ(CMSG_FIRSTHDR(&h)->cmsg_len, CMSG_LEN(RIGHTS_MAX * sizeof(int)));
    EXPECT_EQ(h.msg_flags & MSG_CTRUNC, 0);
}

TEST(bad_descriptors_are_not_sent)
{
    int fds[2] = {0, 999};
    open_pair(SOCK_STREAM);
    EXPECT_ERRNO(send_fds(pair[0], fds, 2, 0), EBADF);
    EXPECT_ERRNO(recv(pair[1], text, 1, MSG_DONTWAIT), EAGAIN);
}

TEST(an_o_path_descriptor_can_be_sent)
{
    open_pair(SOCK_STREAM);
    EXPECT_EQ(send_fd(pair[0], open(".", O_PATH)), 1);
    int fd = receive_fd(pair[1], sizeof(control), 0, NULL);
    EXPECT_TRUE(fcntl(fd, F_GETFL) & O_PATH);
}

TEST(malformed_control_data_is_einval)
{
    open_pair(SOCK_STREAM);
    struct msghdr h = header(1, CMSG_SPACE(sizeof(int)));
    struct cmsghdr *c = CMSG_FIRSTHDR(&h);
    memset(&control, 0, sizeof(control));
    *c = (struct cmsghdr){.cmsg_len = 4, .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    EXPECT_ERRNO(sendmsg(pair[0], &h, 0), EINVAL);
    c->cmsg_len = CMSG_LEN(sizeof(int) * 100);
    EXPECT_ERRNO(sendmsg(pair[0], &h, 0), EINVAL);
    c->cmsg_len = (size_t)-1;
    EXPECT_ERRNO(sendmsg(pair[0], &h, 0), EINVAL);
    c->cmsg_len = CMSG_LEN(sizeof(int));
    c->cmsg_type = 77;
    EXPECT_ERRNO(sendmsg(pair[0], &h, 0), EINVAL);
    h.msg_control = (void *)8;
    EXPECT_ERRNO(sendmsg(pair[0], &h, 0), EFAULT);
    h.msg_controllen = (size_t)1 << 40;
    EXPECT_ERRNO(sendmsg(pair[0], &h, 0), ENOBUFS);
}

TEST(other_levels_are_skipped)
{
    open_pair(SOCK_STREAM);
    struct msghdr h = header(1, CMSG_SPACE(sizeof(int)));
    struct cmsghdr *c = CMSG_FIRSTHDR(&h);
    *c = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_TCP, .cmsg_type = 1};
    EXPECT_EQ(sendmsg(pair[0], &h, 0), 1);
}

TEST(files_without_room_are_dropped)
{
    int flags = 0, fds[2];
    open_pair(SOCK_STREAM);
    ASSERT_EQ(pipe(fds), 0);
    EXPECT_EQ(send_fd(pair[0], fds[1]), 1);
    close(fds[1]);
    EXPECT_EQ(receive_fd(pair[1], 0, 0, &flags), -1);
    EXPECT_TRUE(flags & MSG_CTRUNC);
    /* The write end is gone for good. */
    EXPECT_EQ(read(fds[0], text, 1), 0);
    EXPECT_EQ(send_fd(pair[0], 0), 1);
    EXPECT_EQ(receive_fd(pair[1], sizeof(struct cmsghdr), 0, &flags), -1);
    EXPECT_TRUE(flags & MSG_CTRUNC);
}

TEST(as_many_files_as_fit_are_given)
{
    int fds[4] = {0, 0, 0, 0};
    open_pair(SOCK_STREAM);
    EXPECT_EQ(send_fds(pair[0], fds, 4, 0), 1);
    struct msghdr h = header(1, CMSG_LEN(sizeof(int) * 3));
    int before = next_fd();
    EXPECT_EQ(recvmsg(pair[1], &h, 0), 1);
    EXPECT_TRUE(h.msg_flags & MSG_CTRUNC);
    EXPECT_EQ(CMSG_FIRSTHDR(&h)->cmsg_len, CMSG_LEN(sizeof(int) * 3));
    EXPECT_EQ(next_fd(), before + 3);
}

TEST(a_full_descriptor_table_cuts_the_files)
{
    struct rlimit old, low;
    int fds[3] = {0, 0, 0}, next = next_fd();
    open_pair(SOCK_STREAM);
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
    EXPECT_EQ(send_fds(pair[0], fds, 3, 0), 1);
    low = (struct rlimit){(rlim_t)next + 3, old.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    struct msghdr h = header(1, sizeof(control));
    EXPECT_EQ(recvmsg(pair[1], &h, 0), 1);
    EXPECT_TRUE(h.msg_flags & MSG_CTRUNC);
    EXPECT_EQ(CMSG_FIRSTHDR(&h)->cmsg_len, CMSG_LEN(sizeof(int)));
}

TEST(cloexec_can_be_asked_for)
{
    open_pair(SOCK_STREAM);
    EXPECT_EQ(send_fd(pair[0], 0), 1);
    EXPECT_EQ(send_fd(pair[0], 0), 1);
    EXPECT_EQ(fcntl(receive_fd(pair[1], sizeof(control), MSG_CMSG_CLOEXEC, NULL), F_GETFD),
              FD_CLOEXEC);
    EXPECT_EQ(fcntl(receive_fd(pair[1], sizeof(control), 0, NULL), F_GETFD), 0);
}

TEST(peeking_gives_another_descriptor)
{
    open_pair(SOCK_STREAM);
    EXPECT_EQ(send_fd(pair[0], 0), 1);
    int first = receive_fd(pair[1], sizeof(control), MSG_PEEK, NULL);
    int second = receive_fd(pair[1], sizeof(control), 0, NULL);
    EXPECT_GE(first, 0);
    EXPECT_GE(second, 0);
    EXPECT_NE(first, second);
}

TEST(plain_read_drops_files)
{
    int fds[2];
    open_pair(SOCK_STREAM);
    ASSERT_EQ(pipe(fds), 0);
    EXPECT_EQ(send_fd(pair[0], fds[1]), 1);
    close(fds[1]);
    int before = next_fd();
    EXPECT_EQ(read(pair[1], text, 8), 1);
    EXPECT_EQ(next_fd(), before);
    EXPECT_EQ(read(fds[0], text, 1), 0);
}

TEST(files_end_a_read_of_a_stream)
{
    open_pair(SOCK_STREAM);
    EXPECT_EQ(write(pair[0], "ab", 2), 2);
    EXPECT_EQ(send_fd(pair[0], 0), 1);
    EXPECT_EQ(write(pair[0], "cd", 2), 2);
    struct msghdr h = header(sizeof(text), sizeof(control));
    /* What comes before joins them, what comes after does not. */
    EXPECT_EQ(recvmsg(pair[1], &h, 0), 3);
    EXPECT_TRUE(CMSG_FIRSTHDR(&h) != NULL);
    h = header(sizeof(text), sizeof(control));
    EXPECT_EQ(recvmsg(pair[1], &h, 0), 2);
    EXPECT_EQ(h.msg_controllen, 0);
}

TEST(files_come_with_the_first_byte_of_their_message)
{
    struct msghdr h = header(4, CMSG_SPACE(sizeof(int)));
    int fd = 0;
    open_pair(SOCK_STREAM);
    struct cmsghdr *c = CMSG_FIRSTHDR(&h);
    *c = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    EXPECT_EQ(sendmsg(pair[0], &h, 0), 4);
    h = header(1, sizeof(control));
    EXPECT_EQ(recvmsg(pair[1], &h, 0), 1);
    EXPECT_TRUE(h.msg_controllen > 0);
    h = header(8, sizeof(control));
    EXPECT_EQ(recvmsg(pair[1], &h, 0), 3);
    EXPECT_EQ(h.msg_controllen, 0);
}

TEST(waitall_stops_at_files)
{
    open_pair(SOCK_STREAM);
    EXPECT_EQ(send_fd(pair[0], 0), 1);
    struct msghdr h = header(10, sizeof(control));
    EXPECT_EQ(recvmsg(pair[1], &h, MSG_WAITALL), 1);
}

TEST(files_need_a_byte_on_a_stream)
{
    int fd = 0;
    open_pair(SOCK_STREAM);
    struct msghdr h = header(0, CMSG_SPACE(sizeof(int)));
    struct cmsghdr *c = CMSG_FIRSTHDR(&h);
    *c = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    EXPECT_EQ(sendmsg(pair[0], &h, 0), 0);
    EXPECT_ERRNO(recv(pair[1], text, 1, MSG_DONTWAIT), EAGAIN);
}

TEST(too_many_files_in_flight_are_refused)
{
    struct rlimit low = {40, 40};
    int fds[30], count = 0;
    if (getuid() == 0)
        SKIP("the limit does not hold for root");
    open_pair(SOCK_DGRAM);
    set_nonblocking(pair[0]);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    for (int i = 0; i < 30; i++)
        fds[i] = 0;
    while (count < 10 && send_fds(pair[0], fds, 30, 0) == 1)
        count++;
    EXPECT_EQ(errno, ETOOMANYREFS);
    EXPECT_EQ(count, 2);
    struct msghdr h = header(1, 0);
    EXPECT_EQ(recvmsg(pair[1], &h, 0), 1);
    EXPECT_EQ(send_fds(pair[0], fds, 30, 0), 1);
}

TEST(a_socket_in_its_own_queue_is_collected)
{
    int fds[2], garbage[2];
    ASSERT_EQ(pipe(fds), 0);
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, garbage), 0);
    /* Both ends lie in each other's queue, with the pipe's end that tells when they are gone. */
    EXPECT_EQ(send_fd(garbage[0], garbage[0]), 1);
    EXPECT_EQ(send_fd(garbage[1], garbage[1]), 1);
    EXPECT_EQ(send_fd(garbage[0], fds[1]), 1);
    close(fds[1]);
    close(garbage[0]);
    close(garbage[1]);
    /* Linux looks for garbage when a unix socket goes. */
    open_pair(SOCK_STREAM);
    close(pair[0]);
    close(pair[1]);
    struct pollfd p = {.fd = fds[0], .events = POLLIN};
    EXPECT_EQ(poll(&p, 1, 5000), 1);
    EXPECT_EQ(read(fds[0], text, 1), 0);
}

TEST(a_listener_in_the_queue_of_its_own_connection_is_collected)
{
    int fds[2];
    ASSERT_EQ(pipe(fds), 0);
    int listener = unix_listener(SOCK_STREAM, "s", 5), fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(unix_connect(fd, "s"), 0);
    EXPECT_EQ(send_fd(fd, listener), 1);
    EXPECT_EQ(send_fd(fd, fds[1]), 1);
    close(fds[1]);
    close(listener);
    close(fd);
    open_pair(SOCK_STREAM);
    close(pair[0]);
    close(pair[1]);
    struct pollfd p = {.fd = fds[0], .events = POLLIN};
    EXPECT_EQ(poll(&p, 1, 5000), 1);
}

TEST(what_can_still_be_reached_is_kept)
{
    int outer[2], inner[2];
    open_pair(SOCK_STREAM);
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, outer), 0);
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, inner), 0);
    EXPECT_EQ(write(inner[0], "deep", 4), 4);
    EXPECT_EQ(send_fd(outer[0], inner[1]), 1);
    close(inner[1]);
    EXPECT_EQ(send_fd(pair[0], outer[1]), 1);
    close(outer[1]);
    close(outer[0]);
    for (int i = 0; i < 3; i++) {
        int more[2];
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, more), 0);
        close(more[0]);
        close(more[1]);
        usleep(10000);
    }
    int fd = receive_fd(pair[1], sizeof(control), 0, NULL);
    fd = receive_fd(fd, sizeof(control), 0, NULL);
    EXPECT_EQ(read(fd, text, 8), 4);
}

TEST(a_long_chain_of_sockets_within_sockets_goes)
{
    int fds[2], last[2];
    ASSERT_EQ(pipe(fds), 0);
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, last), 0);
    EXPECT_EQ(send_fd(last[0], fds[1]), 1);
    close(fds[1]);
    for (int i = 0; i < 2000; i++) {
        int next[2];
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, next), 0);
        if (send_fd(next[0], last[1]) != 1)
            break; /* the in-flight limit of an unprivileged user */
        close(last[0]);
        close(last[1]);
        last[0] = next[0];
        last[1] = next[1];
    }
    close(last[0]);
    close(last[1]);
    struct pollfd p = {.fd = fds[0], .events = POLLIN};
    EXPECT_EQ(poll(&p, 1, 10000), 1);
}

TEST(credentials_come_when_asked_for)
{
    struct ucred u;
    open_pair(SOCK_DGRAM);
    EXPECT_EQ(send(pair[0], "x", 1, 0), 1);
    set_int(pair[1], SOL_SOCKET, SO_PASSCRED, 1);
    EXPECT_EQ(get_int(pair[1], SOL_SOCKET, SO_PASSCRED), 1);
    /* Sent before: nobody's. */
    ASSERT_TRUE(receive_creds(pair[1], &u));
    EXPECT_EQ(u.pid, 0);
    EXPECT_EQ(u.uid, 65534);
    EXPECT_EQ(u.gid, 65534);
    EXPECT_EQ(write(pair[0], "x", 1), 1);
    ASSERT_TRUE(receive_creds(pair[1], &u));
    EXPECT_EQ(u.pid, getpid());
    EXPECT_EQ(u.uid, getuid());
    EXPECT_EQ(u.gid, getgid());
}

TEST(a_connection_passes_credentials_when_its_listener_does)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "listener"};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    int client = socket(AF_UNIX, SOCK_STREAM, 0);
    set_int(listener, SOL_SOCKET, SO_PASSCRED, 1);
    ASSERT_EQ(bind(listener, (struct sockaddr *)&a, sizeof(a)), 0);
    ASSERT_EQ(listen(listener, 1), 0);
    ASSERT_EQ(connect(client, (struct sockaddr *)&a, sizeof(a)), 0);
    EXPECT_EQ(get_int(accept(listener, NULL, NULL), SOL_SOCKET, SO_PASSCRED), 1);
    EXPECT_EQ(get_int(client, SOL_SOCKET, SO_PASSCRED), 0);
}

TEST(credentials_of_a_child_are_its_own)
{
    struct ucred u;
    open_pair(SOCK_STREAM);
    set_int(pair[1], SOL_SOCKET, SO_PASSCRED, 1);
    pid_t pid = fork();
    if (pid == 0)
        _exit(write(pair[0], "x", 1) != 1);
    waitpid(pid, NULL, 0);
    ASSERT_TRUE(receive_creds(pair[1], &u));
    EXPECT_EQ(u.pid, pid);
}

TEST(own_credentials_can_be_given)
{
    struct ucred u;
    open_pair(SOCK_STREAM);
    set_int(pair[1], SOL_SOCKET, SO_PASSCRED, 1);
    EXPECT_EQ(send_creds(pair[0], getpid(), getuid(), getgid()), 1);
    ASSERT_TRUE(receive_creds(pair[1], &u));
    EXPECT_EQ(u.pid, getpid());
}

TEST(forged_credentials_are_eperm)
{
    if (getuid() == 0)
        SKIP("root may forge");
    open_pair(SOCK_STREAM);
    EXPECT_ERRNO(send_creds(pair[0], getppid(), getuid(), getgid()), EPERM);
    EXPECT_ERRNO(send_creds(pair[0], getpid(), 0, getgid()), EPERM);
    EXPECT_ERRNO(send_creds(pair[0], getpid(), getuid(), 0), EPERM);
}

TEST(root_may_claim_another_process_that_exists)
{
    struct ucred u;
    if (getuid() != 0)
        SKIP("only root may");
    open_pair(SOCK_STREAM);
    set_int(pair[1], SOL_SOCKET, SO_PASSCRED, 1);
    EXPECT_EQ(send_creds(pair[0], getppid(), 7, 8), 1);
    ASSERT_TRUE(receive_creds(pair[1], &u));
    EXPECT_EQ(u.pid, getppid());
    EXPECT_EQ(u.uid, 7);
    EXPECT_ERRNO(send_creds(pair[0], 0x3fffffff, 7, 8), ESRCH);
}

TEST(a_child_that_was_just_made_exists)
{
    if (getuid() != 0)
        SKIP("only root may");
    open_pair(SOCK_STREAM);
    for (int i = 0; i < 50; i++) {
        pid_t pid = fork();
        if (pid == 0)
            pause();
        EXPECT_EQ(send_creds(pair[0], pid, 0, 0), 1);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        pid = fork();
        if (pid == 0)
            pause();
        EXPECT_EQ(fcntl(pair[0], F_SETOWN, pid), 0);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

TEST(credentials_without_room_are_cut)
{
    open_pair(SOCK_STREAM);
    set_int(pair[1], SOL_SOCKET, SO_PASSCRED, 1);
    EXPECT_EQ(write(pair[0], "ab", 2), 2);
    struct msghdr h = header(1, 0);
    EXPECT_EQ(recvmsg(pair[1], &h, 0), 1);
    EXPECT_TRUE(h.msg_flags & MSG_CTRUNC);
    h = header(1, CMSG_LEN(4));
    EXPECT_EQ(recvmsg(pair[1], &h, 0), 1);
    EXPECT_TRUE(h.msg_flags & MSG_CTRUNC);
    EXPECT_EQ(h.msg_controllen, CMSG_LEN(4));
}

TEST(other_credentials_end_a_read_of_a_stream)
{
    struct ucred u;
    open_pair(SOCK_STREAM);
    set_int(pair[1], SOL_SOCKET, SO_PASSCRED, 1);
    EXPECT_EQ(write(pair[0], "ab", 2), 2);
    pid_t pid = fork();
    if (pid == 0)
        _exit(write(pair[0], "cd", 2) != 2);
    waitpid(pid, NULL, 0);
    EXPECT_EQ(write(pair[0], "ef", 2), 2);
    struct msghdr h = header(sizeof(text), sizeof(control));
    EXPECT_EQ(recvmsg(pair[1], &h, 0), 2);
    ASSERT_TRUE(receive_creds(pair[1], &u));
    EXPECT_EQ(u.pid, pid);
    ASSERT_TRUE(receive_creds(pair[1], &u));
    EXPECT_EQ(u.pid, getpid());
}

/* ---- a read with MSG_WAITALL that gets its bytes one after the other ---- */

/* A child that writes, waits until the reader waits, does `later`, and ends. */
static pid_t writer(const char *first, void (*later)(void))
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    close(pair[1]);
    if (write(pair[0], first, strlen(first)) != (ssize_t)strlen(first))
        _exit(1);
    harness_wait_until_sleeps(getppid());
    if (later)
        later();
    _exit(0);
}

/* Reads 6 bytes; *ret_pid: whose credentials came with them. */
static ssize_t read_all_of_six(pid_t *ret_pid, int *ret_fd)
{
    struct msghdr h = header(6, sizeof(control));
    ssize_t n = recvmsg(pair[1], &h, MSG_WAITALL);
    *ret_pid = *ret_fd = -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&h); n >= 0 && c; c = CMSG_NXTHDR(&h, c)) {
        struct ucred u;
        if (c->cmsg_type == SCM_RIGHTS)
            memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
        memcpy(&u, CMSG_DATA(c), sizeof(u));
        if (c->cmsg_type == SCM_CREDENTIALS)
            *ret_pid = u.pid;
    }
    return n;
}

static void open_pair_with_creds(void)
{
    open_pair(SOCK_STREAM);
    set_int(pair[1], SOL_SOCKET, SO_PASSCRED, 1);
}

static void write_def(void)
{
    write(pair[0], "def", 3);
}

TEST(waitall_gives_the_credentials_of_its_bytes)
{
    pid_t from;
    int fd;
    open_pair_with_creds();
    pid_t pid = writer("abc", write_def);
    close(pair[0]);
    EXPECT_EQ(read_all_of_six(&from, &fd), 6);
    EXPECT_EQ(from, pid);
    waitpid(pid, NULL, 0);
}

TEST(waitall_gives_the_credentials_of_its_bytes_at_the_end_of_the_stream)
{
    pid_t from;
    int fd;
    open_pair_with_creds();
    pid_t pid = writer("abc", NULL);
    close(pair[0]);
    EXPECT_EQ(read_all_of_six(&from, &fd), 3);
    EXPECT_EQ(from, pid);
    waitpid(pid, NULL, 0);
}

static void write_def_in_a_child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        write_def();
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

TEST(waitall_stops_at_other_credentials)
{
    pid_t from;
    int fd;
    open_pair_with_creds();
    pid_t pid = writer("abc", write_def_in_a_child);
    close(pair[0]);
    EXPECT_EQ(read_all_of_six(&from, &fd), 3);
    EXPECT_EQ(from, pid);
    EXPECT_EQ(read_all_of_six(&from, &fd), 3);
    EXPECT_NE(from, pid);
    EXPECT_GT(from, 0);
    waitpid(pid, NULL, 0);
}

static void send_standard_input(void)
{
    send_fd(pair[0], 0);
}

TEST(waitall_gives_the_files_that_end_it)
{
    pid_t from;
    int fd;
    open_pair_with_creds();
    pid_t pid = writer("abc", send_standard_input);
    close(pair[0]);
    EXPECT_EQ(read_all_of_six(&from, &fd), 4);
    EXPECT_EQ(from, pid);
    EXPECT_GE(fd, 0);
    waitpid(pid, NULL, 0);
}

static void nothing(int sig)
{
}

TEST(waitall_that_a_signal_ends_gives_the_bytes_alone)
{
    const struct sigaction a = {.sa_handler = nothing};
    const struct itimerval again_and_again = {{0, 20000}, {0, 20000}}, none = {{0, 0}, {0, 0}};
    open_pair_with_creds();
    EXPECT_EQ(write(pair[0], "abc", 3), 3);
    sigaction(SIGALRM, &a, NULL);
    setitimer(ITIMER_REAL, &again_and_again, NULL);
    struct msghdr h = header(6, sizeof(control));
    EXPECT_EQ(recvmsg(pair[1], &h, MSG_WAITALL), 3);
    setitimer(ITIMER_REAL, &none, NULL);
    EXPECT_EQ(h.msg_controllen, 0);
    EXPECT_EQ(h.msg_flags, 0);
    EXPECT_EQ(memcmp(text, "abc", 3), 0);
}

TEST(waitall_that_times_out_gives_what_came_with_its_bytes)
{
    const struct timeval soon = {0, 50000};
    pid_t from;
    int fd;
    open_pair_with_creds();
    setsockopt(pair[1], SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
    EXPECT_EQ(write(pair[0], "abc", 3), 3);
    EXPECT_EQ(read_all_of_six(&from, &fd), 3);
    EXPECT_EQ(from, getpid());
}

TEST(files_and_credentials_come_together)
{
    open_pair(SOCK_STREAM);
    set_int(pair[1], SOL_SOCKET, SO_PASSCRED, 1);
    EXPECT_EQ(send_fd(pair[0], 0), 1);
    struct msghdr h = header(1, sizeof(control));
    EXPECT_EQ(recvmsg(pair[1], &h, 0), 1);
    struct cmsghdr *c = CMSG_FIRSTHDR(&h);
    ASSERT_TRUE(c != NULL);
    EXPECT_EQ(c->cmsg_type, SCM_CREDENTIALS);
    c = CMSG_NXTHDR(&h, c);
    ASSERT_TRUE(c != NULL);
    EXPECT_EQ(c->cmsg_type, SCM_RIGHTS);
}

TEST(inet_sockets_pass_no_files)
{
    int ends[2];
    tcp_pair(ends);
    EXPECT_EQ(send_fd(ends[0], 0), 1);
    struct msghdr h = header(1, sizeof(control));
    EXPECT_EQ(recvmsg(ends[1], &h, 0), 1);
    EXPECT_EQ(h.msg_controllen, 0);
}
