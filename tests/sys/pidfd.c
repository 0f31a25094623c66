// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static int open_process(pid_t pid, unsigned flags)
{
    return (int)syscall(SYS_pidfd_open, pid, flags);
}

static int send_to(int fd, int sig)
{
    return (int)syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
}

static int send_info(int fd, int sig, const siginfo_t *info, unsigned flags)
{
    return (int)syscall(SYS_pidfd_send_signal, fd, sig, info, flags);
}

/* A child that waits to be killed. */
static pid_t sleeper(void)
{
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(99);
    }
    return child;
}

static short events_of(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    EXPECT_GE(poll(&p, 1, timeout_ms), 0);
    return p.revents;
}

TEST(a_descriptor_of_a_process)
{
    int fd = open_process(getpid(), 0);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(send_to(fd, 0), 0);
    char byte;
    EXPECT_ERRNO(read(fd, &byte, 1), EINVAL);
}

TEST(what_cannot_be_opened)
{
    EXPECT_ERRNO(open_process(0, 0), EINVAL);
    EXPECT_ERRNO(open_process(-1, 0), EINVAL);
    EXPECT_ERRNO(open_process(getpid(), 1), EINVAL);
    EXPECT_ERRNO(open_process(999999, 0), ESRCH);
}

TEST(it_is_readable_when_the_process_has_ended)
{
    pid_t child = sleeper();
    int fd = open_process(child, 0);
    siginfo_t info = {0};
    ASSERT_GE(fd, 0);
    EXPECT_EQ(events_of(fd, 0), 0);
    EXPECT_EQ(send_to(fd, SIGTERM), 0);
    EXPECT_TRUE(events_of(fd, 20000) & POLLIN);
    EXPECT_EQ(waitid(P_PIDFD, (id_t)fd, &info, WEXITED), 0);
    EXPECT_EQ(info.si_pid, child);
    EXPECT_EQ(info.si_status, SIGTERM);
    EXPECT_ERRNO(send_to(fd, 0), ESRCH);
    EXPECT_ERRNO(waitid(P_PIDFD, (id_t)fd, &info, WEXITED), ECHILD);
}

TEST(a_non_blocking_one_does_not_wait)
{
    pid_t child = sleeper();
    int fd = open_process(child, O_NONBLOCK);
    siginfo_t info = {0};
    ASSERT_GE(fd, 0);
    EXPECT_ERRNO(waitid(P_PIDFD, (id_t)fd, &info, WEXITED), EAGAIN);
    EXPECT_EQ(kill(child, SIGKILL), 0);
    EXPECT_EQ(waitpid(child, NULL, 0), child);
}

TEST(errors_of_sending)
{
    int fd = open_process(getpid(), 0), file = open("/dev/null", O_RDONLY);
    siginfo_t info = {.si_signo = SIGUSR1, .si_code = SI_QUEUE};
    EXPECT_ERRNO(send_to(fd, 65), EINVAL);
    EXPECT_ERRNO(send_to(fd, -1), EINVAL);
    EXPECT_ERRNO(send_info(fd, SIGUSR2, &info, 0), EINVAL);
    EXPECT_ERRNO(send_info(fd, SIGUSR1, (void *)8, 0), EFAULT);
    EXPECT_ERRNO(send_info(fd, 0, NULL, 1u << 31), EINVAL);
    EXPECT_ERRNO(send_to(file, 0), EBADF);
    EXPECT_ERRNO(send_to(1234, 0), EBADF);
}

/* Nobody has waited for it yet: as kill(2) has it, that is no error. */
TEST(a_process_that_has_ended_takes_signals)
{
    pid_t child = sleeper();
    int fd = open_process(child, 0);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(kill(child, SIGKILL), 0);
    EXPECT_EQ(events_of(fd, -1), POLLIN);
    EXPECT_EQ(send_to(fd, 0), 0);
    EXPECT_EQ(send_to(fd, SIGTERM), 0);
    EXPECT_EQ(waitpid(child, NULL, 0), child);
    EXPECT_ERRNO(send_to(fd, SIGTERM), ESRCH);
}

TEST(a_directory_of_proc_is_one_too)
{
    char name[32];
    pid_t child = sleeper();
    int status = -1;
    snprintf(name, sizeof(name), "/proc/%d", child);
    int fd = open(name, O_RDONLY | O_DIRECTORY);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(send_to(fd, 0), 0);
    EXPECT_EQ(send_to(fd, SIGKILL), 0);
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, SIGKILL);
    EXPECT_ERRNO(send_to(fd, 0), ESRCH);
}

TEST(other_names_of_proc_are_none)
{
    int top = open("/proc", O_RDONLY | O_DIRECTORY);
    int below = open("/proc/self/task", O_RDONLY | O_DIRECTORY);
    int file = open("/proc/self/stat", O_RDONLY);
    int path = open("/proc/self", O_PATH | O_DIRECTORY);
    EXPECT_ERRNO(send_to(top, 0), EBADF);
    EXPECT_ERRNO(send_to(below, 0), EBADF);
    EXPECT_ERRNO(send_to(file, 0), EBADF);
    EXPECT_ERRNO(send_to(path, 0), EBADF);
}
