// SPDX-License-Identifier: Apache-2.0
#include "lib/base/passed.h"

#include "tests/harness/harness.h"

#include <fcntl.h>

static int ends[2];
static char byte;
static struct iovec part = {&byte, 1};

static void start(void)
{
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
}

static void send_with(int fd)
{
    union passed room;
    struct msghdr h = {.msg_iov = &part, .msg_iovlen = 1};
    passed_put(&h, &room, fd);
    ASSERT_EQ(sendmsg(ends[0], &h, 0), 1);
}

static int receive(void)
{
    union passed room;
    struct msghdr h = {.msg_iov = &part, .msg_iovlen = 1};
    passed_expect(&h, &room);
    ASSERT_EQ(recvmsg(ends[1], &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC), 1);
    return passed_take(&h);
}

/* The lowest number that is free: who holds one more has another. */
static int lowest_free(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    close(fd);
    return fd;
}

TEST(one_goes_along_and_stays_the_senders)
{
    start();
    int own = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    send_with(own);
    int fd = receive();
    ASSERT_GE(fd, 0);
    EXPECT_NE(fd, own);
    EXPECT_EQ(read(fd, &byte, 1), 1);
    EXPECT_EQ(read(own, &byte, 1), 1);
}

TEST(a_message_without_one_has_none)
{
    start();
    send_with(-1);
    EXPECT_EQ(receive(), -1);
}

TEST(of_two_that_somebody_sends_one_comes_and_none_is_left_open)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } room = {0};
    struct msghdr h = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof(room)};
    start();
    int two[] = {ends[0], ends[1]};
    struct cmsghdr *c = CMSG_FIRSTHDR(&h);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(two));
    memcpy(CMSG_DATA(c), two, sizeof(two));
    ASSERT_EQ(sendmsg(ends[0], &h, 0), 1);
    int before = lowest_free();
    int fd = receive();
    EXPECT_EQ(fd, before);
    close(fd);
    EXPECT_EQ(lowest_free(), before);
}

TEST(another_kind_of_control_message_is_no_descriptor)
{
    int on = 1;
    start();
    ASSERT_EQ(setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
    send_with(-1);
    EXPECT_EQ(receive(), -1);
}
