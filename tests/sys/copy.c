// SPDX-License-Identifier: Apache-2.0
/* sendfile(2), copy_file_range(2), splice(2), tee(2), vmsplice(2). */
#include "tests/sys/files.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#define EXPECT_CONTENT(fd, text)                                               \
    do {                                                                       \
        char content_[256] = {0};                                              \
        EXPECT_EQ(pread(fd, content_, sizeof(content_) - 1, 0), strlen(text)); \
        EXPECT_STR(content_, text);                                            \
    } while (0)

#define EXPECT_READ(fd, text)                                        \
    do {                                                             \
        char read_[256] = {0};                                       \
        EXPECT_EQ(read(fd, read_, sizeof(read_) - 1), strlen(text)); \
        EXPECT_STR(read_, text);                                     \
    } while (0)

static void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* ---- sendfile ---- */

TEST(sendfile_moves_the_position_of_the_source)
{
    int in = make_file("in", "0123456789"), out = make_file("out", "");
    EXPECT_EQ(sendfile(out, in, NULL, 4), 4);
    EXPECT_EQ(lseek(in, 0, SEEK_CUR), 4);
    EXPECT_EQ(lseek(out, 0, SEEK_CUR), 4);
    EXPECT_EQ(sendfile(out, in, NULL, 100), 6);
    EXPECT_EQ(sendfile(out, in, NULL, 100), 0);
    EXPECT_CONTENT(out, "0123456789");
}

/* Files of a process have neither splice_read nor splice_write on Linux; mountinfo and what is of
 * no process have. */
TEST(files_of_a_process_are_neither_sent_nor_spliced)
{
    static const char *const refused[] = {"maps",    "smaps",   "status",
                                          "cmdline", "net/dev", "limits"};
    static const char *const sent[] = {"self/mountinfo", "uptime", "sys/kernel/ostype"};
    int pipes[2], out = open("copy_target", O_RDWR | O_CREAT | O_TRUNC, 0600), fd;
    char path[64];
    ASSERT_GE(out, 0);
    ASSERT_EQ(pipe(pipes), 0);
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        snprintf(path, sizeof(path), "/proc/self/%s", refused[i]);
        fd = open(path, O_RDONLY);
        ASSERT_GE(fd, 0);
        EXPECT_ERRNO(sendfile(out, fd, NULL, 100), EINVAL);
        EXPECT_ERRNO(splice(fd, NULL, pipes[1], NULL, 100, 0), EINVAL);
        close(fd);
    }
    for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++) {
        snprintf(path, sizeof(path), "/proc/%s", sent[i]);
        fd = open(path, O_RDONLY);
        ASSERT_GE(fd, 0);
        EXPECT_GT(sendfile(out, fd, NULL, 100), 0);
        close(fd);
    }
    fd = open("/proc/self/comm", O_WRONLY);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(write(pipes[1], "name", 4), 4);
    EXPECT_ERRNO(splice(pipes[0], NULL, fd, NULL, 4, 0), EINVAL);
}

TEST(sendfile_with_an_offset_leaves_the_position)
{
    off_t offset = 3;
    int in = make_file("in", "0123456789"), out = make_file("out", "");
    EXPECT_EQ(sendfile(out, in, &offset, 4), 4);
    EXPECT_EQ(offset, 7);
    EXPECT_EQ(lseek(in, 0, SEEK_CUR), 0);
    EXPECT_CONTENT(out, "3456");
    offset = -1;
    EXPECT_ERRNO(sendfile(out, in, &offset, 4), EINVAL);
    EXPECT_ERRNO(sendfile(out, in, (off_t *)8, 4), EFAULT);
}

TEST(sendfile_errors)
{
    int p[2];
    off_t offset = 0;
    ASSERT_EQ(pipe(p), 0);
    int in = make_file("in", "0123"), out = make_file("out", "");
    int append = open("out", O_WRONLY | O_APPEND), read_only = open("out", O_RDONLY);
    EXPECT_ERRNO(sendfile(-1, in, NULL, 1), EBADF);
    EXPECT_ERRNO(sendfile(out, -1, NULL, 1), EBADF);
    EXPECT_ERRNO(sendfile(read_only, in, NULL, 1), EBADF);
    EXPECT_ERRNO(sendfile(out, append, NULL, 1), EBADF);
    EXPECT_ERRNO(sendfile(append, in, NULL, 1), EINVAL);
    EXPECT_ERRNO(sendfile(out, p[0], NULL, 1), EINVAL);
    EXPECT_ERRNO(sendfile(out, p[0], &offset, 1), ESPIPE);
    /* The source is looked at first. */
    EXPECT_ERRNO(sendfile(-1, p[0], &offset, 1), ESPIPE);
    offset = -1;
    EXPECT_ERRNO(sendfile(-1, in, &offset, 1), EINVAL);
    EXPECT_ERRNO(sendfile(-1, -1, &offset, 1), EBADF);
}

TEST(sendfile_to_a_pipe_and_a_socket)
{
    int p[2], s[2];
    ASSERT_EQ(pipe(p), 0);
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
    int in = make_file("in", "0123456789");
    EXPECT_EQ(sendfile(p[1], in, NULL, 4), 4);
    EXPECT_READ(p[0], "0123");
    EXPECT_EQ(sendfile(s[1], in, NULL, 4), 4);
    EXPECT_READ(s[0], "4567");
}

TEST(sendfile_sends_everything_to_a_slow_reader)
{
    static char data[700000];
    int s[2], status;
    int in = make_file("in", "");
    ASSERT_EQ(write(in, data, sizeof(data)), sizeof(data));
    ASSERT_EQ(lseek(in, 0, SEEK_SET), 0);
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
    pid_t pid = fork();
    if (pid == 0) {
        size_t total = 0;
        ssize_t n;
        close(s[1]);
        while ((n = read(s[0], data, 30000)) > 0) {
            total += (size_t)n;
            sleep_ms(1);
        }
        _exit(total != sizeof(data));
    }
    close(s[0]);
    EXPECT_EQ(sendfile(s[1], in, NULL, sizeof(data)), sizeof(data));
    EXPECT_EQ(lseek(in, 0, SEEK_CUR), sizeof(data));
    close(s[1]);
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(sendfile_copies_large_files_whole)
{
    size_t size = 5 << 20;
    char *data = calloc(1, size);
    for (size_t i = 0; i < size; i += 64)
        memcpy(data + i, &i, sizeof(i));
    int in = make_file("in", ""), out = make_file("out", "");
    ASSERT_EQ(write(in, data, size), size);
    ASSERT_EQ(lseek(in, 0, SEEK_SET), 0);
    EXPECT_EQ(sendfile(out, in, NULL, size + 10), size);
    char *back = calloc(1, size);
    EXPECT_EQ(pread(out, back, size, 0), size);
    EXPECT_EQ(memcmp(data, back, size), 0);
}

TEST(sendfile_to_a_full_nonblocking_pipe_is_short)
{
    static char data[200000];
    int p[2];
    int in = make_file("in", "");
    ASSERT_EQ(write(in, data, sizeof(data)), sizeof(data));
    ASSERT_EQ(lseek(in, 0, SEEK_SET), 0);
    ASSERT_EQ(pipe2(p, O_NONBLOCK), 0);
    EXPECT_EQ(sendfile(p[1], in, NULL, sizeof(data)), 65536);
    EXPECT_EQ(lseek(in, 0, SEEK_CUR), 65536);
    EXPECT_ERRNO(sendfile(p[1], in, NULL, sizeof(data)), EAGAIN);
    EXPECT_EQ(lseek(in, 0, SEEK_CUR), 65536);
}

/* ---- copy_file_range ---- */

TEST(copy_file_range_uses_positions_or_offsets)
{
    off_t from = 2, to = 1;
    int in = make_file("in", "0123456789"), out = make_file("out", "abcdef");
    EXPECT_EQ(copy_file_range(in, NULL, out, NULL, 3, 0), 3);
    EXPECT_EQ(lseek(in, 0, SEEK_CUR), 3);
    EXPECT_EQ(lseek(out, 0, SEEK_CUR), 3);
    EXPECT_CONTENT(out, "012def");
    EXPECT_EQ(copy_file_range(in, &from, out, &to, 2, 0), 2);
    EXPECT_EQ(from, 4);
    EXPECT_EQ(to, 3);
    EXPECT_EQ(lseek(in, 0, SEEK_CUR), 3);
    EXPECT_CONTENT(out, "023def");
}

TEST(copy_file_range_ends_with_the_source)
{
    off_t from = 8, to = 0;
    int in = make_file("in", "0123456789"), out = make_file("out", "");
    EXPECT_EQ(copy_file_range(in, &from, out, &to, 100, 0), 2);
    EXPECT_EQ(copy_file_range(in, &from, out, &to, 100, 0), 0);
    from = 50;
    EXPECT_EQ(copy_file_range(in, &from, out, &to, 1, 0), 0);
    EXPECT_CONTENT(out, "89");
}

TEST(copy_file_range_within_one_file)
{
    off_t from = 0, to = 5;
    int fd = make_file("f", "0123456789");
    EXPECT_EQ(copy_file_range(fd, &from, fd, &to, 5, 0), 5);
    EXPECT_CONTENT(fd, "0123401234");
    from = 0, to = 3;
    EXPECT_ERRNO(copy_file_range(fd, &from, fd, &to, 5, 0), EINVAL);
    from = 3, to = 0;
    EXPECT_ERRNO(copy_file_range(fd, &from, fd, &to, 5, 0), EINVAL);
}

TEST(copy_file_range_errors)
{
    int p[2];
    off_t huge = INT64_MAX - 1, negative = -1, zero = 0;
    ASSERT_EQ(pipe(p), 0);
    int in = make_file("in", "0123"), out = make_file("out", ""), dir = open(".", O_RDONLY);
    int append = open("out", O_WRONLY | O_APPEND), read_only = open("out", O_RDONLY);
    EXPECT_ERRNO(copy_file_range(-1, NULL, out, NULL, 1, 0), EBADF);
    EXPECT_ERRNO(copy_file_range(in, NULL, -1, NULL, 1, 0), EBADF);
    EXPECT_ERRNO(copy_file_range(in, NULL, read_only, NULL, 1, 0), EBADF);
    EXPECT_ERRNO(copy_file_range(append, NULL, out, NULL, 1, 0), EBADF);
    EXPECT_ERRNO(copy_file_range(in, NULL, append, NULL, 1, 0), EBADF);
    EXPECT_ERRNO(copy_file_range(dir, NULL, out, NULL, 1, 0), EISDIR);
    EXPECT_ERRNO(copy_file_range(p[0], NULL, out, NULL, 1, 0), EINVAL);
    EXPECT_ERRNO(copy_file_range(in, NULL, p[1], NULL, 1, 0), EINVAL);
    EXPECT_ERRNO(copy_file_range(in, NULL, out, NULL, 1, 77), EINVAL);
    EXPECT_ERRNO(copy_file_range(in, &negative, out, NULL, 1, 0), EOVERFLOW);
    EXPECT_ERRNO(copy_file_range(in, &zero, out, &huge, 4, 0), EFBIG);
    EXPECT_ERRNO(copy_file_range(in, (off_t *)8, out, NULL, 1, 0), EFAULT);
}

TEST(copies_obey_the_file_size_limit)
{
    struct rlimit r = {3, 3};
    int in = make_file("in", "0123456789"), out = make_file("out", "");
    signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &r), 0);
    EXPECT_EQ(copy_file_range(in, NULL, out, NULL, 10, 0), 3);
    EXPECT_ERRNO(copy_file_range(in, NULL, out, NULL, 10, 0), EFBIG);
    EXPECT_CONTENT(out, "012");
}

/* ---- splice ---- */

TEST(splice_from_a_file_to_a_pipe)
{
    int p[2];
    off_t offset = 2;
    ASSERT_EQ(pipe(p), 0);
    int in = make_file("in", "0123456789");
    EXPECT_EQ(splice(in, NULL, p[1], NULL, 4, 0), 4);
    EXPECT_EQ(lseek(in, 0, SEEK_CUR), 4);
    EXPECT_READ(p[0], "0123");
    EXPECT_EQ(splice(in, &offset, p[1], NULL, 100, 0), 8);
    EXPECT_EQ(offset, 10);
    EXPECT_EQ(lseek(in, 0, SEEK_CUR), 4);
    EXPECT_READ(p[0], "23456789");
    EXPECT_EQ(splice(in, &offset, p[1], NULL, 100, 0), 0);
}

TEST(splice_from_a_pipe_to_a_file)
{
    int p[2];
    off_t offset = 1;
    ASSERT_EQ(pipe(p), 0);
    int out = make_file("out", "abcdef");
    ASSERT_EQ(write(p[1], "012345", 6), 6);
    EXPECT_EQ(splice(p[0], NULL, out, NULL, 2, 0), 2);
    EXPECT_EQ(splice(p[0], NULL, out, &offset, 100, 0), 4);
    EXPECT_EQ(offset, 5);
    EXPECT_EQ(lseek(out, 0, SEEK_CUR), 2);
    EXPECT_CONTENT(out, "02345f");
    close(p[1]);
    EXPECT_EQ(splice(p[0], NULL, out, NULL, 2, 0), 0);
}

TEST(splice_between_pipes)
{
    int a[2], b[2];
    ASSERT_EQ(pipe(a), 0);
    ASSERT_EQ(pipe(b), 0);
    ASSERT_EQ(write(a[1], "0123456789", 10), 10);
    EXPECT_EQ(splice(a[0], NULL, b[1], NULL, 4, 0), 4);
    EXPECT_READ(b[0], "0123");
    EXPECT_READ(a[0], "456789");
}

TEST(splice_errors)
{
    int p[2];
    off_t offset = 0;
    ASSERT_EQ(pipe(p), 0);
    ASSERT_EQ(write(p[1], "x", 1), 1);
    int f = make_file("f", "0123"), g = make_file("g", ""), append = open("g", O_WRONLY | O_APPEND);
    int read_only = open("g", O_RDONLY), dir = open(".", O_RDONLY);
    EXPECT_EQ(splice(f, NULL, p[1], NULL, 0, 0), 0);
    EXPECT_ERRNO(splice(f, NULL, g, NULL, 1, 0), EINVAL);
    EXPECT_ERRNO(splice(p[0], NULL, p[1], NULL, 1, 0), EINVAL);
    EXPECT_ERRNO(splice(p[0], &offset, g, NULL, 1, 0), ESPIPE);
    EXPECT_ERRNO(splice(f, NULL, p[1], &offset, 1, 0), ESPIPE);
    EXPECT_ERRNO(splice(p[0], NULL, append, NULL, 1, 0), EINVAL);
    EXPECT_ERRNO(splice(p[0], NULL, read_only, NULL, 1, 0), EBADF);
    EXPECT_ERRNO(splice(p[1], NULL, g, NULL, 1, 0), EBADF);
    EXPECT_ERRNO(splice(-1, NULL, p[1], NULL, 1, 0), EBADF);
    EXPECT_ERRNO(splice(f, NULL, -1, NULL, 1, 0), EBADF);
    EXPECT_ERRNO(splice(f, NULL, p[1], NULL, 1, 0x100), EINVAL);
    EXPECT_ERRNO(splice(dir, NULL, p[1], NULL, 1, 0), EINVAL);
    EXPECT_ERRNO(splice(f, (off_t *)8, p[1], NULL, 1, 0), EFAULT);
}

TEST(splice_waits_or_says_eagain)
{
    int a[2], b[2];
    ASSERT_EQ(pipe(a), 0);
    ASSERT_EQ(pipe(b), 0);
    EXPECT_ERRNO(splice(a[0], NULL, b[1], NULL, 1, SPLICE_F_NONBLOCK), EAGAIN);
    pid_t pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(getppid());
        _exit(write(a[1], "abc", 3) != 3);
    }
    EXPECT_EQ(splice(a[0], NULL, b[1], NULL, 10, 0), 3);
    EXPECT_READ(b[0], "abc");
    waitpid(pid, NULL, 0);
    close(a[1]);
    EXPECT_EQ(splice(a[0], NULL, b[1], NULL, 10, 0), 0);
}

TEST(splice_into_a_full_pipe)
{
    static char data[65536];
    int p[2];
    ASSERT_EQ(pipe(p), 0);
    int f = make_file("f", "0123");
    ASSERT_EQ(write(p[1], data, sizeof(data)), sizeof(data));
    EXPECT_ERRNO(splice(f, NULL, p[1], NULL, 4, SPLICE_F_NONBLOCK), EAGAIN);
    EXPECT_EQ(lseek(f, 0, SEEK_CUR), 0);
    close(p[0]);
    signal(SIGPIPE, SIG_IGN);
    EXPECT_ERRNO(splice(f, NULL, p[1], NULL, 4, 0), EPIPE);
}

TEST(a_spliced_file_is_not_changed_through_the_pipe)
{
    int p[2];
    ASSERT_EQ(pipe(p), 0);
    int f = make_file("f", "0123456789");
    EXPECT_EQ(splice(f, NULL, p[1], NULL, 4, 0), 4);
    EXPECT_EQ(write(p[1], "XXXX", 4), 4);
    EXPECT_CONTENT(f, "0123456789");
    EXPECT_READ(p[0], "0123XXXX");
}

/* ---- tee ---- */

TEST(tee_does_not_consume)
{
    int a[2], b[2];
    ASSERT_EQ(pipe(a), 0);
    ASSERT_EQ(pipe(b), 0);
    ASSERT_EQ(write(a[1], "abcdef", 6), 6);
    EXPECT_EQ(tee(a[0], b[1], 4, 0), 4);
    EXPECT_READ(b[0], "abcd");
    EXPECT_READ(a[0], "abcdef");
    EXPECT_ERRNO(tee(a[0], b[1], 4, SPLICE_F_NONBLOCK), EAGAIN);
    close(a[1]);
    EXPECT_EQ(tee(a[0], b[1], 4, 0), 0);
}

TEST(tee_errors)
{
    int a[2], f = make_file("f", "x");
    ASSERT_EQ(pipe(a), 0);
    EXPECT_EQ(tee(a[0], a[1], 0, 0), 0);
    EXPECT_ERRNO(tee(a[0], a[1], 1, 0), EINVAL);
    EXPECT_ERRNO(tee(f, a[1], 1, 0), EINVAL);
    EXPECT_ERRNO(tee(a[0], f, 1, 0), EINVAL);
    EXPECT_ERRNO(tee(a[1], a[1], 1, 0), EBADF);
    EXPECT_ERRNO(tee(-1, a[1], 1, 0), EBADF);
    EXPECT_ERRNO(tee(a[0], a[1], 1, 0x100), EINVAL);
}

/* ---- vmsplice ---- */

TEST(vmsplice_fills_and_empties_a_pipe)
{
    char in[4] = {0}, more[8] = {0};
    struct iovec out[2] = {{"abc", 3}, {"defg", 4}}, into[2] = {{in, 2}, {more, 8}};
    int p[2];
    ASSERT_EQ(pipe(p), 0);
    EXPECT_EQ(vmsplice(p[1], out, 2, 0), 7);
    EXPECT_EQ(vmsplice(p[0], into, 2, 0), 7);
    EXPECT_STR(in, "ab");
    EXPECT_STR(more, "cdefg");
}

TEST(vmsplice_errors)
{
    static struct iovec many[1025];
    struct iovec v = {"abc", 3}, nowhere = {(void *)8, 3};
    int p[2], f = make_file("f", "x");
    ASSERT_EQ(pipe(p), 0);
    EXPECT_ERRNO(vmsplice(f, &v, 1, 0), EBADF);
    EXPECT_ERRNO(vmsplice(-1, &v, 1, 0), EBADF);
    EXPECT_ERRNO(vmsplice(p[1], many, 1025, 0), EINVAL);
    EXPECT_ERRNO(vmsplice(p[1], &v, 1, 0x100), EINVAL);
    EXPECT_ERRNO(vmsplice(p[1], &nowhere, 1, 0), EFAULT);
    EXPECT_EQ(vmsplice(p[1], many, 0, 0), 0);
    EXPECT_ERRNO(vmsplice(p[0], &v, 1, SPLICE_F_NONBLOCK), EAGAIN);
}
