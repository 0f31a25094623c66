// SPDX-License-Identifier: Apache-2.0
/* Record locks of processes and of open files (fcntl(2)), flock(2). */
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static int open_file(int flags)
{
    int fd = open("f", flags | O_CREAT, 0600);
    ASSERT_GE(fd, 0);
    return fd;
}

static void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static int set(int fd, int command, short type, off_t start, off_t length)
{
    struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
    return fcntl(fd, command, &l);
}

static int lock(int fd, short type, off_t start, off_t length)
{
    return set(fd, F_SETLK, type, start, length);
}

/*
 * A row of 12 characters: what another process could lock of bytes 0..11, one by one. '-': for
 * writing, 'r': for reading only, 'w': not at all.
 */
static void locked_bytes(int fd, char row[13])
{
    int out[2];
    ASSERT_EQ(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char text[12];
        for (int i = 0; i < 12; i++) {
            if (lock(fd, F_WRLCK, i, 1) == 0)
                text[i] = '-';
            else
                text[i] = lock(fd, F_RDLCK, i, 1) == 0 ? 'r' : 'w';
            lock(fd, F_UNLCK, i, 1);
        }
        _exit(write(out[1], text, 12) != 12);
    }
    row[12] = '\0';
    ASSERT_EQ(read(out[0], row, 12), 12);
    waitpid(pid, NULL, 0);
    close(out[0]);
    close(out[1]);
}

#define EXPECT_LOCKED(fd, expected) \
    do {                            \
        char row_[13];              \
        locked_bytes(fd, row_);     \
        EXPECT_STR(row_, expected); \
    } while (0)

/* Exit status of a child that runs `what`. */
static int in_child(int (*what)(int fd), int fd)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(what(fd));
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(a_lock_is_in_the_way_of_other_processes)
{
    int fd = open_file(O_RDWR);
    EXPECT_EQ(lock(fd, F_WRLCK, 2, 4), 0);
    EXPECT_LOCKED(fd, "--wwww------");
    EXPECT_EQ(lock(fd, F_RDLCK, 8, 2), 0);
    EXPECT_LOCKED(fd, "--wwww--rr--");
}

TEST(a_lock_is_not_in_the_way_of_its_own_process)
{
    int a = open_file(O_RDWR), b = open_file(O_RDWR);
    EXPECT_EQ(lock(a, F_WRLCK, 0, 10), 0);
    EXPECT_EQ(lock(b, F_WRLCK, 5, 10), 0);
}

TEST(unlocking_the_middle_splits)
{
    int fd = open_file(O_RDWR);
    EXPECT_EQ(lock(fd, F_WRLCK, 0, 10), 0);
    EXPECT_EQ(lock(fd, F_UNLCK, 3, 4), 0);
    EXPECT_LOCKED(fd, "www----www--");
    EXPECT_EQ(lock(fd, F_UNLCK, 0, 1), 0);
    EXPECT_EQ(lock(fd, F_UNLCK, 9, 1), 0);
    EXPECT_LOCKED(fd, "-ww----ww---");
    EXPECT_EQ(lock(fd, F_UNLCK, 0, 0), 0);
    EXPECT_LOCKED(fd, "------------");
}

TEST(another_type_in_the_middle_splits)
{
    int fd = open_file(O_RDWR);
    EXPECT_EQ(lock(fd, F_WRLCK, 0, 10), 0);
    EXPECT_EQ(lock(fd, F_RDLCK, 4, 2), 0);
    EXPECT_LOCKED(fd, "wwwwrrwwww--");
    EXPECT_EQ(lock(fd, F_RDLCK, 2, 6), 0);
    EXPECT_LOCKED(fd, "wwrrrrrrww--");
    EXPECT_EQ(lock(fd, F_WRLCK, 0, 10), 0);
    EXPECT_LOCKED(fd, "wwwwwwwwww--");
}

static int report_first(int fd)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_GETLK, &l) != 0)
        return 255;
    return (int)(l.l_start * 16 + l.l_len);
}

TEST(neighbours_of_one_type_become_one)
{
    int fd = open_file(O_RDWR);
    EXPECT_EQ(lock(fd, F_WRLCK, 1, 3), 0);
    EXPECT_EQ(lock(fd, F_WRLCK, 7, 3), 0);
    EXPECT_EQ(in_child(report_first, fd), 1 * 16 + 3);
    EXPECT_EQ(lock(fd, F_WRLCK, 4, 3), 0);
    EXPECT_EQ(in_child(report_first, fd), 1 * 16 + 9);
    EXPECT_EQ(lock(fd, F_WRLCK, 3, 12), 0);
    EXPECT_EQ(in_child(report_first, fd), 1 * 16 + 14);
}

TEST(length_zero_is_to_the_end_however_far)
{
    int fd = open_file(O_RDWR);
    EXPECT_EQ(lock(fd, F_WRLCK, 10, 0), 0);
    EXPECT_LOCKED(fd, "----------ww");
    EXPECT_EQ(in_child(report_first, fd), 10 * 16 + 0);
    EXPECT_EQ(lock(fd, F_UNLCK, 12, 0), 0);
    EXPECT_EQ(in_child(report_first, fd), 10 * 16 + 2);
}

TEST(negative_lengths_lie_before_the_start)
{
    int fd = open_file(O_RDWR);
    EXPECT_EQ(lock(fd, F_WRLCK, 6, -3), 0);
    EXPECT_LOCKED(fd, "---www------");
    EXPECT_ERRNO(lock(fd, F_WRLCK, 2, -3), EINVAL);
    EXPECT_EQ(lock(fd, F_WRLCK, 3, -3), 0);
    EXPECT_LOCKED(fd, "wwwwww------");
}

TEST(starts_count_from_where_whence_says)
{
    int fd = open_file(O_RDWR);
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_start = 1, .l_len = 2};
    ASSERT_EQ(ftruncate(fd, 10), 0);
    ASSERT_EQ(lseek(fd, 2, SEEK_SET), 2);
    EXPECT_EQ(fcntl(fd, F_SETLK, &l), 0);
    l = (struct flock){.l_type = F_RDLCK, .l_whence = SEEK_END, .l_start = -2, .l_len = 3};
    EXPECT_EQ(fcntl(fd, F_SETLK, &l), 0);
    EXPECT_LOCKED(fd, "---ww---rrr-");
}

TEST(bad_locks)
{
    int fd = open_file(O_RDWR), r = open_file(O_RDONLY), w = open_file(O_WRONLY);
    struct flock l = {.l_type = F_RDLCK, .l_whence = 7};
    EXPECT_ERRNO(fcntl(fd, F_SETLK, &l), EINVAL);
    EXPECT_ERRNO(lock(fd, 7, 0, 1), EINVAL);
    EXPECT_ERRNO(lock(fd, F_RDLCK, -1, 1), EINVAL);
    EXPECT_ERRNO(lock(fd, F_RDLCK, INT64_MAX, 2), EOVERFLOW);
    EXPECT_EQ(lock(fd, F_RDLCK, INT64_MAX, 1), 0);
    ASSERT_EQ(lseek(fd, 1, SEEK_SET), 1);
    l = (struct flock){.l_type = F_RDLCK, .l_whence = SEEK_CUR, .l_start = INT64_MAX, .l_len = 1};
    EXPECT_ERRNO(fcntl(fd, F_SETLK, &l), EOVERFLOW);
    EXPECT_ERRNO(fcntl(fd, F_SETLK, NULL), EFAULT);
    EXPECT_ERRNO(lock(w, F_RDLCK, 0, 1), EBADF);
    EXPECT_ERRNO(lock(r, F_WRLCK, 0, 1), EBADF);
    EXPECT_EQ(lock(w, F_UNLCK, 0, 1), 0);
    EXPECT_ERRNO(lock(-1, F_RDLCK, 0, 1), EBADF);
}

static int try_write_lock(int fd)
{
    int r = lock(fd, F_WRLCK, 0, 1);
    return r == 0 ? 0 : errno;
}

TEST(a_conflict_is_eagain)
{
    int fd = open_file(O_RDWR);
    EXPECT_EQ(lock(fd, F_RDLCK, 0, 1), 0);
    EXPECT_EQ(in_child(try_write_lock, fd), EAGAIN);
}

TEST(f_getlk_tells_who_is_in_the_way)
{
    int fd = open_file(O_RDWR), ready[2], done[2];
    char c;
    ASSERT_EQ(pipe(ready), 0);
    ASSERT_EQ(pipe(done), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(done[1]);
        lock(fd, F_RDLCK, 3, 5);
        if (write(ready[1], "x", 1) == 1 && read(done[0], &c, 1) == 0)
            _exit(0);
        _exit(1);
    }
    ASSERT_EQ(read(ready[0], &c, 1), 1);
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_start = 0, .l_len = 0};
    EXPECT_EQ(fcntl(fd, F_GETLK, &l), 0);
    EXPECT_EQ(l.l_type, F_RDLCK);
    EXPECT_EQ(l.l_whence, SEEK_SET);
    EXPECT_EQ(l.l_start, 3);
    EXPECT_EQ(l.l_len, 5);
    EXPECT_EQ(l.l_pid, pid);
    l = (struct flock){
        .l_type = F_RDLCK, .l_whence = SEEK_CUR, .l_start = 1, .l_len = 2, .l_pid = 77};
    EXPECT_EQ(fcntl(fd, F_GETLK, &l), 0);
    EXPECT_EQ(l.l_type, F_UNLCK);
    EXPECT_EQ(l.l_whence, SEEK_CUR);
    EXPECT_EQ(l.l_start, 1);
    EXPECT_EQ(l.l_len, 2);
    l.l_type = F_UNLCK;
    EXPECT_ERRNO(fcntl(fd, F_GETLK, &l), EINVAL);
    close(done[1]);
    waitpid(pid, NULL, 0);
}

TEST(closing_any_descriptor_drops_the_locks_of_the_process)
{
    int a = open_file(O_RDWR), b = open_file(O_RDONLY);
    EXPECT_EQ(lock(a, F_WRLCK, 0, 5), 0);
    EXPECT_LOCKED(a, "wwwww-------");
    close(b);
    EXPECT_LOCKED(a, "------------");
}

TEST(dup2_over_a_descriptor_drops_the_locks)
{
    int a = open_file(O_RDWR), b = open_file(O_RDONLY), other = dup(1);
    EXPECT_EQ(lock(a, F_WRLCK, 0, 5), 0);
    EXPECT_EQ(dup2(other, b), b);
    EXPECT_LOCKED(a, "------------");
}

TEST(a_child_does_not_inherit_locks)
{
    int fd = open_file(O_RDWR);
    EXPECT_EQ(lock(fd, F_WRLCK, 0, 1), 0);
    EXPECT_EQ(in_child(try_write_lock, fd), EAGAIN);
    EXPECT_LOCKED(fd, "w-----------");
}

static int lock_and_exit(int fd)
{
    return lock(fd, F_WRLCK, 0, 1) != 0;
}

TEST(exit_drops_locks)
{
    int fd = open_file(O_RDWR);
    EXPECT_EQ(in_child(lock_and_exit, fd), 0);
    EXPECT_LOCKED(fd, "------------");
}

/* A child that holds a lock of the whole file until this process waits, or until it is killed. */
static pid_t hold(int fd, bool until_awaited)
{
    int ready[2];
    char c;
    ASSERT_EQ(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        set(fd, F_SETLK, F_WRLCK, 0, 0);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        if (!until_awaited)
            pause();
        harness_wait_until_sleeps(getppid());
        harness_end_case();
    }
    ASSERT_EQ(read(ready[0], &c, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void expect_success(pid_t pid)
{
    int status = -1;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

TEST(f_setlkw_waits_for_its_turn)
{
    int fd = open_file(O_RDWR);
    pid_t pid = hold(fd, true);
    EXPECT_EQ(set(fd, F_SETLKW, F_WRLCK, 0, 5), 0);
    EXPECT_LOCKED(fd, "wwwww-------");
    expect_success(pid);
}

static void on_signal(int sig)
{
}

TEST(a_signal_ends_f_setlkw)
{
    int fd = open_file(O_RDWR);
    struct sigaction sa = {.sa_handler = on_signal};
    sigaction(SIGALRM, &sa, NULL);
    pid_t pid = hold(fd, false);
    alarm(1);
    EXPECT_ERRNO(set(fd, F_SETLKW, F_WRLCK, 0, 5), EINTR);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    EXPECT_LOCKED(fd, "------------");
}

TEST(a_circle_of_two_is_edeadlk)
{
    int fd = open_file(O_RDWR), ready[2];
    char c;
    ASSERT_EQ(pipe(ready), 0);
    EXPECT_EQ(lock(fd, F_WRLCK, 0, 1), 0);
    pid_t pid = fork();
    if (pid == 0) {
        lock(fd, F_WRLCK, 1, 1);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        _exit(set(fd, F_SETLKW, F_WRLCK, 0, 1) != 0);
    }
    ASSERT_EQ(read(ready[0], &c, 1), 1);
    harness_wait_until_sleeps(pid);
    EXPECT_ERRNO(set(fd, F_SETLKW, F_WRLCK, 1, 1), EDEADLK);
    EXPECT_EQ(lock(fd, F_UNLCK, 0, 1), 0);
    expect_success(pid);
}

TEST(a_circle_of_three_is_edeadlk)
{
    int fd = open_file(O_RDWR), ready[2];
    char c;
    ASSERT_EQ(pipe(ready), 0);
    EXPECT_EQ(lock(fd, F_WRLCK, 0, 1), 0);
    pid_t pids[2];
    for (int i = 1; i <= 2; i++) {
        pids[i - 1] = fork();
        if (pids[i - 1] == 0) {
            lock(fd, F_WRLCK, i, 1);
            if (write(ready[1], "x", 1) != 1)
                _exit(1);
            _exit(set(fd, F_SETLKW, F_WRLCK, i - 1, 1) != 0);
        }
        ASSERT_EQ(read(ready[0], &c, 1), 1);
    }
    for (int i = 0; i < 2; i++)
        harness_wait_until_sleeps(pids[i]);
    EXPECT_ERRNO(set(fd, F_SETLKW, F_WRLCK, 2, 1), EDEADLK);
}

TEST(open_file_locks_conflict_within_a_process)
{
    int a = open_file(O_RDWR), b = open_file(O_RDWR), c = dup(a);
    EXPECT_EQ(set(a, F_OFD_SETLK, F_WRLCK, 0, 5), 0);
    EXPECT_ERRNO(set(b, F_OFD_SETLK, F_WRLCK, 4, 1), EAGAIN);
    EXPECT_EQ(set(c, F_OFD_SETLK, F_WRLCK, 4, 3), 0);
    EXPECT_EQ(set(b, F_OFD_SETLK, F_WRLCK, 7, 1), 0);
    struct flock l = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    EXPECT_EQ(fcntl(b, F_OFD_GETLK, &l), 0);
    EXPECT_EQ(l.l_type, F_WRLCK);
    EXPECT_EQ(l.l_pid, -1);
    EXPECT_EQ(l.l_len, 7);
}

TEST(open_file_locks_conflict_with_those_of_processes)
{
    int a = open_file(O_RDWR), b = open_file(O_RDWR);
    EXPECT_EQ(set(a, F_OFD_SETLK, F_WRLCK, 0, 5), 0);
    EXPECT_ERRNO(lock(b, F_WRLCK, 0, 1), EAGAIN);
    EXPECT_ERRNO(lock(a, F_WRLCK, 0, 1), EAGAIN);
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    EXPECT_EQ(fcntl(a, F_GETLK, &l), 0);
    EXPECT_EQ(l.l_pid, -1);
}

TEST(open_file_locks_go_with_the_last_descriptor)
{
    int a = open_file(O_RDWR), b = open_file(O_RDWR), c = dup(a);
    EXPECT_EQ(set(a, F_OFD_SETLK, F_WRLCK, 0, 5), 0);
    close(a);
    EXPECT_ERRNO(set(b, F_OFD_SETLK, F_WRLCK, 0, 1), EAGAIN);
    close(c);
    EXPECT_EQ(set(b, F_OFD_SETLK, F_WRLCK, 0, 1), 0);
}

TEST(open_file_locks_survive_fork)
{
    int a = open_file(O_RDWR), b = open_file(O_RDWR);
    EXPECT_EQ(set(a, F_OFD_SETLK, F_WRLCK, 0, 5), 0);
    pid_t pid = fork();
    if (pid == 0) {
        sleep_ms(10000);
        _exit(0);
    }
    close(a);
    EXPECT_ERRNO(set(b, F_OFD_SETLK, F_WRLCK, 0, 1), EAGAIN);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    EXPECT_EQ(set(b, F_OFD_SETLK, F_WRLCK, 0, 1), 0);
}

TEST(open_file_locks_want_no_pid)
{
    int fd = open_file(O_RDWR);
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_pid = 1};
    EXPECT_ERRNO(fcntl(fd, F_OFD_SETLK, &l), EINVAL);
    EXPECT_ERRNO(fcntl(fd, F_OFD_GETLK, &l), EINVAL);
}

TEST(an_open_file_is_asked_for_its_own_locks)
{
    int fd = open_file(O_RDWR), other = open_file(O_RDWR);
    struct flock l = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    EXPECT_ERRNO(fcntl(fd, F_GETLK, &l), EINVAL);
    if (fcntl(fd, F_OFD_GETLK, &l) < 0 && errno == EINVAL && !harness_is_inside())
        SKIP("Linux before 6.6");
    EXPECT_EQ(l.l_type, F_UNLCK);
    ASSERT_EQ(set(fd, F_OFD_SETLK, F_RDLCK, 10, 5), 0);
    ASSERT_EQ(set(other, F_OFD_SETLK, F_RDLCK, 0, 1), 0);
    ASSERT_EQ(fcntl(fd, F_OFD_GETLK, &l), 0);
    EXPECT_EQ(l.l_type, F_RDLCK);
    EXPECT_EQ(l.l_start, 10);
    EXPECT_EQ(l.l_len, 5);
    EXPECT_EQ(l.l_pid, -1);
    l = (struct flock){.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = 15};
    ASSERT_EQ(fcntl(fd, F_OFD_GETLK, &l), 0);
    EXPECT_EQ(l.l_type, F_UNLCK);
    EXPECT_EQ(l.l_start, 15);
}

static volatile pid_t taker;

static void *take_both(void *arg)
{
    taker = gettid();
    return set(*(int *)arg, F_OFD_SETLKW, F_WRLCK, 0, 1) == 0 ? NULL : "failed";
}

TEST(f_ofd_setlkw_waits_within_a_process)
{
    int a = open_file(O_RDWR), b = open_file(O_RDWR);
    pthread_t thread;
    void *result;
    EXPECT_EQ(set(a, F_OFD_SETLK, F_WRLCK, 0, 5), 0);
    ASSERT_EQ(pthread_create(&thread, NULL, take_both, &b), 0);
    while (!taker)
        sleep_ms(1);
    harness_wait_until_sleeps(taker);
    EXPECT_EQ(set(a, F_OFD_SETLK, F_UNLCK, 0, 5), 0);
    pthread_join(thread, &result);
    EXPECT_TRUE(result == NULL);
    EXPECT_ERRNO(set(a, F_OFD_SETLK, F_WRLCK, 0, 1), EAGAIN);
}

TEST(flock_belongs_to_the_open_file)
{
    int a = open_file(O_RDWR), b = open_file(O_RDWR), c = dup(a);
    EXPECT_EQ(flock(a, LOCK_EX), 0);
    EXPECT_ERRNO(flock(b, LOCK_EX | LOCK_NB), EWOULDBLOCK);
    EXPECT_ERRNO(flock(b, LOCK_SH | LOCK_NB), EWOULDBLOCK);
    EXPECT_EQ(flock(c, LOCK_EX | LOCK_NB), 0);
    EXPECT_EQ(flock(c, LOCK_UN), 0);
    EXPECT_EQ(flock(b, LOCK_EX | LOCK_NB), 0);
}

TEST(flock_shared_and_exclusive)
{
    int a = open_file(O_RDWR), b = open_file(O_RDONLY);
    EXPECT_EQ(flock(a, LOCK_SH), 0);
    EXPECT_EQ(flock(b, LOCK_SH | LOCK_NB), 0);
    EXPECT_ERRNO(flock(a, LOCK_EX | LOCK_NB), EWOULDBLOCK);
    EXPECT_EQ(flock(b, LOCK_UN), 0);
    EXPECT_EQ(flock(a, LOCK_EX | LOCK_NB), 0);
    EXPECT_EQ(flock(a, LOCK_SH | LOCK_NB), 0);
    EXPECT_EQ(flock(b, LOCK_SH | LOCK_NB), 0);
}

TEST(flock_errors)
{
    int fd = open_file(O_RDWR);
    EXPECT_ERRNO(flock(fd, 0), EINVAL);
    EXPECT_ERRNO(flock(fd, LOCK_SH | LOCK_EX), EINVAL);
    EXPECT_ERRNO(flock(-1, LOCK_SH), EBADF);
    EXPECT_ERRNO(flock(open("f", O_PATH), LOCK_SH), EBADF);
    EXPECT_EQ(flock(fd, LOCK_UN), 0);
    EXPECT_EQ(flock(open(".", O_RDONLY), LOCK_EX), 0);
}

TEST(flock_is_of_no_concern_to_record_locks)
{
    int a = open_file(O_RDWR), b = open_file(O_RDWR);
    EXPECT_EQ(flock(a, LOCK_EX), 0);
    EXPECT_EQ(set(b, F_OFD_SETLK, F_WRLCK, 0, 0), 0);
    EXPECT_LOCKED(a, "wwwwwwwwwwww");
}

TEST(flock_waits_until_the_last_descriptor_is_closed)
{
    int b;
    int a = open_file(O_RDWR);
    EXPECT_EQ(flock(a, LOCK_EX), 0);
    pid_t pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(getppid());
        harness_end_case();
    }
    close(a);
    b = open_file(O_RDWR);
    EXPECT_EQ(flock(b, LOCK_EX), 0);
    expect_success(pid);
}

TEST(a_signal_ends_flock)
{
    int a = open_file(O_RDWR), b = open_file(O_RDWR);
    struct sigaction sa = {.sa_handler = on_signal};
    sigaction(SIGALRM, &sa, NULL);
    EXPECT_EQ(flock(a, LOCK_EX), 0);
    alarm(1);
    EXPECT_ERRNO(flock(b, LOCK_EX), EINTR);
}

TEST(many_ranges_of_one_file)
{
    int fd = open_file(O_RDWR);
    for (int i = 0; i < 2000; i++)
        ASSERT_EQ(lock(fd, F_WRLCK, i * 4, 2), 0);
    EXPECT_LOCKED(fd, "ww--ww--ww--");
    EXPECT_EQ(lock(fd, F_RDLCK, 0, 8000), 0);
    EXPECT_LOCKED(fd, "rrrrrrrrrrrr");
    EXPECT_EQ(lock(fd, F_UNLCK, 0, 0), 0);
    EXPECT_LOCKED(fd, "------------");
}

TEST(too_many_ranges_are_enolck)
{
    int fd = open_file(O_RDWR), i;
    if (!harness_is_inside())
        SKIP("the machine has no limit");
    for (i = 0; i < 20000; i++)
        if (lock(fd, F_WRLCK, i * 2L, 1) != 0)
            break;
    EXPECT_EQ(errno, ENOLCK);
    EXPECT_EQ(i, 16384);
    EXPECT_EQ(lock(fd, F_UNLCK, 0, 0), 0);
    EXPECT_EQ(lock(fd, F_WRLCK, 0, 1), 0);
}
