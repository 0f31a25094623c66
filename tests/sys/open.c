// SPDX-License-Identifier: Apache-2.0
/* open(2), openat2(2), close(2), close_range(2). */
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

static void make_file(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static off_t size_of(const char *name)
{
    struct stat st;
    ASSERT_EQ(stat(name, &st), 0);
    return st.st_size;
}

static int openat2_call(int dirfd, const char *name, uint64_t flags, uint64_t mode,
                        uint64_t resolve)
{
    struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};
    return (int)syscall(SYS_openat2, dirfd, name, &how, sizeof(how));
}

static void on_signal(int sig)
{
}

TEST(names_that_lead_nowhere)
{
    char component[300], path[5000];
    make_file("f", "x");
    memset(component, 'c', 299);
    component[299] = '\0';
    memset(path, '/', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    EXPECT_ERRNO(open("missing", O_RDONLY), ENOENT);
    EXPECT_ERRNO(open("missing/x", O_RDONLY), ENOENT);
    EXPECT_ERRNO(open("", O_RDONLY), ENOENT);
    EXPECT_ERRNO(open("f/x", O_RDONLY), ENOTDIR);
    EXPECT_ERRNO(open("f/", O_RDONLY), ENOTDIR);
    EXPECT_ERRNO(open("f/.", O_RDONLY), ENOTDIR);
    EXPECT_ERRNO(open(component, O_RDONLY), ENAMETOOLONG);
    EXPECT_ERRNO(open(component, O_RDONLY | O_CREAT, 0600), ENAMETOOLONG);
    EXPECT_ERRNO(open(path, O_RDONLY), ENAMETOOLONG);
    EXPECT_ERRNO(syscall(SYS_openat, AT_FDCWD, NULL, O_RDONLY, 0), EFAULT);
    EXPECT_ERRNO(syscall(SYS_openat, AT_FDCWD, -1L, O_RDONLY, 0), EFAULT);
}

TEST(the_longest_names)
{
    char component[256];
    char path[PATH_MAX];
    memset(component, 'c', 255);
    component[255] = '\0';
    int fd = open(component, O_RDWR | O_CREAT, 0600);
    EXPECT_GE(fd, 0);
    memset(path, '/', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    EXPECT_GE(open(path, O_RDONLY), 0);
}

TEST(a_path_at_the_end_of_its_page_is_read)
{
    /* The name ends with its page; what follows can't be read. */
    char *page = aligned_alloc(4096, 4096);
    make_file("f", "x");
    memcpy(page + 4094, "f", 2);
    EXPECT_GE(open(page + 4094, O_RDONLY), 0);
}

TEST(exclusive_creation)
{
    int fd = open("f", O_RDWR | O_CREAT | O_EXCL, 0600);
    EXPECT_GE(fd, 0);
    EXPECT_ERRNO(open("f", O_RDWR | O_CREAT | O_EXCL, 0600), EEXIST);
    ASSERT_EQ(symlink("nowhere", "dangling"), 0);
    EXPECT_ERRNO(open("dangling", O_RDWR | O_CREAT | O_EXCL, 0600), EEXIST);
    EXPECT_ERRNO(open(".", O_RDONLY | O_CREAT | O_EXCL, 0600), EEXIST);
}

TEST(creation_goes_through_a_dangling_link)
{
    ASSERT_EQ(symlink("target", "link"), 0);
    EXPECT_ERRNO(open("link", O_RDWR), ENOENT);
    EXPECT_GE(open("link", O_RDWR | O_CREAT, 0600), 0);
    EXPECT_EQ(access("target", F_OK), 0);
    ASSERT_EQ(symlink("missing/target", "far"), 0);
    EXPECT_ERRNO(open("far", O_RDWR | O_CREAT, 0600), ENOENT);
}

TEST(symbolic_links)
{
    make_file("f", "x");
    ASSERT_EQ(symlink("f", "link"), 0);
    ASSERT_EQ(symlink(".", "dir"), 0);
    ASSERT_EQ(symlink("loop", "loop"), 0);
    EXPECT_GE(open("link", O_RDONLY), 0);
    EXPECT_GE(open("dir/dir/link", O_RDONLY), 0);
    EXPECT_ERRNO(open("link", O_RDONLY | O_NOFOLLOW), ELOOP);
    EXPECT_ERRNO(open("dir/link/../f", O_RDONLY), ENOTDIR);
    EXPECT_GE(open("dir/f", O_RDONLY | O_NOFOLLOW), 0);
    EXPECT_ERRNO(open("dir", O_RDONLY | O_NOFOLLOW | O_DIRECTORY), ENOTDIR);
    EXPECT_ERRNO(open("loop", O_RDONLY), ELOOP);
    EXPECT_ERRNO(open("loop/x", O_RDONLY), ELOOP);
    EXPECT_ERRNO(open("link/", O_RDONLY), ENOTDIR);
}

TEST(forty_links_are_followed_and_no_more)
{
    char name[16], next[16];
    make_file("l0", "x");
    for (int i = 1; i <= 41; i++) {
        snprintf(name, sizeof(name), "l%d", i);
        snprintf(next, sizeof(next), "l%d", i - 1);
        ASSERT_EQ(symlink(next, name), 0);
    }
    EXPECT_GE(open("l40", O_RDONLY), 0);
    EXPECT_ERRNO(open("l41", O_RDONLY), ELOOP);
}

TEST(path_only_descriptors)
{
    struct stat st;
    char buffer[8];
    make_file("f", "x");
    ASSERT_EQ(symlink("f", "link"), 0);
    int link = open("link", O_PATH | O_NOFOLLOW);
    ASSERT_GE(link, 0);
    EXPECT_EQ(fstat(link, &st), 0);
    EXPECT_TRUE(S_ISLNK(st.st_mode));
    EXPECT_EQ(readlinkat(link, "", buffer, sizeof(buffer)), 1);
    int fd = open("f", O_PATH);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_TRUE(S_ISREG(st.st_mode));
    EXPECT_ERRNO(fchmod(fd, 0600), EBADF);
    EXPECT_ERRNO(openat(fd, "x", O_RDONLY), ENOTDIR);
    EXPECT_EQ(fcntl(fd, F_GETFL) & O_PATH, O_PATH);
    EXPECT_EQ(close(fd), 0);
    int dir = open(".", O_PATH);
    EXPECT_GE(openat(dir, "f", O_RDONLY), 0);
    EXPECT_EQ(fchdir(dir), 0);
}

TEST(an_o_path_descriptor_can_be_opened_again)
{
    char name[64], c = 0;
    make_file("f", "x");
    int path = open("f", O_PATH);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", path);
    int fd = open(name, O_RDONLY);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(read(fd, &c, 1), 1);
    EXPECT_EQ(c, 'x');
}

TEST(directories)
{
    make_file("f", "x");
    ASSERT_EQ(mkdir("d", 0755), 0);
    EXPECT_GE(open("d", O_RDONLY), 0);
    EXPECT_GE(open("d/", O_RDONLY | O_DIRECTORY), 0);
    EXPECT_ERRNO(open("d", O_WRONLY), EISDIR);
    EXPECT_ERRNO(open("d", O_RDWR), EISDIR);
    EXPECT_ERRNO(open("d", O_RDONLY | O_CREAT, 0600), EISDIR);
    EXPECT_ERRNO(open("d", O_RDONLY | O_TRUNC), EISDIR);
    EXPECT_ERRNO(open("new/", O_RDWR | O_CREAT, 0600), EISDIR);
    EXPECT_ERRNO(open("f", O_RDONLY | O_DIRECTORY), ENOTDIR);
    EXPECT_ERRNO(open("new", O_RDONLY | O_CREAT | O_DIRECTORY, 0700), EINVAL);
    EXPECT_ERRNO(access("new", F_OK), ENOENT);
}

TEST(a_directory_can_not_be_read_past_the_cache)
{
    EXPECT_ERRNO(open(".", O_RDONLY | O_DIRECT), EINVAL);
    EXPECT_ERRNO(open("/proc", O_RDONLY | O_DIRECT), EINVAL);
}

TEST(the_directory_descriptor_is_for_relative_names)
{
    char cwd[PATH_MAX], path[PATH_MAX + 8];
    make_file("f", "x");
    ASSERT_EQ(mkdir("d", 0755), 0);
    make_file("d/g", "y");
    ASSERT_TRUE(getcwd(cwd, sizeof(cwd)) != NULL);
    snprintf(path, sizeof(path), "%s/f", cwd);
    int d = open("d", O_RDONLY), f = open("f", O_RDONLY);
    EXPECT_GE(openat(d, "g", O_RDONLY), 0);
    EXPECT_GE(openat(d, "../f", O_RDONLY), 0);
    EXPECT_ERRNO(openat(d, "f", O_RDONLY), ENOENT);
    EXPECT_ERRNO(openat(f, "g", O_RDONLY), ENOTDIR);
    EXPECT_ERRNO(openat(9999, "g", O_RDONLY), EBADF);
    EXPECT_GE(openat(9999, path, O_RDONLY), 0);
    EXPECT_GE(openat(f, path, O_RDONLY), 0);
    EXPECT_ERRNO(openat(9999, "", O_RDONLY), ENOENT);
}

TEST(truncation)
{
    make_file("f", "hello");
    close(open("f", O_RDWR | O_CREAT, 0600));
    EXPECT_EQ(size_of("f"), 5);
    close(open("f", O_WRONLY | O_TRUNC));
    EXPECT_EQ(size_of("f"), 0);
    make_file("f", "hello");
    EXPECT_GE(creat("f", 0600), 0);
    EXPECT_EQ(size_of("f"), 0);
}

TEST(the_umask_takes_bits_from_the_mode)
{
    struct stat st;
    umask(027);
    close(open("f", O_RDWR | O_CREAT, 0777));
    EXPECT_EQ(stat("f", &st), 0);
    EXPECT_EQ(st.st_mode, S_IFREG | 0750);
    EXPECT_EQ(umask(022), 027);
    close(open("g", O_RDWR | O_CREAT, 01666));
    EXPECT_EQ(stat("g", &st), 0);
    EXPECT_EQ(st.st_mode, S_IFREG | 01644);
}

TEST(a_new_file_is_open_whatever_its_mode)
{
    int fd = open("f", O_RDWR | O_CREAT, 0);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(write(fd, "x", 1), 1);
    if (geteuid() != 0)
        EXPECT_ERRNO(open("f", O_RDONLY), EACCES);
}

TEST(permission_is_asked_for)
{
    if (geteuid() == 0)
        SKIP("root may");
    make_file("f", "x");
    ASSERT_EQ(chmod("f", 0400), 0);
    EXPECT_GE(open("f", O_RDONLY), 0);
    EXPECT_ERRNO(open("f", O_WRONLY), EACCES);
    EXPECT_ERRNO(open("f", O_RDONLY | O_TRUNC), EACCES);
    ASSERT_EQ(mkdir("d", 0700), 0);
    make_file("d/g", "x");
    ASSERT_EQ(chmod("d", 0600), 0);
    EXPECT_ERRNO(open("d/g", O_RDONLY), EACCES);
    ASSERT_EQ(chmod("d", 0500), 0);
    EXPECT_GE(open("d/g", O_RDONLY), 0);
    EXPECT_ERRNO(open("d/new", O_RDWR | O_CREAT, 0600), EACCES);
    EXPECT_ERRNO(open("d/new", O_RDONLY), ENOENT);
    ASSERT_EQ(chmod("d", 0700), 0);
}

TEST(the_status_flags_are_kept)
{
    int fd = open("f", O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_TRUNC, 0600);
    int flags = fcntl(fd, F_GETFL);
    EXPECT_EQ(flags & (O_ACCMODE | O_APPEND | O_NONBLOCK), O_RDWR | O_APPEND | O_NONBLOCK);
    EXPECT_EQ(flags & (O_CREAT | O_TRUNC | O_EXCL | O_CLOEXEC), 0);
    EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(fcntl(open("f", O_WRONLY), F_GETFD), 0);
    EXPECT_EQ(flags & 0100000, 0100000);
}

TEST(the_lowest_number_is_taken)
{
    make_file("f", "x");
    int a = open("f", O_RDONLY), b = open("f", O_RDONLY), c = open("f", O_RDONLY);
    EXPECT_EQ(b, a + 1);
    EXPECT_EQ(c, a + 2);
    close(a);
    close(b);
    EXPECT_EQ(open("f", O_RDONLY), a);
    EXPECT_EQ(open("f", O_RDONLY), b);
    EXPECT_EQ(open("f", O_RDONLY), c + 1);
}

TEST(without_a_free_number_nothing_is_made)
{
    struct rlimit r = {16, 16};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &r), 0);
    make_file("f", "hello");
    while (open("f", O_RDONLY) >= 0)
        ;
    EXPECT_EQ(errno, EMFILE);
    EXPECT_ERRNO(open("new", O_RDWR | O_CREAT, 0600), EMFILE);
    EXPECT_ERRNO(open("f", O_WRONLY | O_TRUNC), EMFILE);
    EXPECT_ERRNO(open("missing", O_RDONLY), EMFILE);
    close(15);
    EXPECT_ERRNO(access("new", F_OK), ENOENT);
    EXPECT_EQ(size_of("f"), 5);
    EXPECT_EQ(open("f", O_RDONLY), 15);
}

TEST(unnamed_files)
{
    struct stat st;
    char name[64];
    int fd = open(".", O_TMPFILE | O_RDWR, 0600);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(write(fd, "abc", 3), 3);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(st.st_nlink, 0);
    EXPECT_EQ(st.st_size, 3);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    EXPECT_EQ(linkat(AT_FDCWD, name, AT_FDCWD, "named", AT_SYMLINK_FOLLOW), 0);
    EXPECT_EQ(size_of("named"), 3);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(st.st_nlink, 1);
}

TEST(unnamed_files_that_stay_so)
{
    char name[64];
    int fd = open(".", O_TMPFILE | O_RDWR | O_EXCL, 0600);
    ASSERT_GE(fd, 0);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    EXPECT_ERRNO(linkat(AT_FDCWD, name, AT_FDCWD, "named", AT_SYMLINK_FOLLOW), ENOENT);
    EXPECT_ERRNO(open(".", O_TMPFILE | O_RDONLY, 0600), EINVAL);
    EXPECT_ERRNO(open(".", O_TMPFILE | O_RDWR | O_CREAT, 0600), EINVAL);
    make_file("f", "x");
    EXPECT_ERRNO(open("f", O_TMPFILE | O_RDWR, 0600), ENOTDIR);
    EXPECT_ERRNO(open("missing", O_TMPFILE | O_RDWR, 0600), ENOENT);
}

TEST(a_socket_can_not_be_opened)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "s"};
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(bind(s, (struct sockaddr *)&a, sizeof(a)), 0);
    EXPECT_ERRNO(open("s", O_RDWR), ENXIO);
    EXPECT_GE(open("s", O_PATH), 0);
}

TEST(a_fifo_opened_without_waiting)
{
    ASSERT_EQ(mkfifo("p", 0600), 0);
    EXPECT_ERRNO(open("p", O_WRONLY | O_NONBLOCK), ENXIO);
    int r = open("p", O_RDONLY | O_NONBLOCK);
    ASSERT_GE(r, 0);
    int w = open("p", O_WRONLY | O_NONBLOCK);
    ASSERT_GE(w, 0);
    char c = 0;
    EXPECT_EQ(write(w, "x", 1), 1);
    EXPECT_EQ(read(r, &c, 1), 1);
    EXPECT_EQ(c, 'x');
    EXPECT_GE(open("p", O_RDWR), 0);
}

TEST(the_ends_of_a_fifo_wait_for_each_other)
{
    char buffer[8] = {0};
    int status;
    ASSERT_EQ(mkfifo("p", 0600), 0);
    pid_t pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(getppid());
        int w = open("p", O_WRONLY);
        _exit(w < 0 || write(w, "abc", 3) != 3);
    }
    int r = open("p", O_RDONLY);
    ASSERT_GE(r, 0);
    EXPECT_EQ(read(r, buffer, 8), 3);
    EXPECT_EQ(read(r, buffer, 8), 0);
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(a_signal_ends_the_open_of_a_fifo)
{
    struct sigaction sa = {.sa_handler = on_signal};
    ASSERT_EQ(mkfifo("p", 0600), 0);
    sigaction(SIGUSR1, &sa, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        harness_wait_until_sleeps(getppid());
        kill(getppid(), SIGUSR1);
        _exit(0);
    }
    EXPECT_ERRNO(open("p", O_WRONLY), EINTR);
    waitpid(pid, NULL, 0);
    /* What was half open is gone: nobody waits for a reader any more. */
    int r = open("p", O_RDONLY | O_NONBLOCK);
    char c;
    EXPECT_EQ(read(r, &c, 1), 0);
}

TEST(openat2_checks_its_struct)
{
    struct open_how how = {.flags = O_RDONLY};
    char big[8192] = {0};
    make_file("f", "x");
    EXPECT_GE(syscall(SYS_openat2, AT_FDCWD, "f", &how, sizeof(how)), 0);
    EXPECT_ERRNO(syscall(SYS_openat2, AT_FDCWD, "f", &how, 23), EINVAL);
    EXPECT_ERRNO(syscall(SYS_openat2, AT_FDCWD, "f", &how, 0), EINVAL);
    EXPECT_ERRNO(syscall(SYS_openat2, AT_FDCWD, "f", big, sizeof(big)), E2BIG);
    EXPECT_ERRNO(syscall(SYS_openat2, AT_FDCWD, "f", NULL, sizeof(how)), EFAULT);
    EXPECT_GE(syscall(SYS_openat2, AT_FDCWD, "f", big, 100), 0);
    big[99] = 1;
    EXPECT_ERRNO(syscall(SYS_openat2, AT_FDCWD, "f", big, 100), E2BIG);
}

TEST(openat2_refuses_what_it_does_not_know)
{
    make_file("f", "x");
    EXPECT_ERRNO(openat2_call(AT_FDCWD, "f", 1ULL << 40, 0, 0), EINVAL);
    EXPECT_ERRNO(openat2_call(AT_FDCWD, "f", O_RDONLY, 0600, 0), EINVAL);
    EXPECT_ERRNO(openat2_call(AT_FDCWD, "g", O_RDWR | O_CREAT, 0100600, 0), EINVAL);
    EXPECT_ERRNO(openat2_call(AT_FDCWD, "f", O_RDONLY, 0, 1ULL << 30), EINVAL);
    EXPECT_ERRNO(openat2_call(AT_FDCWD, "f", O_PATH | O_RDWR, 0, 0), EINVAL);
    EXPECT_ERRNO(openat2_call(AT_FDCWD, "f", O_RDONLY, 0, RESOLVE_BENEATH | RESOLVE_IN_ROOT),
                 EINVAL);
    EXPECT_GE(openat2_call(AT_FDCWD, "g", O_RDWR | O_CREAT, 0600, 0), 0);
}

TEST(openat2_resolve_flags)
{
    ASSERT_EQ(mkdir("d", 0755), 0);
    make_file("d/f", "x");
    make_file("out", "x");
    ASSERT_EQ(symlink("f", "d/link"), 0);
    ASSERT_EQ(symlink("/f", "d/absolute"), 0);
    ASSERT_EQ(symlink("../out", "d/up"), 0);
    int d = open("d", O_RDONLY);
    EXPECT_ERRNO(openat2_call(d, "link", O_RDONLY, 0, RESOLVE_NO_SYMLINKS), ELOOP);
    EXPECT_GE(openat2_call(d, "f", O_RDONLY, 0, RESOLVE_NO_SYMLINKS), 0);
    EXPECT_GE(openat2_call(d, "link", O_RDONLY, 0, RESOLVE_BENEATH), 0);
    EXPECT_ERRNO(openat2_call(d, "../out", O_RDONLY, 0, RESOLVE_BENEATH), EXDEV);
    EXPECT_ERRNO(openat2_call(d, "up", O_RDONLY, 0, RESOLVE_BENEATH), EXDEV);
    EXPECT_ERRNO(openat2_call(d, "/f", O_RDONLY, 0, RESOLVE_BENEATH), EXDEV);
    EXPECT_ERRNO(openat2_call(d, "absolute", O_RDONLY, 0, RESOLVE_BENEATH), EXDEV);
    EXPECT_GE(openat2_call(d, "/f", O_RDONLY, 0, RESOLVE_IN_ROOT), 0);
    EXPECT_GE(openat2_call(d, "../../f", O_RDONLY, 0, RESOLVE_IN_ROOT), 0);
    EXPECT_GE(openat2_call(d, "absolute", O_RDONLY, 0, RESOLVE_IN_ROOT), 0);
    EXPECT_ERRNO(openat2_call(d, "up", O_RDONLY, 0, RESOLVE_IN_ROOT), ENOENT);
    EXPECT_ERRNO(openat2_call(AT_FDCWD, "/proc/self/exe", O_RDONLY, 0, RESOLVE_NO_MAGICLINKS),
                 ELOOP);
    EXPECT_ERRNO(openat2_call(AT_FDCWD, "/proc/self/status", O_RDONLY, 0, RESOLVE_NO_XDEV), EXDEV);
}

TEST(close_twice_is_ebadf)
{
    int fd = dup(1);
    EXPECT_EQ(close(fd), 0);
    EXPECT_ERRNO(close(fd), EBADF);
    EXPECT_ERRNO(close(-1), EBADF);
    EXPECT_ERRNO(close(INT_MAX), EBADF);
}

TEST(close_range_closes_what_is_open)
{
    int a = dup(1);
    EXPECT_EQ(dup2(1, a + 1), a + 1);
    EXPECT_EQ(dup2(1, a + 5), a + 5);
    EXPECT_EQ(syscall(SYS_close_range, a, a + 4, 0), 0);
    EXPECT_ERRNO(fcntl(a, F_GETFD), EBADF);
    EXPECT_ERRNO(fcntl(a + 1, F_GETFD), EBADF);
    EXPECT_EQ(fcntl(a + 5, F_GETFD), 0);
    EXPECT_EQ(syscall(SYS_close_range, a, ~0U, 0), 0);
    EXPECT_ERRNO(fcntl(a + 5, F_GETFD), EBADF);
    EXPECT_ERRNO(syscall(SYS_close_range, 5, 4, 0), EINVAL);
    EXPECT_ERRNO(syscall(SYS_close_range, 3, 4, 0x100), EINVAL);
    EXPECT_EQ(syscall(SYS_close_range, 100000, ~0U, 0), 0);
}

TEST(close_range_can_mark_for_exec)
{
    int a = dup(1);
    EXPECT_EQ(syscall(SYS_close_range, a, ~0U, CLOSE_RANGE_CLOEXEC), 0);
    EXPECT_EQ(fcntl(a, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(fcntl(1, F_GETFD), 0);
}

static void *unshare_and_close(void *arg)
{
    int fd = *(int *)arg;
    if (syscall(SYS_close_range, fd, ~0U, CLOSE_RANGE_UNSHARE) != 0)
        return "failed";
    return fcntl(fd, F_GETFD) == -1 ? NULL : "still open";
}

TEST(close_range_can_unshare_the_table)
{
    pthread_t thread;
    void *result;
    int fd = dup(1);
    ASSERT_EQ(pthread_create(&thread, NULL, unshare_and_close, &fd), 0);
    pthread_join(thread, &result);
    EXPECT_TRUE(result == NULL);
    EXPECT_EQ(fcntl(fd, F_GETFD), 0);
}
