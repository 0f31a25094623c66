// SPDX-License-Identifier: Apache-2.0
/* Dispositions, masks, sending, death: sigaction(2), sigprocmask(2), kill(2), SIGCHLD. */
#include "tests/sys/signal_sets.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define NO_PID 0x3ffffff0 /* above pid_max */

static volatile sig_atomic_t ran, last_signal;
static volatile siginfo_t last_info;
static int order[16];
static volatile sig_atomic_t order_count;

static void note(int sig, siginfo_t *info, void *context)
{
    ran++;
    last_signal = sig;
    last_info = *info;
    if (order_count < 16)
        order[order_count++] = sig;
}

static void handle(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigemptyset(&a.sa_mask);
    ASSERT_EQ(sigaction(sig, &a, NULL), 0);
}

static bool is_blocked(int sig)
{
    sigset_t s;
    sigprocmask(SIG_BLOCK, NULL, &s);
    return sigismember(&s, sig) == 1;
}

static bool is_pending(int sig)
{
    sigset_t s;
    EXPECT_EQ(sigpending(&s), 0);
    return sigismember(&s, sig) == 1;
}

/* The wait status of a child that runs f and then exits with 0. */
static int status_of(void (*f)(void))
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        f();
        _exit(0);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return status;
}

/* ---- handlers and siginfo ---- */

TEST(raise_runs_the_handler_before_it_returns)
{
    handle(SIGUSR1, note, 0);
    EXPECT_EQ(raise(SIGUSR1), 0);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(last_signal, SIGUSR1);
}

TEST(kill_of_oneself_runs_the_handler_before_it_returns)
{
    handle(SIGUSR1, note, 0);
    for (int i = 1; i <= 100; i++) {
        EXPECT_EQ(kill(getpid(), SIGUSR1), 0);
        EXPECT_EQ(ran, i);
    }
}

TEST(siginfo_of_kill_names_the_sender)
{
    handle(SIGUSR1, note, 0);
    kill(getpid(), SIGUSR1);
    EXPECT_EQ(last_info.si_signo, SIGUSR1);
    EXPECT_EQ(last_info.si_code, SI_USER);
    EXPECT_EQ(last_info.si_pid, getpid());
    EXPECT_EQ(last_info.si_uid, getuid());
    EXPECT_EQ(last_info.si_errno, 0);
}

TEST(siginfo_of_tgkill_has_its_own_code)
{
    handle(SIGUSR1, note, 0);
    EXPECT_EQ(syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1), 0);
    EXPECT_EQ(last_info.si_code, SI_TKILL);
    EXPECT_EQ(last_info.si_pid, getpid());
}

TEST(siginfo_names_another_process_as_sender)
{
    handle(SIGUSR1, note, 0);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        _exit(kill(parent, SIGUSR1) == 0 ? 0 : 1);
    while (!ran)
        poll(NULL, 0, 10);
    EXPECT_EQ(last_info.si_pid, pid);
    waitpid(pid, NULL, 0);
}

static volatile int plain;

static void plain_handler(int sig)
{
    plain = sig;
}

TEST(handler_without_siginfo_gets_the_number)
{
    ASSERT_TRUE(signal(SIGUSR2, plain_handler) == SIG_DFL);
    raise(SIGUSR2);
    EXPECT_EQ(plain, SIGUSR2);
}

static volatile sig_atomic_t blocked_inside, other_blocked_inside, third_blocked_inside;

static void look_at_mask(int sig, siginfo_t *info, void *context)
{
    blocked_inside = is_blocked(sig);
    other_blocked_inside = is_blocked(SIGUSR2);
    third_blocked_inside = is_blocked(SIGHUP);
}

TEST(signal_and_its_sa_mask_are_blocked_inside_the_handler_only)
{
    struct sigaction a = {.sa_sigaction = look_at_mask, .sa_flags = SA_SIGINFO};
    a.sa_mask = set_of(SIGUSR2, 0);
    sigaction(SIGUSR1, &a, NULL);
    raise(SIGUSR1);
    EXPECT_EQ(blocked_inside, 1);
    EXPECT_EQ(other_blocked_inside, 1);
    EXPECT_EQ(third_blocked_inside, 0);
    EXPECT_TRUE(!is_blocked(SIGUSR1));
    EXPECT_TRUE(!is_blocked(SIGUSR2));
}

TEST(sa_nodefer_leaves_the_signal_unblocked)
{
    handle(SIGUSR1, look_at_mask, SA_NODEFER);
    raise(SIGUSR1);
    EXPECT_EQ(blocked_inside, 0);
}

TEST(sa_resethand_is_for_one_signal)
{
    struct sigaction now;
    handle(SIGURG, note, SA_RESETHAND);
    raise(SIGURG);
    raise(SIGURG); /* ignored by default */
    EXPECT_EQ(ran, 1);
    sigaction(SIGURG, NULL, &now);
    EXPECT_TRUE(now.sa_handler == SIG_DFL);
}

static void raise_again(int sig, siginfo_t *info, void *context)
{
    static volatile int depth, deepest;
    depth++;
    if (depth > deepest)
        deepest = depth;
    if (ran++ < 3)
        raise(sig);
    last_signal = deepest;
    depth--;
}

TEST(signal_raised_in_its_own_handler_waits_for_its_end)
{
    handle(SIGUSR1, raise_again, 0);
    raise(SIGUSR1);
    EXPECT_EQ(ran, 4);
    EXPECT_EQ(last_signal, 1);
}

TEST(signal_raised_in_its_own_nodefer_handler_nests)
{
    handle(SIGUSR1, raise_again, SA_NODEFER);
    raise(SIGUSR1);
    EXPECT_EQ(ran, 4);
    EXPECT_EQ(last_signal, 4);
}

/* Frames are laid over each other in the order of numbers, so that the last of them runs first. */
TEST(several_pending_signals_run_last_number_first)
{
    handle(SIGUSR1, note, 0);
    handle(SIGUSR2, note, 0);
    handle(SIGHUP, note, 0);
    block(SIGUSR1, SIGUSR2);
    block(SIGHUP, 0);
    raise(SIGUSR1);
    raise(SIGUSR2);
    raise(SIGHUP);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    ASSERT_EQ(order_count, 3);
    EXPECT_EQ(order[0], SIGUSR2);
    EXPECT_EQ(order[1], SIGUSR1);
    EXPECT_EQ(order[2], SIGHUP);
}

TEST(sa_mask_of_the_first_holds_the_second_back)
{
    struct sigaction a = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};
    a.sa_mask = set_of(SIGUSR2, 0);
    sigaction(SIGUSR1, &a, NULL);
    handle(SIGUSR2, note, 0);
    block(SIGUSR1, SIGUSR2);
    raise(SIGUSR1);
    raise(SIGUSR2);
    unblock(SIGUSR1, SIGUSR2);
    ASSERT_EQ(order_count, 2);
    EXPECT_EQ(order[0], SIGUSR1);
    EXPECT_EQ(order[1], SIGUSR2);
}

/* ---- sigaction ---- */

struct kernel_action {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

static long raw_action(int sig, const void *new, void *old, size_t size)
{
    return syscall(SYS_rt_sigaction, sig, new, old, size);
}

TEST(sigaction_of_kill_and_stop_is_einval)
{
    struct kernel_action a = {.handler = SIG_IGN}, old;
    EXPECT_ERRNO(raw_action(SIGKILL, &a, NULL, 8), EINVAL);
    EXPECT_ERRNO(raw_action(SIGSTOP, &a, NULL, 8), EINVAL);
    EXPECT_EQ(raw_action(SIGKILL, NULL, &old, 8), 0);
    EXPECT_TRUE(old.handler == SIG_DFL);
}

TEST(sigaction_of_no_signal_is_einval)
{
    struct kernel_action a = {.handler = SIG_IGN};
    EXPECT_ERRNO(raw_action(0, &a, NULL, 8), EINVAL);
    EXPECT_ERRNO(raw_action(65, &a, NULL, 8), EINVAL);
    EXPECT_ERRNO(raw_action(-1, NULL, NULL, 8), EINVAL);
    EXPECT_EQ(raw_action(64, NULL, NULL, 8), 0);
}

TEST(sigaction_with_another_mask_size_is_einval)
{
    struct kernel_action a = {.handler = SIG_IGN};
    EXPECT_ERRNO(raw_action(SIGUSR1, &a, NULL, 4), EINVAL);
    EXPECT_ERRNO(raw_action(SIGUSR1, &a, NULL, 16), EINVAL);
}

TEST(sigaction_of_bad_addresses_is_efault)
{
    struct kernel_action a = {.handler = SIG_IGN};
    EXPECT_ERRNO(raw_action(SIGUSR1, (void *)8, NULL, 8), EFAULT);
    EXPECT_ERRNO(raw_action(SIGUSR1, &a, (void *)8, 8), EFAULT);
}

TEST(sigaction_gives_the_old_action_back)
{
    struct kernel_action a = {
        .handler = plain_handler, .flags = SA_RESTART | SA_NODEFER, .mask = ~0ULL};
    struct kernel_action old;
    EXPECT_EQ(raw_action(SIGUSR1, &a, NULL, 8), 0);
    EXPECT_EQ(raw_action(SIGUSR1, NULL, &old, 8), 0);
    EXPECT_TRUE(old.handler == (void *)plain_handler);
    EXPECT_EQ(old.flags, SA_RESTART | SA_NODEFER);
    EXPECT_EQ(old.mask, ~(1ULL << (SIGKILL - 1) | 1ULL << (SIGSTOP - 1)));
}

TEST(sigaction_to_ignore_discards_what_is_pending)
{
    handle(SIGUSR1, note, 0);
    block(SIGUSR1, 0);
    raise(SIGUSR1);
    EXPECT_TRUE(is_pending(SIGUSR1));
    signal(SIGUSR1, SIG_IGN);
    EXPECT_TRUE(!is_pending(SIGUSR1));
    handle(SIGUSR1, note, 0);
    unblock(SIGUSR1, 0);
    EXPECT_EQ(ran, 0);
}

TEST(ignored_signal_vanishes)
{
    signal(SIGUSR1, SIG_IGN);
    raise(SIGUSR1);
    handle(SIGUSR1, note, 0);
    EXPECT_EQ(ran, 0);
}

TEST(ignored_signal_is_kept_while_it_is_blocked)
{
    signal(SIGUSR1, SIG_IGN);
    block(SIGUSR1, 0);
    raise(SIGUSR1);
    EXPECT_TRUE(is_pending(SIGUSR1));
    handle(SIGUSR1, note, 0);
    unblock(SIGUSR1, 0);
    EXPECT_EQ(ran, 1);
}

TEST(signals_ignored_by_default_do_nothing)
{
    raise(SIGCHLD);
    raise(SIGURG);
    raise(SIGWINCH);
    raise(SIGCONT);
    EXPECT_TRUE(!is_pending(SIGCHLD));
}

/* ---- masks ---- */

TEST(blocked_signal_waits_for_its_unblocking)
{
    handle(SIGUSR1, note, 0);
    block(SIGUSR1, 0);
    raise(SIGUSR1);
    EXPECT_EQ(ran, 0);
    EXPECT_TRUE(is_pending(SIGUSR1));
    unblock(SIGUSR1, 0);
    EXPECT_EQ(ran, 1);
    EXPECT_TRUE(!is_pending(SIGUSR1));
}

TEST(standard_signal_is_pending_once)
{
    handle(SIGUSR1, note, 0);
    block(SIGUSR1, 0);
    for (int i = 0; i < 10; i++)
        kill(getpid(), SIGUSR1);
    unblock(SIGUSR1, 0);
    EXPECT_EQ(ran, 1);
}

TEST(kill_and_stop_can_not_be_blocked)
{
    sigset_t all;
    sigfillset(&all);
    EXPECT_EQ(sigprocmask(SIG_SETMASK, &all, NULL), 0);
    EXPECT_TRUE(!is_blocked(SIGKILL));
    EXPECT_TRUE(!is_blocked(SIGSTOP));
    EXPECT_TRUE(is_blocked(SIGTERM));
}

TEST(sigprocmask_checks_its_arguments)
{
    uint64_t set = 0;
    EXPECT_ERRNO(syscall(SYS_rt_sigprocmask, 9, &set, NULL, 8), EINVAL);
    EXPECT_EQ(syscall(SYS_rt_sigprocmask, 9, NULL, &set, 8), 0);
    EXPECT_ERRNO(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 4), EINVAL);
    EXPECT_ERRNO(syscall(SYS_rt_sigprocmask, SIG_BLOCK, (void *)8, NULL, 8), EFAULT);
    EXPECT_ERRNO(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, (void *)8, 8), EFAULT);
}

TEST(sigprocmask_gives_the_mask_from_before)
{
    sigset_t set = set_of(SIGUSR1, 0), old;
    sigprocmask(SIG_BLOCK, &set, NULL);
    set = set_of(SIGUSR2, 0);
    sigprocmask(SIG_SETMASK, &set, &old);
    EXPECT_EQ(sigismember(&old, SIGUSR1), 1);
    EXPECT_EQ(sigismember(&old, SIGUSR2), 0);
    EXPECT_TRUE(is_blocked(SIGUSR2));
    EXPECT_TRUE(!is_blocked(SIGUSR1));
}

TEST(sigpending_checks_its_size)
{
    uint64_t set;
    EXPECT_ERRNO(syscall(SYS_rt_sigpending, &set, 16), EINVAL);
    EXPECT_EQ(syscall(SYS_rt_sigpending, &set, 8), 0);
    EXPECT_ERRNO(syscall(SYS_rt_sigpending, (void *)8, 8), EFAULT);
}

/* ---- sending ---- */

TEST(kill_of_nobody_is_esrch)
{
    EXPECT_ERRNO(kill(NO_PID, 0), ESRCH);
    EXPECT_ERRNO(kill(NO_PID, SIGUSR1), ESRCH);
    EXPECT_ERRNO(kill(-NO_PID, SIGUSR1), ESRCH);
    EXPECT_ERRNO(kill(INT32_MIN, 0), ESRCH);
}

TEST(kill_with_no_signal_is_einval)
{
    EXPECT_ERRNO(kill(getpid(), 65), EINVAL);
    EXPECT_ERRNO(kill(getpid(), -1), EINVAL);
    EXPECT_ERRNO(kill(0, 65), EINVAL);
}

TEST(kill_with_signal_0_only_asks)
{
    EXPECT_EQ(kill(getpid(), 0), 0);
    EXPECT_EQ(kill(0, 0), 0);
    EXPECT_EQ(kill(-getpgrp(), 0), 0);
}

TEST(kill_of_a_zombie_succeeds)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(kill(pid, 0), 0);
    EXPECT_EQ(kill(pid, SIGKILL), 0);
    EXPECT_EQ(waitpid(pid, NULL, 0), pid);
    EXPECT_ERRNO(kill(pid, 0), ESRCH);
}

TEST(kill_of_a_child_right_after_fork_reaches_it)
{
    for (int i = 0; i < 20; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0)
            for (;;)
                ;
        ASSERT_EQ(kill(pid, SIGTERM), 0);
        ASSERT_EQ(waitpid(pid, &status, 0), pid);
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    }
}

TEST(tgkill_checks_its_arguments)
{
    EXPECT_ERRNO(syscall(SYS_tgkill, 0, getpid(), 0), EINVAL);
    EXPECT_ERRNO(syscall(SYS_tgkill, getpid(), 0, 0), EINVAL);
    EXPECT_ERRNO(syscall(SYS_tgkill, -1, -1, 0), EINVAL);
    EXPECT_ERRNO(syscall(SYS_tgkill, getpid(), NO_PID, 0), ESRCH);
    EXPECT_ERRNO(syscall(SYS_tgkill, getppid(), getpid(), 0), ESRCH);
    EXPECT_ERRNO(syscall(SYS_tgkill, getpid(), getpid(), 65), EINVAL);
    EXPECT_EQ(syscall(SYS_tgkill, getpid(), getpid(), 0), 0);
}

TEST(tkill_checks_its_arguments)
{
    EXPECT_ERRNO(syscall(SYS_tkill, 0, SIGUSR1), EINVAL);
    EXPECT_ERRNO(syscall(SYS_tkill, NO_PID, SIGUSR1), ESRCH);
    EXPECT_ERRNO(syscall(SYS_tkill, getpid(), 65), EINVAL);
    EXPECT_EQ(syscall(SYS_tkill, getpid(), 0), 0);
}

TEST(kill_of_a_group_reaches_every_member)
{
    pid_t pids[3];
    int status;
    for (int i = 0; i < 3; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            for (;;)
                pause();
        }
        setpgid(pids[i], pids[0]);
    }
    EXPECT_EQ(kill(-pids[0], SIGINT), 0);
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(waitpid(pids[i], &status, 0), pids[i]);
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    }
    EXPECT_ERRNO(kill(-pids[0], 0), ESRCH);
}

TEST(kill_0_reaches_the_own_group_and_oneself)
{
    handle(SIGUSR1, note, 0);
    EXPECT_EQ(kill(0, SIGUSR1), 0);
    EXPECT_EQ(ran, 1);
}

TEST(kill_from_a_stranger_is_eperm)
{
    if (getuid() != 0)
        SKIP("needs root to become somebody else");
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        if (setuid(12345) != 0)
            _exit(2);
        int failed = kill(parent, SIGUSR1) == -1 && errno == EPERM;
        int probe = kill(parent, 0) == -1 && errno == EPERM;
        _exit(failed && probe ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(kill_of_everybody_spares_oneself)
{
    if (!harness_is_inside())
        SKIP("would end the machine's programs");
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            pause();
    }
    /* Signal 0: the harness itself lives in this sandbox. */
    EXPECT_EQ(kill(-1, 0), 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* ---- death ---- */

static void die_of_term(void)
{
    raise(SIGTERM);
}
static void die_of_kill(void)
{
    raise(SIGKILL);
}
static void die_of_realtime(void)
{
    raise(SIGRTMAX);
}
static void die_of_abort(void)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    abort();
}

TEST(default_action_ends_the_process)
{
    EXPECT_EQ(status_of(die_of_term), SIGTERM);
    EXPECT_EQ(status_of(die_of_kill), SIGKILL);
    EXPECT_EQ(status_of(die_of_realtime), SIGRTMAX);
    EXPECT_EQ(WTERMSIG(status_of(die_of_abort)), SIGABRT);
}

static void die_when_unblocked(void)
{
    block(SIGTERM, 0);
    raise(SIGTERM);
    unblock(SIGTERM, 0);
    _exit(3);
}

TEST(deadly_signal_waits_while_blocked)
{
    EXPECT_EQ(status_of(die_when_unblocked), SIGTERM);
}

static void *sleep_for_ever(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void die_with_threads(void)
{
    pthread_t thread;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread, NULL, sleep_for_ever, NULL);
    raise(SIGTERM);
    pause();
}

TEST(deadly_signal_ends_all_threads)
{
    EXPECT_EQ(status_of(die_with_threads), SIGTERM);
}

TEST(kill_ends_a_process_that_blocks_everything)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
        for (;;)
            pause();
    }
    harness_wait_until_sleeps(pid);
    EXPECT_EQ(kill(pid, SIGTERM), 0);
    usleep(20000);
    EXPECT_EQ(waitpid(pid, &status, WNOHANG), 0);
    EXPECT_EQ(kill(pid, SIGKILL), 0);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, SIGKILL);
}

TEST(write_to_a_closed_pipe_is_sigpipe)
{
    int ends[2];
    handle(SIGPIPE, note, 0);
    ASSERT_EQ(pipe(ends), 0);
    close(ends[0]);
    EXPECT_ERRNO(write(ends[1], "x", 1), EPIPE);
    EXPECT_EQ(ran, 1);
    signal(SIGPIPE, SIG_IGN);
    EXPECT_ERRNO(write(ends[1], "x", 1), EPIPE);
}

/* ---- fork and exec ---- */

TEST(fork_inherits_mask_and_handlers_but_nothing_pending)
{
    handle(SIGUSR1, note, 0);
    block(SIGUSR1, SIGUSR2);
    raise(SIGUSR2);
    pid_t pid = fork();
    if (pid == 0) {
        int good = is_blocked(SIGUSR1) && is_blocked(SIGUSR2) && !is_pending(SIGUSR2);
        raise(SIGUSR1);
        unblock(SIGUSR1, 0);
        _exit(good && ran == 1 ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(is_pending(SIGUSR2));
}

static int status_of_shell(const char *command)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    return status;
}

TEST(exec_keeps_ignored_signals)
{
    signal(SIGUSR1, SIG_IGN);
    EXPECT_EQ(status_of_shell("kill -USR1 $$; exit 7"), 7 << 8);
}

TEST(exec_resets_handlers)
{
    handle(SIGUSR1, note, 0);
    EXPECT_EQ(status_of_shell("kill -USR1 $$; exit 7"), SIGUSR1);
}

TEST(exec_keeps_mask_and_pending_signals)
{
    block(SIGUSR1, 0);
    EXPECT_EQ(status_of_shell("kill -USR1 $$; exit 7"), 7 << 8);
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGUSR1);
        execl("/bin/sh", "sh", "-c", "read x < /proc/self/status; exit 9", (char *)NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 9 << 8);
}

/* ---- SIGCHLD ---- */

TEST(sigchld_tells_how_a_child_exited)
{
    handle(SIGCHLD, note, 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(5);
    while (!ran)
        poll(NULL, 0, 10);
    EXPECT_EQ(last_info.si_signo, SIGCHLD);
    EXPECT_EQ(last_info.si_code, CLD_EXITED);
    EXPECT_EQ(last_info.si_pid, pid);
    EXPECT_EQ(last_info.si_uid, getuid());
    EXPECT_EQ(last_info.si_status, 5);
    EXPECT_EQ(waitpid(pid, NULL, 0), pid);
}

TEST(sigchld_tells_how_a_child_was_killed)
{
    handle(SIGCHLD, note, 0);
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            pause();
    }
    kill(pid, SIGKILL);
    while (!ran)
        poll(NULL, 0, 10);
    EXPECT_EQ(last_info.si_code, CLD_KILLED);
    EXPECT_EQ(last_info.si_status, SIGKILL);
    EXPECT_EQ(last_info.si_pid, pid);
}

TEST(children_of_who_ignores_sigchld_leave_no_zombie)
{
    signal(SIGCHLD, SIG_IGN);
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    EXPECT_ERRNO(waitpid(pid, NULL, 0), ECHILD);
}

TEST(sa_nocldwait_leaves_no_zombie_but_tells)
{
    handle(SIGCHLD, note, SA_NOCLDWAIT | SA_RESTART);
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    EXPECT_ERRNO(waitpid(pid, NULL, 0), ECHILD);
    EXPECT_EQ(ran, 1);
}

TEST(sigchld_is_there_before_waitpid_returns)
{
    handle(SIGCHLD, note, SA_RESTART);
    for (int i = 1; i <= 20; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        EXPECT_EQ(waitpid(pid, NULL, 0), pid);
        EXPECT_EQ(ran, i);
    }
}

/* ---- threads ---- */

static volatile sig_atomic_t handler_tid;

static void note_thread(int sig, siginfo_t *info, void *context)
{
    ran++;
    handler_tid = (int)syscall(SYS_gettid);
}

static int ready[2], finish[2];
static pid_t thread_id;

static void *wait_in_read(void *unused)
{
    char c;
    thread_id = (pid_t)syscall(SYS_gettid);
    if (write(ready[1], "x", 1) != 1)
        return NULL;
    while (read(finish[0], &c, 1) < 0 && errno == EINTR)
        ;
    return unused;
}

static pthread_t start_reader(void)
{
    pthread_t thread;
    char c;
    pipe(ready);
    pipe(finish);
    pthread_create(&thread, NULL, wait_in_read, NULL);
    EXPECT_EQ(read(ready[0], &c, 1), 1);
    return thread;
}

static void end_reader(pthread_t thread)
{
    EXPECT_EQ(write(finish[1], "x", 1), 1);
    pthread_join(thread, NULL);
}

TEST(tgkill_runs_the_handler_in_that_thread)
{
    handle(SIGUSR1, note_thread, 0);
    pthread_t thread = start_reader();
    EXPECT_EQ(syscall(SYS_tgkill, getpid(), thread_id, SIGUSR1), 0);
    while (!ran)
        usleep(1000);
    EXPECT_EQ(handler_tid, thread_id);
    end_reader(thread);
}

TEST(signal_of_the_process_goes_to_a_thread_that_does_not_block_it)
{
    handle(SIGUSR1, note_thread, 0);
    pthread_t thread = start_reader();
    block(SIGUSR1, 0);
    EXPECT_EQ(kill(getpid(), SIGUSR1), 0);
    while (!ran)
        usleep(1000);
    EXPECT_EQ(handler_tid, thread_id);
    end_reader(thread);
}

TEST(signal_of_the_process_waits_when_all_threads_block_it)
{
    handle(SIGUSR1, note_thread, 0);
    block(SIGUSR1, 0);
    pthread_t thread = start_reader();
    kill(getpid(), SIGUSR1);
    usleep(20000);
    EXPECT_EQ(ran, 0);
    EXPECT_TRUE(is_pending(SIGUSR1));
    unblock(SIGUSR1, 0);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(handler_tid, getpid());
    end_reader(thread);
}

TEST(signal_of_a_thread_is_not_pending_for_another)
{
    block(SIGUSR1, 0);
    pthread_t thread = start_reader();
    syscall(SYS_tgkill, getpid(), thread_id, SIGUSR1);
    EXPECT_TRUE(!is_pending(SIGUSR1));
    end_reader(thread);
}

TEST(masks_are_per_thread)
{
    pthread_t thread = start_reader();
    block(SIGUSR2, 0);
    handle(SIGUSR2, note_thread, 0);
    EXPECT_EQ(syscall(SYS_tgkill, getpid(), thread_id, SIGUSR2), 0);
    while (!ran)
        usleep(1000);
    EXPECT_EQ(handler_tid, thread_id);
    end_reader(thread);
}
