// SPDX-License-Identifier: Apache-2.0
/* What is asked of the listener while the ticker's signal comes in between: ioctl(2) is replaced.
 */
#include "kernel/host/host.h"
#include "kernel/host/newer.h"
#include "kernel/host/overlap.h"
#include "tests/harness/harness.h"

#include <stdarg.h>
#include <sys/ioctl.h>
#include <time.h>

#define ID 77

static unsigned long last_request;
static int tries, interruptions, error;
static struct seccomp_notif_resp sent;
static uintptr_t wake_up, wake_up_at_send; /* the listener's flags */

int __wrap_ioctl(int fd, unsigned long request, ...);

int __wrap_ioctl(int fd, unsigned long request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    const void *argument = va_arg(arguments, const void *);
    va_end(arguments);
    last_request = request;
    if (tries++ < interruptions) {
        errno = EINTR;
        return -1;
    }
    if (request == SECCOMP_IOCTL_NOTIF_SET_FLAGS)
        wake_up = (uintptr_t)argument;
    if (request == SECCOMP_IOCTL_NOTIF_SEND) {
        memcpy(&sent, argument, sizeof(sent));
        wake_up_at_send = wake_up;
    }
    errno = error;
    return error ? -1 : 0;
}

static void host_will(int interrupt, int fail)
{
    tries = 0;
    interruptions = interrupt;
    error = fail;
    memset(&sent, 0, sizeof(sent));
}

TEST(an_answer_is_sent_again_until_it_is_taken)
{
    host_will(3, 0);
    EXPECT_EQ(host_linux.answer(ID, 5), 0);
    EXPECT_EQ(tries, 4);
    EXPECT_EQ(sent.id, (uint64_t)ID);
    EXPECT_EQ(sent.val, 5);

    host_will(1, 0);
    EXPECT_EQ(host_linux.answer(ID, -ENOENT), 0);
    EXPECT_EQ(sent.error, -ENOENT);
}

TEST(a_call_that_the_host_is_to_run_is_let_go)
{
    host_will(3, 0);
    EXPECT_EQ(host_linux.run(ID), 0);
    EXPECT_EQ(sent.flags, (uint32_t)SECCOMP_USER_NOTIF_FLAG_CONTINUE);
}

/* Taken for a dead one, its task would never be answered. */
TEST(a_caller_that_waits_is_not_taken_for_a_dead_one)
{
    host_will(3, 0);
    EXPECT_TRUE(host_linux.is_valid(ID));
    EXPECT_EQ(last_request, SECCOMP_IOCTL_NOTIF_ID_VALID);
}

TEST(a_descriptor_is_placed)
{
    host_will(3, 0);
    EXPECT_EQ(host_linux.place_fd(ID, (struct hostfd){1}, 3), 0);
    EXPECT_EQ(tries, 4);
}

TEST(what_the_host_refuses_is_not_asked_again)
{
    host_will(0, ENOENT);
    EXPECT_EQ(host_linux.answer(ID, 0), -ENOENT);
    EXPECT_EQ(tries, 1);
    host_will(0, ENOENT);
    EXPECT_TRUE(!host_linux.is_valid(ID));
    host_will(0, EBADF);
    EXPECT_EQ(host_linux.place_fd(ID, (struct hostfd){1}, 3), -EBADF);
}

/* A call of A's or B's that was there before the kernel asked, after so much work. */
static uint64_t answer_one(pid_t tid, int64_t worked_ns)
{
    static uint64_t id;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    overlap_received(tid, ++id, true, now.tv_sec * NSEC_PER_SEC + now.tv_nsec + worked_ns);
    return host_linux.answer(id, 0) == 0 ? id : 0;
}

TEST(who_goes_apart_is_woken_by_the_hosts_own_way_and_nobody_else)
{
    host_will(0, 0);
    wake_up = SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP;
    for (int i = 0; i < 1000; i++)
        answer_one(1 + i % 2, 0);
    ASSERT_TRUE(overlap_now());
    ASSERT_TRUE(answer_one(1, NSEC_PER_SEC));
    EXPECT_EQ(wake_up_at_send, 0U);
    EXPECT_EQ(wake_up, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
    ASSERT_TRUE(answer_one(1, -NSEC_PER_SEC));
    EXPECT_EQ(wake_up_at_send, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}
