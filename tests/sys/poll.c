// SPDX-License-Identifier: Apache-2.0
#include "tests/sys/waiting.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static int ends[2];
static void *volatile bad_address = (void *)8;

static void block(int sig)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, sig);
    ASSERT_EQ(sigprocmask(SIG_BLOCK, &set, NULL), 0);
}

static bool is_blocked(int sig)
{
    sigset_t set;
    sigprocmask(SIG_BLOCK, NULL, &set);
    return sigismember(&set, sig);
}

TEST(counts_the_descriptors_that_are_ready)
{
    ASSERT_EQ(pipe(ends), 0);
    struct pollfd p[3] = {{ends[0], POLLIN, 0}, {ends[1], POLLOUT, 0}, {ends[1], POLLIN, 0}};
    EXPECT_EQ(poll(p, 3, 1000), 1);
    EXPECT_EQ(p[0].revents, 0);
    EXPECT_EQ(p[1].revents, POLLOUT);
    EXPECT_EQ(p[2].revents, 0);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    EXPECT_EQ(poll(p, 3, -1), 2);
    EXPECT_EQ(p[0].revents, POLLIN);
}

TEST(negative_descriptors_are_skipped)
{
    struct pollfd p = {-1, POLLIN, 0x55};
    EXPECT_EQ(poll(&p, 1, 0), 0);
    EXPECT_EQ(p.revents, 0);
    EXPECT_EQ(p.fd, -1);
}

TEST(closed_descriptor_is_nval)
{
    ASSERT_EQ(pipe(ends), 0);
    struct pollfd p[2] = {{ends[0], POLLIN, 0}, {1000, 0, 0}};
    EXPECT_EQ(poll(p, 2, -1), 1);
    EXPECT_EQ(p[0].revents, 0);
    EXPECT_EQ(p[1].revents, POLLNVAL);
}

TEST(o_path_descriptor_is_nval)
{
    struct pollfd p = {open(".", O_PATH), POLLIN, 0};
    EXPECT_EQ(poll(&p, 1, -1), 1);
    EXPECT_EQ(p.revents, POLLNVAL);
}

TEST(errors_are_told_unasked)
{
    ASSERT_EQ(pipe(ends), 0);
    close(ends[0]);
    struct pollfd p = {ends[1], 0, 0};
    EXPECT_EQ(poll(&p, 1, -1), 1);
    EXPECT_EQ(p.revents, POLLERR);
}

TEST(regular_files_are_always_ready)
{
    struct pollfd p = {open("f", O_RDWR | O_CREAT, 0600),
                       POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM | POLLPRI, 0};
    EXPECT_EQ(poll(&p, 1, -1), 1);
    EXPECT_EQ(p.revents, POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM);
}

TEST(events_and_fd_are_not_written)
{
    struct pollfd *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_EQ(pipe(ends), 0);
    p[0] = (struct pollfd){ends[0], POLLIN, 0x77};
    pid_t child = fork();
    if (child == 0) {
        harness_wait_until_sleeps(getppid());
        p[0].events = POLLOUT | POLLPRI;
        p[0].fd = 77;
        _exit(write(ends[1], "x", 1) != 1);
    }
    EXPECT_EQ(poll(p, 1, 5000), 1);
    EXPECT_EQ(p[0].fd, 77);
    EXPECT_EQ(p[0].events, POLLOUT | POLLPRI);
    EXPECT_EQ(p[0].revents, POLLIN);
    wait(NULL);
}

TEST(timeout_passes)
{
    ASSERT_EQ(pipe(ends), 0);
    struct pollfd p = {ends[0], POLLIN, 0x77};
    long start = now_ms();
    EXPECT_EQ(poll(&p, 1, 80), 0);
    EXPECT_GE(now_ms() - start, 80);
    EXPECT_EQ(p.revents, 0);
}

TEST(no_descriptors_is_a_sleep)
{
    long start = now_ms();
    EXPECT_EQ(poll(NULL, 0, 50), 0);
    EXPECT_GE(now_ms() - start, 50);
    EXPECT_EQ(poll(bad_address, 0, 0), 0);
}

TEST(bad_array_is_efault)
{
    EXPECT_ERRNO(poll(bad_address, 1, 0), EFAULT);
}

TEST(more_descriptors_than_the_limit_is_einval)
{
    struct rlimit limit = {16, 16};
    static struct pollfd many[17];
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int i = 0; i < 17; i++)
        many[i].fd = -1;
    EXPECT_EQ(poll(many, 16, 0), 0);
    EXPECT_ERRNO(poll(many, 17, 0), EINVAL);
    EXPECT_ERRNO(syscall(SYS_poll, NULL, 0x100000000ULL + 17, 0), EINVAL);
}

TEST(many_descriptors_at_once)
{
    enum { COUNT = 900 };
    static struct pollfd p[COUNT];
    ASSERT_EQ(pipe(ends), 0);
    for (int i = 0; i < COUNT; i++)
        p[i] = (struct pollfd){ends[0], POLLIN, 0};
    pid_t child = fork();
    if (child == 0) {
        harness_wait_until_sleeps(getppid());
        _exit(write(ends[1], "x", 1) != 1);
    }
    EXPECT_EQ(poll(p, COUNT, 5000), COUNT);
    EXPECT_EQ(p[COUNT - 1].revents, POLLIN);
    wait(NULL);
}

TEST(hang_up_wakes)
{
    ASSERT_EQ(pipe(ends), 0);
    if (fork() == 0) {
        harness_wait_until_sleeps(getppid());
        _exit(0);
    }
    close(ends[1]);
    struct pollfd p = {ends[0], POLLIN, 0};
    EXPECT_EQ(poll(&p, 1, 5000), 1);
    EXPECT_EQ(p.revents, POLLHUP);
    wait(NULL);
}

static void *close_and_write(void *unused)
{
    usleep(50000);
    close(ends[0]);
    usleep(20000);
    return (void *)(long)write(ends[1], "x", 1);
}

TEST(descriptor_closed_by_another_thread_does_no_harm)
{
    pthread_t thread;
    void *written;
    signal(SIGPIPE, SIG_IGN);
    ASSERT_EQ(pipe(ends), 0);
    struct pollfd p = {ends[0], POLLIN, 0};
    ASSERT_EQ(pthread_create(&thread, NULL, close_and_write, NULL), 0);
    int r = poll(&p, 1, 1000);
    EXPECT_TRUE(r == 0 || (r == 1 && p.revents == POLLNVAL));
    pthread_join(thread, &written);
}

TEST(handler_interrupts_even_if_it_restarts)
{
    handle(SIGALRM, SA_RESTART);
    ASSERT_EQ(pipe(ends), 0);
    struct pollfd p = {ends[0], POLLIN, 0};
    alarm(1);
    EXPECT_ERRNO(poll(&p, 1, -1), EINTR);
    EXPECT_EQ(signals_seen, 1);
}

TEST(stop_and_continue_do_not_interrupt)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        long start = now_ms();
        int r = poll(NULL, 0, 1000);
        _exit(r == 0 && now_ms() - start >= 1000 ? 0 : 1);
    }
    harness_wait_until_sleeps(child);
    kill(child, SIGSTOP);
    ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
    EXPECT_TRUE(WIFSTOPPED(status));
    usleep(50000);
    kill(child, SIGCONT);
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(ppoll_takes_nanoseconds)
{
    struct timespec t = {0, 60000000};
    long start = now_ms();
    EXPECT_EQ(ppoll(NULL, 0, &t, NULL), 0);
    EXPECT_GE(now_ms() - start, 60);
}

TEST(ppoll_checks_its_arguments)
{
    struct timespec negative = {-1, 0}, large = {0, 1000000000};
    sigset_t set;
    sigemptyset(&set);
    EXPECT_ERRNO(ppoll(NULL, 0, &negative, NULL), EINVAL);
    EXPECT_ERRNO(ppoll(NULL, 0, &large, NULL), EINVAL);
    EXPECT_ERRNO(syscall(SYS_ppoll, NULL, 0, bad_address, NULL, 8), EFAULT);
    EXPECT_ERRNO(syscall(SYS_ppoll, NULL, 0, NULL, &set, 4), EINVAL);
    EXPECT_ERRNO(syscall(SYS_ppoll, NULL, 0, NULL, bad_address, 8), EFAULT);
}

TEST(ppoll_mask_lets_a_pending_signal_through)
{
    sigset_t none;
    struct timespec t = {5, 0};
    handle(SIGUSR1, 0);
    block(SIGUSR1);
    raise(SIGUSR1);
    EXPECT_EQ(signals_seen, 0);
    sigemptyset(&none);
    EXPECT_ERRNO(ppoll(NULL, 0, &t, &none), EINTR);
    EXPECT_EQ(signals_seen, 1);
    EXPECT_TRUE(is_blocked(SIGUSR1));
}

TEST(ppoll_lets_it_through_without_waiting_too)
{
    sigset_t none;
    struct timespec zero = {0, 0};
    handle(SIGUSR1, 0);
    block(SIGUSR1);
    raise(SIGUSR1);
    sigemptyset(&none);
    EXPECT_ERRNO(ppoll(NULL, 0, &zero, &none), EINTR);
    EXPECT_EQ(signals_seen, 1);
}

TEST(ppoll_answers_what_is_ready_before_a_signal)
{
    sigset_t none;
    ASSERT_EQ(pipe(ends), 0);
    struct pollfd p = {ends[1], POLLOUT, 0};
    handle(SIGUSR1, 0);
    block(SIGUSR1);
    raise(SIGUSR1);
    sigemptyset(&none);
    EXPECT_EQ(ppoll(&p, 1, NULL, &none), 1);
    EXPECT_EQ(signals_seen, 0);
    EXPECT_TRUE(is_blocked(SIGUSR1));
}

TEST(ppoll_mask_holds_a_signal_back)
{
    sigset_t all;
    struct timespec t = {0, 100000000};
    handle(SIGALRM, 0);
    sigfillset(&all);
    ualarm(20000, 0);
    EXPECT_EQ(ppoll(NULL, 0, &t, &all), 0);
    EXPECT_EQ(signals_seen, 1);
}

TEST(ppoll_system_call_tells_the_time_left)
{
    ASSERT_EQ(pipe(ends), 0);
    struct pollfd p = {ends[1], POLLOUT, 0};
    struct timespec t = {100, 0};
    EXPECT_EQ(syscall(SYS_ppoll, &p, 1, &t, NULL, 8), 1);
    EXPECT_TRUE(t.tv_sec == 99 || t.tv_sec == 100);
    t = (struct timespec){0, 10000000};
    EXPECT_EQ(syscall(SYS_ppoll, NULL, 0, &t, NULL, 8), 0);
    EXPECT_EQ(t.tv_sec, 0);
    EXPECT_EQ(t.tv_nsec, 0);
}

TEST(one_event_wakes_all_who_poll)
{
    int event = eventfd(0, 0), status;
    pid_t children[4];
    for (int i = 0; i < 4; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct pollfd p = {event, POLLIN, 0};
            _exit(poll(&p, 1, 5000) != 1);
        }
    }
    usleep(100000);
    EXPECT_EQ(eventfd_write(event, 1), 0);
    for (int i = 0; i < 4; i++) {
        ASSERT_EQ(waitpid(children[i], &status, 0), children[i]);
        EXPECT_EQ(status, 0);
    }
}
