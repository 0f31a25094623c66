// SPDX-License-Identifier: Apache-2.0
/* Realtime signals and their queue; sigqueue(3), sigtimedwait(2). */
#include "tests/sys/signal_sets.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define NO_PID 0x3ffffff0

static volatile sig_atomic_t count;
static int signals[256], values[256];

static void note(int sig, siginfo_t *info, void *context)
{
    if (count < 256) {
        signals[count] = sig;
        values[count] = info->si_value.sival_int;
    }
    count++;
}

static void handle(int sig)
{
    struct sigaction a = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};
    /* Nothing nests, so that the order of arrival is the order of the notes. */
    sigfillset(&a.sa_mask);
    ASSERT_EQ(sigaction(sig, &a, NULL), 0);
}

static int queue(int sig, int value)
{
    return sigqueue(getpid(), sig, (union sigval){.sival_int = value});
}

/* ---- the queue ---- */

TEST(realtime_signals_queue_with_their_values_in_order)
{
    handle(SIGRTMIN + 1);
    block(SIGRTMIN + 1, 0);
    for (int i = 0; i < 50; i++)
        ASSERT_EQ(queue(SIGRTMIN + 1, i), 0);
    unblock(SIGRTMIN + 1, 0);
    ASSERT_EQ(count, 50);
    for (int i = 0; i < 50; i++)
        EXPECT_EQ(values[i], i);
}

TEST(lower_realtime_numbers_come_first)
{
    handle(SIGRTMIN + 1);
    handle(SIGRTMIN + 2);
    block(SIGRTMIN + 1, SIGRTMIN + 2);
    queue(SIGRTMIN + 2, 1);
    queue(SIGRTMIN + 1, 2);
    queue(SIGRTMIN + 2, 3);
    queue(SIGRTMIN + 1, 4);
    unblock(SIGRTMIN + 1, SIGRTMIN + 2);
    ASSERT_EQ(count, 4);
    EXPECT_EQ(values[0], 2);
    EXPECT_EQ(values[1], 4);
    EXPECT_EQ(values[2], 1);
    EXPECT_EQ(values[3], 3);
}

TEST(standard_signals_come_before_realtime_ones)
{
    handle(SIGRTMIN + 1);
    handle(SIGUSR2);
    block(SIGRTMIN + 1, SIGUSR2);
    queue(SIGRTMIN + 1, 1);
    queue(SIGUSR2, 2);
    unblock(SIGRTMIN + 1, SIGUSR2);
    ASSERT_EQ(count, 2);
    EXPECT_EQ(signals[0], SIGUSR2);
    EXPECT_EQ(signals[1], SIGRTMIN + 1);
}

TEST(standard_signal_keeps_the_first_value_only)
{
    handle(SIGUSR1);
    block(SIGUSR1, 0);
    queue(SIGUSR1, 1);
    queue(SIGUSR1, 2);
    unblock(SIGUSR1, 0);
    EXPECT_EQ(count, 1);
    EXPECT_EQ(values[0], 1);
}

TEST(queue_has_the_limit_of_sigpending)
{
    struct rlimit limit;
    handle(SIGRTMIN + 1);
    block(SIGRTMIN + 1, 0);
    getrlimit(RLIMIT_SIGPENDING, &limit);
    limit.rlim_cur = 20;
    ASSERT_EQ(setrlimit(RLIMIT_SIGPENDING, &limit), 0);
    int sent = 0;
    while (sent < 100 && queue(SIGRTMIN + 1, sent) == 0)
        sent++;
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_LE(sent, 20);
    EXPECT_GT(sent, 0);
    /* A signal without a value is never refused. */
    EXPECT_EQ(kill(getpid(), SIGRTMIN + 1), 0);
}

TEST(pending_realtime_signal_shows_until_its_last_is_taken)
{
    sigset_t pending, s = set_of(SIGRTMIN + 1, 0);
    block(SIGRTMIN + 1, 0);
    queue(SIGRTMIN + 1, 1);
    queue(SIGRTMIN + 1, 2);
    EXPECT_EQ(sigwaitinfo(&s, NULL), SIGRTMIN + 1);
    sigpending(&pending);
    EXPECT_EQ(sigismember(&pending, SIGRTMIN + 1), 1);
    EXPECT_EQ(sigwaitinfo(&s, NULL), SIGRTMIN + 1);
    sigpending(&pending);
    EXPECT_EQ(sigismember(&pending, SIGRTMIN + 1), 0);
}

/* ---- sigqueue ---- */

TEST(sigqueue_tells_sender_and_value)
{
    siginfo_t info;
    sigset_t s = set_of(SIGRTMIN + 3, 0);
    block(SIGRTMIN + 3, 0);
    EXPECT_EQ(sigqueue(getpid(), SIGRTMIN + 3, (union sigval){.sival_ptr = &info}), 0);
    EXPECT_EQ(sigwaitinfo(&s, &info), SIGRTMIN + 3);
    EXPECT_EQ(info.si_signo, SIGRTMIN + 3);
    EXPECT_EQ(info.si_code, SI_QUEUE);
    EXPECT_EQ(info.si_pid, getpid());
    EXPECT_EQ(info.si_uid, getuid());
    EXPECT_TRUE(info.si_value.sival_ptr == &info);
}

TEST(sigqueue_checks_its_arguments)
{
    union sigval v = {.sival_int = 0};
    EXPECT_ERRNO(sigqueue(getpid(), 65, v), EINVAL);
    EXPECT_ERRNO(sigqueue(getpid(), -1, v), EINVAL);
    EXPECT_ERRNO(sigqueue(NO_PID, SIGUSR1, v), ESRCH);
    EXPECT_EQ(sigqueue(getpid(), 0, v), 0);
    EXPECT_ERRNO(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, (void *)8), EFAULT);
}

TEST(sigqueue_to_others_can_not_pretend_to_be_kill)
{
    siginfo_t info;
    memset(&info, 0, sizeof(info));
    info.si_code = SI_USER;
    EXPECT_ERRNO(syscall(SYS_rt_sigqueueinfo, getppid(), 0, &info), EPERM);
    info.si_code = SI_KERNEL;
    EXPECT_ERRNO(syscall(SYS_rt_sigqueueinfo, getppid(), 0, &info), EPERM);
    info.si_code = SI_TKILL;
    EXPECT_ERRNO(syscall(SYS_rt_sigqueueinfo, getppid(), 0, &info), EPERM);
    info.si_code = SI_QUEUE;
    EXPECT_EQ(syscall(SYS_rt_sigqueueinfo, getppid(), 0, &info), 0);
}

TEST(sigqueue_to_oneself_may_say_anything)
{
    siginfo_t info, got;
    sigset_t s = set_of(SIGUSR1, 0);
    block(SIGUSR1, 0);
    memset(&info, 0, sizeof(info));
    info.si_code = SI_USER;
    info.si_pid = 4711;
    EXPECT_EQ(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, &info), 0);
    EXPECT_EQ(sigwaitinfo(&s, &got), SIGUSR1);
    EXPECT_EQ(got.si_code, SI_USER);
    EXPECT_EQ(got.si_pid, 4711);
    EXPECT_EQ(got.si_signo, SIGUSR1);
}

TEST(tgsigqueueinfo_checks_its_arguments)
{
    siginfo_t info;
    memset(&info, 0, sizeof(info));
    info.si_code = SI_QUEUE;
    EXPECT_ERRNO(syscall(SYS_rt_tgsigqueueinfo, 0, getpid(), 0, &info), EINVAL);
    EXPECT_ERRNO(syscall(SYS_rt_tgsigqueueinfo, getpid(), -1, 0, &info), EINVAL);
    EXPECT_ERRNO(syscall(SYS_rt_tgsigqueueinfo, getpid(), NO_PID, 0, &info), ESRCH);
    EXPECT_EQ(syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), 0, &info), 0);
    info.si_code = SI_USER;
    EXPECT_ERRNO(syscall(SYS_rt_tgsigqueueinfo, getppid(), getppid(), 0, &info), EPERM);
}

TEST(value_reaches_a_handler_in_another_process)
{
    handle(SIGRTMIN + 1);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        _exit(sigqueue(parent, SIGRTMIN + 1, (union sigval){.sival_int = 77}) == 0 ? 0 : 1);
    while (!count)
        poll(NULL, 0, 10);
    EXPECT_EQ(values[0], 77);
    waitpid(pid, NULL, 0);
}

/* ---- sigtimedwait ---- */

TEST(sigtimedwait_takes_what_is_pending_without_running_the_handler)
{
    sigset_t s = set_of(SIGUSR1, 0);
    handle(SIGUSR1);
    block(SIGUSR1, 0);
    raise(SIGUSR1);
    EXPECT_EQ(sigwaitinfo(&s, NULL), SIGUSR1);
    unblock(SIGUSR1, 0);
    EXPECT_EQ(count, 0);
}

TEST(sigtimedwait_takes_the_lowest_number_first)
{
    sigset_t s = set_of(SIGUSR1, SIGHUP);
    block(SIGUSR1, SIGHUP);
    raise(SIGUSR1);
    raise(SIGHUP);
    EXPECT_EQ(sigwaitinfo(&s, NULL), SIGHUP);
    EXPECT_EQ(sigwaitinfo(&s, NULL), SIGUSR1);
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

TEST(sigtimedwait_times_out_with_eagain)
{
    sigset_t s = set_of(SIGUSR1, 0);
    struct timespec zero = {0, 0}, some = {0, 50000000};
    block(SIGUSR1, 0);
    EXPECT_ERRNO(sigtimedwait(&s, NULL, &zero), EAGAIN);
    int64_t start = now_ms();
    EXPECT_ERRNO(sigtimedwait(&s, NULL, &some), EAGAIN);
    EXPECT_GE(now_ms() - start, 50);
}

TEST(sigtimedwait_checks_its_arguments)
{
    uint64_t set = 0;
    struct timespec bad = {0, 1000000000}, negative = {-1, 0}, zero = {0, 0};
    EXPECT_ERRNO(syscall(SYS_rt_sigtimedwait, &set, NULL, &bad, 8), EINVAL);
    EXPECT_ERRNO(syscall(SYS_rt_sigtimedwait, &set, NULL, &negative, 8), EINVAL);
    EXPECT_ERRNO(syscall(SYS_rt_sigtimedwait, &set, NULL, &zero, 4), EINVAL);
    EXPECT_ERRNO(syscall(SYS_rt_sigtimedwait, (void *)8, NULL, &zero, 8), EFAULT);
    EXPECT_ERRNO(syscall(SYS_rt_sigtimedwait, &set, NULL, (void *)8, 8), EFAULT);
}

TEST(sigtimedwait_waits_for_a_signal_to_come)
{
    sigset_t s = set_of(SIGUSR1, 0);
    struct timespec timeout = {5, 0};
    siginfo_t info;
    block(SIGUSR1, 0);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(parent);
        _exit(kill(parent, SIGUSR1));
    }
    EXPECT_EQ(sigtimedwait(&s, &info, &timeout), SIGUSR1);
    EXPECT_EQ(info.si_pid, pid);
    waitpid(pid, NULL, 0);
}

TEST(sigtimedwait_is_interrupted_by_a_handler_of_another_signal)
{
    sigset_t s = set_of(SIGUSR1, 0);
    struct timespec timeout = {5, 0};
    struct sigaction a = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGUSR2, &a, NULL);
    block(SIGUSR1, 0);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(parent);
        _exit(kill(parent, SIGUSR2));
    }
    EXPECT_ERRNO(sigtimedwait(&s, NULL, &timeout), EINTR);
    EXPECT_EQ(count, 1);
    waitpid(pid, NULL, 0);
}

TEST(signal_that_is_waited_for_unblocked_is_taken_by_the_wait)
{
    sigset_t s = set_of(SIGUSR1, 0);
    struct timespec timeout = {5, 0};
    handle(SIGUSR1);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(parent);
        _exit(kill(parent, SIGUSR1));
    }
    EXPECT_EQ(sigtimedwait(&s, NULL, &timeout), SIGUSR1);
    EXPECT_EQ(count, 0);
    waitpid(pid, NULL, 0);
}

TEST(sigwait_of_sigchld_works_though_it_is_ignored_by_default)
{
    sigset_t s = set_of(SIGCHLD, 0);
    siginfo_t info;
    block(SIGCHLD, 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(3);
    EXPECT_EQ(sigwaitinfo(&s, &info), SIGCHLD);
    EXPECT_EQ(info.si_pid, pid);
    EXPECT_EQ(info.si_status, 3);
    EXPECT_EQ(waitpid(pid, NULL, 0), pid);
}

TEST(kill_can_not_be_waited_for)
{
    sigset_t s = set_of(SIGKILL, SIGSTOP);
    struct timespec some = {0, 10000000};
    EXPECT_ERRNO(sigtimedwait(&s, NULL, &some), EAGAIN);
}

static volatile int got[4];

static void *wait_in_thread(void *argument)
{
    sigset_t s = set_of(SIGRTMIN + 5, 0);
    siginfo_t info;
    /* Linux may wake one whose signal another has taken by then. */
    while (sigwaitinfo(&s, &info) != SIGRTMIN + 5 && errno == EINTR)
        ;
    got[(long)argument] = info.si_value.sival_int;
    return NULL;
}

TEST(each_of_many_waiting_threads_gets_one_signal)
{
    pthread_t threads[4];
    int sum = 0;
    block(SIGRTMIN + 5, 0);
    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, wait_in_thread, (void *)i);
    usleep(20000);
    for (int i = 1; i <= 4; i++)
        queue(SIGRTMIN + 5, i);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        EXPECT_GT(got[i], 0);
        sum += got[i];
    }
    EXPECT_EQ(sum, 10);
}

TEST(thread_takes_its_own_signals_before_the_process_ones)
{
    sigset_t s = set_of(SIGUSR1, SIGUSR2);
    block(SIGUSR1, SIGUSR2);
    kill(getpid(), SIGUSR1);
    syscall(SYS_tgkill, getpid(), getpid(), SIGUSR2);
    EXPECT_EQ(sigwaitinfo(&s, NULL), SIGUSR2);
    EXPECT_EQ(sigwaitinfo(&s, NULL), SIGUSR1);
}

TEST(same_signal_is_pending_once_for_thread_and_once_for_process)
{
    sigset_t s = set_of(SIGUSR1, 0);
    struct timespec zero = {0, 0};
    block(SIGUSR1, 0);
    kill(getpid(), SIGUSR1);
    syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1);
    EXPECT_EQ(sigtimedwait(&s, NULL, &zero), SIGUSR1);
    EXPECT_EQ(sigtimedwait(&s, NULL, &zero), SIGUSR1);
    EXPECT_ERRNO(sigtimedwait(&s, NULL, &zero), EAGAIN);
}
