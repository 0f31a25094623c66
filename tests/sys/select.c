// SPDX-License-Identifier: Apache-2.0
#include "tests/sys/waiting.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static int ends[2];
static void *volatile bad_address = (void *)8;

/* libc's select() may copy the timeout: these are about the call itself. */
static long raw_select(int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *t)
{
    return syscall(SYS_select, n, in, out, except, t);
}

TEST(counts_bits_not_descriptors)
{
    fd_set in, out;
    ASSERT_EQ(pipe(ends), 0);
    int both = open("f", O_RDWR | O_CREAT, 0600);
    FD_ZERO(&in);
    FD_ZERO(&out);
    FD_SET(ends[0], &in);
    FD_SET(both, &in);
    FD_SET(both, &out);
    FD_SET(ends[1], &out);
    EXPECT_EQ(select(both + 1, &in, &out, NULL, NULL), 3);
    EXPECT_TRUE(!FD_ISSET(ends[0], &in));
    EXPECT_TRUE(FD_ISSET(both, &in));
    EXPECT_TRUE(FD_ISSET(both, &out));
    EXPECT_TRUE(FD_ISSET(ends[1], &out));
}

TEST(hang_up_reads_and_error_writes)
{
    fd_set in, out, except;
    int others[2];
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(pipe(others), 0);
    close(ends[1]);
    close(others[0]);
    FD_ZERO(&in);
    FD_ZERO(&out);
    FD_ZERO(&except);
    FD_SET(ends[0], &in);
    FD_SET(others[1], &out);
    FD_SET(ends[0], &except);
    EXPECT_EQ(select(others[1] + 1, &in, &out, &except, NULL), 2);
    EXPECT_TRUE(FD_ISSET(ends[0], &in));
    EXPECT_TRUE(FD_ISSET(others[1], &out));
    EXPECT_TRUE(!FD_ISSET(ends[0], &except));
}

TEST(error_reads_too)
{
    fd_set in;
    ASSERT_EQ(pipe(ends), 0);
    close(ends[0]);
    FD_ZERO(&in);
    FD_SET(ends[1], &in);
    EXPECT_EQ(select(ends[1] + 1, &in, NULL, NULL, NULL), 1);
}

TEST(descriptor_that_is_not_open_is_ebadf)
{
    fd_set in;
    FD_ZERO(&in);
    FD_SET(40, &in);
    EXPECT_ERRNO(select(41, &in, NULL, NULL, NULL), EBADF);
    /* The sets of a call that fails are as they were. */
    EXPECT_TRUE(FD_ISSET(40, &in));
    struct timeval zero = {0, 0};
    EXPECT_EQ(select(40, &in, NULL, NULL, &zero), 0);
}

TEST(timeout_clears_the_sets)
{
    fd_set in;
    struct timeval t = {0, 60000};
    long start = now_ms();
    ASSERT_EQ(pipe(ends), 0);
    FD_ZERO(&in);
    FD_SET(ends[0], &in);
    EXPECT_EQ(raw_select(ends[0] + 1, &in, NULL, NULL, &t), 0);
    EXPECT_GE(now_ms() - start, 60);
    EXPECT_TRUE(!FD_ISSET(ends[0], &in));
    EXPECT_EQ(t.tv_sec, 0);
    EXPECT_EQ(t.tv_usec, 0);
}

TEST(tells_the_time_that_is_left)
{
    fd_set out;
    struct timeval t = {100, 0};
    ASSERT_EQ(pipe(ends), 0);
    FD_ZERO(&out);
    FD_SET(ends[1], &out);
    EXPECT_EQ(raw_select(ends[1] + 1, NULL, &out, NULL, &t), 1);
    EXPECT_TRUE(t.tv_sec == 99 || t.tv_sec == 100);
}

TEST(tells_the_time_that_is_left_when_interrupted)
{
    fd_set in;
    struct timeval t = {100, 0};
    ASSERT_EQ(pipe(ends), 0);
    FD_ZERO(&in);
    FD_SET(ends[0], &in);
    handle(SIGALRM, SA_RESTART);
    alarm(1);
    EXPECT_ERRNO(raw_select(ends[0] + 1, &in, NULL, NULL, &t), EINTR);
    EXPECT_TRUE(FD_ISSET(ends[0], &in));
    EXPECT_GE(t.tv_sec, 90);
    EXPECT_LE(t.tv_sec, 99);
}

TEST(timeouts_are_checked)
{
    struct timeval negative = {-1, 0}, negative_us = {0, -1}, carried = {0, 1050000};
    EXPECT_ERRNO(raw_select(0, NULL, NULL, NULL, &negative), EINVAL);
    EXPECT_ERRNO(raw_select(0, NULL, NULL, NULL, &negative_us), EINVAL);
    EXPECT_ERRNO(raw_select(0, NULL, NULL, NULL, bad_address), EFAULT);
    long start = now_ms();
    EXPECT_EQ(raw_select(0, NULL, NULL, NULL, &carried), 0);
    EXPECT_GE(now_ms() - start, 1050);
}

TEST(arguments_are_checked)
{
    fd_set in;
    struct timeval zero = {0, 0};
    FD_ZERO(&in);
    EXPECT_ERRNO(select(-1, &in, NULL, NULL, &zero), EINVAL);
    EXPECT_ERRNO(raw_select(1, bad_address, NULL, NULL, &zero), EFAULT);
    EXPECT_ERRNO(raw_select(1, NULL, NULL, bad_address, &zero), EFAULT);
    EXPECT_EQ(raw_select(0, bad_address, NULL, NULL, &zero), 0);
}

TEST(huge_count_is_cut_to_the_table)
{
    static unsigned char big[1 << 17];
    struct timeval zero = {0, 0};
    EXPECT_EQ(raw_select(sizeof(big) * 8, (fd_set *)big, NULL, NULL, &zero), 0);
}

TEST(write_wakes_it)
{
    fd_set in;
    ASSERT_EQ(pipe(ends), 0);
    FD_ZERO(&in);
    FD_SET(ends[0], &in);
    if (fork() == 0) {
        harness_wait_until_sleeps(getppid());
        _exit(write(ends[1], "x", 1) != 1);
    }
    struct timeval t = {10, 0};
    EXPECT_EQ(select(ends[0] + 1, &in, NULL, NULL, &t), 1);
    EXPECT_TRUE(FD_ISSET(ends[0], &in));
    wait(NULL);
}

TEST(pselect_mask_lets_a_pending_signal_through)
{
    sigset_t set, none;
    struct timespec t = {5, 0};
    handle(SIGUSR1, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR1);
    sigemptyset(&none);
    EXPECT_ERRNO(pselect(0, NULL, NULL, NULL, &t, &none), EINTR);
    EXPECT_EQ(signals_seen, 1);
    sigprocmask(SIG_BLOCK, NULL, &set);
    EXPECT_TRUE(sigismember(&set, SIGUSR1));
}

TEST(pselect_checks_its_arguments)
{
    struct {
        void *mask;
        size_t size;
    } pack = {bad_address, 8}, small = {&pack, 4}, none = {NULL, 0};
    struct timespec zero = {0, 0}, bad = {0, -1};
    EXPECT_ERRNO(syscall(SYS_pselect6, 0, NULL, NULL, NULL, &zero, bad_address), EFAULT);
    EXPECT_ERRNO(syscall(SYS_pselect6, 0, NULL, NULL, NULL, &zero, &pack), EFAULT);
    EXPECT_ERRNO(syscall(SYS_pselect6, 0, NULL, NULL, NULL, &zero, &small), EINVAL);
    EXPECT_ERRNO(syscall(SYS_pselect6, 0, NULL, NULL, NULL, &bad, &none), EINVAL);
    EXPECT_EQ(syscall(SYS_pselect6, 0, NULL, NULL, NULL, &zero, &none), 0);
}

TEST(pselect_tells_the_time_left)
{
    struct timespec t = {0, 30000000};
    EXPECT_EQ(syscall(SYS_pselect6, 0, NULL, NULL, NULL, &t, NULL), 0);
    EXPECT_EQ(t.tv_nsec, 0);
}
