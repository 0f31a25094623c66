// SPDX-License-Identifier: Apache-2.0
/* O_ASYNC, F_SETOWN, F_SETSIG: fcntl(2), "Managing signals"; FIOASYNC of ioctl(2). */
#include "tests/harness/harness.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>

static volatile sig_atomic_t count, last_signal;
static siginfo_t last;

static void note(int sig, siginfo_t *info, void *context)
{
    last = *info;
    last_signal = sig;
    count++;
}

static void handle(int sig)
{
    struct sigaction a = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_RESTART};
    ASSERT_EQ(sigaction(sig, &a, NULL), 0);
}

/* This process is told of fd, by SIGIO. */
static void tell_of(int fd)
{
    handle(SIGIO);
    ASSERT_EQ(fcntl(fd, F_SETOWN, getpid()), 0);
    ASSERT_EQ(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC), 0);
}

static void wait_for(int wanted)
{
    for (int i = 0; i < 2000 && count < wanted; i++)
        usleep(1000);
    EXPECT_GE(count, wanted);
}

static void nothing_came(void)
{
    usleep(20000);
    EXPECT_EQ(count, 0);
}

/* ---- pipes ---- */

TEST(reader_of_a_pipe)
{
    int p[2];
    ASSERT_EQ(pipe(p), 0);
    tell_of(p[0]);
    ASSERT_EQ(write(p[1], "x", 1), 1);
    EXPECT_EQ(count, 1);
    EXPECT_EQ(last.si_signo, SIGIO);
    EXPECT_EQ(last.si_code, SI_KERNEL);
    /* Each time, though the first byte is still there. */
    ASSERT_EQ(write(p[1], "x", 1), 1);
    EXPECT_EQ(count, 2);
}

TEST(reader_at_the_end_of_a_pipe)
{
    int p[2];
    ASSERT_EQ(pipe(p), 0);
    tell_of(p[0]);
    close(p[1]);
    EXPECT_EQ(count, 1);
}

TEST(writer_of_a_pipe)
{
    static char data[65536];
    int p[2];
    ASSERT_EQ(pipe(p), 0);
    ASSERT_EQ(write(p[1], data, sizeof(data)), sizeof(data));
    handle(SIGRTMIN);
    ASSERT_EQ(fcntl(p[1], F_SETSIG, SIGRTMIN), 0);
    tell_of(p[1]);
    ASSERT_EQ(read(p[0], data, sizeof(data)), sizeof(data));
    EXPECT_EQ(count, 1);
    EXPECT_EQ(last.si_code, POLL_OUT);
    EXPECT_EQ(last.si_fd, p[1]);
    EXPECT_EQ(last.si_band, POLLOUT | POLLWRNORM | POLLWRBAND);
}

TEST(signal_of_ones_own_choice)
{
    int p[2];
    ASSERT_EQ(pipe(p), 0);
    handle(SIGRTMIN + 1);
    ASSERT_EQ(fcntl(p[0], F_SETSIG, SIGRTMIN + 1), 0);
    tell_of(p[0]);
    ASSERT_EQ(write(p[1], "x", 1), 1);
    EXPECT_EQ(count, 1);
    EXPECT_EQ(last_signal, SIGRTMIN + 1);
    EXPECT_EQ(last.si_signo, SIGRTMIN + 1);
    EXPECT_EQ(last.si_code, POLL_IN);
    EXPECT_EQ(last.si_fd, p[0]);
    EXPECT_EQ(last.si_band, POLLIN | POLLRDNORM);
}

TEST(sigio_chosen_as_such_tells_of_the_descriptor)
{
    int p[2];
    ASSERT_EQ(pipe(p), 0);
    ASSERT_EQ(fcntl(p[0], F_SETSIG, SIGIO), 0);
    tell_of(p[0]);
    ASSERT_EQ(write(p[1], "x", 1), 1);
    EXPECT_EQ(count, 1);
    EXPECT_EQ(last.si_code, POLL_IN);
    EXPECT_EQ(last.si_fd, p[0]);
}

TEST(signals_with_codes_of_their_own_have_si_sigio)
{
    int p[2];
    ASSERT_EQ(pipe(p), 0);
    handle(SIGCHLD);
    ASSERT_EQ(fcntl(p[0], F_SETSIG, SIGCHLD), 0);
    tell_of(p[0]);
    ASSERT_EQ(write(p[1], "x", 1), 1);
    EXPECT_EQ(count, 1);
    EXPECT_EQ(last.si_signo, SIGCHLD);
    EXPECT_EQ(last.si_code, SI_SIGIO);
}

TEST(nobody_is_told_without_an_owner)
{
    int p[2];
    ASSERT_EQ(pipe(p), 0);
    handle(SIGIO);
    ASSERT_EQ(fcntl(p[0], F_SETFL, O_ASYNC), 0);
    ASSERT_EQ(write(p[1], "x", 1), 1);
    nothing_came();
}

TEST(nobody_is_told_without_the_flag)
{
    int p[2], off = 0, on = 1;
    ASSERT_EQ(pipe(p), 0);
    tell_of(p[0]);
    ASSERT_EQ(fcntl(p[0], F_SETFL, 0), 0);
    ASSERT_EQ(write(p[1], "x", 1), 1);
    ASSERT_EQ(ioctl(p[0], FIOASYNC, &on), 0);
    EXPECT_EQ(fcntl(p[0], F_GETFL) & O_ASYNC, O_ASYNC);
    ASSERT_EQ(ioctl(p[0], FIOASYNC, &off), 0);
    ASSERT_EQ(write(p[1], "x", 1), 1);
    nothing_came();
    ASSERT_EQ(ioctl(p[0], FIOASYNC, &on), 0);
    ASSERT_EQ(write(p[1], "x", 1), 1);
    EXPECT_EQ(count, 1);
}

TEST(nobody_is_told_after_the_last_close)
{
    int p[2], q[2];
    ASSERT_EQ(pipe(p), 0);
    tell_of(p[0]);
    int copy = dup(p[0]);
    close(p[0]);
    ASSERT_EQ(write(p[1], "x", 1), 1);
    EXPECT_EQ(count, 1);
    count = 0;
    signal(SIGPIPE, SIG_IGN);
    close(copy);
    write(p[1], "x", 1);
    ASSERT_EQ(pipe(q), 0);
    ASSERT_EQ(write(q[1], "x", 1), 1);
    nothing_came();
}

TEST(open_with_o_async_has_no_effect)
{
    ASSERT_EQ(mkfifo("f", 0600), 0);
    int fd = open("f", O_RDWR | O_ASYNC | O_NONBLOCK);
    ASSERT_GE(fd, 0);
    handle(SIGIO);
    ASSERT_EQ(fcntl(fd, F_SETOWN, getpid()), 0);
    ASSERT_EQ(write(fd, "x", 1), 1);
    nothing_came();
}

TEST(sigio_ends_who_does_not_handle_it)
{
    int p[2], status;
    ASSERT_EQ(pipe(p), 0);
    pid_t pid = fork();
    if (pid == 0) {
        fcntl(p[0], F_SETOWN, getpid());
        fcntl(p[0], F_SETFL, O_ASYNC);
        write(p[1], "x", 1);
        _exit(0);
    }
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGIO);
}

/* ---- other owners ---- */

static int *shared;

static void note_for_parent(int sig)
{
    shared[0]++;
}

static pid_t start_owner(bool has_group)
{
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_TRUE(shared != MAP_FAILED);
    pid_t pid = fork();
    if (pid == 0) {
        if (has_group)
            setpgid(0, 0);
        signal(SIGIO, note_for_parent);
        for (shared[1] = 1;;)
            pause();
    }
    while (!((volatile int *)shared)[1])
        usleep(1000);
    return pid;
}

static void end_owner(pid_t pid)
{
    for (int i = 0; i < 2000 && !((volatile int *)shared)[0]; i++)
        usleep(1000);
    EXPECT_EQ(shared[0], 1);
    ASSERT_EQ(kill(pid, SIGKILL), 0);
    ASSERT_EQ(waitpid(pid, NULL, 0), pid);
}

TEST(another_process_is_told)
{
    int p[2];
    pid_t pid = start_owner(false);
    ASSERT_EQ(pipe(p), 0);
    ASSERT_EQ(fcntl(p[0], F_SETOWN, pid), 0);
    ASSERT_EQ(fcntl(p[0], F_SETFL, O_ASYNC), 0);
    ASSERT_EQ(write(p[1], "x", 1), 1);
    end_owner(pid);
    /* Nobody is there any more. */
    ASSERT_EQ(write(p[1], "x", 1), 1);
}

TEST(a_group_is_told)
{
    int p[2];
    pid_t pid = start_owner(true);
    ASSERT_EQ(pipe(p), 0);
    ASSERT_EQ(fcntl(p[0], F_SETOWN, -pid), 0);
    ASSERT_EQ(fcntl(p[0], F_SETFL, O_ASYNC), 0);
    ASSERT_EQ(write(p[1], "x", 1), 1);
    end_owner(pid);
}

#define PIPE_BYTES 65536

/* The rest of a write that waited comes without a call of anybody's. */
TEST(the_rest_of_a_write_tells)
{
    static char data[4 * PIPE_BYTES];
    struct timespec began, now;
    int p[2];
    pid_t pid = start_owner(false);
    ASSERT_EQ(pipe(p), 0);
    ASSERT_EQ(fcntl(p[0], F_SETOWN, pid), 0);
    ASSERT_EQ(fcntl(p[0], F_SETFL, O_ASYNC), 0);
    pid_t writer = fork();
    if (writer == 0)
        _exit(write(p[1], data, sizeof(data)) != sizeof(data));
    volatile int *told = shared;
    for (int i = 0; i < 2000 && !*told; i++)
        usleep(1000);
    EXPECT_EQ(*told, 1);
    *told = 0;
    ASSERT_EQ(read(p[0], data, PIPE_BYTES), PIPE_BYTES);
    clock_gettime(CLOCK_MONOTONIC, &began);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while (!*told && now.tv_sec - began.tv_sec < 5);
    EXPECT_EQ(*told, 1);
    end_owner(pid);
    ASSERT_EQ(kill(writer, SIGKILL), 0);
    ASSERT_EQ(waitpid(writer, NULL, 0), writer);
}

#define MANY 40

static void be_told(int number)
{
    int fd = open("f", O_RDONLY | O_NONBLOCK);
    signal(SIGIO, note_for_parent);
    fcntl(fd, F_SETOWN, getpid());
    fcntl(fd, F_SETFL, O_ASYNC);
    shared = shared + number;
    for (shared[MANY] = 1;;)
        pause();
}

TEST(one_write_tells_many)
{
    pid_t pids[MANY];
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_TRUE(shared != MAP_FAILED);
    ASSERT_EQ(mkfifo("f", 0600), 0);
    for (int i = 0; i < MANY; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            be_told(i);
        while (!((volatile int *)shared)[MANY + i])
            usleep(1000);
    }
    int fd = open("f", O_WRONLY);
    ASSERT_EQ(write(fd, "x", 1), 1);
    for (int i = 0; i < MANY; i++) {
        for (int n = 0; n < 2000 && !((volatile int *)shared)[i]; n++)
            usleep(1000);
        EXPECT_EQ(shared[i], 1);
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
}

TEST(a_thread_is_told)
{
    int p[2];
    ASSERT_EQ(pipe(p), 0);
    handle(SIGIO);
    const struct f_owner_ex owner = {F_OWNER_TID, gettid()};
    ASSERT_EQ(fcntl(p[0], F_SETOWN_EX, &owner), 0);
    ASSERT_EQ(fcntl(p[0], F_SETFL, O_ASYNC), 0);
    ASSERT_EQ(write(p[1], "x", 1), 1);
    EXPECT_EQ(count, 1);
}

/* The rights are those of who set the owner, when it was set. */
TEST(a_stranger_is_not_told)
{
    int p[2], status;
    if (geteuid() != 0)
        SKIP("needs root");
    ASSERT_EQ(pipe(p), 0);
    handle(SIGIO);
    pid_t pid = fork();
    if (pid == 0) {
        pid_t parent = getppid();
        if (setresuid(1000, 1000, 1000) != 0 || fcntl(p[0], F_SETOWN, parent) != 0 ||
            fcntl(p[0], F_SETFL, O_ASYNC) != 0)
            _exit(1);
        _exit(0);
    }
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    ASSERT_EQ(status, 0);
    ASSERT_EQ(write(p[1], "x", 1), 1);
    nothing_came();
    ASSERT_EQ(fcntl(p[0], F_SETOWN, getpid()), 0);
    ASSERT_EQ(write(p[1], "x", 1), 1);
    EXPECT_EQ(count, 1);
}

/* ---- other files ---- */

TEST(sockets)
{
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    for (size_t i = 0; i < 3; i++) {
        int s[2];
        ASSERT_EQ(socketpair(AF_UNIX, types[i], 0, s), 0);
        handle(SIGRTMIN);
        ASSERT_EQ(fcntl(s[0], F_SETSIG, SIGRTMIN), 0);
        tell_of(s[0]);
        count = 0;
        ASSERT_EQ(write(s[1], "x", 1), 1);
        EXPECT_EQ(count, 1);
        EXPECT_EQ(last.si_code, POLL_IN);
        EXPECT_EQ(last.si_fd, s[0]);
        close(s[0]);
        close(s[1]);
    }
}

static int listen_on_loopback(struct sockaddr_in *ret)
{
    socklen_t size = sizeof(*ret);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    *ret = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    ASSERT_EQ(bind(fd, (struct sockaddr *)ret, size), 0);
    ASSERT_EQ(getsockname(fd, (struct sockaddr *)ret, &size), 0);
    ASSERT_EQ(listen(fd, 5), 0);
    return fd;
}

TEST(connections_and_their_data)
{
    struct sockaddr_in name;
    int listener = listen_on_loopback(&name), client = socket(AF_INET, SOCK_STREAM, 0);
    tell_of(listener);
    ASSERT_EQ(connect(client, (struct sockaddr *)&name, sizeof(name)), 0);
    wait_for(1);
    int server = accept(listener, NULL, NULL);
    ASSERT_GE(server, 0);
    tell_of(server);
    count = 0;
    ASSERT_EQ(write(client, "x", 1), 1);
    wait_for(1);
}

TEST(terminals)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    ASSERT_GE(master, 0);
    ASSERT_EQ(unlockpt(master), 0);
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    ASSERT_GE(slave, 0);
    tell_of(slave);
    ASSERT_EQ(write(master, "a\n", 2), 2);
    wait_for(1);
    ASSERT_EQ(fcntl(slave, F_SETFL, O_RDWR), 0);
    tell_of(master);
    count = 0;
    ASSERT_EQ(write(slave, "b", 1), 1);
    wait_for(1);
}

TEST(changes_of_files)
{
    int in = inotify_init1(IN_NONBLOCK);
    ASSERT_GE(inotify_add_watch(in, ".", IN_CREATE), 0);
    tell_of(in);
    close(open("new", O_CREAT | O_WRONLY, 0600));
    EXPECT_EQ(count, 1);
}

TEST(others_tell_nothing_and_keep_no_flag)
{
    int fd = eventfd(0, EFD_NONBLOCK), on = 1;
    uint64_t one = 1;
    tell_of(fd);
    EXPECT_EQ(fcntl(fd, F_GETFL) & O_ASYNC, 0);
    ASSERT_EQ(write(fd, &one, sizeof(one)), sizeof(one));
    nothing_came();
    int other = eventfd(0, EFD_NONBLOCK);
    EXPECT_ERRNO(ioctl(other, FIOASYNC, &on), ENOTTY);
}
