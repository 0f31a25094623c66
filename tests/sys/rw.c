// SPDX-License-Identifier: Apache-2.0
/* read(2), write(2) and kin, positions, sizes, ioctl(2) of files. */
#include "tests/sys/files.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

/* Two pages, of which the second can't be touched; the end of the first. */
static char *page_end(void)
{
    char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_TRUE(p != MAP_FAILED);
    ASSERT_EQ(mprotect(p + 4096, 4096, PROT_NONE), 0);
    return p + 4096;
}

static void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void on_signal(int sig)
{
}

static void catch (int sig, int flags)
{
    struct sigaction sa = {.sa_handler = on_signal, .sa_flags = flags};
    ASSERT_EQ(sigaction(sig, &sa, NULL), 0);
}

/* A child that sends sig to this process once it waits. */
static pid_t signal_waiting(int sig)
{
    pid_t pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(getppid());
        kill(getppid(), sig);
        _exit(0);
    }
    return pid;
}

TEST(read_gives_what_is_there_then_zero)
{
    char buffer[16] = {0};
    int fd = make_file("f", "hello");
    EXPECT_EQ(read(fd, buffer, sizeof(buffer)), 5);
    EXPECT_STR(buffer, "hello");
    EXPECT_EQ(read(fd, buffer, sizeof(buffer)), 0);
}

TEST(read_and_write_refuse_bad_descriptors)
{
    char c = 'x';
    EXPECT_ERRNO(read(-1, &c, 1), EBADF);
    EXPECT_ERRNO(write(-1, &c, 1), EBADF);
    EXPECT_ERRNO(read(4095, &c, 1), EBADF);
    close(make_file("f", "x"));
    int r = open("f", O_RDONLY), w = open("f", O_WRONLY), p = open("f", O_PATH);
    EXPECT_ERRNO(write(r, &c, 1), EBADF);
    EXPECT_ERRNO(read(w, &c, 1), EBADF);
    EXPECT_ERRNO(read(p, &c, 1), EBADF);
    EXPECT_ERRNO(write(p, &c, 1), EBADF);
    EXPECT_ERRNO(lseek(p, 0, SEEK_SET), EBADF);
}

TEST(read_of_a_directory_is_eisdir)
{
    char c;
    int fd = open(".", O_RDONLY);
    EXPECT_ERRNO(read(fd, &c, 1), EISDIR);
}

TEST(read_into_nowhere_is_efault_and_keeps_the_position)
{
    int fd = make_file("f", "hello");
    EXPECT_ERRNO(read(fd, NULL, 5), EFAULT);
    EXPECT_ERRNO(read(fd, (void *)-1L, 5), EFAULT);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 0);
    EXPECT_EQ(read(fd, NULL, 0), 0);
}

TEST(read_with_a_size_past_the_address_space_is_efault)
{
    char c;
    int fd = make_file("f", "hello");
    EXPECT_ERRNO(syscall(SYS_read, fd, &c, -1L), EFAULT);
    EXPECT_ERRNO(syscall(SYS_write, fd, &c, -1L), EFAULT);
}

TEST(read_stops_at_a_bad_page)
{
    char *end = page_end();
    int fd = make_file("f", "0123456789abcdefghij");
    EXPECT_EQ(read(fd, end - 10, 20), 10);
    EXPECT_EQ(memcmp(end - 10, "0123456789", 10), 0);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 10);
    EXPECT_ERRNO(read(fd, end, 20), EFAULT);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 10);
}

TEST(write_stops_at_a_bad_page)
{
    char *end = page_end();
    struct stat st;
    memcpy(end - 10, "0123456789", 10);
    int fd = make_file("f", "");
    EXPECT_EQ(write(fd, end - 10, 20), 10);
    EXPECT_ERRNO(write(fd, end, 20), EFAULT);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(st.st_size, 10);
}

TEST(read_does_not_write_to_constant_pages)
{
    char *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = make_file("f", "hello");
    EXPECT_ERRNO(read(fd, p, 5), EFAULT);
    EXPECT_EQ(p[0], 0);
}

TEST(positions_of_pread_and_pwrite_are_their_own)
{
    char buffer[8] = {0};
    int fd = make_file("f", "0123456789");
    EXPECT_EQ(pread(fd, buffer, 3, 4), 3);
    EXPECT_STR(buffer, "456");
    EXPECT_EQ(pwrite(fd, "XY", 2, 8), 2);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 0);
    EXPECT_EQ(pread(fd, buffer, 8, 10), 0);
    EXPECT_ERRNO(pread(fd, buffer, 1, -1), EINVAL);
    EXPECT_ERRNO(pwrite(fd, buffer, 1, -1), EINVAL);
}

TEST(pread_of_a_pipe_is_espipe)
{
    int p[2];
    char c = 'x';
    ASSERT_EQ(pipe(p), 0);
    EXPECT_ERRNO(pread(p[0], &c, 1, 0), ESPIPE);
    EXPECT_ERRNO(pwrite(p[1], &c, 1, 0), ESPIPE);
    EXPECT_ERRNO(lseek(p[0], 0, SEEK_CUR), ESPIPE);
}

TEST(ranges_past_the_largest_offset_are_einval)
{
    char buffer[2];
    int fd = make_file("f", "x");
    EXPECT_ERRNO(pread(fd, buffer, 2, INT64_MAX), EINVAL);
    EXPECT_ERRNO(pwrite(fd, buffer, 2, INT64_MAX), EINVAL);
}

TEST(pwrite_with_append_appends)
{
    char buffer[16] = {0};
    close(make_file("f", "0123"));
    int fd = open("f", O_RDWR | O_APPEND);
    EXPECT_EQ(pwrite(fd, "ab", 2, 0), 2);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 0);
    EXPECT_EQ(pread(fd, buffer, 16, 0), 6);
    EXPECT_STR(buffer, "0123ab");
}

TEST(append_writes_go_to_the_end_whoever_wrote_before)
{
    close(make_file("f", ""));
    int a = open("f", O_WRONLY | O_APPEND), b = open("f", O_RDWR | O_APPEND);
    char buffer[16] = {0};
    EXPECT_EQ(write(a, "one", 3), 3);
    EXPECT_EQ(write(b, "two", 3), 3);
    EXPECT_EQ(lseek(b, 0, SEEK_CUR), 6);
    EXPECT_EQ(write(a, "3", 1), 1);
    EXPECT_EQ(pread(b, buffer, 16, 0), 7);
    EXPECT_STR(buffer, "onetwo3");
}

TEST(lseek_moves_as_it_is_told)
{
    int fd = make_file("f", "0123456789");
    EXPECT_EQ(lseek(fd, 4, SEEK_SET), 4);
    EXPECT_EQ(lseek(fd, 2, SEEK_CUR), 6);
    EXPECT_EQ(lseek(fd, -1, SEEK_END), 9);
    EXPECT_EQ(lseek(fd, 100, SEEK_SET), 100);
    EXPECT_ERRNO(lseek(fd, -1, SEEK_SET), EINVAL);
    EXPECT_ERRNO(lseek(fd, -101, SEEK_CUR), EINVAL);
    EXPECT_ERRNO(lseek(fd, 0, 99), EINVAL);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 100);
    EXPECT_ERRNO(lseek(-1, 0, SEEK_SET), EBADF);
}

TEST(a_position_past_the_largest_offset_is_einval)
{
    int fd = make_file("f", "abc");
    EXPECT_ERRNO(lseek(fd, LONG_MAX, SEEK_END), EINVAL);
    ASSERT_EQ(lseek(fd, 1, SEEK_SET), 1);
    EXPECT_ERRNO(lseek(fd, LONG_MAX, SEEK_CUR), EINVAL);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 1);
}

TEST(a_hole_reads_as_zeros)
{
    char buffer[8] = "xxxxxxx";
    int fd = make_file("f", "a");
    EXPECT_EQ(lseek(fd, 5, SEEK_SET), 5);
    EXPECT_EQ(write(fd, "b", 1), 1);
    EXPECT_EQ(pread(fd, buffer, 8, 0), 6);
    EXPECT_EQ(memcmp(buffer, "a\0\0\0\0b", 6), 0);
}

TEST(seek_data_and_hole)
{
    int fd = make_file("f", "");
    EXPECT_ERRNO(lseek(fd, 0, SEEK_DATA), ENXIO);
    EXPECT_EQ(pwrite(fd, "x", 1, 1 << 20), 1);
    off_t data = lseek(fd, 0, SEEK_DATA);
    EXPECT_GE(data, 0);
    EXPECT_LE(data, 1 << 20);
    EXPECT_EQ(lseek(fd, 1 << 20, SEEK_HOLE), (1 << 20) + 1);
    EXPECT_ERRNO(lseek(fd, (1 << 20) + 1, SEEK_DATA), ENXIO);
    EXPECT_ERRNO(lseek(fd, -1, SEEK_DATA), ENXIO);
}

TEST(vectors_are_filled_in_order)
{
    char a[3], b[4];
    struct iovec out[3] = {{"ab", 2}, {NULL, 0}, {"cdefg", 5}};
    struct iovec in[2] = {{a, 3}, {b, 4}};
    int fd = make_file("f", "");
    EXPECT_EQ(writev(fd, out, 3), 7);
    EXPECT_EQ(lseek(fd, 0, SEEK_SET), 0);
    EXPECT_EQ(readv(fd, in, 2), 7);
    EXPECT_EQ(memcmp(a, "abc", 3), 0);
    EXPECT_EQ(memcmp(b, "defg", 4), 0);
    EXPECT_EQ(preadv(fd, in, 2, 5), 2);
    EXPECT_EQ(memcmp(a, "fg", 2), 0);
    EXPECT_EQ(pwritev(fd, out, 1, 1), 2);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 7);
}

TEST(vectors_are_checked)
{
    static struct iovec many[1025];
    char c;
    int fd = make_file("f", "hello");
    struct iovec negative = {&c, (size_t)-1}, nowhere = {NULL, 1};
    EXPECT_EQ(readv(fd, many, 0), 0);
    EXPECT_EQ(readv(fd, many, 1024), 0);
    EXPECT_ERRNO(readv(fd, many, 1025), EINVAL);
    EXPECT_ERRNO(writev(fd, many, 1025), EINVAL);
    EXPECT_ERRNO(readv(fd, &negative, 1), EINVAL);
    EXPECT_ERRNO(readv(fd, (struct iovec *)8, 1), EFAULT);
    EXPECT_ERRNO(readv(fd, &nowhere, 1), EFAULT);
    EXPECT_ERRNO(readv(-1, &nowhere, 1), EBADF);
    struct iovec outside[2] = {{(void *)-1, 0}, {&c, 1}};
    EXPECT_ERRNO(readv(fd, outside, 2), EFAULT);
    outside[1].iov_len = (size_t)-1;
    EXPECT_ERRNO(readv(fd, outside, 2), EINVAL);
    EXPECT_ERRNO(preadv(fd, &nowhere, 1, -1), EINVAL);
}

TEST(preadv2_at_minus_one_uses_the_position)
{
    char buffer[4] = {0};
    struct iovec v = {buffer, 3};
    int fd = make_file("f", "012345");
    EXPECT_EQ(preadv2(fd, &v, 1, -1, 0), 3);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 3);
    EXPECT_EQ(preadv2(fd, &v, 1, 0, 0), 3);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 3);
    EXPECT_ERRNO(preadv2(fd, &v, 1, -2, 0), EINVAL);
    EXPECT_ERRNO(preadv2(fd, &v, 1, 0, 0x40000000), EOPNOTSUPP);
}

TEST(pwritev2_append_goes_to_the_end)
{
    char buffer[16] = {0};
    struct iovec v = {"ab", 2};
    int fd = make_file("f", "0123");
    EXPECT_EQ(pwritev2(fd, &v, 1, 0, RWF_APPEND), 2);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 0);
    EXPECT_EQ(pread(fd, buffer, 16, 0), 6);
    EXPECT_STR(buffer, "0123ab");
    EXPECT_EQ(pwritev2(fd, &v, 1, 0, RWF_DSYNC), 2);
    EXPECT_EQ(pwritev2(fd, &v, 1, 0, RWF_SYNC), 2);
}

TEST(rwf_nowait_does_not_wait_for_a_pipe)
{
    int p[2];
    char c;
    struct iovec v = {&c, 1};
    ASSERT_EQ(pipe(p), 0);
    EXPECT_ERRNO(preadv2(p[0], &v, 1, -1, RWF_NOWAIT), EAGAIN);
    EXPECT_EQ(write(p[1], "x", 1), 1);
    EXPECT_EQ(preadv2(p[0], &v, 1, -1, RWF_NOWAIT), 1);
}

TEST(one_call_moves_many_megabytes)
{
    size_t size = 24UL << 20;
    char *out = malloc(size), *in = calloc(1, size);
    for (size_t i = 0; i < size; i += 512)
        memcpy(out + i, &i, sizeof(i));
    int fd = make_file("f", "");
    ASSERT_EQ(write(fd, out, size), size);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), size);
    EXPECT_EQ(pread(fd, in, size, 0), size);
    bool same = true;
    for (size_t i = 0; i < size; i += 512)
        same = same && !memcmp(out + i, in + i, sizeof(i));
    EXPECT_TRUE(same);
    EXPECT_EQ(pread(fd, in, size, 4096), size - 4096);
    EXPECT_EQ(memcmp(in, out + 4096, 8), 0);
}

TEST(a_pipe_without_readers_is_epipe_and_sigpipe)
{
    int p[2], status;
    ASSERT_EQ(pipe(p), 0);
    close(p[0]);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGPIPE, SIG_DFL);
        _exit(write(p[1], "x", 1) == 1);
    }
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
    signal(SIGPIPE, SIG_IGN);
    EXPECT_ERRNO(write(p[1], "x", 1), EPIPE);
    EXPECT_EQ(write(p[1], "x", 0), 0);
}

TEST(a_nonblocking_pipe_says_eagain)
{
    int p[2];
    static char big[1 << 20];
    ASSERT_EQ(pipe2(p, O_NONBLOCK), 0);
    EXPECT_ERRNO(read(p[0], big, 1), EAGAIN);
    ssize_t n = write(p[1], big, sizeof(big));
    EXPECT_GT(n, 4095);
    EXPECT_LT(n, (ssize_t)sizeof(big));
    EXPECT_ERRNO(write(p[1], big, 1), EAGAIN);
}

TEST(a_blocking_read_waits_for_data)
{
    int p[2];
    char c = 0;
    ASSERT_EQ(pipe(p), 0);
    if (fork() == 0) {
        harness_wait_until_sleeps(getppid());
        _exit(write(p[1], "x", 1) != 1);
    }
    close(p[1]);
    EXPECT_EQ(read(p[0], &c, 1), 1);
    EXPECT_EQ(c, 'x');
    EXPECT_EQ(read(p[0], &c, 1), 0);
}

TEST(a_blocking_write_goes_on_until_all_is_written)
{
    int p[2], status;
    static char big[600000];
    ASSERT_EQ(pipe(p), 0);
    pid_t pid = fork();
    if (pid == 0) {
        size_t total = 0;
        ssize_t n;
        close(p[1]);
        while ((n = read(p[0], big, 10000)) > 0)
            total += (size_t)n;
        _exit(total != sizeof(big));
    }
    close(p[0]);
    EXPECT_EQ(write(p[1], big, sizeof(big)), sizeof(big));
    close(p[1]);
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

TEST(a_signal_ends_a_read_with_eintr)
{
    int p[2];
    char c;
    ASSERT_EQ(pipe(p), 0);
    catch (SIGUSR1, 0);
    pid_t pid = signal_waiting(SIGUSR1);
    EXPECT_ERRNO(read(p[0], &c, 1), EINTR);
    waitpid(pid, NULL, 0);
}

TEST(sa_restart_lets_a_read_go_on)
{
    int p[2];
    char c = 0;
    ASSERT_EQ(pipe(p), 0);
    catch (SIGUSR1, SA_RESTART);
    signal_waiting(SIGUSR1);
    if (fork() == 0) {
        sleep_ms(250);
        _exit(write(p[1], "x", 1) != 1);
    }
    EXPECT_EQ(read(p[0], &c, 1), 1);
    EXPECT_EQ(c, 'x');
}

TEST(a_signal_ends_a_long_write_with_what_went_out)
{
    int p[2];
    static char big[1 << 20];
    ASSERT_EQ(pipe(p), 0);
    catch (SIGUSR1, SA_RESTART);
    pid_t pid = signal_waiting(SIGUSR1);
    ssize_t n = write(p[1], big, sizeof(big));
    EXPECT_GT(n, 0);
    EXPECT_LT(n, (ssize_t)sizeof(big));
    waitpid(pid, NULL, 0);
}

static int shared_fd;

static void *close_later(void *arg)
{
    sleep_ms(80);
    close(shared_fd);
    return NULL;
}

TEST(a_read_survives_the_closing_of_its_descriptor)
{
    int p[2];
    char c = 0;
    pthread_t thread;
    ASSERT_EQ(pipe(p), 0);
    shared_fd = p[0];
    pid_t pid = fork();
    if (pid == 0) {
        close(p[0]);
        sleep_ms(250);
        _exit(write(p[1], "x", 1) != 1);
    }
    ASSERT_EQ(pthread_create(&thread, NULL, close_later, NULL), 0);
    EXPECT_EQ(read(p[0], &c, 1), 1);
    EXPECT_EQ(c, 'x');
    pthread_join(thread, NULL);
    EXPECT_ERRNO(read(p[0], &c, 1), EBADF);
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit r = {bytes, bytes};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &r), 0);
}

TEST(the_file_size_limit_cuts_then_refuses)
{
    static char data[200];
    int fd = make_file("f", "");
    signal(SIGXFSZ, SIG_IGN);
    limit_file_size(100);
    EXPECT_EQ(write(fd, data, 200), 100);
    EXPECT_ERRNO(write(fd, data, 1), EFBIG);
    EXPECT_EQ(pwrite(fd, data, 10, 0), 10);
    EXPECT_ERRNO(ftruncate(fd, 101), EFBIG);
    EXPECT_ERRNO(truncate("f", 101), EFBIG);
    EXPECT_EQ(ftruncate(fd, 50), 0);
    EXPECT_ERRNO(fallocate(fd, 0, 0, 101), EFBIG);
}

TEST(the_file_size_limit_sends_sigxfsz)
{
    int status, fd = make_file("f", "");
    pid_t pid = fork();
    if (pid == 0) {
        limit_file_size(0);
        _exit(write(fd, "x", 1) == 1);
    }
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
}

TEST(the_file_size_limit_is_not_for_pipes)
{
    int p[2];
    ASSERT_EQ(pipe(p), 0);
    limit_file_size(0);
    EXPECT_EQ(write(p[1], "x", 1), 1);
}

TEST(ftruncate_cuts_and_extends)
{
    char buffer[8];
    struct stat st;
    int fd = make_file("f", "0123456789");
    EXPECT_EQ(ftruncate(fd, 3), 0);
    EXPECT_EQ(ftruncate(fd, 6), 0);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(st.st_size, 6);
    EXPECT_EQ(pread(fd, buffer, 8, 0), 6);
    EXPECT_EQ(memcmp(buffer, "012\0\0\0", 6), 0);
}

TEST(ftruncate_errors)
{
    int p[2];
    int fd = make_file("f", "x"), r = open("f", O_RDONLY), path = open("f", O_PATH);
    ASSERT_EQ(pipe(p), 0);
    EXPECT_ERRNO(ftruncate(fd, -1), EINVAL);
    EXPECT_ERRNO(ftruncate(r, 0), EINVAL);
    EXPECT_ERRNO(ftruncate(path, 0), EBADF);
    EXPECT_ERRNO(ftruncate(-1, 0), EBADF);
    EXPECT_ERRNO(ftruncate(p[1], 0), EINVAL);
}

TEST(truncate_errors)
{
    close(make_file("f", "x"));
    EXPECT_ERRNO(truncate("f", -1), EINVAL);
    EXPECT_ERRNO(truncate("missing", 0), ENOENT);
    EXPECT_ERRNO(truncate("", 0), ENOENT);
    EXPECT_ERRNO(truncate("f/x", 0), ENOTDIR);
    EXPECT_ERRNO(truncate(".", 0), EISDIR);
    EXPECT_ERRNO(syscall(SYS_truncate, NULL, 0L), EFAULT);
    EXPECT_EQ(mkfifo("fifo", 0600), 0);
    EXPECT_ERRNO(truncate("fifo", 0), EINVAL);
}

TEST(truncate_needs_the_right_to_write)
{
    if (geteuid() == 0)
        SKIP("root may");
    close(make_file("f", "x"));
    ASSERT_EQ(chmod("f", 0400), 0);
    EXPECT_ERRNO(truncate("f", 0), EACCES);
}

TEST(writing_takes_the_set_user_id_bit)
{
    struct stat st;
    if (geteuid() == 0)
        SKIP("root keeps it");
    int fd = make_file("f", "x");
    ASSERT_EQ(fchmod(fd, 06755), 0);
    EXPECT_EQ(write(fd, "y", 1), 1);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0755);
}

TEST(fallocate_extends_or_keeps_the_size)
{
    struct stat st;
    int fd = make_file("f", "x");
    EXPECT_EQ(fallocate(fd, 0, 0, 10000), 0);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(st.st_size, 10000);
    EXPECT_EQ(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 50000), 0);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(st.st_size, 10000);
}

TEST(fallocate_punches_holes)
{
    static char data[12288], back[12288];
    struct stat st;
    memset(data, 'x', sizeof(data));
    int fd = make_file("f", "");
    ASSERT_EQ(write(fd, data, sizeof(data)), sizeof(data));
    EXPECT_EQ(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4000, 5000), 0);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(st.st_size, 12288);
    EXPECT_EQ(pread(fd, back, sizeof(back), 0), 12288);
    memset(data + 4000, 0, 5000);
    EXPECT_EQ(memcmp(data, back, sizeof(data)), 0);
}

TEST(fallocate_errors)
{
    int p[2];
    int fd = make_file("f", "x"), r = open("f", O_RDONLY);
    ASSERT_EQ(pipe(p), 0);
    EXPECT_ERRNO(fallocate(fd, 0, -1, 1), EINVAL);
    EXPECT_ERRNO(fallocate(fd, 0, 0, 0), EINVAL);
    EXPECT_ERRNO(fallocate(fd, 0, INT64_MAX, 1), EFBIG);
    EXPECT_ERRNO(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, 1), EOPNOTSUPP);
    EXPECT_ERRNO(fallocate(fd, 0x40000000, 0, 1), EOPNOTSUPP);
    EXPECT_ERRNO(fallocate(r, 0, 0, 1), EBADF);
    EXPECT_ERRNO(fallocate(p[1], 0, 0, 1), ESPIPE);
    EXPECT_ERRNO(fallocate(-1, 0, 0, 1), EBADF);
}

TEST(syncing)
{
    int p[2];
    int fd = make_file("f", "x"), dir = open(".", O_RDONLY), path = open("f", O_PATH);
    ASSERT_EQ(pipe(p), 0);
    EXPECT_EQ(fsync(fd), 0);
    EXPECT_EQ(fdatasync(fd), 0);
    EXPECT_EQ(fsync(dir), 0);
    EXPECT_EQ(syncfs(fd), 0);
    EXPECT_ERRNO(fsync(p[0]), EINVAL);
    EXPECT_ERRNO(fsync(-1), EBADF);
    EXPECT_ERRNO(fsync(path), EBADF);
    EXPECT_ERRNO(syncfs(-1), EBADF);
    EXPECT_EQ(sync_file_range(fd, 0, 1, SYNC_FILE_RANGE_WRITE), 0);
    EXPECT_ERRNO(sync_file_range(fd, 0, 1, 8), EINVAL);
    EXPECT_ERRNO(sync_file_range(fd, -1, 1, 0), EINVAL);
    EXPECT_ERRNO(sync_file_range(p[0], 0, 1, 0), ESPIPE);
}

TEST(advice_is_checked)
{
    int p[2];
    int fd = make_file("f", "x"), w = open("f", O_WRONLY);
    ASSERT_EQ(pipe(p), 0);
    EXPECT_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED), 0);
    EXPECT_EQ(posix_fadvise(fd, 0, 0, 99), EINVAL);
    EXPECT_EQ(posix_fadvise(fd, 0, -1, POSIX_FADV_NORMAL), EINVAL);
    EXPECT_EQ(posix_fadvise(p[0], 0, 0, POSIX_FADV_NORMAL), ESPIPE);
    EXPECT_EQ(posix_fadvise(-1, 0, 0, POSIX_FADV_NORMAL), EBADF);
    EXPECT_EQ(readahead(fd, 0, 1), 0);
    EXPECT_ERRNO(readahead(w, 0, 1), EBADF);
    EXPECT_ERRNO(readahead(p[0], 0, 1), EINVAL);
}

TEST(fionread_counts_bytes)
{
    int p[2], n = -1;
    int fd = make_file("f", "0123456789");
    ASSERT_EQ(pipe(p), 0);
    EXPECT_EQ(lseek(fd, 3, SEEK_SET), 3);
    EXPECT_EQ(ioctl(fd, FIONREAD, &n), 0);
    EXPECT_EQ(n, 7);
    EXPECT_EQ(write(p[1], "abc", 3), 3);
    EXPECT_EQ(ioctl(p[0], FIONREAD, &n), 0);
    EXPECT_EQ(n, 3);
    EXPECT_ERRNO(ioctl(fd, FIONREAD, NULL), EFAULT);
}

TEST(fionbio_sets_nonblock)
{
    int p[2], on = 1, off = 0;
    char c;
    ASSERT_EQ(pipe(p), 0);
    EXPECT_EQ(ioctl(p[0], FIONBIO, &on), 0);
    EXPECT_ERRNO(read(p[0], &c, 1), EAGAIN);
    EXPECT_TRUE(fcntl(p[0], F_GETFL) & O_NONBLOCK);
    EXPECT_EQ(ioctl(p[0], FIONBIO, &off), 0);
    EXPECT_TRUE(!(fcntl(p[0], F_GETFL) & O_NONBLOCK));
    EXPECT_ERRNO(ioctl(p[0], FIONBIO, NULL), EFAULT);
}

TEST(fioclex_sets_close_on_exec)
{
    int fd = make_file("f", "x");
    EXPECT_EQ(fcntl(fd, F_GETFD), 0);
    EXPECT_EQ(ioctl(fd, FIOCLEX), 0);
    EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(ioctl(fd, FIONCLEX), 0);
    EXPECT_EQ(fcntl(fd, F_GETFD), 0);
}

TEST(unknown_requests_are_enotty)
{
    char out[64];
    int fd = make_file("f", "x");
    EXPECT_ERRNO(ioctl(fd, TCGETS, out), ENOTTY);
    EXPECT_ERRNO(ioctl(fd, TIOCGWINSZ, out), ENOTTY);
    EXPECT_ERRNO(ioctl(fd, 0x12345678, out), ENOTTY);
    EXPECT_ERRNO(ioctl(-1, FIONREAD, out), EBADF);
    EXPECT_ERRNO(ioctl(open("f", O_PATH), FIONREAD, out), EBADF);
}

TEST(a_deleted_file_can_still_be_read_and_written)
{
    char buffer[8] = {0};
    int fd = make_file("f", "abc");
    EXPECT_EQ(unlink("f"), 0);
    EXPECT_EQ(pwrite(fd, "X", 1, 1), 1);
    EXPECT_EQ(read(fd, buffer, 8), 3);
    EXPECT_STR(buffer, "aXc");
}

TEST(writing_moves_mtime_and_ctime)
{
    struct stat a, b;
    int fd = make_file("f", "abc");
    EXPECT_EQ(fstat(fd, &a), 0);
    sleep_ms(20);
    EXPECT_EQ(write(fd, "x", 1), 1);
    EXPECT_EQ(fstat(fd, &b), 0);
    EXPECT_TRUE(b.st_mtim.tv_sec > a.st_mtim.tv_sec || b.st_mtim.tv_nsec > a.st_mtim.tv_nsec);
    EXPECT_TRUE(b.st_ctim.tv_sec > a.st_ctim.tv_sec || b.st_ctim.tv_nsec > a.st_ctim.tv_nsec);
}
