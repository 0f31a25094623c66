// SPDX-License-Identifier: Apache-2.0
/* Process groups, sessions, stops and continues: setpgid(2), setsid(2), waitpid(2), POSIX 2.4.3. */
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

#define NO_PID 0x3ffffff0

static volatile sig_atomic_t ran;
static siginfo_t last_info;

static void note(int sig, siginfo_t *info, void *context)
{
    last_info = *info;
    ran++;
}

static void handle(int sig, int flags)
{
    struct sigaction a = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | flags};
    ASSERT_EQ(sigaction(sig, &a, NULL), 0);
}

/* What children tell in memory that is shared with them: share() begins. */
static volatile int *shared;

static void share(void)
{
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_TRUE(shared != MAP_FAILED);
}

static pid_t start_pausing(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            pause();
    }
    return pid;
}

/* Counts in shared[0] for as long as it runs. */
static pid_t start_counting(void)
{
    share();
    pid_t pid = fork();
    if (pid == 0) {
        for (;;) {
            shared[0]++;
            usleep(500);
        }
    }
    while (shared[0] == 0)
        usleep(500);
    return pid;
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static int wait_for(pid_t pid, int options)
{
    int status = -1;
    EXPECT_EQ(waitpid(pid, &status, options), pid);
    return status;
}

/* ---- groups ---- */

TEST(child_begins_in_the_group_and_session_of_its_parent)
{
    pid_t group = getpgrp(), session = getsid(0), pid = fork();
    if (pid == 0)
        _exit(getpgrp() == group && getsid(0) == session && getpgid(0) == group ? 0 : 1);
    EXPECT_EQ(wait_for(pid, 0), 0);
}

TEST(child_can_be_put_into_a_group_of_its_own)
{
    pid_t pid = start_pausing();
    EXPECT_EQ(setpgid(pid, 0), 0);
    EXPECT_EQ(getpgid(pid), pid);
    EXPECT_EQ(setpgid(pid, getpgrp()), 0);
    EXPECT_EQ(getpgid(pid), getpgrp());
    end_child(pid);
}

TEST(second_child_can_join_the_group_of_the_first)
{
    pid_t a = start_pausing(), b = start_pausing();
    EXPECT_EQ(setpgid(a, a), 0);
    EXPECT_EQ(setpgid(b, a), 0);
    EXPECT_EQ(getpgid(b), a);
    end_child(a);
    /* The group lives on without its leader. */
    EXPECT_EQ(kill(-a, 0), 0);
    EXPECT_EQ(getpgid(b), a);
    end_child(b);
    EXPECT_ERRNO(kill(-a, 0), ESRCH);
}

TEST(zombie_keeps_its_group_alive)
{
    siginfo_t info;
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        _exit(0);
    }
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    EXPECT_EQ(getpgid(pid), pid);
    EXPECT_EQ(kill(-pid, 0), 0);
    wait_for(pid, 0);
    EXPECT_ERRNO(getpgid(pid), ESRCH);
}

TEST(setpgid_checks_its_arguments)
{
    EXPECT_ERRNO(setpgid(0, -1), EINVAL);
    EXPECT_ERRNO(setpgid(NO_PID, 0), ESRCH);
    EXPECT_ERRNO(setpgid(getppid(), 0), ESRCH);
    EXPECT_ERRNO(setpgid(0, NO_PID), EPERM);
    EXPECT_EQ(setpgid(0, 0), 0);
}

TEST(setpgid_of_a_child_after_its_exec_is_eacces)
{
    int ends[2];
    char c;
    pipe(ends);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 1);
        execl("/bin/sh", "sh", "-c", "echo x; exec sleep 20", (char *)NULL);
        _exit(127);
    }
    ASSERT_EQ(read(ends[0], &c, 1), 1);
    EXPECT_ERRNO(setpgid(pid, 0), EACCES);
    end_child(pid);
}

TEST(setpgid_across_sessions_is_eperm)
{
    int ends[2];
    char c;
    pipe(ends);
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        write(ends[1], "x", 1);
        pause();
    }
    ASSERT_EQ(read(ends[0], &c, 1), 1);
    EXPECT_ERRNO(setpgid(pid, getpgrp()), EPERM);
    EXPECT_ERRNO(setpgid(0, pid), EPERM);
    end_child(pid);
}

TEST(getpgid_and_getsid_of_nobody_are_esrch)
{
    EXPECT_ERRNO(getpgid(NO_PID), ESRCH);
    EXPECT_ERRNO(getsid(NO_PID), ESRCH);
    EXPECT_ERRNO(getpgid(-1), ESRCH);
}

static void *look_up_itself(void *unused)
{
    pid_t tid = (pid_t)syscall(SYS_gettid);
    EXPECT_EQ(getpgid(tid), getpgid(0));
    EXPECT_EQ(getsid(tid), getsid(0));
    EXPECT_ERRNO(setpgid(tid, 0), EINVAL);
    return NULL;
}

TEST(number_of_a_thread_has_group_and_session)
{
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, NULL, look_up_itself, NULL), 0);
    pthread_join(thread, NULL);
}

TEST(setsid_makes_session_and_group)
{
    pid_t pid = fork();
    if (pid == 0) {
        pid_t self = getpid();
        int good = setsid() == self && getsid(0) == self && getpgrp() == self;
        _exit(good ? 0 : 1);
    }
    EXPECT_EQ(wait_for(pid, 0), 0);
}

TEST(setsid_of_a_group_leader_is_eperm)
{
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        int good = setsid() == -1 && errno == EPERM;
        _exit(good ? 0 : 1);
    }
    EXPECT_EQ(wait_for(pid, 0), 0);
}

TEST(session_leader_can_not_change_its_group)
{
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        int good = setpgid(0, 0) == -1 && errno == EPERM;
        _exit(good ? 0 : 1);
    }
    EXPECT_EQ(wait_for(pid, 0), 0);
}

TEST(setsid_is_eperm_while_the_group_of_its_number_lives)
{
    int ends[2];
    char c;
    pipe(ends);
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        pid_t member = fork();
        if (member == 0) {
            pause();
            _exit(0);
        }
        /* Out of the group, which the member keeps. */
        setpgid(0, getpgid(getppid()));
        int good = setsid() == -1 && errno == EPERM;
        kill(member, SIGKILL);
        waitpid(member, NULL, 0);
        good = good && setsid() == getpid();
        write(ends[1], good ? "y" : "n", 1);
        _exit(0);
    }
    ASSERT_EQ(read(ends[0], &c, 1), 1);
    EXPECT_EQ(c, 'y');
    wait_for(pid, 0);
}

/* ---- stop and continue ---- */

TEST(stop_and_continue_are_reported)
{
    pid_t pid = start_pausing();
    EXPECT_EQ(kill(pid, SIGSTOP), 0);
    int status = wait_for(pid, WUNTRACED);
    EXPECT_TRUE(WIFSTOPPED(status));
    EXPECT_EQ(WSTOPSIG(status), SIGSTOP);
    EXPECT_EQ(kill(pid, SIGCONT), 0);
    status = wait_for(pid, WCONTINUED);
    EXPECT_TRUE(WIFCONTINUED(status));
    end_child(pid);
}

TEST(stop_is_reported_once)
{
    pid_t pid = start_pausing();
    kill(pid, SIGSTOP);
    wait_for(pid, WUNTRACED);
    EXPECT_EQ(waitpid(pid, NULL, WUNTRACED | WNOHANG), 0);
    kill(pid, SIGCONT);
    wait_for(pid, WCONTINUED);
    EXPECT_EQ(waitpid(pid, NULL, WCONTINUED | WNOHANG), 0);
    end_child(pid);
}

TEST(a_child_that_has_ended_never_stops)
{
    siginfo_t info;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    EXPECT_ERRNO(waitid(P_ALL, 0, &info, WSTOPPED | WCONTINUED), ECHILD);
    EXPECT_EQ(waitid(P_ALL, 0, &info, WEXITED), 0);
    EXPECT_EQ(info.si_pid, pid);
}

TEST(stop_is_not_reported_without_wuntraced)
{
    pid_t pid = start_pausing();
    siginfo_t info = {0};
    kill(pid, SIGSTOP);
    EXPECT_EQ(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT), 0);
    EXPECT_EQ(info.si_code, CLD_STOPPED);
    EXPECT_EQ(info.si_status, SIGSTOP);
    EXPECT_EQ(waitpid(pid, NULL, WNOHANG), 0);
    end_child(pid);
}

TEST(stopped_process_does_nothing)
{
    pid_t pid = start_counting();
    kill(pid, SIGSTOP);
    wait_for(pid, WUNTRACED);
    int count = shared[0];
    usleep(30000);
    EXPECT_EQ(shared[0], count);
    kill(pid, SIGCONT);
    for (int i = 0; i < 1000 && shared[0] == count; i++)
        usleep(1000);
    EXPECT_GT(shared[0], count);
    end_child(pid);
}

TEST(process_that_never_calls_is_stopped_too)
{
    share();
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            shared[0]++;
    }
    while (shared[0] == 0)
        usleep(500);
    kill(pid, SIGSTOP);
    wait_for(pid, WUNTRACED);
    int count = shared[0];
    usleep(20000);
    EXPECT_EQ(shared[0], count);
    end_child(pid);
}

static void *count_in_thread(void *at)
{
    volatile int *counter = at;
    for (;;) {
        (*counter)++;
        usleep(500);
    }
    return NULL;
}

TEST(stop_holds_all_threads)
{
    share();
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        for (int i = 1; i <= 4; i++)
            pthread_create(&thread, NULL, count_in_thread, (void *)&shared[i]);
        for (;;)
            pause();
    }
    while (!shared[1] || !shared[2] || !shared[3] || !shared[4])
        usleep(500);
    kill(pid, SIGSTOP);
    wait_for(pid, WUNTRACED);
    int before[5];
    for (int i = 1; i <= 4; i++)
        before[i] = shared[i];
    usleep(30000);
    for (int i = 1; i <= 4; i++)
        EXPECT_EQ(shared[i], before[i]);
    kill(pid, SIGCONT);
    for (int i = 1; i <= 4; i++) {
        for (int n = 0; n < 10000 && shared[i] <= before[i]; n++)
            usleep(1000);
        EXPECT_GT(shared[i], before[i]);
    }
    end_child(pid);
}

TEST(stopped_process_can_be_killed)
{
    pid_t pid = start_pausing();
    kill(pid, SIGSTOP);
    wait_for(pid, WUNTRACED);
    kill(pid, SIGKILL);
    EXPECT_EQ(wait_for(pid, 0), SIGKILL);
}

TEST(other_signals_wait_until_a_stopped_process_goes_on)
{
    pid_t pid = start_pausing();
    kill(pid, SIGSTOP);
    wait_for(pid, WUNTRACED);
    kill(pid, SIGTERM);
    usleep(20000);
    EXPECT_EQ(waitpid(pid, NULL, WNOHANG), 0);
    kill(pid, SIGCONT);
    EXPECT_EQ(wait_for(pid, 0), SIGTERM);
}

TEST(continue_of_a_running_process_is_not_reported)
{
    pid_t pid = start_pausing();
    kill(pid, SIGCONT);
    usleep(10000);
    EXPECT_EQ(waitpid(pid, NULL, WCONTINUED | WNOHANG), 0);
    end_child(pid);
}

TEST(process_may_stop_itself)
{
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGSTOP);
        _exit(4);
    }
    int status = wait_for(pid, WUNTRACED);
    EXPECT_TRUE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    kill(pid, SIGCONT);
    EXPECT_EQ(wait_for(pid, 0), 4 << 8);
}

TEST(stops_and_continues_in_quick_succession)
{
    pid_t pid = start_counting();
    for (int i = 0; i < 100; i++) {
        kill(pid, SIGSTOP);
        ASSERT_TRUE(WIFSTOPPED(wait_for(pid, WUNTRACED)));
        kill(pid, SIGCONT);
        ASSERT_TRUE(WIFCONTINUED(wait_for(pid, WCONTINUED)));
    }
    for (int i = 0; i < 100; i++) {
        kill(pid, SIGSTOP);
        kill(pid, SIGCONT);
    }
    int count = shared[0];
    for (int i = 0; i < 1000 && shared[0] == count; i++)
        usleep(1000);
    EXPECT_GT(shared[0], count);
    end_child(pid);
}

TEST(read_goes_on_after_a_stop)
{
    int ends[2];
    pipe(ends);
    pid_t pid = fork();
    if (pid == 0) {
        char c;
        ssize_t n = read(ends[0], &c, 1);
        _exit(n == 1 && c == 'x' ? 0 : 1);
    }
    harness_wait_until_sleeps(pid);
    kill(pid, SIGSTOP);
    wait_for(pid, WUNTRACED);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    usleep(10000);
    EXPECT_EQ(waitpid(pid, NULL, WNOHANG), 0);
    kill(pid, SIGCONT);
    EXPECT_EQ(wait_for(pid, 0), 0);
}

/* What a process does that sleeps: 0 when its sleep was not cut short. */
static int sleep_relative(void)
{
    struct timespec t = {1, 0};
    return nanosleep(&t, NULL);
}

static int sleep_absolute(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec++;
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static int sleep_on_a_futex(void)
{
    struct timespec t = {1, 0};
    int word = 0;
    long r = syscall(SYS_futex, &word, FUTEX_WAIT, 0, &t, NULL, 0);
    return r == -1 && errno == ETIMEDOUT ? 0 : 1;
}

static void expect_sleep_to_go_on(int (*sleeps)(void), int sig)
{
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        _exit(sleeps());
    }
    setpgid(pid, pid);
    harness_wait_until_sleeps(pid);
    for (int i = 0; i < 3; i++) {
        kill(pid, sig);
        int status = wait_for(pid, WUNTRACED);
        if (!WIFSTOPPED(status)) {
            EXPECT_EQ(status, 0); /* it slept out before */
            return;
        }
        EXPECT_EQ(WSTOPSIG(status), sig);
        kill(pid, SIGCONT);
    }
    EXPECT_EQ(wait_for(pid, 0), 0);
}

static void note_signal(int sig)
{
}

static int compute(void)
{
    for (volatile unsigned i = 0;; i++)
        ;
    return 0;
}

static int sleep_long(void)
{
    struct timespec t = {.tv_sec = 20};
    return nanosleep(&t, NULL) == -1 && errno == EINTR ? 7 : 8;
}

/* A child that makes no call, stopped. */
static pid_t start_and_stop(int (*does)(void), bool sleeps)
{
    struct sigaction action = {.sa_handler = note_signal};
    sigaction(SIGUSR1, &action, NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(does());
    if (sleeps)
        harness_wait_until_sleeps(pid);
    kill(pid, SIGSTOP);
    EXPECT_TRUE(WIFSTOPPED(wait_for(pid, WUNTRACED)));
    return pid;
}

TEST(signals_wait_for_a_sleeper_and_a_computer_to_go_on)
{
    for (int computing = 0; computing < 2; computing++) {
        pid_t pid = start_and_stop(computing ? compute : sleep_long, !computing);
        kill(pid, SIGTERM);
        kill(pid, SIGCONT);
        EXPECT_EQ(wait_for(pid, 0), SIGTERM);
    }
    pid_t pid = start_and_stop(sleep_long, true);
    kill(pid, SIGUSR1);
    kill(pid, SIGCONT);
    EXPECT_EQ(wait_for(pid, 0), 7 << 8);
    pid = start_and_stop(sleep_long, true);
    syscall(SYS_tgkill, pid, pid, SIGUSR1);
    kill(pid, SIGCONT);
    EXPECT_EQ(wait_for(pid, 0), 7 << 8);
}

TEST(sleep_goes_on_after_a_stop)
{
    expect_sleep_to_go_on(sleep_relative, SIGSTOP);
    expect_sleep_to_go_on(sleep_relative, SIGTSTP);
    expect_sleep_to_go_on(sleep_absolute, SIGSTOP);
    expect_sleep_to_go_on(sleep_on_a_futex, SIGSTOP);
}

/* One sleeps in the host's kernel, the other waits in a call. */
static void *read_and_tell(void *arg)
{
    int *fds = arg;
    char byte;
    if (read(fds[0], &byte, 1) != 1 || write(fds[1], &byte, 1) != 1)
        _exit(1);
    return NULL;
}

TEST(stopped_threads_of_both_kinds_do_nothing)
{
    int in[2], out[2];
    char byte = 'x';
    ASSERT_EQ(pipe(in), 0);
    ASSERT_EQ(pipe2(out, O_NONBLOCK), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int ends[2] = {in[0], out[1]};
        pthread_t reader;
        if (pthread_create(&reader, NULL, read_and_tell, ends) != 0)
            _exit(2);
        _exit(sleep_relative() == 0 && pthread_join(reader, NULL) == 0 ? 0 : 1);
    }
    harness_wait_until_sleeps(pid);
    kill(pid, SIGSTOP);
    ASSERT_TRUE(WIFSTOPPED(wait_for(pid, WUNTRACED)));
    ASSERT_EQ(write(in[1], &byte, 1), 1);
    usleep(100000);
    EXPECT_ERRNO(read(out[0], &byte, 1), EAGAIN);
    kill(pid, SIGCONT);
    EXPECT_EQ(wait_for(pid, 0), 0);
    EXPECT_EQ(read(out[0], &byte, 1), 1);
}

/* ---- stop signals of terminals ---- */

TEST(sigtstp_can_be_handled_and_ignored)
{
    handle(SIGTSTP, 0);
    raise(SIGTSTP);
    EXPECT_EQ(ran, 1);
    signal(SIGTSTP, SIG_IGN);
    raise(SIGTSTP);
    EXPECT_EQ(ran, 1);
}

/* The child's group is tied to the session by its parent, so the stop is not discarded. */
TEST(sigtstp_stops_by_default)
{
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        raise(SIGTSTP);
        _exit(0);
    }
    int status = wait_for(pid, WUNTRACED);
    EXPECT_TRUE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTSTP);
    kill(pid, SIGCONT);
    EXPECT_EQ(wait_for(pid, 0), 0);
}

TEST(sigtstp_is_discarded_in_an_orphaned_group)
{
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        raise(SIGTSTP);
        raise(SIGTTIN);
        raise(SIGTTOU);
        _exit(6);
    }
    EXPECT_EQ(wait_for(pid, WUNTRACED), 6 << 8);
}

TEST(sigstop_stops_in_an_orphaned_group_too)
{
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        raise(SIGSTOP);
        _exit(6);
    }
    EXPECT_TRUE(WIFSTOPPED(wait_for(pid, WUNTRACED)));
    kill(pid, SIGCONT);
    EXPECT_EQ(wait_for(pid, 0), 6 << 8);
}

TEST(sigcont_runs_its_handler)
{
    pid_t pid = fork();
    if (pid == 0) {
        handle(SIGCONT, 0);
        raise(SIGSTOP);
        _exit(ran == 1 ? 0 : 1);
    }
    wait_for(pid, WUNTRACED);
    kill(pid, SIGCONT);
    EXPECT_EQ(wait_for(pid, 0), 0);
}

TEST(sigcont_continues_though_it_is_blocked_or_ignored)
{
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t all;
        signal(SIGCONT, SIG_IGN);
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
        raise(SIGSTOP);
        _exit(0);
    }
    wait_for(pid, WUNTRACED);
    kill(pid, SIGCONT);
    EXPECT_EQ(wait_for(pid, 0), 0);
}

static bool is_pending(int sig)
{
    sigset_t s;
    sigpending(&s);
    return sigismember(&s, sig) == 1;
}

TEST(stop_and_continue_signals_cancel_each_other)
{
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGTSTP);
    sigaddset(&s, SIGTTIN);
    sigaddset(&s, SIGCONT);
    sigprocmask(SIG_BLOCK, &s, NULL);
    raise(SIGTSTP);
    raise(SIGTTIN);
    EXPECT_TRUE(is_pending(SIGTSTP) && is_pending(SIGTTIN));
    raise(SIGCONT);
    EXPECT_TRUE(!is_pending(SIGTSTP) && !is_pending(SIGTTIN) && is_pending(SIGCONT));
    raise(SIGTSTP);
    EXPECT_TRUE(is_pending(SIGTSTP) && !is_pending(SIGCONT));
    raise(SIGCONT);
}

/* ---- SIGCHLD about stops ---- */

static void wait_until_ran(int times)
{
    for (int i = 0; i < 1000 && ran < times; i++)
        poll(NULL, 0, 5);
    EXPECT_EQ(ran, times);
}

TEST(sigchld_tells_of_stops_and_continues)
{
    handle(SIGCHLD, SA_RESTART);
    pid_t pid = start_pausing();
    kill(pid, SIGSTOP);
    wait_until_ran(1);
    EXPECT_EQ(last_info.si_code, CLD_STOPPED);
    EXPECT_EQ(last_info.si_pid, pid);
    EXPECT_EQ(last_info.si_status, SIGSTOP);
    kill(pid, SIGCONT);
    wait_until_ran(2);
    EXPECT_EQ(last_info.si_code, CLD_CONTINUED);
    EXPECT_EQ(last_info.si_status, SIGCONT);
    end_child(pid);
}

TEST(sa_nocldstop_tells_of_ends_only)
{
    handle(SIGCHLD, SA_RESTART | SA_NOCLDSTOP);
    pid_t pid = start_pausing();
    kill(pid, SIGSTOP);
    wait_for(pid, WUNTRACED);
    kill(pid, SIGCONT);
    wait_for(pid, WCONTINUED);
    EXPECT_EQ(ran, 0);
    kill(pid, SIGKILL);
    wait_until_ran(1);
    EXPECT_EQ(last_info.si_code, CLD_KILLED);
    wait_for(pid, 0);
}

/* ---- orphaned groups ---- */

/*
 * parent -> child (own group) -> grandchild (own group, stopped). When the child ends, the
 * grandchild's group is orphaned: it gets SIGHUP and SIGCONT.
 */
static void note_hup(int sig)
{
    shared[1] = sig;
}

TEST(orphaned_group_with_a_stopped_member_is_hung_up)
{
    share();
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            setpgid(0, 0);
            signal(SIGHUP, note_hup);
            raise(SIGSTOP);
            shared[2] = 1;
            for (;;)
                pause();
        }
        int status;
        waitpid(grandchild, &status, WUNTRACED);
        shared[0] = grandchild;
        _exit(WIFSTOPPED(status) ? 0 : 1);
    }
    EXPECT_EQ(wait_for(pid, 0), 0);
    for (int i = 0; i < 1000 && !(shared[1] && shared[2]); i++)
        usleep(1000);
    EXPECT_EQ(shared[1], SIGHUP);
    EXPECT_EQ(shared[2], 1);
    kill(shared[0], SIGKILL);
}

TEST(orphaned_group_that_runs_is_left_alone)
{
    share();
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            setpgid(0, 0);
            signal(SIGHUP, note_hup);
            shared[2] = 1;
            for (;;)
                pause();
        }
        while (!shared[2])
            usleep(500);
        shared[0] = grandchild;
        _exit(0);
    }
    EXPECT_EQ(wait_for(pid, 0), 0);
    usleep(30000);
    EXPECT_EQ(shared[1], 0);
    kill(shared[0], SIGKILL);
}

TEST(sigcont_goes_anywhere_in_the_session)
{
    if (getuid() != 0)
        SKIP("needs root to become somebody else");
    pid_t target = start_pausing();
    pid_t pid = fork();
    if (pid == 0) {
        if (setuid(12345) != 0)
            _exit(2);
        int refused = kill(target, SIGUSR1) == -1 && errno == EPERM;
        _exit(refused && kill(target, SIGCONT) == 0 ? 0 : 1);
    }
    EXPECT_EQ(wait_for(pid, 0), 0);
    end_child(target);
}

/* ---- one that does all it can to run on ---- */

static volatile uint64_t *turns;

/*
 * Inside, the number is the loader stub's, which asks what a signal is to do and then returns from
 * it: whoever asks and stays is not asked to stop again. Natively it is none.
 */
static void *turn(void *unused)
{
    static siginfo_t info;
    static ucontext_t context;
    syscall(1002, SIGURG, &info, &context);
    for (;;)
        (*turns)++;
    return NULL;
}

TEST(a_thread_that_computes_is_stopped_while_others_wait)
{
    int ends[2], status;
    char c;
    turns = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_TRUE((void *)turns != MAP_FAILED);
    ASSERT_EQ(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, turn, NULL);
        _exit((int)read(ends[0], &c, 1));
    }
    while (*turns == 0)
        usleep(1000);
    ASSERT_EQ(kill(pid, SIGSTOP), 0);
    ASSERT_EQ(waitpid(pid, &status, WUNTRACED), pid);
    EXPECT_TRUE(WIFSTOPPED(status));
    /* The last thread may have to leave its processor yet. */
    uint64_t before = 0;
    for (int i = 0; i < 100 && *turns != before; i++) {
        before = *turns;
        usleep(50000);
    }
    EXPECT_EQ(*turns - before, 0);
    ASSERT_EQ(kill(pid, SIGCONT), 0);
    while (*turns == before)
        usleep(1000);
    ASSERT_EQ(kill(pid, SIGKILL), 0);
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
}
