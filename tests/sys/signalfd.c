// SPDX-License-Identifier: Apache-2.0
#include "tests/sys/signal_sets.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void *volatile bad_address = (void *)8;

static int make(int a, int b, int flags)
{
    sigset_t set = set_of(a, b);
    int fd = signalfd(-1, &set, flags);
    ASSERT_GE(fd, 0);
    return fd;
}

static struct signalfd_siginfo take(int fd)
{
    struct signalfd_siginfo info;
    memset(&info, 0x55, sizeof(info));
    EXPECT_EQ(read(fd, &info, sizeof(info)), (long)sizeof(info));
    return info;
}

static bool is_ready(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, timeout_ms) == 1;
}

TEST(reads_a_blocked_signal)
{
    block(SIGUSR1, 0);
    int fd = make(SIGUSR1, 0, SFD_NONBLOCK);
    struct signalfd_siginfo info;
    EXPECT_ERRNO(read(fd, &info, sizeof(info)), EAGAIN);
    EXPECT_TRUE(!is_ready(fd, 0));
    kill(getpid(), SIGUSR1);
    EXPECT_TRUE(is_ready(fd, 1000));
    info = take(fd);
    EXPECT_EQ(info.ssi_signo, SIGUSR1);
    EXPECT_EQ(info.ssi_code, SI_USER);
    EXPECT_EQ(info.ssi_pid, getpid());
    EXPECT_EQ(info.ssi_uid, getuid());
    EXPECT_EQ(info.ssi_ptr, 0);
    EXPECT_ERRNO(read(fd, &info, sizeof(info)), EAGAIN);
}

TEST(arguments_are_checked)
{
    sigset_t set = set_of(SIGUSR1, 0);
    EXPECT_ERRNO(signalfd(-1, &set, 1), EINVAL);
    EXPECT_ERRNO(signalfd(1000, &set, 0), EBADF);
    EXPECT_ERRNO(signalfd(open(".", O_RDONLY), &set, 0), EINVAL);
    EXPECT_ERRNO(syscall(SYS_signalfd4, -1, &set, 4, 0), EINVAL);
    EXPECT_ERRNO(syscall(SYS_signalfd4, -1, bad_address, 8, 0), EFAULT);
    EXPECT_GE(syscall(SYS_signalfd, -1, &set, 8), 0);
    EXPECT_EQ(fcntl(make(SIGUSR1, 0, SFD_CLOEXEC), F_GETFD), FD_CLOEXEC);
}

TEST(small_buffer_is_einval)
{
    char buffer[127];
    block(SIGUSR1, 0);
    int fd = make(SIGUSR1, 0, SFD_NONBLOCK);
    EXPECT_ERRNO(read(fd, buffer, sizeof(buffer)), EINVAL);
    raise(SIGUSR1);
    EXPECT_ERRNO(read(fd, buffer, sizeof(buffer)), EINVAL);
    EXPECT_EQ(take(fd).ssi_signo, SIGUSR1);
}

TEST(several_come_in_one_read_lowest_first)
{
    struct signalfd_siginfo info[3];
    block(SIGUSR1, SIGUSR2);
    int fd = make(SIGUSR1, SIGUSR2, 0);
    kill(getpid(), SIGUSR2);
    kill(getpid(), SIGUSR1);
    EXPECT_EQ(read(fd, info, sizeof(info)), 2 * (long)sizeof(info[0]));
    EXPECT_EQ(info[0].ssi_signo, SIGUSR1);
    EXPECT_EQ(info[1].ssi_signo, SIGUSR2);
}

TEST(standard_signal_is_pending_once)
{
    struct signalfd_siginfo info;
    block(SIGUSR1, 0);
    int fd = make(SIGUSR1, 0, SFD_NONBLOCK);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR1);
    take(fd);
    EXPECT_ERRNO(read(fd, &info, sizeof(info)), EAGAIN);
}

TEST(realtime_signals_carry_values_in_order)
{
    int sig = SIGRTMIN + 1;
    block(sig, 0);
    int fd = make(sig, 0, SFD_NONBLOCK);
    for (int i = 1; i <= 3; i++)
        ASSERT_EQ(sigqueue(getpid(), sig, (union sigval){.sival_int = i * 11}), 0);
    for (int i = 1; i <= 3; i++) {
        struct signalfd_siginfo info = take(fd);
        EXPECT_EQ(info.ssi_signo, sig);
        EXPECT_EQ(info.ssi_code, SI_QUEUE);
        EXPECT_EQ(info.ssi_int, i * 11);
        EXPECT_EQ(info.ssi_pid, getpid());
    }
}

TEST(signals_outside_of_the_mask_stay)
{
    struct signalfd_siginfo info;
    sigset_t pending;
    block(SIGUSR1, SIGUSR2);
    int fd = make(SIGUSR1, 0, SFD_NONBLOCK);
    raise(SIGUSR2);
    EXPECT_ERRNO(read(fd, &info, sizeof(info)), EAGAIN);
    sigpending(&pending);
    EXPECT_TRUE(sigismember(&pending, SIGUSR2));
}

TEST(taken_signal_is_not_pending)
{
    sigset_t pending;
    block(SIGUSR1, 0);
    int fd = make(SIGUSR1, 0, 0);
    raise(SIGUSR1);
    take(fd);
    sigpending(&pending);
    EXPECT_TRUE(!sigismember(&pending, SIGUSR1));
}

TEST(mask_can_be_changed)
{
    sigset_t set = set_of(SIGUSR2, 0);
    block(SIGUSR1, SIGUSR2);
    int fd = make(SIGUSR1, 0, SFD_NONBLOCK);
    raise(SIGUSR2);
    EXPECT_TRUE(!is_ready(fd, 0));
    EXPECT_EQ(signalfd(fd, &set, 0), fd);
    EXPECT_TRUE(is_ready(fd, 0));
    EXPECT_EQ(take(fd).ssi_signo, SIGUSR2);
}

TEST(kill_and_stop_are_left_out_of_the_mask)
{
    EXPECT_GE(make(SIGKILL, SIGSTOP, 0), 0);
}

TEST(blocked_read_is_woken)
{
    block(SIGUSR1, 0);
    int fd = make(SIGUSR1, 0, 0);
    pid_t parent = getpid();
    if (fork() == 0) {
        harness_wait_until_sleeps(getppid());
        kill(parent, SIGUSR1);
        _exit(0);
    }
    struct signalfd_siginfo info = take(fd);
    EXPECT_EQ(info.ssi_signo, SIGUSR1);
    EXPECT_NE(info.ssi_pid, (unsigned)parent);
    wait(NULL);
}

TEST(childs_end_is_told)
{
    block(SIGCHLD, 0);
    int fd = make(SIGCHLD, 0, 0);
    pid_t child = fork();
    if (child == 0)
        _exit(42);
    struct signalfd_siginfo info = take(fd);
    EXPECT_EQ(info.ssi_signo, SIGCHLD);
    EXPECT_EQ(info.ssi_code, CLD_EXITED);
    EXPECT_EQ(info.ssi_pid, child);
    EXPECT_EQ(info.ssi_status, 42);
    EXPECT_EQ(waitpid(child, NULL, 0), child);
}

TEST(reader_gets_its_own_signals)
{
    block(SIGUSR1, 0);
    int fd = make(SIGUSR1, 0, SFD_NONBLOCK), status;
    kill(getpid(), SIGUSR1);
    pid_t child = fork();
    if (child == 0) {
        struct signalfd_siginfo info;
        if (read(fd, &info, sizeof(info)) != -1 || errno != EAGAIN)
            _exit(1);
        kill(getpid(), SIGUSR1);
        _exit(read(fd, &info, sizeof(info)) != sizeof(info));
    }
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(take(fd).ssi_signo, SIGUSR1);
}

static void *raise_for_main(void *main_thread)
{
    usleep(50000);
    pthread_kill(*(pthread_t *)main_thread, SIGUSR1);
    return NULL;
}

TEST(signal_of_the_thread_wakes_its_reader)
{
    pthread_t self = pthread_self(), thread;
    block(SIGUSR1, 0);
    int fd = make(SIGUSR1, 0, 0);
    ASSERT_EQ(pthread_create(&thread, NULL, raise_for_main, &self), 0);
    struct signalfd_siginfo info = take(fd);
    EXPECT_EQ(info.ssi_code, SI_TKILL);
    pthread_join(thread, NULL);
}

TEST(epoll_waits_for_signals)
{
    struct epoll_event event = {.events = EPOLLIN};
    block(SIGUSR1, 0);
    int fd = make(SIGUSR1, 0, 0), ep = epoll_create1(0);
    pid_t parent = getpid();
    ASSERT_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event), 0);
    EXPECT_EQ(epoll_wait(ep, &event, 1, 0), 0);
    if (fork() == 0) {
        harness_wait_until_sleeps(getppid());
        kill(parent, SIGUSR1);
        _exit(0);
    }
    EXPECT_EQ(epoll_wait(ep, &event, 1, 5000), 1);
    take(fd);
    EXPECT_EQ(epoll_wait(ep, &event, 1, 0), 0);
    wait(NULL);
}

static void *add_and_leave(void *arguments)
{
    const int *fds = arguments;
    struct epoll_event event = {.events = EPOLLIN};
    return (void *)(long)epoll_ctl(fds[0], EPOLL_CTL_ADD, fds[1], &event);
}

TEST(a_signal_that_is_there_already_is_no_news)
{
    struct epoll_event e = {.events = EPOLLIN | EPOLLET};
    block(SIGUSR1, SIGRTMIN);
    int set = epoll_create1(0), fd = make(SIGUSR1, SIGRTMIN, SFD_NONBLOCK);
    ASSERT_EQ(epoll_ctl(set, EPOLL_CTL_ADD, fd, &e), 0);
    kill(getpid(), SIGUSR1);
    EXPECT_EQ(epoll_wait(set, &e, 1, 0), 1);
    kill(getpid(), SIGUSR1);
    EXPECT_EQ(epoll_wait(set, &e, 1, 0), 0);
    kill(getpid(), SIGRTMIN);
    EXPECT_EQ(epoll_wait(set, &e, 1, 0), 1);
    kill(getpid(), SIGRTMIN);
    EXPECT_EQ(epoll_wait(set, &e, 1, 0), 1);
}

TEST(thread_that_added_it_may_end)
{
    pthread_t thread;
    struct epoll_event event;
    block(SIGUSR1, 0);
    int fds[2] = {epoll_create1(0), make(SIGUSR1, 0, 0)};
    ASSERT_EQ(pthread_create(&thread, NULL, add_and_leave, fds), 0);
    pthread_join(thread, NULL);
    kill(getpid(), SIGUSR1);
    EXPECT_EQ(epoll_wait(fds[0], &event, 1, 1000), 1);
    close(fds[1]);
}
