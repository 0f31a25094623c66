// SPDX-License-Identifier: Apache-2.0
/* What signals do to calls that wait: EINTR, restarts, partial counts, atomic masks (signal(7)). */
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t ran;

static void count(int sig)
{
    __atomic_fetch_add(&ran, 1, __ATOMIC_RELAXED);
}

static void handle(int sig, int flags)
{
    struct sigaction a = {.sa_handler = count, .sa_flags = flags};
    sigemptyset(&a.sa_mask);
    ASSERT_EQ(sigaction(sig, &a, NULL), 0);
}

static int ends[2];
static pid_t helper;

/* A child that sends the signal after a while, again and again. */
static void send_later(int sig)
{
    pid_t parent = getpid();
    helper = fork();
    if (helper == 0) {
        for (;;) {
            usleep(30000);
            if (kill(parent, sig) < 0)
                _exit(0);
        }
    }
}

/* A child that sends the signal once, and then something into the pipe. */
static void send_then_write(int sig)
{
    pid_t parent = getpid();
    helper = fork();
    if (helper == 0) {
        harness_wait_until_sleeps(parent);
        kill(parent, sig);
        usleep(50000);
        _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
    }
}

static void end_helper(void)
{
    kill(helper, SIGKILL);
    while (waitpid(helper, NULL, 0) < 0 && errno == EINTR)
        ;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- read ---- */

TEST(read_is_interrupted_by_a_handler)
{
    char c;
    pipe(ends);
    handle(SIGUSR1, 0);
    send_later(SIGUSR1);
    EXPECT_ERRNO(read(ends[0], &c, 1), EINTR);
    EXPECT_GE(ran, 1);
    end_helper();
}

TEST(read_is_restarted_with_sa_restart)
{
    char c = 0;
    pipe(ends);
    handle(SIGUSR1, SA_RESTART);
    send_then_write(SIGUSR1);
    EXPECT_EQ(read(ends[0], &c, 1), 1);
    EXPECT_EQ(c, 'x');
    EXPECT_EQ(ran, 1);
    end_helper();
}

TEST(read_does_not_notice_an_ignored_signal)
{
    char c = 0;
    pipe(ends);
    signal(SIGUSR1, SIG_IGN);
    send_then_write(SIGUSR1);
    EXPECT_EQ(read(ends[0], &c, 1), 1);
    end_helper();
}

TEST(read_does_not_notice_a_blocked_signal)
{
    char c = 0;
    sigset_t s;
    pipe(ends);
    handle(SIGUSR1, 0);
    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    sigprocmask(SIG_BLOCK, &s, NULL);
    send_then_write(SIGUSR1);
    EXPECT_EQ(read(ends[0], &c, 1), 1);
    EXPECT_EQ(ran, 0);
    end_helper();
}

TEST(read_does_not_notice_a_signal_ignored_by_default)
{
    char c = 0;
    pipe(ends);
    send_then_write(SIGWINCH);
    EXPECT_EQ(read(ends[0], &c, 1), 1);
    end_helper();
}

/* The lower number's frame is built first, and its flags decide. */
TEST(first_of_two_handlers_decides_about_the_restart)
{
    char c = 0;
    pid_t parent = getpid();
    sigset_t s;
    pipe(ends);
    handle(SIGUSR1, SA_RESTART);
    handle(SIGUSR2, SA_RESTART);
    sigemptyset(&s);
    pid_t pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(parent);
        kill(parent, SIGUSR1);
        kill(parent, SIGUSR2);
        usleep(50000);
        _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
    }
    EXPECT_EQ(read(ends[0], &c, 1), 1);
    EXPECT_EQ(ran, 2);
    waitpid(pid, NULL, 0);
}

TEST(write_that_was_interrupted_answers_what_it_wrote)
{
    static char big[1 << 20];
    pipe(ends);
    handle(SIGUSR1, 0);
    int capacity = fcntl(ends[1], F_GETPIPE_SZ);
    ASSERT_GT(capacity, 0);
    send_later(SIGUSR1);
    EXPECT_EQ(write(ends[1], big, sizeof(big)), capacity);
    end_helper();
}

TEST(recv_is_interrupted_and_restarted)
{
    char c;
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    handle(SIGUSR1, 0);
    send_later(SIGUSR1);
    EXPECT_ERRNO(recv(ends[0], &c, 1, 0), EINTR);
    end_helper();
    handle(SIGUSR1, SA_RESTART);
    send_then_write(SIGUSR1);
    EXPECT_EQ(recv(ends[0], &c, 1, 0), 1);
    end_helper();
}

TEST(recv_with_a_timeout_is_never_restarted)
{
    char c;
    struct timeval timeout = {5, 0};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ASSERT_EQ(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
    handle(SIGUSR1, SA_RESTART);
    send_later(SIGUSR1);
    EXPECT_ERRNO(recv(ends[0], &c, 1, 0), EINTR);
    end_helper();
}

TEST(open_of_a_fifo_is_interrupted)
{
    ASSERT_EQ(mkfifo("fifo", 0600), 0);
    handle(SIGUSR1, 0);
    send_later(SIGUSR1);
    EXPECT_ERRNO(open("fifo", O_RDONLY), EINTR);
    end_helper();
}

TEST(flock_is_interrupted)
{
    int fd = open("file", O_RDWR | O_CREAT, 0600);
    ASSERT_EQ(flock(fd, LOCK_EX), 0);
    int other = open("file", O_RDWR);
    handle(SIGUSR1, 0);
    send_later(SIGUSR1);
    EXPECT_ERRNO(flock(other, LOCK_EX), EINTR);
    end_helper();
}

TEST(waitpid_is_interrupted_and_restarted)
{
    int status;
    handle(SIGUSR1, 0);
    send_later(SIGUSR1);
    EXPECT_ERRNO(waitpid(helper, &status, 0), EINTR);
    end_helper();
    handle(SIGUSR1, SA_RESTART);
    pipe(ends);
    send_then_write(SIGUSR1);
    EXPECT_EQ(waitpid(helper, &status, 0), helper);
    EXPECT_EQ(status, 0);
}

static uint32_t *word; /* shared */

static long wait_for_word(int operation)
{
    return syscall(SYS_futex, word, operation, 0, NULL, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void send_then_wake(int sig)
{
    pid_t parent = getpid();
    helper = fork();
    if (helper == 0) {
        harness_wait_until_sleeps(parent);
        kill(parent, sig);
        usleep(50000);
        *word = 1;
        syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
        _exit(0);
    }
}

TEST(a_wait_for_a_futex_is_interrupted_and_restarted)
{
    static const int operations[] = {FUTEX_WAIT, FUTEX_WAIT_BITSET,
                                     FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME};
    word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_TRUE(word != MAP_FAILED);
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        *word = 0;
        handle(SIGUSR1, 0);
        send_later(SIGUSR1);
        EXPECT_ERRNO(wait_for_word(operations[i]), EINTR);
        end_helper();
        handle(SIGUSR1, SA_RESTART);
        ran = 0;
        send_then_wake(SIGUSR1);
        /* The word may have changed before it waits again. */
        EXPECT_TRUE(wait_for_word(operations[i]) == 0 || errno == EAGAIN);
        EXPECT_EQ(ran, 1);
        end_helper();
    }
}

/* What a locked mutex and sem_wait(3) are: a program that waits there is to hear of Ctrl-C. */
TEST(a_semaphore_is_interrupted_by_each_handler)
{
    sem_t s;
    ASSERT_EQ(sem_init(&s, 0, 0), 0);
    handle(SIGUSR1, 0);
    send_later(SIGUSR1);
    for (int i = 0; i < 5; i++)
        EXPECT_ERRNO(sem_wait(&s), EINTR);
    end_helper();
}

/* ---- calls that are never restarted ---- */

TEST(pause_ends_with_a_handler)
{
    handle(SIGUSR1, SA_RESTART);
    send_later(SIGUSR1);
    EXPECT_ERRNO(pause(), EINTR);
    EXPECT_GE(ran, 1);
    end_helper();
}

TEST(pause_does_not_end_with_an_ignored_signal)
{
    pid_t parent = getpid(), pid;
    signal(SIGUSR1, SIG_IGN);
    handle(SIGUSR2, 0);
    int64_t start = now_ms();
    pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(parent);
        kill(parent, SIGUSR1);
        usleep(80000);
        _exit(kill(parent, SIGUSR2));
    }
    EXPECT_ERRNO(pause(), EINTR);
    EXPECT_GE(now_ms() - start, 80);
    EXPECT_EQ(ran, 1);
    waitpid(pid, NULL, 0);
}

TEST(poll_is_not_restarted)
{
    struct pollfd p = {.events = POLLIN};
    pipe(ends);
    p.fd = ends[0];
    handle(SIGUSR1, SA_RESTART);
    send_later(SIGUSR1);
    EXPECT_ERRNO(poll(&p, 1, 5000), EINTR);
    EXPECT_ERRNO(poll(NULL, 0, -1), EINTR);
    end_helper();
}

TEST(select_is_not_restarted)
{
    fd_set set;
    pipe(ends);
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    handle(SIGUSR1, SA_RESTART);
    send_later(SIGUSR1);
    EXPECT_ERRNO(select(ends[0] + 1, &set, NULL, NULL, NULL), EINTR);
    end_helper();
}

TEST(epoll_wait_is_not_restarted)
{
    struct epoll_event e;
    int fd = epoll_create1(0);
    handle(SIGUSR1, SA_RESTART);
    send_later(SIGUSR1);
    EXPECT_ERRNO(epoll_wait(fd, &e, 1, -1), EINTR);
    end_helper();
}

TEST(nanosleep_is_interrupted_and_tells_what_is_left)
{
    struct timespec want = {5, 0}, left = {0, 0};
    handle(SIGUSR1, SA_RESTART);
    send_later(SIGUSR1);
    EXPECT_ERRNO(nanosleep(&want, &left), EINTR);
    EXPECT_EQ(left.tv_sec, 4);
    end_helper();
}

TEST(nanosleep_is_not_shortened_by_an_ignored_signal)
{
    struct timespec want = {0, 150000000};
    signal(SIGUSR1, SIG_IGN);
    send_later(SIGUSR1);
    int64_t start = now_ms();
    EXPECT_EQ(nanosleep(&want, NULL), 0);
    EXPECT_GE(now_ms() - start, 150);
    end_helper();
}

TEST(timeout_of_poll_is_kept_when_it_is_restarted_after_a_stop)
{
    int64_t start = now_ms();
    pid_t pid = fork();
    if (pid == 0)
        _exit(poll(NULL, 0, 1000) == 0 ? 0 : 1);
    harness_wait_until_sleeps(pid);
    kill(pid, SIGSTOP);
    usleep(50000);
    kill(pid, SIGCONT);
    int status;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_GE(now_ms() - start, 1000);
    EXPECT_LT(now_ms() - start, 30000);
}

/* A call that waits, and what it answers when it was stopped and a handler runs as it goes on. */
struct stopped_call {
    const char *name;
    long (*call)(void);
    int flags, error; /* error 0: it is made again, and finds what was written */
};

static long call_pause(void)
{
    return pause();
}

static long call_sigsuspend(void)
{
    sigset_t none;
    sigemptyset(&none);
    return sigsuspend(&none);
}

static long call_poll(void)
{
    struct pollfd p = {.fd = ends[0], .events = POLLIN};
    return poll(&p, 1, -1);
}

static long call_poll_for_a_while(void)
{
    struct pollfd p = {.fd = ends[0], .events = POLLIN};
    return poll(&p, 1, 100000);
}

static long call_select(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    return select(ends[0] + 1, &set, NULL, NULL, NULL);
}

static long call_epoll(void)
{
    struct epoll_event e = {.events = EPOLLIN};
    int fd = epoll_create1(0);
    epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &e);
    return epoll_wait(fd, &e, 1, -1);
}

static long call_read(void)
{
    char c;
    return read(ends[0], &c, 1);
}

static long call_sleep(void)
{
    return nanosleep(&(struct timespec){100, 0}, NULL);
}

static long call_futex(void)
{
    uint32_t zero = 0;
    return syscall(SYS_futex, &zero, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static const struct stopped_call stopped_calls[] = {
    {"pause", call_pause, SA_RESTART, EINTR},
    {"sigsuspend", call_sigsuspend, SA_RESTART, EINTR},
    {"poll", call_poll, SA_RESTART, EINTR},
    {"poll for a while", call_poll_for_a_while, SA_RESTART, EINTR},
    {"select", call_select, SA_RESTART, EINTR},
    {"epoll_wait", call_epoll, SA_RESTART, EINTR},
    {"read", call_read, 0, EINTR},
    {"read with SA_RESTART", call_read, SA_RESTART, 0},
    {"nanosleep", call_sleep, SA_RESTART, EINTR},
    {"futex", call_futex, 0, EINTR},
};

/* What a shell or an editor waits in while it is stopped: it is to see that it goes on. */
TEST(a_handler_that_runs_as_a_stopped_call_goes_on_ends_it)
{
    for (size_t i = 0; i < sizeof(stopped_calls) / sizeof(stopped_calls[0]); i++) {
        const struct stopped_call *s = &stopped_calls[i];
        ASSERT_EQ(pipe(ends), 0);
        pid_t pid = fork();
        if (pid == 0) {
            alarm(100);
            handle(SIGCONT, s->flags);
            long r = s->call();
            int error = r < 0 ? errno : 0;
            _exit(error == s->error && ran == 1 ? 0 : 1);
        }
        int status;
        harness_wait_until_sleeps(pid);
        kill(pid, SIGSTOP);
        ASSERT_EQ(waitpid(pid, &status, WUNTRACED), pid);
        kill(pid, SIGCONT);
        if (s->error == 0)
            ASSERT_EQ(write(ends[1], "x", 1), 1);
        ASSERT_EQ(waitpid(pid, &status, 0), pid);
        if (status != 0)
            harness_fail(__FILE__, __LINE__, "%s: status %#x", s->name, (unsigned)status);
        close(ends[0]);
        close(ends[1]);
    }
}

TEST(a_stop_takes_none_of_the_time_of_poll)
{
    int64_t start = now_ms();
    pid_t pid = fork();
    if (pid == 0)
        _exit(poll(NULL, 0, 3000) == 0 ? 0 : 1);
    int status;
    harness_wait_until_sleeps(pid);
    kill(pid, SIGSTOP);
    ASSERT_EQ(waitpid(pid, &status, WUNTRACED), pid);
    while (now_ms() - start < 3000)
        usleep(10000);
    kill(pid, SIGCONT);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_LT(now_ms() - start, 6000); /* it is not begun anew */
}

/* ---- temporary masks ---- */

static bool is_blocked(int sig)
{
    sigset_t s;
    sigprocmask(SIG_BLOCK, NULL, &s);
    return sigismember(&s, sig) == 1;
}

static void block_usr1(void)
{
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    ASSERT_EQ(sigprocmask(SIG_BLOCK, &s, NULL), 0);
}

TEST(sigsuspend_takes_a_signal_that_was_pending)
{
    sigset_t none;
    sigemptyset(&none);
    handle(SIGUSR1, 0);
    block_usr1();
    raise(SIGUSR1);
    EXPECT_EQ(ran, 0);
    EXPECT_ERRNO(sigsuspend(&none), EINTR);
    EXPECT_EQ(ran, 1);
    EXPECT_TRUE(is_blocked(SIGUSR1));
}

static volatile sig_atomic_t usr2_blocked_inside, usr1_blocked_inside;

static void look(int sig)
{
    ran++;
    usr1_blocked_inside = is_blocked(SIGUSR1);
    usr2_blocked_inside = is_blocked(SIGUSR2);
}

TEST(handler_in_sigsuspend_runs_with_its_mask)
{
    sigset_t s;
    struct sigaction a = {.sa_handler = look};
    sigaction(SIGUSR1, &a, NULL);
    block_usr1();
    raise(SIGUSR1);
    sigemptyset(&s);
    sigaddset(&s, SIGUSR2);
    EXPECT_ERRNO(sigsuspend(&s), EINTR);
    EXPECT_EQ(usr1_blocked_inside, 1);
    EXPECT_EQ(usr2_blocked_inside, 1);
    EXPECT_TRUE(is_blocked(SIGUSR1));
    EXPECT_TRUE(!is_blocked(SIGUSR2));
}

TEST(sigsuspend_loses_no_signal_to_a_race)
{
    sigset_t none;
    pid_t parent = getpid();
    handle(SIGUSR1, 0);
    block_usr1();
    pipe(ends);
    pid_t pid = fork();
    if (pid == 0) {
        char c;
        for (int i = 0; i < 500; i++) {
            if (read(ends[0], &c, 1) != 1)
                _exit(1);
            kill(parent, SIGUSR1);
        }
        _exit(0);
    }
    sigemptyset(&none);
    for (int i = 1; i <= 500; i++) {
        ASSERT_EQ(write(ends[1], "x", 1), 1);
        while (ran < i)
            ASSERT_EQ(sigsuspend(&none), -1);
        ASSERT_EQ(ran, i);
    }
    int status;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(sigsuspend_ignores_what_is_ignored)
{
    sigset_t none;
    pid_t parent = getpid();
    sigemptyset(&none);
    signal(SIGUSR1, SIG_IGN);
    block_usr1();
    handle(SIGUSR2, 0);
    pid_t pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(parent);
        kill(parent, SIGUSR1);
        usleep(50000);
        _exit(kill(parent, SIGUSR2));
    }
    EXPECT_ERRNO(sigsuspend(&none), EINTR);
    EXPECT_EQ(ran, 1);
    waitpid(pid, NULL, 0);
}

TEST(sigsuspend_checks_its_arguments)
{
    uint64_t set = 0;
    EXPECT_ERRNO(syscall(SYS_rt_sigsuspend, &set, 4), EINVAL);
    EXPECT_ERRNO(syscall(SYS_rt_sigsuspend, (void *)8, 8), EFAULT);
}

TEST(ppoll_swaps_the_mask_atomically)
{
    sigset_t none;
    struct timespec timeout = {5, 0};
    sigemptyset(&none);
    handle(SIGUSR1, SA_RESTART);
    block_usr1();
    raise(SIGUSR1);
    EXPECT_ERRNO(ppoll(NULL, 0, &timeout, &none), EINTR);
    EXPECT_EQ(ran, 1);
    EXPECT_TRUE(is_blocked(SIGUSR1));
}

TEST(ppoll_that_is_ready_puts_the_mask_back)
{
    sigset_t all;
    struct timespec timeout = {5, 0};
    pipe(ends);
    ASSERT_EQ(write(ends[1], "x", 1), 1);
    struct pollfd p = {.fd = ends[0], .events = POLLIN};
    sigfillset(&all);
    EXPECT_EQ(ppoll(&p, 1, &timeout, &all), 1);
    EXPECT_TRUE(!is_blocked(SIGUSR1));
}

TEST(pselect_swaps_the_mask_atomically)
{
    sigset_t none;
    sigemptyset(&none);
    handle(SIGUSR1, 0);
    block_usr1();
    raise(SIGUSR1);
    EXPECT_ERRNO(pselect(0, NULL, NULL, NULL, NULL, &none), EINTR);
    EXPECT_EQ(ran, 1);
    EXPECT_TRUE(is_blocked(SIGUSR1));
}

TEST(epoll_pwait_swaps_the_mask_atomically)
{
    sigset_t none;
    struct epoll_event e;
    int fd = epoll_create1(0);
    sigemptyset(&none);
    handle(SIGUSR1, 0);
    block_usr1();
    raise(SIGUSR1);
    EXPECT_ERRNO(epoll_pwait(fd, &e, 1, -1, &none), EINTR);
    EXPECT_EQ(ran, 1);
    EXPECT_TRUE(is_blocked(SIGUSR1));
}

/* ---- storms ---- */

static void storm(pid_t target, int sig)
{
    helper = fork();
    if (helper == 0) {
        for (;;) {
            if (kill(target, sig) < 0)
                _exit(0);
            usleep(100);
        }
    }
}

/* For a while, and until it has begun: others may have the processors first. */
static bool goes_on(int round)
{
    return round < 5000 || (ran == 0 && round < 5000000);
}

TEST(storm_with_sa_restart_is_not_noticed)
{
    char out = 0, in;
    pipe(ends);
    handle(SIGUSR1, SA_RESTART);
    storm(getpid(), SIGUSR1);
    for (int i = 0; goes_on(i); i++) {
        ASSERT_EQ(write(ends[1], &out, 1), 1);
        ASSERT_EQ(read(ends[0], &in, 1), 1);
        ASSERT_EQ(in, out);
        out++;
    }
    EXPECT_GT(ran, 0);
    end_helper();
}

/* Calls that don't wait never answer EINTR, whatever the flags. */
TEST(storm_without_sa_restart_spares_calls_that_do_not_wait)
{
    handle(SIGUSR1, 0);
    storm(getpid(), SIGUSR1);
    for (int i = 0; goes_on(i); i++) {
        ASSERT_EQ(getppid() > 0, 1);
        int fd = open("file", O_RDWR | O_CREAT, 0600);
        ASSERT_GE(fd, 0);
        ASSERT_EQ(close(fd), 0);
    }
    EXPECT_GT(ran, 0);
    end_helper();
}

TEST(storm_loses_no_byte_of_a_pipe)
{
    pipe(ends);
    handle(SIGUSR1, 0);
    pid_t parent = getpid(), writer = fork();
    if (writer == 0) {
        unsigned char c = 0;
        for (int i = 0; i < 20000; i++, c++) {
            if (i % 50 == 0)
                kill(parent, SIGUSR1);
            if (write(ends[1], &c, 1) != 1)
                _exit(1);
        }
        _exit(0);
    }
    close(ends[1]);
    unsigned char want = 0, got[64];
    for (long total = 0; total < 20000;) {
        ssize_t n = read(ends[0], got, sizeof(got));
        if (n < 0 && errno == EINTR)
            continue;
        ASSERT_GT(n, 0);
        for (ssize_t i = 0; i < n; i++, want++)
            ASSERT_EQ(got[i], want);
        total += n;
    }
    EXPECT_GT(ran, 0);
    while (waitpid(writer, NULL, 0) < 0)
        ;
}

TEST(storm_over_fork_and_wait)
{
    handle(SIGUSR1, SA_RESTART);
    storm(getpid(), SIGUSR1);
    for (int i = 0; i < 30; i++) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0)
            _exit(i);
        ASSERT_GT(pid, 0);
        ASSERT_EQ(waitpid(pid, &status, 0), pid);
        ASSERT_EQ(status, i << 8);
    }
    end_helper();
}

TEST(storm_over_exec)
{
    for (int i = 0; i < 10; i++) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0) {
            signal(SIGUSR1, SIG_IGN);
            execl("/bin/sh", "sh", "-c", "exit 4", (char *)NULL);
            _exit(127);
        }
        signal(SIGUSR1, SIG_IGN);
        for (int n = 0; n < 50; n++)
            kill(pid, SIGWINCH);
        ASSERT_EQ(waitpid(pid, &status, 0), pid);
        ASSERT_EQ(status, 4 << 8);
    }
}

static void *spin(void *unused)
{
    for (int i = 0; i < 3000; i++) {
        int fd = dup(0);
        if (fd < 0)
            return "failed";
        close(fd);
    }
    return unused;
}

TEST(storm_on_several_threads)
{
    pthread_t threads[4];
    void *result;
    handle(SIGUSR1, SA_RESTART);
    storm(getpid(), SIGUSR1);
    for (int i = 0; i < 4; i++)
        ASSERT_EQ(pthread_create(&threads[i], NULL, spin, NULL), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &result);
        EXPECT_TRUE(result == NULL);
    }
    end_helper();
}
