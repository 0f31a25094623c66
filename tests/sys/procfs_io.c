// SPDX-License-Identifier: Apache-2.0
/* /proc/PID/io: proc_pid_io(5). */
#include "tests/sys/procfs_support.h"

#include <sys/sendfile.h>

struct io {
    unsigned long long rchar, wchar, syscr, syscw, read_bytes, write_bytes, cancelled;
};

static char io_text[1024];

/* By one read, whose length it answers: the next look finds it counted. */
static ssize_t look(const char *path, struct io *ret)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, io_text, sizeof(io_text) - 1);
    close(fd);
    if (n < 0)
        return -1;
    io_text[n] = '\0';
    ASSERT_EQ(sscanf(io_text,
                     "rchar: %llu\nwchar: %llu\nsyscr: %llu\nsyscw: %llu\nread_bytes: %llu\n"
                     "write_bytes: %llu\ncancelled_write_bytes: %llu\n",
                     &ret->rchar, &ret->wchar, &ret->syscr, &ret->syscw, &ret->read_bytes,
                     &ret->write_bytes, &ret->cancelled),
              7);
    return n;
}

static struct io before, after;
static ssize_t look_size;

static void begin(void)
{
    look_size = look("/proc/self/io", &before);
    ASSERT_GT(look_size, 0);
}

/* Leaves in `after` what has happened since begin(), its own look apart. */
static void end(void)
{
    ASSERT_GT(look("/proc/self/io", &after), 0);
    after.rchar -= before.rchar + (unsigned long long)look_size;
    after.syscr -= before.syscr + 1;
    after.wchar -= before.wchar;
    after.syscw -= before.syscw;
    after.write_bytes -= before.write_bytes;
}

TEST(io_counts_reads_and_writes)
{
    char data[100] = "";
    int fd = open("io_file", O_RDWR | O_CREAT | O_TRUNC, 0600);
    ASSERT_GE(fd, 0);
    begin();
    EXPECT_EQ(write(fd, data, 70), 70);
    EXPECT_EQ(pwrite(fd, data, 30, 0), 30);
    EXPECT_EQ(pread(fd, data, 20, 0), 20);
    EXPECT_EQ(lseek(fd, 0, SEEK_SET), 0);
    EXPECT_EQ(read(fd, data, 100), 70);
    EXPECT_EQ(read(fd, data, 100), 0);
    end();
    EXPECT_EQ(after.wchar, 100);
    EXPECT_EQ(after.syscw, 2);
    EXPECT_EQ(after.rchar, 90);
    EXPECT_EQ(after.syscr, 3);
}

TEST(io_counts_vectors)
{
    char data[100] = "";
    struct iovec v[2] = {{data, 40}, {data + 40, 7}};
    int fd = open("io_file", O_RDWR | O_CREAT | O_TRUNC, 0600);
    ASSERT_GE(fd, 0);
    begin();
    EXPECT_EQ(writev(fd, v, 2), 47);
    EXPECT_EQ(pwritev(fd, v, 1, 0), 40);
    EXPECT_EQ(preadv(fd, v, 2, 0), 47);
    end();
    EXPECT_EQ(after.wchar, 87);
    EXPECT_EQ(after.syscw, 2);
    EXPECT_EQ(after.rchar, 47);
    EXPECT_EQ(after.syscr, 1);
}

TEST(io_counts_what_fails_as_linux_does)
{
    char data[8] = "";
    struct iovec v = {data, sizeof(data)};
    int pipes[2];
    ASSERT_EQ(pipe2(pipes, O_NONBLOCK), 0);
    begin();
    EXPECT_ERRNO(read(-1, data, 8), EBADF);
    EXPECT_ERRNO(read(pipes[1], data, 8), EBADF);
    EXPECT_ERRNO(read(pipes[0], (void *)~0UL, 8), EFAULT);
    end();
    EXPECT_EQ(after.syscr, 0);
    begin();
    EXPECT_ERRNO(read(pipes[0], data, 8), EAGAIN);
    EXPECT_ERRNO(readv(-1, &v, 1), EBADF);
    EXPECT_ERRNO(writev(pipes[0], &v, 1), EBADF);
    end();
    EXPECT_EQ(after.syscr, 2);
    EXPECT_EQ(after.syscw, 1);
    EXPECT_EQ(after.rchar, 0);
    EXPECT_EQ(after.wchar, 0);
}

TEST(io_counts_sockets_by_read_and_write_alone)
{
    char data[16] = "";
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    begin();
    EXPECT_EQ(send(pair[0], data, 10, 0), 10);
    EXPECT_EQ(recv(pair[1], data, 10, 0), 10);
    EXPECT_EQ(write(pair[0], data, 3), 3);
    EXPECT_EQ(read(pair[1], data, 3), 3);
    end();
    EXPECT_EQ(after.wchar, 3);
    EXPECT_EQ(after.syscw, 1);
    EXPECT_EQ(after.rchar, 3);
    EXPECT_EQ(after.syscr, 1);
}

TEST(io_counts_copies_on_both_sides)
{
    static char data[5000];
    off_t from = 0, to = 0;
    int in = open("io_in", O_RDWR | O_CREAT | O_TRUNC, 0600);
    int out = open("io_out", O_RDWR | O_CREAT | O_TRUNC, 0600);
    ASSERT_GE(in, 0);
    ASSERT_GE(out, 0);
    ASSERT_EQ(write(in, data, sizeof(data)), sizeof(data));
    begin();
    EXPECT_EQ(sendfile(out, in, &from, 5000), 5000);
    end();
    EXPECT_EQ(after.rchar, 5000);
    EXPECT_EQ(after.wchar, 5000);
    EXPECT_EQ(after.syscr, 1);
    EXPECT_EQ(after.syscw, 1);
    from = 0;
    begin();
    EXPECT_EQ(copy_file_range(in, &from, out, &to, 4096, 0), 4096);
    end();
    EXPECT_EQ(after.rchar, 4096);
    EXPECT_EQ(after.wchar, 4096);
    EXPECT_EQ(after.syscr, 1);
    EXPECT_EQ(after.syscw, 1);
}

/* One call, however often it was looked at again until there was something. */
TEST(io_counts_a_call_that_waits_once)
{
    char data[16] = "";
    int pipes[2], status;
    ASSERT_EQ(pipe(pipes), 0);
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
        harness_wait_until_sleeps(getppid());
        _exit(write(pipes[1], data, 5) == 5 ? 0 : 1);
    }
    begin();
    EXPECT_EQ(read(pipes[0], data, 16), 5);
    end();
    EXPECT_EQ(after.rchar, 5);
    EXPECT_EQ(after.syscr, 1);
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

TEST(io_of_a_large_transfer_is_one_call)
{
    size_t size = 20 << 20;
    char *data = calloc(1, size);
    int fd = open("/dev/zero", O_RDWR);
    ASSERT_NE(data, NULL);
    ASSERT_GE(fd, 0);
    begin();
    EXPECT_EQ(read(fd, data, size), size);
    EXPECT_EQ(write(fd, data, size), size);
    end();
    EXPECT_EQ(after.rchar, size);
    EXPECT_EQ(after.wchar, size);
    EXPECT_EQ(after.syscr, 1);
    EXPECT_EQ(after.syscw, 1);
    free(data);
}

TEST(io_counts_what_storage_took)
{
    static char data[1 << 20];
    struct statfs st;
    int fd = open("io_stored", O_RDWR | O_CREAT | O_TRUNC, 0600);
    int null = open("/dev/null", O_WRONLY);
    ASSERT_GE(fd, 0);
    ASSERT_GE(null, 0);
    ASSERT_EQ(fstatfs(fd, &st), 0);
    begin();
    EXPECT_EQ(write(null, data, sizeof(data)), sizeof(data));
    end();
    EXPECT_EQ(after.write_bytes, 0);
    begin();
    EXPECT_EQ(write(fd, data, sizeof(data)), sizeof(data));
    end();
    EXPECT_EQ(after.write_bytes, st.f_type == TMPFS_MAGIC ? 0 : sizeof(data));
}

static void *write_in_thread(void *fd)
{
    char data[64] = "";
    struct io own;
    EXPECT_EQ(write(*(int *)fd, data, 50), 50);
    EXPECT_GT(look("/proc/thread-self/io", &own), 0);
    EXPECT_EQ(own.wchar, 50);
    EXPECT_EQ(own.syscw, 1);
    return NULL;
}

TEST(io_keeps_what_ended_threads_did)
{
    struct io main_before, main_after;
    char path[64];
    pthread_t t;
    int fd = open("/dev/null", O_WRONLY);
    ASSERT_GE(fd, 0);
    snprintf(path, sizeof(path), "/proc/self/task/%d/io", getpid());
    ASSERT_GT(look(path, &main_before), 0);
    begin();
    ASSERT_EQ(pthread_create(&t, NULL, write_in_thread, &fd), 0);
    pthread_join(t, NULL);
    end();
    EXPECT_EQ(after.wchar, 50);
    EXPECT_EQ(after.syscw, 1);
    ASSERT_GT(look(path, &main_after), 0);
    EXPECT_EQ(main_after.wchar, main_before.wchar);
}

TEST(io_takes_over_what_waited_for_children_did)
{
    char data[64] = "", path[64];
    struct io of_child;
    int status, gate[2], fd = open("/dev/null", O_WRONLY);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(pipe(gate), 0);
    begin();
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0)
        _exit(write(fd, data, 33) == 33 ? 0 : 1);
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    end();
    EXPECT_EQ(after.wchar, 0);
    snprintf(path, sizeof(path), "/proc/%d/io", pid);
    if (look(path, &of_child) > 0)
        EXPECT_EQ(of_child.wchar, 33);
    begin();
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    end();
    EXPECT_EQ(after.wchar, 33);
    EXPECT_EQ(after.syscw, 1);
}

TEST(io_starts_at_zero_in_a_child)
{
    char data[8] = "";
    struct io own;
    int status, fd = open("/dev/null", O_WRONLY);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(write(fd, data, 8), 8);
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0)
        _exit(look("/proc/self/io", &own) > 0 && own.wchar == 0 && own.syscr == 0 ? 0 : 1);
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

TEST(io_is_for_the_same_user)
{
    struct io other;
    char path[64];
    int status;
    pid_t pid = start_sleeper();
    snprintf(path, sizeof(path), "/proc/%d/io", pid);
    EXPECT_GT(look(path, &other), 0);
    pid_t stranger = fork();
    ASSERT_GE(stranger, 0);
    if (stranger == 0) {
        if (geteuid() != 0)
            strcpy(path, "/proc/1/io");
        else if (setresgid(12345, 12345, 12345) < 0 || setresuid(12345, 12345, 12345) < 0)
            _exit(2);
        _exit(look(path, &other) < 0 && errno == EACCES ? 0 : 1);
    }
    ASSERT_EQ(waitpid(stranger, &status, 0), stranger);
    EXPECT_EQ(status, 0);
    end_child(pid);
}
