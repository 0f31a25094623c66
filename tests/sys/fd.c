// SPDX-License-Identifier: Apache-2.0
/* Descriptors: dup(2), fcntl(2), pipe(2). */
#include "tests/sys/files.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define DUPFD_QUERY 1027

TEST(a_duplicate_shares_position_and_status_flags)
{
    char c;
    int a = make_file("f", "abcdef"), b = dup(a);
    EXPECT_EQ(read(a, &c, 1), 1);
    EXPECT_EQ(lseek(b, 0, SEEK_CUR), 1);
    EXPECT_EQ(fcntl(a, F_SETFL, O_APPEND), 0);
    EXPECT_TRUE(fcntl(b, F_GETFL) & O_APPEND);
}

TEST(a_duplicate_has_its_own_close_on_exec)
{
    int a = make_file("f", "x");
    EXPECT_EQ(fcntl(a, F_SETFD, FD_CLOEXEC), 0);
    int b = dup(a);
    EXPECT_EQ(fcntl(b, F_GETFD), 0);
    EXPECT_EQ(fcntl(a, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(fcntl(a, F_SETFD, ~FD_CLOEXEC), 0);
    EXPECT_EQ(fcntl(a, F_GETFD), 0);
}

TEST(dup_errors)
{
    EXPECT_ERRNO(dup(-1), EBADF);
    EXPECT_ERRNO(dup(9999), EBADF);
    struct rlimit r = {8, 8};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &r), 0);
    while (dup(1) >= 0)
        ;
    EXPECT_EQ(errno, EMFILE);
    EXPECT_ERRNO(dup2(1, 8), EBADF);
    EXPECT_EQ(dup2(1, 7), 7);
}

TEST(dup2_replaces)
{
    int a = make_file("f", "x"), b = make_file("g", "longer");
    struct stat st;
    EXPECT_EQ(dup2(b, a), a);
    EXPECT_EQ(fstat(a, &st), 0);
    EXPECT_EQ(st.st_size, 6);
    EXPECT_EQ(dup2(a, a), a);
    EXPECT_ERRNO(dup2(9999, a), EBADF);
    EXPECT_EQ(fcntl(a, F_GETFD), 0);
    EXPECT_ERRNO(dup2(a, -1), EBADF);
    EXPECT_ERRNO(dup2(9999, 9999), EBADF);
}

TEST(dup3_flags)
{
    int a = make_file("f", "x");
    EXPECT_EQ(dup3(a, a + 1, O_CLOEXEC), a + 1);
    EXPECT_EQ(fcntl(a + 1, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(dup3(a, a + 1, 0), a + 1);
    EXPECT_EQ(fcntl(a + 1, F_GETFD), 0);
    EXPECT_ERRNO(dup3(a, a, 0), EINVAL);
    EXPECT_ERRNO(dup3(a, a + 1, O_NONBLOCK), EINVAL);
    EXPECT_ERRNO(dup3(9999, a + 1, 0), EBADF);
    EXPECT_ERRNO(dup3(a, -1, 0), EBADF);
}

TEST(f_dupfd_begins_where_it_is_told)
{
    int a = make_file("f", "x");
    EXPECT_EQ(fcntl(a, F_DUPFD, 100), 100);
    EXPECT_EQ(fcntl(a, F_DUPFD, 100), 101);
    EXPECT_EQ(fcntl(a, F_DUPFD, 0), a + 1);
    EXPECT_EQ(fcntl(a, F_DUPFD_CLOEXEC, 200), 200);
    EXPECT_EQ(fcntl(200, F_GETFD), FD_CLOEXEC);
    EXPECT_ERRNO(fcntl(a, F_DUPFD, -1), EINVAL);
    EXPECT_ERRNO(fcntl(9999, F_DUPFD, 0), EBADF);
    struct rlimit r = {102, 102};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &r), 0);
    EXPECT_ERRNO(fcntl(a, F_DUPFD, 102), EINVAL);
    EXPECT_ERRNO(fcntl(a, F_DUPFD, 100), EMFILE);
}

TEST(f_dupfd_query_compares_descriptions)
{
    int a = make_file("f", "x"), b = dup(a), c = open("f", O_RDONLY);
    int r = fcntl(a, DUPFD_QUERY, b);
    if (r < 0 && errno == EINVAL)
        SKIP("older than Linux 6.10");
    EXPECT_EQ(r, 1);
    EXPECT_EQ(fcntl(a, DUPFD_QUERY, c), 0);
}

TEST(f_setfl_changes_only_some)
{
    int fd = open("f", O_RDONLY | O_CREAT, 0600);
    EXPECT_EQ(fcntl(fd, F_SETFL, O_RDWR | O_APPEND | O_NONBLOCK | O_CREAT | O_TRUNC), 0);
    EXPECT_EQ(fcntl(fd, F_GETFL) & ~0100000, O_RDONLY | O_APPEND | O_NONBLOCK);
    EXPECT_EQ(fcntl(fd, F_SETFL, 0), 0);
    EXPECT_EQ(fcntl(fd, F_GETFL) & ~0100000, O_RDONLY);
    EXPECT_ERRNO(write(fd, "x", 1), EBADF);
}

TEST(o_noatime_is_for_the_owner)
{
    int fd = make_file("f", "x");
    EXPECT_EQ(fcntl(fd, F_SETFL, O_NOATIME), 0);
    if (geteuid() == 0)
        return;
    int other = open("/bin/sh", O_RDONLY);
    ASSERT_GE(other, 0);
    EXPECT_ERRNO(fcntl(other, F_SETFL, O_NOATIME), EPERM);
    EXPECT_ERRNO(open("/bin/sh", O_RDONLY | O_NOATIME), EPERM);
}

TEST(commands_that_an_o_path_descriptor_refuses)
{
    close(make_file("f", "x"));
    int fd = open("f", O_PATH);
    struct flock l = {.l_type = F_RDLCK};
    EXPECT_EQ(fcntl(fd, F_SETFD, FD_CLOEXEC), 0);
    EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    EXPECT_GE(fcntl(fd, F_DUPFD, 0), 0);
    EXPECT_ERRNO(fcntl(fd, F_SETFL, 0), EBADF);
    EXPECT_ERRNO(fcntl(fd, F_GETLK, &l), EBADF);
    EXPECT_ERRNO(fcntl(fd, F_GETOWN), EBADF);
}

TEST(unknown_commands_are_einval)
{
    int fd = make_file("f", "x");
    EXPECT_ERRNO(fcntl(fd, 9999, 0), EINVAL);
    EXPECT_ERRNO(fcntl(fd, -1, 0), EINVAL);
    EXPECT_ERRNO(fcntl(9999, 9999, 0), EBADF);
}

TEST(owners_of_signals)
{
    int p[2];
    ASSERT_EQ(pipe(p), 0);
    EXPECT_EQ(fcntl(p[0], F_GETOWN), 0);
    EXPECT_EQ(fcntl(p[0], F_SETOWN, getpid()), 0);
    EXPECT_EQ(fcntl(p[0], F_GETOWN), getpid());
    struct f_owner_ex ex = {0};
    EXPECT_EQ(fcntl(p[0], F_GETOWN_EX, &ex), 0);
    EXPECT_EQ(ex.type, F_OWNER_PID);
    EXPECT_EQ(ex.pid, getpid());
    EXPECT_EQ(fcntl(p[0], F_SETOWN, -getpgrp()), 0);
    EXPECT_EQ(fcntl(p[0], F_GETOWN_EX, &ex), 0);
    EXPECT_EQ(ex.type, F_OWNER_PGRP);
    EXPECT_EQ(ex.pid, getpgrp());
    ex = (struct f_owner_ex){F_OWNER_TID, getpid()};
    EXPECT_EQ(fcntl(p[0], F_SETOWN_EX, &ex), 0);
    ex.type = 99;
    EXPECT_ERRNO(fcntl(p[0], F_SETOWN_EX, &ex), EINVAL);
    EXPECT_ERRNO(fcntl(p[0], F_SETOWN, 4194300), ESRCH);
    EXPECT_ERRNO(fcntl(p[0], F_SETOWN, INT_MIN), EINVAL);
    EXPECT_ERRNO(fcntl(p[0], F_SETOWN_EX, NULL), EFAULT);
}

TEST(which_signal_is_sent)
{
    int p[2];
    ASSERT_EQ(pipe(p), 0);
    EXPECT_EQ(fcntl(p[0], F_GETSIG), 0);
    EXPECT_EQ(fcntl(p[0], F_SETSIG, SIGRTMIN), 0);
    EXPECT_EQ(fcntl(p[0], F_GETSIG), SIGRTMIN);
    EXPECT_ERRNO(fcntl(p[0], F_SETSIG, 65), EINVAL);
    EXPECT_ERRNO(fcntl(p[0], F_SETSIG, -1), EINVAL);
}

TEST(pipe2_flags)
{
    int p[2] = {-1, -1};
    EXPECT_EQ(pipe2(p, O_CLOEXEC | O_NONBLOCK), 0);
    EXPECT_EQ(p[1], p[0] + 1);
    EXPECT_EQ(fcntl(p[0], F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(fcntl(p[0], F_GETFL) & ~0100000, O_RDONLY | O_NONBLOCK);
    EXPECT_EQ(fcntl(p[1], F_GETFL) & ~0100000, O_WRONLY | O_NONBLOCK);
    EXPECT_ERRNO(pipe2(p, O_APPEND), EINVAL);
    EXPECT_ERRNO(write(p[0], "x", 1), EBADF);
    char c;
    EXPECT_ERRNO(read(p[1], &c, 1), EBADF);
}

TEST(a_pipe_that_can_not_be_told_is_closed_again)
{
    int first = dup(1);
    close(first);
    EXPECT_ERRNO(syscall(SYS_pipe2, NULL, 0), EFAULT);
    EXPECT_ERRNO(syscall(SYS_pipe2, 8L, 0), EFAULT);
    EXPECT_EQ(dup(1), first);
}

TEST(a_pipe_needs_two_numbers)
{
    int p[2] = {-7, -7};
    int next = dup(1);
    close(next);
    struct rlimit r = {(rlim_t)next + 1, (rlim_t)next + 1};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &r), 0);
    EXPECT_ERRNO(pipe(p), EMFILE);
    EXPECT_EQ(p[0], -7);
    EXPECT_EQ(dup(1), next);
}

TEST(sizes_of_pipes)
{
    static char data[8192];
    int p[2], f = make_file("f", "x");
    ASSERT_EQ(pipe2(p, O_NONBLOCK), 0);
    EXPECT_EQ(fcntl(p[0], F_GETPIPE_SZ), 65536);
    EXPECT_EQ(fcntl(p[0], F_SETPIPE_SZ, 100000), 131072);
    EXPECT_EQ(fcntl(p[1], F_GETPIPE_SZ), 131072);
    EXPECT_EQ(fcntl(p[0], F_SETPIPE_SZ, 1), 4096);
    EXPECT_EQ(fcntl(p[0], F_SETPIPE_SZ, 65536), 65536);
    EXPECT_EQ(write(p[1], data, 8192), 8192);
    EXPECT_ERRNO(fcntl(p[0], F_SETPIPE_SZ, 4096), EBUSY);
    EXPECT_ERRNO(fcntl(f, F_GETPIPE_SZ), EBADF);
    EXPECT_ERRNO(fcntl(f, F_SETPIPE_SZ, 4096), EBADF);
    if (geteuid() != 0)
        EXPECT_ERRNO(fcntl(p[0], F_SETPIPE_SZ, 1 << 24), EPERM);
}

TEST(nobody_has_a_lease)
{
    int fd = make_file("f", "x");
    EXPECT_EQ(fcntl(fd, F_GETLEASE), F_UNLCK);
    EXPECT_ERRNO(fcntl(fd, F_SETLEASE, F_UNLCK), EAGAIN);
    EXPECT_ERRNO(fcntl(fd, F_SETLEASE, 77), EINVAL);
}

TEST(hints_about_the_life_of_data)
{
    uint64_t hint = 9;
    int fd = make_file("f", "x");
    EXPECT_EQ(fcntl(fd, F_GET_RW_HINT, &hint), 0);
    EXPECT_EQ(hint, 0);
    hint = 3;
    EXPECT_EQ(fcntl(fd, F_SET_RW_HINT, &hint), 0);
    hint = 0;
    EXPECT_EQ(fcntl(fd, F_GET_RW_HINT, &hint), 0);
    EXPECT_EQ(hint, 3);
    hint = 6;
    EXPECT_ERRNO(fcntl(fd, F_SET_RW_HINT, &hint), EINVAL);
    EXPECT_ERRNO(fcntl(fd, F_GET_RW_HINT, NULL), EFAULT);
}

TEST(a_child_shares_the_position)
{
    int status, fd = make_file("f", "abcdef");
    pid_t pid = fork();
    if (pid == 0) {
        char buffer[4];
        _exit(read(fd, buffer, 4) != 4);
    }
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 4);
}

TEST(a_child_has_its_own_table)
{
    int status, fd = make_file("f", "abcdef");
    pid_t pid = fork();
    if (pid == 0)
        _exit(close(fd) != 0 || fcntl(fd, F_GETFD) != -1);
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(fcntl(fd, F_GETFD), 0);
}

TEST(many_descriptors)
{
    struct rlimit r;
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &r), 0);
    int want = r.rlim_cur < 1024 ? (int)r.rlim_cur - 8 : 1000;
    int last = -1;
    for (int i = 0; i < want - 8; i++) {
        int fd = dup(1);
        ASSERT_GE(fd, 0);
        last = fd;
    }
    EXPECT_EQ(dup2(1, last), last);
    for (int fd = 3; fd <= last; fd += 2)
        close(fd);
    EXPECT_EQ(dup(1), 3);
    EXPECT_EQ(dup(1), 5);
}

static char first_byte_mapped(int fd)
{
    char *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return '!';
    char c = p[0];
    munmap(p, 4096);
    return c;
}

TEST(a_number_that_is_used_again_maps_the_new_file)
{
    int a = make_file("a", "a"), b = make_file("b", "b");
    EXPECT_EQ(first_byte_mapped(a), 'a');
    EXPECT_EQ(close(a), 0);
    EXPECT_EQ(make_file("c", "c"), a);
    EXPECT_EQ(first_byte_mapped(a), 'c');
    EXPECT_EQ(dup2(b, a), a);
    EXPECT_EQ(first_byte_mapped(a), 'b');
    EXPECT_EQ(syscall(SYS_close_range, a, a, 0), 0);
    EXPECT_EQ(make_file("d", "d"), a);
    EXPECT_EQ(first_byte_mapped(a), 'd');
    EXPECT_EQ(close(a), 0);
    EXPECT_ERRNO(close(a), EBADF);
    EXPECT_EQ(first_byte_mapped(a), '!');
}

TEST(a_child_maps_what_its_own_numbers_are)
{
    int status, a = make_file("a", "a");
    EXPECT_EQ(first_byte_mapped(a), 'a');
    pid_t pid = fork();
    if (pid == 0) {
        close(a);
        if (make_file("b", "b") != a)
            _exit(1);
        _exit(first_byte_mapped(a) != 'b');
    }
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(first_byte_mapped(a), 'a');
    EXPECT_EQ(close(a), 0);
}

TEST(a_watch_by_signal_can_be_ended_without_one)
{
    int directory = open(".", O_RDONLY | O_DIRECTORY);
    ASSERT_GE(directory, 0);
    EXPECT_EQ(fcntl(directory, F_NOTIFY, 0), 0);
    EXPECT_EQ(fcntl(directory, F_NOTIFY, DN_MULTISHOT), 0);
    EXPECT_ERRNO(fcntl(1234, F_NOTIFY, 0), EBADF);
}
