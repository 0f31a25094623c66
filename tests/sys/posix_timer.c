// SPDX-License-Identifier: Apache-2.0
/* timer_create(2), timer_settime(2), timer_getoverrun(2), timer_delete(2): the raw system calls. */
#include "tests/harness/harness.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define SIG (SIGRTMIN + 2)

static volatile sig_atomic_t ran, handler_tid;
static siginfo_t last_info;

static void note(int sig, siginfo_t *info, void *context)
{
    last_info = *info;
    handler_tid = (int)syscall(SYS_gettid);
    ran++;
}

static void handle(int sig)
{
    struct sigaction a = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};
    ASSERT_EQ(sigaction(sig, &a, NULL), 0);
}

/* Not libc's: its timer_t hides the number, and it has its own notion of SIGEV_THREAD. */
static long create(clockid_t clock, const struct sigevent *event, int *id)
{
    return syscall(SYS_timer_create, clock, event, id);
}

static int create_or_end(clockid_t clock, int notify, int sig, int value)
{
    int id = -1;
    struct sigevent e = {
        .sigev_notify = notify, .sigev_signo = sig, .sigev_value.sival_int = value};
    ASSERT_EQ(create(clock, &e, &id), 0);
    return id;
}

static struct itimerspec spec_of(long value_ms, long interval_ms)
{
    return (struct itimerspec){
        .it_interval = {interval_ms / 1000, interval_ms % 1000 * 1000000},
        .it_value = {value_ms / 1000, value_ms % 1000 * 1000000},
    };
}

static long set(int id, long value_ms, long interval_ms)
{
    struct itimerspec s = spec_of(value_ms, interval_ms);
    return syscall(SYS_timer_settime, id, 0, &s, NULL);
}

static struct itimerspec get(int id)
{
    struct itimerspec s = {0};
    EXPECT_EQ(syscall(SYS_timer_gettime, id, &s), 0);
    return s;
}

static int64_t now_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void block(int sig)
{
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, sig);
    sigprocmask(SIG_BLOCK, &s, NULL);
}

static int take(int sig, siginfo_t *info)
{
    sigset_t s;
    struct timespec timeout = {5, 0};
    sigemptyset(&s);
    sigaddset(&s, sig);
    return sigtimedwait(&s, info, &timeout);
}

static void wait_for(int times)
{
    for (int i = 0; i < 500 && ran < times; i++)
        poll(NULL, 0, 10);
    EXPECT_GE(ran, times);
}

TEST(timer_sends_its_signal_with_its_value)
{
    handle(SIG);
    int id = create_or_end(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIG, 42);
    EXPECT_EQ(set(id, 30, 0), 0);
    wait_for(1);
    EXPECT_EQ(last_info.si_signo, SIG);
    EXPECT_EQ(last_info.si_code, SI_TIMER);
    EXPECT_EQ(last_info.si_value.sival_int, 42);
    EXPECT_EQ(last_info.si_timerid, id);
    EXPECT_EQ(last_info.si_overrun, 0);
    poll(NULL, 0, 60);
    EXPECT_EQ(ran, 1);
}

TEST(timer_without_an_event_sends_sigalrm_with_its_number)
{
    int id = -1;
    handle(SIGALRM);
    EXPECT_EQ(create(CLOCK_REALTIME, NULL, &id), 0);
    EXPECT_EQ(set(id, 20, 0), 0);
    wait_for(1);
    EXPECT_EQ(last_info.si_signo, SIGALRM);
    EXPECT_EQ(last_info.si_value.sival_int, id);
}

TEST(timer_repeats)
{
    handle(SIG);
    int id = create_or_end(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIG, 1);
    int64_t start = now_ms(CLOCK_MONOTONIC);
    set(id, 10, 20);
    wait_for(5);
    EXPECT_GE(now_ms(CLOCK_MONOTONIC) - start, 85);
    EXPECT_EQ(syscall(SYS_timer_delete, id), 0);
    int count = ran;
    poll(NULL, 0, 60);
    EXPECT_EQ(ran, count);
}

TEST(expirations_while_the_signal_is_pending_are_overrun)
{
    siginfo_t info;
    block(SIG);
    int id = create_or_end(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIG, 1);
    int64_t start = now_ms(CLOCK_MONOTONIC);
    set(id, 10, 10);
    poll(NULL, 0, 105);
    int64_t taken = now_ms(CLOCK_MONOTONIC);
    EXPECT_EQ(take(SIG, &info), SIG);
    EXPECT_GE(info.si_overrun, 7);
    EXPECT_LE(info.si_overrun, (now_ms(CLOCK_MONOTONIC) - start) / 10);
    EXPECT_EQ(syscall(SYS_timer_getoverrun, id), info.si_overrun);
    /* It counts from the start again. */
    EXPECT_EQ(take(SIG, &info), SIG);
    EXPECT_LE(info.si_overrun, (now_ms(CLOCK_MONOTONIC) - taken) / 10 + 1);
}

TEST(one_signal_is_pending_per_timer)
{
    sigset_t s;
    struct timespec zero = {0, 0};
    siginfo_t info;
    block(SIG);
    int a = create_or_end(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIG, 1);
    int b = create_or_end(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIG, 2);
    set(a, 5, 0);
    set(b, 10, 0);
    poll(NULL, 0, 60);
    EXPECT_EQ(take(SIG, &info), SIG);
    EXPECT_EQ(info.si_value.sival_int, 1);
    EXPECT_EQ(take(SIG, &info), SIG);
    EXPECT_EQ(info.si_value.sival_int, 2);
    sigemptyset(&s);
    sigaddset(&s, SIG);
    EXPECT_ERRNO(sigtimedwait(&s, NULL, &zero), EAGAIN);
}

TEST(gettime_tells_what_is_left)
{
    int id = create_or_end(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIG, 1);
    struct itimerspec s = get(id);
    EXPECT_EQ(s.it_value.tv_sec + s.it_value.tv_nsec, 0);
    set(id, 10000, 3000);
    poll(NULL, 0, 10);
    s = get(id);
    EXPECT_EQ(s.it_value.tv_sec, 9);
    EXPECT_EQ(s.it_interval.tv_sec, 3);
}

TEST(settime_gives_the_old_setting_back)
{
    int id = create_or_end(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIG, 1);
    struct itimerspec s = spec_of(0, 0), old;
    set(id, 10000, 3000);
    EXPECT_EQ(syscall(SYS_timer_settime, id, 0, &s, &old), 0);
    EXPECT_EQ(old.it_value.tv_sec, 9);
    EXPECT_EQ(old.it_interval.tv_sec, 3);
    s = get(id);
    EXPECT_EQ(s.it_value.tv_sec + s.it_value.tv_nsec, 0);
    EXPECT_EQ(s.it_interval.tv_sec + s.it_interval.tv_nsec, 0);
}

TEST(absolute_time_in_the_past_expires_at_once)
{
    handle(SIG);
    int id = create_or_end(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIG, 1);
    struct itimerspec s = {.it_value = {0, 1}};
    EXPECT_EQ(syscall(SYS_timer_settime, id, TIMER_ABSTIME, &s, NULL), 0);
    for (int i = 0; i < 200 && !ran; i++)
        poll(NULL, 0, 5);
    EXPECT_EQ(ran, 1);
}

TEST(absolute_time_of_each_clock)
{
    static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_TAI};
    handle(SIG);
    for (int i = 0; i < 4; i++) {
        int id = create_or_end(clocks[i], SIGEV_SIGNAL, SIG, i);
        struct itimerspec s = {0};
        clock_gettime(clocks[i], &s.it_value);
        int64_t start = now_ms(CLOCK_MONOTONIC);
        s.it_value.tv_nsec += 40000000;
        if (s.it_value.tv_nsec >= 1000000000) {
            s.it_value.tv_nsec -= 1000000000;
            s.it_value.tv_sec++;
        }
        ran = 0;
        EXPECT_EQ(syscall(SYS_timer_settime, id, TIMER_ABSTIME, &s, NULL), 0);
        wait_for(1);
        EXPECT_GE(now_ms(CLOCK_MONOTONIC) - start, 38);
    }
}

TEST(timer_without_notification_only_counts)
{
    int id = create_or_end(CLOCK_MONOTONIC, SIGEV_NONE, 0, 0);
    set(id, 900, 0);
    struct itimerspec s = get(id);
    EXPECT_GT(s.it_value.tv_nsec, 0);
    poll(NULL, 0, 910);
    s = get(id);
    EXPECT_EQ(s.it_value.tv_sec + s.it_value.tv_nsec, 0);
    set(id, 20, 100000);
    poll(NULL, 0, 40);
    s = get(id);
    EXPECT_GE(s.it_value.tv_sec, 99);
}

static volatile pid_t thread_id;

static void *pause_in_thread(void *unused)
{
    thread_id = (pid_t)syscall(SYS_gettid);
    while (!ran)
        poll(NULL, 0, 10);
    return unused;
}

TEST(timer_can_signal_one_thread)
{
    pthread_t thread;
    int id;
    handle(SIG);
    pthread_create(&thread, NULL, pause_in_thread, NULL);
    while (!thread_id)
        usleep(1000);
    struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIG};
    e._sigev_un._tid = thread_id;
    ASSERT_EQ(create(CLOCK_MONOTONIC, &e, &id), 0);
    set(id, 10, 0);
    pthread_join(thread, NULL);
    EXPECT_EQ(handler_tid, thread_id);
    e._sigev_un._tid = getppid();
    EXPECT_ERRNO(create(CLOCK_MONOTONIC, &e, &id), EINVAL);
}

TEST(create_checks_its_arguments)
{
    int id;
    struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIG};
    EXPECT_ERRNO(create(99, &e, &id), EINVAL);
    EXPECT_ERRNO(create(CLOCK_MONOTONIC_RAW, &e, &id), EOPNOTSUPP);
    EXPECT_ERRNO(create(CLOCK_REALTIME_COARSE, &e, &id), EOPNOTSUPP);
    EXPECT_ERRNO(create(CLOCK_MONOTONIC, (void *)8, &id), EFAULT);
    EXPECT_ERRNO(create(CLOCK_MONOTONIC, &e, (void *)8), EFAULT);
    e.sigev_signo = 65;
    EXPECT_ERRNO(create(CLOCK_MONOTONIC, &e, &id), EINVAL);
    e.sigev_signo = 0;
    EXPECT_ERRNO(create(CLOCK_MONOTONIC, &e, &id), EINVAL);
    e.sigev_signo = SIG;
    e.sigev_notify = 17;
    EXPECT_ERRNO(create(CLOCK_MONOTONIC, &e, &id), EINVAL);
}

TEST(settime_checks_its_arguments)
{
    int id = create_or_end(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIG, 1);
    struct itimerspec s = spec_of(1, 0);
    s.it_value.tv_nsec = 1000000000;
    EXPECT_ERRNO(syscall(SYS_timer_settime, id, 0, &s, NULL), EINVAL);
    s = spec_of(1, 0);
    s.it_interval.tv_nsec = -1;
    EXPECT_ERRNO(syscall(SYS_timer_settime, id, 0, &s, NULL), EINVAL);
    s = spec_of(1, 0);
    EXPECT_ERRNO(syscall(SYS_timer_settime, id, 0, NULL, NULL), EINVAL);
    EXPECT_ERRNO(syscall(SYS_timer_settime, id, 0, (void *)8, NULL), EFAULT);
    EXPECT_ERRNO(syscall(SYS_timer_settime, 12345, 0, &s, NULL), EINVAL);
}

TEST(deleted_timer_is_einval)
{
    struct itimerspec s;
    int id = create_or_end(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIG, 1);
    EXPECT_EQ(syscall(SYS_timer_delete, id), 0);
    EXPECT_ERRNO(syscall(SYS_timer_delete, id), EINVAL);
    EXPECT_ERRNO(syscall(SYS_timer_gettime, id, &s), EINVAL);
    EXPECT_ERRNO(syscall(SYS_timer_getoverrun, id), EINVAL);
    EXPECT_ERRNO(set(id, 1, 0), EINVAL);
    EXPECT_ERRNO(syscall(SYS_timer_delete, -1), EINVAL);
}

TEST(many_timers_each_send_their_value)
{
    enum { COUNT = 64 };
    int seen[COUNT] = {0};
    siginfo_t info;
    block(SIG);
    for (int i = 0; i < COUNT; i++)
        EXPECT_EQ(set(create_or_end(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIG, i), 1 + i % 7, 0), 0);
    for (int i = 0; i < COUNT; i++) {
        ASSERT_EQ(take(SIG, &info), SIG);
        seen[info.si_value.sival_int]++;
    }
    for (int i = 0; i < COUNT; i++)
        EXPECT_EQ(seen[i], 1);
}

TEST(timers_have_a_limit)
{
    if (!harness_is_inside())
        SKIP("the machine's limit is large");
    struct sigevent e = {.sigev_notify = SIGEV_NONE};
    int id, count = 0;
    while (count < 100000 && create(CLOCK_MONOTONIC, &e, &id) == 0)
        count++;
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_GE(count, 100);
}

TEST(timers_are_not_inherited_by_fork)
{
    struct itimerspec s;
    int status, id = create_or_end(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIG, 1);
    handle(SIG);
    set(id, 50, 0);
    pid_t pid = fork();
    if (pid == 0) {
        int gone = syscall(SYS_timer_gettime, id, &s) == -1 && errno == EINVAL;
        int before = ran;
        poll(NULL, 0, 100);
        _exit(gone && ran == before ? 0 : 1);
    }
    while (waitpid(pid, &status, 0) < 0)
        ;
    EXPECT_EQ(status, 0);
    EXPECT_EQ(ran, 1);
}

TEST(timers_end_at_exec)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        set(create_or_end(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGTERM, 1), 50, 0);
        execl("/bin/sh", "sh", "-c", "sleep 0.2; exit 3", (char *)NULL);
        _exit(127);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 3 << 8);
}

TEST(pending_signal_of_a_timer_does_not_run_twice)
{
    block(SIG);
    handle(SIG);
    int id = create_or_end(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIG, 1);
    set(id, 5, 5);
    poll(NULL, 0, 50);
    set(id, 0, 0);
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIG);
    sigprocmask(SIG_UNBLOCK, &s, NULL);
    EXPECT_LE(ran, 1);
}

static void spin_until(int count)
{
    int64_t start = now_ms(CLOCK_PROCESS_CPUTIME_ID);
    while (ran < count && now_ms(CLOCK_PROCESS_CPUTIME_ID) - start < 10000)
        for (volatile int i = 0; i < 100000; i++)
            ;
}

TEST(timer_of_process_cpu_time)
{
    handle(SIG);
    int id = create_or_end(CLOCK_PROCESS_CPUTIME_ID, SIGEV_SIGNAL, SIG, 1);
    set(id, 40, 0);
    poll(NULL, 0, 100);
    EXPECT_EQ(ran, 0);
    spin_until(1);
    EXPECT_EQ(ran, 1);
}

TEST(timer_of_thread_cpu_time)
{
    handle(SIG);
    int id = create_or_end(CLOCK_THREAD_CPUTIME_ID, SIGEV_SIGNAL, SIG, 1);
    set(id, 40, 20);
    struct itimerspec s = get(id);
    EXPECT_GT(s.it_value.tv_nsec, 0);
    spin_until(2);
    EXPECT_GE(ran, 2);
}

TEST(timer_of_another_process_clock)
{
    clockid_t clock;
    int id = -1;
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            ;
    }
    handle(SIG);
    ASSERT_EQ(clock_getcpuclockid(pid, &clock), 0);
    struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIG};
    ASSERT_EQ(create(clock, &e, &id), 0);
    EXPECT_EQ(set(id, 30, 0), 0);
    for (int i = 0; i < 500 && !ran; i++)
        poll(NULL, 0, 10);
    EXPECT_EQ(ran, 1);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
