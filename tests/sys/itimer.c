// SPDX-License-Identifier: Apache-2.0
/* Interval timers and alarms: setitimer(2), getitimer(2), alarm(2). */
#include "tests/harness/harness.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t ran;
static siginfo_t last_info;

static void note(int sig, siginfo_t *info, void *context)
{
    last_info = *info;
    ran++;
}

static void handle(int sig)
{
    struct sigaction a = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};
    ASSERT_EQ(sigaction(sig, &a, NULL), 0);
}

static struct itimerval timer_of(long value_us, long interval_us)
{
    return (struct itimerval){
        .it_interval = {interval_us / 1000000, interval_us % 1000000},
        .it_value = {value_us / 1000000, value_us % 1000000},
    };
}

static int set(int which, long value_us, long interval_us)
{
    struct itimerval t = timer_of(value_us, interval_us);
    return setitimer(which, &t, NULL);
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The timers take the harness's own alarm away, so that no case may wait for ever. */
static void wait_for(int times)
{
    for (int i = 0; i < 500 && ran < times; i++)
        poll(NULL, 0, 10);
    EXPECT_GE(ran, times);
}

TEST(real_timer_fires_once)
{
    handle(SIGALRM);
    int64_t start = now_ms();
    EXPECT_EQ(set(ITIMER_REAL, 50000, 0), 0);
    wait_for(1);
    EXPECT_GE(now_ms() - start, 50);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(last_info.si_code, SI_KERNEL);
    poll(NULL, 0, 100);
    EXPECT_EQ(ran, 1);
}

TEST(real_timer_repeats_at_its_interval)
{
    handle(SIGALRM);
    int64_t start = now_ms();
    EXPECT_EQ(set(ITIMER_REAL, 10000, 20000), 0);
    wait_for(5);
    EXPECT_GE(now_ms() - start, 10 + 4 * 20 - 5);
    EXPECT_EQ(set(ITIMER_REAL, 0, 0), 0);
    int count = ran;
    poll(NULL, 0, 60);
    EXPECT_EQ(ran, count);
}

TEST(real_timer_goes_on_after_its_signal_was_blocked)
{
    sigset_t s;
    handle(SIGALRM);
    sigemptyset(&s);
    sigaddset(&s, SIGALRM);
    sigprocmask(SIG_BLOCK, &s, NULL);
    set(ITIMER_REAL, 10000, 10000);
    poll(NULL, 0, 100);
    EXPECT_EQ(ran, 0);
    /* One for all the time that it was blocked, and those of the time since. */
    int64_t start = now_ms();
    sigprocmask(SIG_UNBLOCK, &s, NULL);
    int count = ran;
    EXPECT_GE(count, 1);
    EXPECT_LE(count, 2 + (now_ms() - start) / 10);
    wait_for(3);
    set(ITIMER_REAL, 0, 0);
}

TEST(real_timer_stands_still_once_its_signal_was_ignored)
{
    signal(SIGALRM, SIG_IGN);
    set(ITIMER_REAL, 5000, 5000);
    poll(NULL, 0, 30);
    handle(SIGALRM);
    poll(NULL, 0, 50);
    EXPECT_EQ(ran, 0);
    set(ITIMER_REAL, 5000, 5000);
    wait_for(2);
    set(ITIMER_REAL, 0, 0);
}

TEST(getitimer_tells_what_is_left)
{
    struct itimerval now;
    set(ITIMER_REAL, 10000000, 3000000);
    poll(NULL, 0, 20);
    EXPECT_EQ(getitimer(ITIMER_REAL, &now), 0);
    EXPECT_EQ(now.it_value.tv_sec, 9);
    EXPECT_GT(now.it_value.tv_usec, 500000);
    EXPECT_EQ(now.it_interval.tv_sec, 3);
    EXPECT_EQ(now.it_interval.tv_usec, 0);
    set(ITIMER_REAL, 0, 0);
    EXPECT_EQ(getitimer(ITIMER_REAL, &now), 0);
    EXPECT_EQ(now.it_value.tv_sec + now.it_value.tv_usec, 0);
}

TEST(timer_that_was_never_set_is_zero)
{
    struct itimerval now;
    memset(&now, 0xff, sizeof(now));
    EXPECT_EQ(getitimer(ITIMER_PROF, &now), 0);
    EXPECT_EQ(now.it_value.tv_sec + now.it_value.tv_usec, 0);
    EXPECT_EQ(now.it_interval.tv_sec + now.it_interval.tv_usec, 0);
}

TEST(setitimer_gives_the_old_setting_back)
{
    struct itimerval t = timer_of(5000000, 0), old;
    set(ITIMER_REAL, 10000000, 2000000);
    EXPECT_EQ(setitimer(ITIMER_REAL, &t, &old), 0);
    EXPECT_EQ(old.it_value.tv_sec, 9);
    EXPECT_EQ(old.it_interval.tv_sec, 2);
    set(ITIMER_REAL, 0, 0);
}

TEST(setitimer_checks_its_arguments)
{
    struct itimerval t = timer_of(1000, 0), old;
    EXPECT_ERRNO(setitimer(3, &t, &old), EINVAL);
    EXPECT_ERRNO(setitimer(-1, &t, &old), EINVAL);
    EXPECT_ERRNO(getitimer(3, &old), EINVAL);
    t.it_value.tv_usec = 1000000;
    EXPECT_ERRNO(setitimer(ITIMER_REAL, &t, &old), EINVAL);
    t.it_value = (struct timeval){-1, 0};
    EXPECT_ERRNO(setitimer(ITIMER_REAL, &t, &old), EINVAL);
    t.it_value = (struct timeval){0, 0};
    t.it_interval = (struct timeval){0, -1};
    EXPECT_ERRNO(setitimer(ITIMER_REAL, &t, &old), EINVAL);
    EXPECT_ERRNO(syscall(SYS_setitimer, ITIMER_REAL, (void *)8, NULL), EFAULT);
    EXPECT_ERRNO(syscall(SYS_getitimer, ITIMER_REAL, (void *)8), EFAULT);
}

TEST(setitimer_with_bad_arguments_changes_nothing)
{
    struct itimerval t = timer_of(1000, 0), now;
    set(ITIMER_REAL, 10000000, 0);
    t.it_value.tv_usec = -1;
    EXPECT_ERRNO(setitimer(ITIMER_REAL, &t, NULL), EINVAL);
    getitimer(ITIMER_REAL, &now);
    EXPECT_EQ(now.it_value.tv_sec, 9);
    set(ITIMER_REAL, 0, 0);
}

TEST(very_long_timer_is_accepted)
{
    struct itimerval t = {.it_value = {INT64_MAX / 2, 0}}, now;
    EXPECT_EQ(setitimer(ITIMER_REAL, &t, NULL), 0);
    EXPECT_EQ(getitimer(ITIMER_REAL, &now), 0);
    EXPECT_GT(now.it_value.tv_sec, 1000000000);
    set(ITIMER_REAL, 0, 0);
}

TEST(short_interval_leaves_the_program_running)
{
    handle(SIGALRM);
    set(ITIMER_REAL, 200, 200);
    volatile unsigned long work = 0;
    int64_t start = now_ms();
    while (now_ms() - start < 100)
        work++;
    set(ITIMER_REAL, 0, 0);
    EXPECT_GT(work, 100);
    EXPECT_GT(ran, 10);
}

/* ---- alarm ---- */

TEST(alarm_tells_the_seconds_that_were_left)
{
    alarm(0);
    EXPECT_EQ(alarm(100), 0);
    EXPECT_EQ(alarm(50), 100);
    EXPECT_EQ(alarm(0), 50);
    EXPECT_EQ(alarm(0), 0);
}

TEST(alarm_and_the_real_timer_are_one)
{
    struct itimerval now;
    alarm(100);
    getitimer(ITIMER_REAL, &now);
    EXPECT_GE(now.it_value.tv_sec, 98);
    EXPECT_EQ(now.it_interval.tv_sec, 0);
    set(ITIMER_REAL, 400000, 0);
    EXPECT_EQ(alarm(0), 1);
}

TEST(alarm_ends_a_process_by_default)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(1);
        for (;;)
            pause();
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, SIGALRM);
}

TEST(alarm_is_not_inherited_by_fork)
{
    int status;
    alarm(100);
    pid_t pid = fork();
    if (pid == 0)
        _exit(alarm(0) == 0 ? 0 : 1);
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_GE(alarm(0), 99);
}

TEST(alarm_survives_exec)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        set(ITIMER_REAL, 200000, 0);
        execl("/bin/sh", "sh", "-c", "while :; do :; done", (char *)NULL);
        _exit(127);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, SIGALRM);
}

/* ---- CPU time ---- */

TEST(virtual_timer_counts_time_of_the_program)
{
    handle(SIGVTALRM);
    int64_t start = cpu_ms();
    set(ITIMER_VIRTUAL, 50000, 0);
    while (!ran && cpu_ms() - start < 10000)
        for (volatile int i = 0; i < 100000; i++)
            ;
    EXPECT_EQ(ran, 1);
    EXPECT_GE(cpu_ms() - start, 40);
}

TEST(virtual_timer_stands_still_while_the_program_sleeps)
{
    handle(SIGVTALRM);
    set(ITIMER_VIRTUAL, 50000, 0);
    poll(NULL, 0, 150);
    EXPECT_EQ(ran, 0);
    set(ITIMER_VIRTUAL, 0, 0);
}

TEST(profiling_timer_repeats)
{
    handle(SIGPROF);
    int64_t start = cpu_ms();
    set(ITIMER_PROF, 20000, 20000);
    while (ran < 3 && cpu_ms() - start < 10000)
        for (volatile int i = 0; i < 100000; i++)
            ;
    EXPECT_GE(ran, 3);
    EXPECT_GE(cpu_ms() - start, 30); /* counted by ticks */
    set(ITIMER_PROF, 0, 0);
}

#define RUNNERS 2

static _Thread_local int number = RUNNERS; /* of the main thread */
static volatile sig_atomic_t told[RUNNERS + 1];

static void note_thread(int sig)
{
    told[number]++;
}

static void *run(void *which)
{
    number = (int)(long)which;
    for (;;)
        ;
    return NULL;
}

TEST(profiling_timer_tells_the_threads_that_run)
{
    pthread_t thread;
    signal(SIGPROF, note_thread);
    for (long i = 0; i < RUNNERS; i++)
        ASSERT_EQ(pthread_create(&thread, NULL, run, (void *)i), 0);
    set(ITIMER_PROF, 10000, 10000);
    for (int i = 0; i < 2000 && (told[0] < 5 || told[1] < 5); i++)
        poll(NULL, 0, 10);
    set(ITIMER_PROF, 0, 0);
    EXPECT_GE(told[0], 5);
    EXPECT_GE(told[1], 5);
}

TEST(profiling_timer_ends_a_process_by_default)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        set(ITIMER_PROF, 20000, 0);
        for (;;)
            ;
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, SIGPROF);
}

TEST(the_three_timers_are_apart)
{
    struct itimerval now;
    set(ITIMER_REAL, 10000000, 0);
    set(ITIMER_VIRTUAL, 20000000, 0);
    set(ITIMER_PROF, 30000000, 0);
    getitimer(ITIMER_REAL, &now);
    EXPECT_EQ(now.it_value.tv_sec, 9);
    getitimer(ITIMER_VIRTUAL, &now);
    EXPECT_GE(now.it_value.tv_sec, 19);
    getitimer(ITIMER_PROF, &now);
    EXPECT_GE(now.it_value.tv_sec, 29);
    set(ITIMER_REAL, 0, 0);
    set(ITIMER_VIRTUAL, 0, 0);
    set(ITIMER_PROF, 0, 0);
}
