// SPDX-License-Identifier: Apache-2.0
/*
 * Controlling terminals and job control: credentials(7), tty(4), ioctl_tty(2), POSIX 11.1. Each
 * case is the leader of a session of its own.
 */
#include "tests/sys/pty_support.h"

#define WITH_TERMINAL true
#define NO_TERMINAL   false

#define STATUS_SKIPPED 77 /* of harness_skip() */
#define SECONDS_MAX    20 /* for processes that the end of the case does not end */

/* Runs body as the leader of a new session; with the slave as its terminal, if asked for. */
static void in_session(bool with_terminal, void (*body)(struct pty *))
{
    struct pty p = pty_master();
    fflush(stdout);
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
        alarm(SECONDS_MAX);
        ASSERT_EQ(setsid(), getpid());
        if (with_terminal)
            p.slave = open(p.name, O_RDWR);
        body(&p);
        harness_end_case();
    }
    int status = -1;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_SKIPPED)
        SKIP("by the session");
    EXPECT_EQ(status, 0);
}

#define SESSION_TEST(name, terminal)        \
    static void name##_body(struct pty *p); \
    TEST(name)                              \
    {                                       \
        in_session(terminal, name##_body);  \
    }                                       \
    static void name##_body(struct pty *p)

/* A child in a process group of its own, in the background, that runs body. */
static pid_t background(struct pty *p, void (*body)(struct pty *))
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(SECONDS_MAX);
        setpgid(0, 0);
        body(p);
        harness_end_case();
    }
    setpgid(pid, pid);
    return pid;
}

static void expect_stopped_at(int line, pid_t pid, int sig)
{
    int status = 0;
    if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != sig)
        harness_fail("tty_jobs", line, "status %#x, expected to be stopped by %d", status, sig);
}
#define expect_stopped(pid, sig) expect_stopped_at(__LINE__, pid, sig)

static void expect_killed_at(int line, pid_t pid, int sig)
{
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) || WTERMSIG(status) != sig)
        harness_fail("tty_jobs", line, "status %#x, expected to be ended by %d", status, sig);
}
#define expect_killed(pid, sig) expect_killed_at(__LINE__, pid, sig)

static void sleep_for_ever(struct pty *p)
{
    for (;;)
        pause();
}

static volatile sig_atomic_t seen[65];

static void note_signal(int sig)
{
    seen[sig]++;
}

static void note(int sig)
{
    struct sigaction a = {.sa_handler = note_signal};
    sigaction(sig, &a, NULL);
}

static bool await_signal(int sig)
{
    for (int i = 0; i < REPLY_MS / 10 && !seen[sig]; i++)
        pty_sleep_ms(10);
    return seen[sig];
}

static bool has_terminal(void)
{
    int fd = open("/dev/tty", O_RDWR);
    if (fd < 0)
        EXPECT_EQ(errno, ENXIO);
    else
        close(fd);
    return fd >= 0;
}

/* The child is there once it has written a byte. */
static void say_ready(int fd)
{
    EXPECT_EQ(write(fd, "r", 1), 1);
}

/* ---- getting a controlling terminal ---- */

SESSION_TEST(a_new_session_has_none, NO_TERMINAL)
{
    EXPECT_TRUE(!has_terminal());
}

SESSION_TEST(opening_makes_it_the_leaders, NO_TERMINAL)
{
    p->slave = open(p->name, O_RDWR);
    ASSERT_GE(p->slave, 0);
    EXPECT_TRUE(has_terminal());
    EXPECT_EQ(tcgetpgrp(p->slave), getpgrp());
    EXPECT_EQ(tcgetsid(p->slave), getsid(0));
}

SESSION_TEST(opening_with_noctty_does_not, NO_TERMINAL)
{
    p->slave = open(p->name, O_RDWR | O_NOCTTY);
    EXPECT_TRUE(!has_terminal());
    EXPECT_ERRNO(tcgetpgrp(p->slave), ENOTTY);
    EXPECT_ERRNO(tcgetsid(p->slave), ENOTTY);
}

SESSION_TEST(opening_for_writing_alone_does_not, NO_TERMINAL)
{
    p->slave = open(p->name, O_WRONLY);
    EXPECT_GE(p->slave, 0);
    EXPECT_TRUE(!has_terminal());
}

SESSION_TEST(opening_a_master_does_not, NO_TERMINAL)
{
    EXPECT_GE(open("/dev/ptmx", O_RDWR), 0);
    EXPECT_TRUE(!has_terminal());
}

SESSION_TEST(opening_a_second_one_does_not, WITH_TERMINAL)
{
    struct pty other = pty_master();
    other.slave = open(other.name, O_RDWR);
    EXPECT_EQ(tcgetsid(p->slave), getsid(0));
    EXPECT_ERRNO(tcgetsid(other.slave), ENOTTY);
}

static void open_as_follower(struct pty *p)
{
    EXPECT_GE(open(p->name, O_RDWR), 0);
    EXPECT_TRUE(!has_terminal());
    EXPECT_ERRNO(ioctl(open(p->name, O_RDWR), TIOCSCTTY, 0), EPERM);
}

SESSION_TEST(only_leaders_get_one, NO_TERMINAL)
{
    pty_join(background(p, open_as_follower));
}

SESSION_TEST(the_device_tty_is_the_terminal, WITH_TERMINAL)
{
    int fd = open("/dev/tty", O_RDWR);
    ASSERT_GE(fd, 0);
    pty_type(fd, "x");
    pty_expect(p->master, "x");
    pty_type(p->master, "in\n");
    pty_expect(fd, "in\n");
    EXPECT_EQ(tcgetpgrp(fd), getpgrp());
    EXPECT_EQ(isatty(fd), 1);
}

SESSION_TEST(it_can_be_asked_for, NO_TERMINAL)
{
    p->slave = open(p->name, O_RDWR | O_NOCTTY);
    EXPECT_EQ(ioctl(p->slave, TIOCSCTTY, 0), 0);
    EXPECT_EQ(ioctl(p->slave, TIOCSCTTY, 0), 0); /* it has it already */
    EXPECT_TRUE(has_terminal());
    struct pty other = pty_open();
    EXPECT_ERRNO(ioctl(other.slave, TIOCSCTTY, 0), EPERM); /* one is enough */
}

static void take_from_another_session(struct pty *p)
{
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        int fd = open(p->name, O_RDWR);
        EXPECT_GE(fd, 0);
        EXPECT_TRUE(!has_terminal());
        EXPECT_ERRNO(ioctl(fd, TIOCSCTTY, 0), EPERM);
        if (geteuid() != 0)
            EXPECT_ERRNO(ioctl(fd, TIOCSCTTY, 1), EPERM);
        harness_end_case();
    }
    pty_join(pid);
}

SESSION_TEST(it_is_not_taken_from_another_session, WITH_TERMINAL)
{
    take_from_another_session(p);
    EXPECT_TRUE(has_terminal());
}

SESSION_TEST(root_may_steal_it, WITH_TERMINAL)
{
    if (geteuid() != 0)
        SKIP("needs root");
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        EXPECT_EQ(ioctl(p->slave, TIOCSCTTY, 1), 0);
        EXPECT_TRUE(has_terminal());
        harness_end_case();
    }
    pty_join(pid);
    EXPECT_TRUE(!has_terminal());
}

static void expect_shared(struct pty *p)
{
    EXPECT_TRUE(has_terminal());
    EXPECT_EQ(tcgetsid(p->slave), getppid());
}

SESSION_TEST(children_share_it, WITH_TERMINAL)
{
    pty_join(background(p, expect_shared));
}

SESSION_TEST(a_new_session_leaves_it_behind, WITH_TERMINAL)
{
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        EXPECT_TRUE(!has_terminal());
        EXPECT_ERRNO(tcgetpgrp(p->slave), ENOTTY);
        harness_end_case();
    }
    pty_join(pid);
    EXPECT_TRUE(has_terminal());
}

SESSION_TEST(proc_shows_it, WITH_TERMINAL)
{
    unsigned number = 0;
    int tty = -1, foreground = -1;
    FILE *f = fopen("/proc/self/stat", "re");
    ASSERT_TRUE(f);
    EXPECT_EQ(fscanf(f, "%*d %*s %*c %*d %*d %*d %d %d", &tty, &foreground), 2);
    EXPECT_EQ(ioctl(p->master, TIOCGPTN, &number), 0);
    EXPECT_EQ(tty, 136 << 8 | (int)number);
    EXPECT_EQ(foreground, getpgrp());
}

/* ---- giving it up ---- */

SESSION_TEST(the_leader_gives_it_up_for_all, WITH_TERMINAL)
{
    note(SIGHUP);
    note(SIGCONT);
    EXPECT_EQ(ioctl(p->slave, TIOCNOTTY), 0);
    EXPECT_TRUE(!has_terminal());
    EXPECT_TRUE(await_signal(SIGHUP));
    EXPECT_TRUE(await_signal(SIGCONT));
    EXPECT_ERRNO(ioctl(p->slave, TIOCNOTTY), ENOTTY);
    EXPECT_ERRNO(tcgetpgrp(p->slave), ENOTTY);
}

static void give_up_alone(struct pty *p)
{
    EXPECT_EQ(ioctl(p->slave, TIOCNOTTY), 0);
    EXPECT_TRUE(!has_terminal());
}

SESSION_TEST(others_give_it_up_for_themselves, WITH_TERMINAL)
{
    pty_join(background(p, give_up_alone));
    EXPECT_TRUE(has_terminal());
}

SESSION_TEST(it_can_be_had_again, WITH_TERMINAL)
{
    signal(SIGHUP, SIG_IGN);
    EXPECT_EQ(ioctl(p->slave, TIOCNOTTY), 0);
    EXPECT_EQ(ioctl(p->slave, TIOCSCTTY, 0), 0);
    EXPECT_EQ(tcgetpgrp(p->slave), getpgrp());
}

/* ---- the foreground group ---- */

SESSION_TEST(the_foreground_can_be_set, WITH_TERMINAL)
{
    pid_t pid = background(p, sleep_for_ever);
    EXPECT_EQ(tcsetpgrp(p->slave, pid), 0);
    EXPECT_EQ(tcgetpgrp(p->slave), pid);
    EXPECT_EQ(tcgetpgrp(p->master), pid);
    kill(pid, SIGKILL);
    expect_killed(pid, SIGKILL);
    EXPECT_EQ(tcgetpgrp(p->slave), pid); /* though there is no such group any more */
}

SESSION_TEST(wrong_foregrounds_are_refused, WITH_TERMINAL)
{
    int number = -5;
    EXPECT_ERRNO(ioctl(p->slave, TIOCSPGRP, &number), EINVAL);
    EXPECT_ERRNO(ioctl(p->slave, TIOCSPGRP, (void *)8), EFAULT);
    EXPECT_ERRNO(tcsetpgrp(p->slave, 0x3ffffff), ESRCH);
    EXPECT_ERRNO(tcsetpgrp(p->slave, getppid()), EPERM); /* another session's */
    struct pty other = pty_open();
    EXPECT_ERRNO(tcsetpgrp(other.slave, getpgrp()), ENOTTY);
    EXPECT_EQ(tcsetpgrp(p->master, getpgrp()), 0); /* the master speaks for it */
}

SESSION_TEST(a_master_tells_session_and_foreground, WITH_TERMINAL)
{
    EXPECT_EQ(tcgetpgrp(p->master), getpgrp());
    pid_t sid = 0;
    EXPECT_EQ(ioctl(p->master, TIOCGSID, &sid), 0);
    EXPECT_EQ(sid, getsid(0));
    struct pty other = pty_open();
    EXPECT_EQ(tcgetpgrp(other.master), 0);
    EXPECT_ERRNO(ioctl(other.master, TIOCGSID, &sid), ENOTTY);
}

/* ---- signals from the terminal ---- */

SESSION_TEST(characters_signal_the_foreground_alone, WITH_TERMINAL)
{
    pid_t job = background(p, sleep_for_ever);
    note(SIGINT);
    note(SIGQUIT);
    pty_type(p->master, "\003");
    EXPECT_TRUE(await_signal(SIGINT));
    pty_type(p->master, "\034");
    EXPECT_TRUE(await_signal(SIGQUIT));
    EXPECT_EQ(tcsetpgrp(p->slave, job), 0);
    pty_type(p->master, "\003");
    expect_killed(job, SIGINT);
    EXPECT_EQ(seen[SIGINT], 1);
}

SESSION_TEST(all_of_the_foreground_is_signalled, WITH_TERMINAL)
{
    pid_t first = background(p, sleep_for_ever), second = fork();
    if (second == 0) {
        setpgid(0, first);
        sleep_for_ever(p);
    }
    setpgid(second, first);
    EXPECT_EQ(tcsetpgrp(p->slave, first), 0);
    pty_type(p->master, "\034");
    expect_killed(first, SIGQUIT);
    expect_killed(second, SIGQUIT);
}

SESSION_TEST(suspend_stops_the_foreground, WITH_TERMINAL)
{
    pid_t job = background(p, sleep_for_ever);
    EXPECT_EQ(tcsetpgrp(p->slave, job), 0);
    pty_type(p->master, "\032");
    expect_stopped(job, SIGTSTP);
    kill(job, SIGCONT);
    int status = 0;
    EXPECT_EQ(waitpid(job, &status, WCONTINUED), job);
    EXPECT_TRUE(WIFCONTINUED(status));
    pty_type(p->master, "\003");
    expect_killed(job, SIGINT);
}

static siginfo_t info_seen;

static void note_info(int sig, siginfo_t *info, void *context)
{
    info_seen = *info;
    seen[sig]++;
}

SESSION_TEST(such_a_signal_comes_from_the_kernel, WITH_TERMINAL)
{
    struct sigaction a = {.sa_sigaction = note_info, .sa_flags = SA_SIGINFO};
    sigaction(SIGINT, &a, NULL);
    pty_type(p->master, "\003");
    EXPECT_TRUE(await_signal(SIGINT));
    EXPECT_EQ(info_seen.si_code, SI_KERNEL);
    EXPECT_EQ(info_seen.si_pid, 0);
}

SESSION_TEST(a_master_can_send_them, WITH_TERMINAL)
{
    note(SIGQUIT);
    EXPECT_EQ(ioctl(p->master, TIOCSIG, SIGQUIT), 0);
    EXPECT_TRUE(await_signal(SIGQUIT));
}

SESSION_TEST(a_blocked_read_is_interrupted, WITH_TERMINAL)
{
    note(SIGINT);
    pid_t typist = fork();
    if (typist == 0) {
        harness_wait_until_sleeps(getppid());
        pty_type(p->master, "\003");
        _exit(0);
    }
    char c;
    signal(SIGCHLD, SIG_DFL);
    EXPECT_ERRNO(read(p->slave, &c, 1), EINTR);
    EXPECT_EQ(seen[SIGINT], 1);
}

SESSION_TEST(a_new_window_size_is_told, WITH_TERMINAL)
{
    struct winsize size = {.ws_row = 30, .ws_col = 100};
    note(SIGWINCH);
    EXPECT_EQ(ioctl(p->master, TIOCSWINSZ, &size), 0);
    EXPECT_TRUE(await_signal(SIGWINCH));
    EXPECT_EQ(ioctl(p->master, TIOCSWINSZ, &size), 0); /* the same again */
    pty_sleep_ms(QUIET_MS);
    EXPECT_EQ(seen[SIGWINCH], 1);
    size.ws_col++;
    EXPECT_EQ(ioctl(p->slave, TIOCSWINSZ, &size), 0);
    for (int i = 0; i < REPLY_MS / 10 && seen[SIGWINCH] < 2; i++)
        pty_sleep_ms(10);
    EXPECT_EQ(seen[SIGWINCH], 2);
}

/* ---- reads from the background ---- */

static void read_line(struct pty *p)
{
    char data[16] = "";
    EXPECT_EQ(read(p->slave, data, sizeof(data)), 5);
    EXPECT_STR(data, "line\n");
}

SESSION_TEST(a_background_reader_is_stopped, WITH_TERMINAL)
{
    pid_t job = background(p, read_line);
    expect_stopped(job, SIGTTIN);
    kill(job, SIGCONT);
    expect_stopped(job, SIGTTIN); /* it tries again */
    EXPECT_EQ(tcsetpgrp(p->slave, job), 0);
    kill(job, SIGCONT);
    pty_type(p->master, "line\n");
    pty_join(job);
}

SESSION_TEST(a_background_reader_is_stopped_in_spite_of_data, WITH_TERMINAL)
{
    pty_type(p->master, "line\n");
    ASSERT_TRUE(pty_wait(p->slave, POLLIN, REPLY_MS));
    fcntl(p->slave, F_SETFL, O_NONBLOCK);
    pid_t job = background(p, read_line);
    expect_stopped(job, SIGTTIN);
    pty_expect_read(p->slave, 16, "line\n");
    kill(job, SIGKILL);
    expect_killed(job, SIGKILL);
}

static void read_ignoring(struct pty *p)
{
    char c;
    signal(SIGTTIN, SIG_IGN);
    EXPECT_ERRNO(read(p->slave, &c, 1), EIO);
}

SESSION_TEST(a_background_reader_that_ignores_it_gets_an_error, WITH_TERMINAL)
{
    pty_join(background(p, read_ignoring));
}

static void read_blocking(struct pty *p)
{
    char c;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTTIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    EXPECT_ERRNO(read(p->slave, &c, 1), EIO);
}

SESSION_TEST(a_background_reader_that_blocks_it_gets_an_error, WITH_TERMINAL)
{
    pty_join(background(p, read_blocking));
}

static void read_handling(struct pty *p)
{
    char c;
    note(SIGTTIN);
    EXPECT_ERRNO(read(p->slave, &c, 1), EINTR);
    EXPECT_EQ(seen[SIGTTIN], 1);
}

SESSION_TEST(a_background_reader_may_handle_it, WITH_TERMINAL)
{
    pty_join(background(p, read_handling));
}

static void read_from_orphan(struct pty *p)
{
    char c;
    pid_t parent = getppid(), child = fork();
    if (child == 0) {
        /* Its parent and so the group's tie to the session is gone. */
        while (getppid() == getpgrp())
            pty_sleep_ms(5);
        bool ok = read(p->slave, &c, 1) == -1 && errno == EIO;
        EXPECT_EQ(write(p->master, ok ? "+" : "-", 1), 1);
        _exit(0);
    }
    EXPECT_GT(parent, 0);
}

SESSION_TEST(an_orphaned_reader_gets_an_error, WITH_TERMINAL)
{
    /* The answer comes back as input, which needs no terminal's leave. */
    pty_make_raw(p->slave);
    pty_join(background(p, read_from_orphan));
    pty_expect(p->slave, "+");
}

SESSION_TEST(pollers_are_not_stopped, WITH_TERMINAL)
{
    pty_type(p->master, "line\n");
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        EXPECT_TRUE(pty_wait(p->slave, POLLIN, REPLY_MS));
        harness_end_case();
    }
    pty_join(pid);
}

/* ---- writes and changes from the background ---- */

static void write_out(struct pty *p)
{
    EXPECT_EQ(write(p->slave, "out", 3), 3);
}

SESSION_TEST(a_background_writer_may_write, WITH_TERMINAL)
{
    pty_join(background(p, write_out));
    pty_expect(p->master, "out");
}

SESSION_TEST(a_background_writer_is_stopped_with_tostop, WITH_TERMINAL)
{
    pty_change_lflag(p->slave, TOSTOP, 0);
    pid_t job = background(p, write_out);
    expect_stopped(job, SIGTTOU);
    pty_expect_quiet(p->master);
    EXPECT_EQ(tcsetpgrp(p->slave, job), 0);
    kill(job, SIGCONT);
    pty_join(job);
    pty_expect(p->master, "out");
}

static void write_ignoring(struct pty *p)
{
    signal(SIGTTOU, SIG_IGN);
    write_out(p);
}

SESSION_TEST(a_background_writer_that_ignores_it_writes, WITH_TERMINAL)
{
    pty_change_lflag(p->slave, TOSTOP, 0);
    pty_join(background(p, write_ignoring));
    pty_expect(p->master, "out");
}

static void turn_echo_off(struct pty *p)
{
    pty_change_lflag(p->slave, 0, ECHO);
}

SESSION_TEST(a_background_change_of_settings_stops, WITH_TERMINAL)
{
    pid_t job = background(p, turn_echo_off);
    expect_stopped(job, SIGTTOU);
    EXPECT_TRUE(pty_settings(p->slave).c_lflag & ECHO);
    EXPECT_EQ(tcsetpgrp(p->slave, job), 0);
    kill(job, SIGCONT);
    pty_join(job);
    signal(SIGTTOU, SIG_IGN);
    EXPECT_EQ(pty_settings(p->slave).c_lflag & ECHO, 0);
}

static void change_ignoring(struct pty *p)
{
    signal(SIGTTOU, SIG_IGN);
    turn_echo_off(p);
    EXPECT_EQ(tcflush(p->slave, TCIFLUSH), 0);
    EXPECT_EQ(tcsendbreak(p->slave, 0), 0);
}

SESSION_TEST(a_background_change_is_made_when_it_is_ignored, WITH_TERMINAL)
{
    pty_join(background(p, change_ignoring));
    EXPECT_EQ(pty_settings(p->slave).c_lflag & ECHO, 0);
}

static void flush_input(struct pty *p)
{
    EXPECT_EQ(tcflush(p->slave, TCIFLUSH), 0);
}

SESSION_TEST(a_background_flush_stops, WITH_TERMINAL)
{
    pid_t job = background(p, flush_input);
    expect_stopped(job, SIGTTOU);
    kill(job, SIGKILL);
    expect_killed(job, SIGKILL);
}

static void come_to_front(struct pty *p)
{
    EXPECT_EQ(tcsetpgrp(p->slave, getpgrp()), 0);
}

SESSION_TEST(a_background_group_does_not_come_to_the_front_by_itself, WITH_TERMINAL)
{
    pid_t job = background(p, come_to_front);
    expect_stopped(job, SIGTTOU);
    EXPECT_EQ(tcgetpgrp(p->slave), getpgrp());
    kill(job, SIGKILL);
    expect_killed(job, SIGKILL);
}

static void come_to_front_blocking(struct pty *p)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTTOU);
    sigprocmask(SIG_BLOCK, &set, NULL);
    come_to_front(p);
}

SESSION_TEST(but_it_does_with_the_signal_blocked, WITH_TERMINAL)
{
    pid_t job = background(p, come_to_front_blocking);
    pty_join(job);
    EXPECT_EQ(tcgetpgrp(p->slave), job);
}

SESSION_TEST(questions_are_free_for_all, WITH_TERMINAL)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct winsize size;
        struct termios t;
        setpgid(0, 0);
        EXPECT_EQ(tcgetattr(p->slave, &t), 0);
        EXPECT_EQ(ioctl(p->slave, TIOCGWINSZ, &size), 0);
        EXPECT_EQ(ioctl(p->slave, TIOCSWINSZ, &size), 0);
        EXPECT_GT(tcgetpgrp(p->slave), 0);
        harness_end_case();
    }
    pty_join(pid);
}

/* ---- ends ---- */

SESSION_TEST(another_descriptor_of_the_master_keeps_it, WITH_TERMINAL)
{
    note(SIGHUP);
    close(p->master); /* it is open in the parent too */
    pty_sleep_ms(QUIET_MS);
    EXPECT_EQ(seen[SIGHUP], 0);
    EXPECT_TRUE(has_terminal());
}

/* p->master is open in this process alone. */
static struct pty own_terminal(void)
{
    struct pty p = pty_master();
    fcntl(p.master, F_SETFD, FD_CLOEXEC);
    p.slave = open(p.name, O_RDWR);
    return p;
}

SESSION_TEST(the_last_close_of_the_master_hangs_up, NO_TERMINAL)
{
    struct pty own = own_terminal();
    note(SIGHUP);
    note(SIGCONT);
    EXPECT_TRUE(has_terminal());
    close(own.master);
    EXPECT_TRUE(await_signal(SIGHUP));
    EXPECT_TRUE(await_signal(SIGCONT));
    EXPECT_TRUE(!has_terminal());
    EXPECT_EQ(read(own.slave, own.name, 1), 0);
    /* The leader may have another one. */
    struct pty next = own_terminal();
    EXPECT_EQ(tcgetsid(next.slave), getsid(0));
}

SESSION_TEST(the_end_of_the_leader_hangs_the_foreground_up, NO_TERMINAL)
{
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    pid_t leader = fork();
    if (leader == 0) {
        setsid();
        p->slave = open(p->name, O_RDWR);
        pid_t job = fork();
        if (job == 0) {
            char c = '-';
            setpgid(0, 0);
            note(SIGHUP);
            say_ready(ready[1]);
            if (await_signal(SIGHUP) && !has_terminal())
                c = '+';
            EXPECT_EQ(write(ready[1], &c, 1), 1);
            _exit(0);
        }
        setpgid(job, job);
        EXPECT_EQ(tcsetpgrp(p->slave, job), 0);
        pty_sleep_ms(QUIET_MS);
        _exit(0);
    }
    pty_join(leader);
    pty_expect(ready[0], "r+");
    /* The terminal is free for the next one. */
    p->slave = open(p->name, O_RDWR);
    EXPECT_TRUE(has_terminal());
}

SESSION_TEST(the_foreground_hears_of_a_hang_up_at_the_leaders_end, NO_TERMINAL)
{
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    pid_t leader = fork();
    if (leader == 0) {
        setsid();
        struct pty own = own_terminal();
        pid_t job = fork();
        if (job == 0) {
            close(own.master);
            setpgid(0, 0);
            note(SIGHUP);
            say_ready(ready[1]);
            char c = await_signal(SIGHUP) ? '+' : '-';
            EXPECT_EQ(write(ready[1], &c, 1), 1);
            _exit(0);
        }
        setpgid(job, job);
        EXPECT_EQ(tcsetpgrp(own.slave, job), 0);
        pty_sleep_ms(QUIET_MS);
        close(own.master); /* ends the leader by SIGHUP */
        pause();
    }
    expect_killed(leader, SIGHUP);
    pty_expect(ready[0], "r+");
}
