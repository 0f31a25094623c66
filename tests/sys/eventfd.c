// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

static void *volatile bad_address = (void *)8;

static int make(unsigned count, int flags)
{
    int fd = eventfd(count, flags);
    ASSERT_GE(fd, 0);
    return fd;
}

static uint64_t take(int fd)
{
    uint64_t value = 0;
    EXPECT_EQ(read(fd, &value, sizeof(value)), 8);
    return value;
}

static void add(int fd, uint64_t value)
{
    EXPECT_EQ(write(fd, &value, sizeof(value)), 8);
}

static short poll_events(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT};
    EXPECT_GE(poll(&p, 1, 0), 0);
    return p.revents;
}

TEST(counts_up_and_is_read_to_zero)
{
    int fd = make(3, EFD_NONBLOCK);
    add(fd, 4);
    EXPECT_EQ(take(fd), 7);
    uint64_t value;
    EXPECT_ERRNO(read(fd, &value, 8), EAGAIN);
}

TEST(semaphore_gives_one_at_a_time)
{
    int fd = make(2, EFD_SEMAPHORE | EFD_NONBLOCK);
    EXPECT_EQ(take(fd), 1);
    EXPECT_EQ(take(fd), 1);
    uint64_t value;
    EXPECT_ERRNO(read(fd, &value, 8), EAGAIN);
}

TEST(flags_are_checked_and_set)
{
    int fd = make(0, EFD_CLOEXEC | EFD_NONBLOCK);
    EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDWR | O_NONBLOCK);
    EXPECT_ERRNO(eventfd(0, 2), EINVAL);
    EXPECT_ERRNO(eventfd(0, ~0), EINVAL);
    EXPECT_EQ(fcntl((int)syscall(SYS_eventfd, 1), F_GETFD), 0);
}

TEST(eight_bytes_or_einval)
{
    int fd = make(1, EFD_NONBLOCK);
    char buffer[16];
    EXPECT_ERRNO(read(fd, buffer, 7), EINVAL);
    EXPECT_ERRNO(write(fd, buffer, 7), EINVAL);
    EXPECT_EQ(read(fd, buffer, 16), 8);
}

TEST(largest_value_is_refused)
{
    uint64_t most = UINT64_MAX;
    int fd = make(0, EFD_NONBLOCK);
    EXPECT_ERRNO(write(fd, &most, 8), EINVAL);
    add(fd, UINT64_MAX - 1);
    EXPECT_EQ(poll_events(fd), POLLIN);
    uint64_t one = 1, zero = 0;
    EXPECT_ERRNO(write(fd, &one, 8), EAGAIN);
    EXPECT_EQ(write(fd, &zero, 8), 8);
    EXPECT_TRUE(take(fd) == UINT64_MAX - 1);
}

TEST(poll_tells_its_state)
{
    int fd = make(0, 0);
    EXPECT_EQ(poll_events(fd), POLLOUT);
    add(fd, 1);
    EXPECT_EQ(poll_events(fd), POLLIN | POLLOUT);
}

TEST(blocked_reader_is_woken)
{
    int fd = make(0, 0);
    pid_t child = fork();
    if (child == 0)
        _exit(take(fd) != 5);
    usleep(50000);
    add(fd, 5);
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(blocked_writer_is_woken)
{
    int fd = make(0, 0);
    add(fd, UINT64_MAX - 1);
    pid_t child = fork();
    if (child == 0) {
        uint64_t ten = 10;
        _exit(write(fd, &ten, 8) != 8);
    }
    usleep(50000);
    EXPECT_TRUE(take(fd) == UINT64_MAX - 1);
    EXPECT_EQ(take(fd), 10);
    wait(NULL);
}

TEST(each_semaphore_unit_wakes_one)
{
    int fd = make(0, EFD_SEMAPHORE), done = 0, status;
    for (int i = 0; i < 3; i++) {
        if (fork() == 0)
            _exit(take(fd) != 1);
    }
    usleep(50000);
    add(fd, 3);
    while (wait(&status) > 0)
        done += status == 0;
    EXPECT_EQ(done, 3);
}

TEST(bad_addresses)
{
    int fd = make(1, EFD_NONBLOCK);
    EXPECT_ERRNO(write(fd, bad_address, 8), EFAULT);
    EXPECT_ERRNO(read(fd, bad_address, 8), EFAULT);
}

TEST(has_no_type_and_no_place)
{
    struct stat st;
    char name[64], text[64] = "";
    int fd = make(0, EFD_NONBLOCK);
    ASSERT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(st.st_mode, 0600);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 0);
    EXPECT_ERRNO(pread(fd, text, 8, 0), ESPIPE);
    EXPECT_ERRNO(pwrite(fd, text, 8, 0), ESPIPE);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    EXPECT_GT(readlink(name, text, sizeof(text) - 1), 0);
    EXPECT_STR(text, "anon_inode:[eventfd]");
    EXPECT_ERRNO(ftruncate(fd, 0), EINVAL);
}

TEST(value_is_read_into_several_buffers)
{
    uint32_t low = 0, high = 1;
    struct iovec v[2] = {{&low, 4}, {&high, 4}};
    int fd = make(7, EFD_NONBLOCK);
    EXPECT_EQ(readv(fd, v, 2), 8);
    EXPECT_EQ(low, 7);
    EXPECT_EQ(high, 0);
}

TEST(each_buffer_that_is_written_is_a_value)
{
    uint64_t values[2] = {3, 4}, largest = UINT64_MAX - 1;
    struct iovec both[2] = {{&values[0], 8}, {&values[1], 8}};
    struct iovec halves[2] = {{&values[0], 4}, {(char *)&values[0] + 4, 4}};
    struct iovec then_short[2] = {{&values[0], 8}, {&values[1], 4}};
    struct iovec then_bad[2] = {{&values[0], 8}, {bad_address, 8}};
    struct iovec too_large[2] = {{&values[0], 8}, {&largest, 8}};
    int fd = make(0, EFD_NONBLOCK);
    EXPECT_EQ(writev(fd, both, 2), 16);
    EXPECT_EQ(take(fd), 7);
    EXPECT_ERRNO(writev(fd, halves, 2), EINVAL);
    EXPECT_EQ(writev(fd, then_short, 2), 8);
    EXPECT_EQ(take(fd), 3);
    EXPECT_EQ(writev(fd, then_bad, 2), 8);
    EXPECT_EQ(take(fd), 3);
    EXPECT_EQ(writev(fd, too_large, 2), 8);
    EXPECT_EQ(take(fd), 3);
    EXPECT_EQ(writev(fd, both, 0), 0);
}

static void ignore(int sig)
{
}

/* A child that writes as much as there is room for, and one more: returns when the first is in. */
static pid_t fork_writer_of_two(int fd, long expected)
{
    uint64_t values[2] = {UINT64_MAX - 1, 1};
    struct iovec both[2] = {{&values[0], 8}, {&values[1], 8}};
    struct sigaction action = {.sa_handler = ignore};
    struct pollfd p = {.fd = fd, .events = POLLIN};
    pid_t child = fork();
    if (child == 0) {
        sigaction(SIGUSR1, &action, NULL);
        _exit(writev(fd, both, 2) != expected);
    }
    EXPECT_EQ(poll(&p, 1, 20000), 1);
    return child;
}

TEST(second_buffer_waits_for_room)
{
    int status, fd = make(0, 0);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    pid_t child = fork_writer_of_two(fd, 16);
    EXPECT_EQ(take(fd), UINT64_MAX - 1);
    ASSERT_EQ(poll(&p, 1, 20000), 1);
    EXPECT_EQ(take(fd), 1);
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(signal_while_the_second_buffer_waits)
{
    int status, fd = make(0, 0);
    pid_t child = fork_writer_of_two(fd, 8);
    ASSERT_EQ(kill(child, SIGUSR1), 0);
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(take(fd), UINT64_MAX - 1);
}

TEST(buffers_without_bytes_and_flags)
{
    uint64_t value = 3;
    struct iovec gap[3] = {{&value, 8}, {NULL, 0}, {&value, 8}};
    int fd = make(0, EFD_NONBLOCK);
    EXPECT_EQ(writev(fd, gap, 3), 16);
    EXPECT_EQ(take(fd), 6);
    EXPECT_ERRNO(pwritev2(fd, gap, 1, -1, RWF_APPEND), EOPNOTSUPP);
    EXPECT_ERRNO(pwritev2(fd, gap, 1, -1, RWF_DSYNC), EOPNOTSUPP);
    EXPECT_EQ(pwritev2(fd, gap, 1, -1, 0), 8);
    EXPECT_EQ(take(fd), 3);
}
