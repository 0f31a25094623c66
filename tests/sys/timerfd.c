// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>

#define MS 1000000L

static void *volatile bad_address = (void *)8;

static int make(int clock, int flags)
{
    int fd = timerfd_create(clock, flags);
    ASSERT_GE(fd, 0);
    return fd;
}

static void set_ms(int fd, long value_ms, long interval_ms)
{
    struct itimerspec t = {
        .it_value = {value_ms / 1000, value_ms % 1000 * MS},
        .it_interval = {interval_ms / 1000, interval_ms % 1000 * MS},
    };
    ASSERT_EQ(timerfd_settime(fd, 0, &t, NULL), 0);
}

static uint64_t take(int fd)
{
    uint64_t ticks = 0;
    EXPECT_EQ(read(fd, &ticks, sizeof(ticks)), 8);
    return ticks;
}

static bool is_ready(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, timeout_ms) == 1 && p.revents == POLLIN;
}

static long ms_of(struct timespec t)
{
    return t.tv_sec * 1000 + t.tv_nsec / MS;
}

TEST(clocks_and_flags_are_checked)
{
    EXPECT_ERRNO(timerfd_create(CLOCK_PROCESS_CPUTIME_ID, 0), EINVAL);
    EXPECT_ERRNO(timerfd_create(CLOCK_MONOTONIC_RAW, 0), EINVAL);
    EXPECT_ERRNO(timerfd_create(-1, 0), EINVAL);
    EXPECT_ERRNO(timerfd_create(CLOCK_MONOTONIC, 1), EINVAL);
    int fd = make(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDWR | O_NONBLOCK);
    if (geteuid() != 0)
        EXPECT_ERRNO(timerfd_create(CLOCK_REALTIME_ALARM, 0), EPERM);
}

TEST(fires_once_on_each_clock)
{
    static const int clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME};
    for (size_t i = 0; i < 3; i++) {
        int fd = make(clocks[i], 0);
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        set_ms(fd, 50, 0);
        EXPECT_EQ(take(fd), 1);
        clock_gettime(CLOCK_MONOTONIC, &end);
        EXPECT_GE(ms_of(end) - ms_of(start), 49);
        EXPECT_TRUE(!is_ready(fd, 20));
    }
}

TEST(counts_expirations_since_the_last_read)
{
    int fd = make(CLOCK_MONOTONIC, 0);
    set_ms(fd, 10, 10);
    usleep(105000);
    uint64_t ticks = take(fd);
    EXPECT_GE(ticks, 10);
    EXPECT_LT(ticks, 1000);
    EXPECT_GE(take(fd), 1);
}

TEST(not_expired_is_eagain)
{
    uint64_t ticks;
    int fd = make(CLOCK_MONOTONIC, TFD_NONBLOCK);
    EXPECT_ERRNO(read(fd, &ticks, 8), EAGAIN);
    set_ms(fd, 10000, 0);
    EXPECT_ERRNO(read(fd, &ticks, 8), EAGAIN);
}

TEST(small_buffer_is_einval)
{
    char buffer[8];
    int fd = make(CLOCK_MONOTONIC, TFD_NONBLOCK);
    EXPECT_ERRNO(read(fd, buffer, 7), EINVAL);
    set_ms(fd, 1, 0);
    usleep(20000);
    EXPECT_ERRNO(read(fd, buffer, 7), EINVAL);
    EXPECT_EQ(read(fd, buffer, 8), 8);
}

TEST(writing_is_einval)
{
    int fd = make(CLOCK_MONOTONIC, TFD_NONBLOCK);
    EXPECT_ERRNO(write(fd, "12345678", 8), EINVAL);
}

TEST(absolute_time_in_the_past_fires_at_once)
{
    struct itimerspec t = {.it_value = {1, 0}};
    int fd = make(CLOCK_REALTIME, 0);
    ASSERT_EQ(timerfd_settime(fd, TFD_TIMER_ABSTIME, &t, NULL), 0);
    EXPECT_EQ(take(fd), 1);
}

TEST(absolute_time_with_interval_counts_all_of_the_past)
{
    struct itimerspec t = {.it_value = {1, 0}, .it_interval = {1, 0}};
    int fd = make(CLOCK_REALTIME, 0);
    ASSERT_EQ(timerfd_settime(fd, TFD_TIMER_ABSTIME, &t, NULL), 0);
    EXPECT_TRUE(is_ready(fd, 1000));
    uint64_t ticks = take(fd);
    EXPECT_LE((long)ticks - time(NULL), 1);
    EXPECT_GE((long)ticks - time(NULL), -3);
}

TEST(absolute_time_in_the_future)
{
    struct itimerspec t = {0};
    int fd = make(CLOCK_MONOTONIC, 0);
    clock_gettime(CLOCK_MONOTONIC, &t.it_value);
    t.it_value.tv_nsec += 60 * MS;
    if (t.it_value.tv_nsec >= 1000 * MS) {
        t.it_value.tv_sec++;
        t.it_value.tv_nsec -= 1000 * MS;
    }
    ASSERT_EQ(timerfd_settime(fd, TFD_TIMER_ABSTIME, &t, NULL), 0);
    EXPECT_TRUE(!is_ready(fd, 0));
    EXPECT_EQ(take(fd), 1);
}

TEST(gettime_tells_what_remains)
{
    struct itimerspec t;
    int fd = make(CLOCK_MONOTONIC, 0);
    ASSERT_EQ(timerfd_gettime(fd, &t), 0);
    EXPECT_EQ(ms_of(t.it_value), 0);
    set_ms(fd, 5000, 700);
    ASSERT_EQ(timerfd_gettime(fd, &t), 0);
    EXPECT_GT(ms_of(t.it_value), 4000);
    EXPECT_LE(ms_of(t.it_value), 5000);
    EXPECT_EQ(ms_of(t.it_interval), 700);
}

TEST(gettime_of_an_expired_timer)
{
    struct itimerspec t;
    int once = make(CLOCK_MONOTONIC, 0), again = make(CLOCK_MONOTONIC, 0);
    set_ms(once, 10, 0);
    set_ms(again, 10, 5000);
    usleep(50000);
    ASSERT_EQ(timerfd_gettime(once, &t), 0);
    EXPECT_EQ(t.it_value.tv_sec, 0);
    EXPECT_EQ(t.it_value.tv_nsec, 0);
    ASSERT_EQ(timerfd_gettime(again, &t), 0);
    EXPECT_GT(ms_of(t.it_value), 4000);
    /* Asking does not take the expiration. */
    EXPECT_EQ(take(again), 1);
}

TEST(settime_returns_the_old_setting)
{
    struct itimerspec t = {0}, old;
    int fd = make(CLOCK_MONOTONIC, 0);
    set_ms(fd, 5000, 300);
    ASSERT_EQ(timerfd_settime(fd, 0, &t, &old), 0);
    EXPECT_GT(ms_of(old.it_value), 4000);
    EXPECT_EQ(ms_of(old.it_interval), 300);
    ASSERT_EQ(timerfd_settime(fd, 0, &t, &old), 0);
    EXPECT_EQ(ms_of(old.it_value), 0);
}

TEST(settime_forgets_expirations)
{
    int fd = make(CLOCK_MONOTONIC, TFD_NONBLOCK);
    uint64_t ticks;
    set_ms(fd, 5, 0);
    EXPECT_TRUE(is_ready(fd, 1000));
    set_ms(fd, 10000, 0);
    EXPECT_TRUE(!is_ready(fd, 0));
    EXPECT_ERRNO(read(fd, &ticks, 8), EAGAIN);
    set_ms(fd, 5, 0);
    EXPECT_TRUE(is_ready(fd, 1000));
    set_ms(fd, 0, 0);
    EXPECT_ERRNO(read(fd, &ticks, 8), EAGAIN);
}

TEST(settime_checks_its_arguments)
{
    struct itimerspec good = {.it_value = {1, 0}}, bad = {.it_value = {0, 1000 * MS}},
                      bad_interval = {.it_value = {1, 0}, .it_interval = {-1, 0}};
    int fd = make(CLOCK_MONOTONIC, 0);
    EXPECT_ERRNO(timerfd_settime(fd, 0, &bad, NULL), EINVAL);
    EXPECT_ERRNO(timerfd_settime(fd, 0, &bad_interval, NULL), EINVAL);
    EXPECT_ERRNO(timerfd_settime(fd, 4, &good, NULL), EINVAL);
    EXPECT_ERRNO(timerfd_settime(1000, 0, &good, NULL), EBADF);
    EXPECT_ERRNO(timerfd_settime(open(".", O_RDONLY), 0, &good, NULL), EINVAL);
    EXPECT_ERRNO(syscall(SYS_timerfd_settime, fd, 0, bad_address, NULL), EFAULT);
    EXPECT_ERRNO(syscall(SYS_timerfd_settime, fd, 0, &good, bad_address), EFAULT);
    EXPECT_ERRNO(syscall(SYS_timerfd_gettime, fd, bad_address), EFAULT);
    EXPECT_ERRNO(timerfd_gettime(1000, &good), EBADF);
    EXPECT_ERRNO(timerfd_gettime(0, &good), EINVAL);
}

TEST(cancel_on_set_is_accepted)
{
    struct itimerspec t = {.it_value = {time(NULL) + 100, 0}};
    int fd = make(CLOCK_REALTIME, TFD_NONBLOCK);
    EXPECT_EQ(timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &t, NULL), 0);
    uint64_t ticks;
    EXPECT_ERRNO(read(fd, &ticks, 8), EAGAIN);
}

TEST(very_long_times_are_accepted)
{
    struct itimerspec t = {.it_value = {INT64_MAX, 999999999}, .it_interval = {INT64_MAX, 0}};
    int fd = make(CLOCK_MONOTONIC, TFD_NONBLOCK);
    EXPECT_EQ(timerfd_settime(fd, 0, &t, NULL), 0);
    EXPECT_TRUE(!is_ready(fd, 10));
    EXPECT_EQ(timerfd_settime(fd, TFD_TIMER_ABSTIME, &t, NULL), 0);
    EXPECT_TRUE(!is_ready(fd, 10));
}

TEST(tiny_interval_does_not_hang)
{
    struct itimerspec t = {.it_value = {0, 1}, .it_interval = {0, 1}};
    int fd = make(CLOCK_MONOTONIC, 0);
    ASSERT_EQ(timerfd_settime(fd, 0, &t, NULL), 0);
    EXPECT_GE(take(fd), 1);
    EXPECT_GE(take(fd), 1);
}

TEST(epoll_edge_comes_for_each_period_that_was_read)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    int fd = make(CLOCK_MONOTONIC, 0), ep = epoll_create1(0);
    ASSERT_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event), 0);
    set_ms(fd, 10, 10);
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(epoll_wait(ep, &event, 1, 1000), 1);
        EXPECT_GE(take(fd), 1);
    }
}
