// SPDX-License-Identifier: Apache-2.0
/* chmod(2), chown(2), utimensat(2) and kin, extended attributes. */
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <utime.h>

static int make_file(const char *name)
{
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
    ASSERT_GE(fd, 0);
    return fd;
}

static mode_t mode_of(const char *name)
{
    struct stat st;
    ASSERT_EQ(lstat(name, &st), 0);
    return st.st_mode & 07777;
}

/* Runs `what` as an ordinary user who owns nothing here; its exit status. */
static int as_other_user(int (*what)(void))
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        if (setresgid(2000, 2000, 2000) != 0 || setresuid(2000, 2000, 2000) != 0)
            _exit(99);
        _exit(what());
    }
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- chmod ---- */

TEST(chmod_sets_the_bits)
{
    int fd = make_file("f");
    EXPECT_EQ(chmod("f", 0751), 0);
    EXPECT_EQ(mode_of("f"), 0751);
    EXPECT_EQ(fchmod(fd, 0100600), 0);
    EXPECT_EQ(mode_of("f"), 0600);
    EXPECT_EQ(fchmodat(AT_FDCWD, "f", 0640, 0), 0);
    EXPECT_EQ(mode_of("f"), 0640);
    EXPECT_EQ(chmod("f", 07777), 0);
    EXPECT_EQ(mode_of("f") & 05777, 05777);
}

TEST(chmod_goes_through_links)
{
    close(make_file("f"));
    ASSERT_EQ(symlink("f", "link"), 0);
    EXPECT_EQ(chmod("link", 0600), 0);
    EXPECT_EQ(mode_of("f"), 0600);
    EXPECT_EQ(mode_of("link"), 0777);
}

TEST(chmod_errors)
{
    close(make_file("f"));
    int path = open("f", O_PATH);
    EXPECT_ERRNO(chmod("missing", 0600), ENOENT);
    EXPECT_ERRNO(chmod("", 0600), ENOENT);
    EXPECT_ERRNO(chmod("f/x", 0600), ENOTDIR);
    EXPECT_ERRNO(syscall(SYS_chmod, NULL, 0600), EFAULT);
    EXPECT_ERRNO(fchmod(-1, 0600), EBADF);
    EXPECT_ERRNO(fchmod(path, 0600), EBADF);
    EXPECT_ERRNO(syscall(SYS_fchmodat, 9999, "f", 0600), EBADF);
}

TEST(fchmodat2_flags)
{
    int fd = make_file("f");
    ASSERT_EQ(symlink("f", "link"), 0);
    if (syscall(452, AT_FDCWD, "f", 0600, 0) != 0 && errno == ENOSYS)
        SKIP("older than Linux 6.6");
    EXPECT_EQ(mode_of("f"), 0600);
    EXPECT_EQ(syscall(452, fd, "", 0640, AT_EMPTY_PATH), 0);
    EXPECT_EQ(mode_of("f"), 0640);
    EXPECT_ERRNO(syscall(452, AT_FDCWD, "link", 0600, AT_SYMLINK_NOFOLLOW), EOPNOTSUPP);
    EXPECT_ERRNO(syscall(452, AT_FDCWD, "f", 0600, 0x8), EINVAL);
}

static int chmod_f(void)
{
    return chmod("f", 0600) == 0 ? 0 : errno;
}

TEST(chmod_is_for_the_owner)
{
    if (geteuid() != 0) {
        EXPECT_ERRNO(chmod("/bin/sh", 0777), EPERM);
        return;
    }
    ASSERT_EQ(chmod(".", 0755), 0);
    close(make_file("f"));
    EXPECT_EQ(as_other_user(chmod_f), EPERM);
}

TEST(a_mode_of_a_pipe_can_be_changed)
{
    int p[2];
    struct stat st;
    ASSERT_EQ(pipe(p), 0);
    EXPECT_EQ(fchmod(p[0], 0640), 0);
    EXPECT_EQ(fstat(p[1], &st), 0);
    EXPECT_EQ(st.st_mode & 0777, 0640);
}

/* ---- chown ---- */

TEST(what_is_no_file_has_no_attributes_to_change)
{
    int fd = eventfd(0, 0), r = fchmod(fd, 0644);
    const struct timespec times[2] = {{1, 0}, {1, 0}};
    if (!harness_is_inside() && (r == 0 || errno == EPERM))
        SKIP("Linux before 6.16 asks who owns it");
    EXPECT_ERRNO(fchmod(fd, 0644), EOPNOTSUPP);
    EXPECT_ERRNO(fchown(fd, 12345, 12345), EOPNOTSUPP);
    EXPECT_ERRNO(fchown(fd, -1, -1), EOPNOTSUPP);
    EXPECT_ERRNO(futimens(fd, times), EOPNOTSUPP);
}

TEST(chown_to_what_it_is_already)
{
    int fd = make_file("f");
    EXPECT_EQ(chown("f", (uid_t)-1, (gid_t)-1), 0);
    EXPECT_EQ(chown("f", geteuid(), getegid()), 0);
    EXPECT_EQ(fchown(fd, (uid_t)-1, getegid()), 0);
    EXPECT_EQ(fchownat(fd, "", geteuid(), (gid_t)-1, AT_EMPTY_PATH), 0);
    ASSERT_EQ(symlink("nowhere", "dangling"), 0);
    EXPECT_EQ(lchown("dangling", (uid_t)-1, (gid_t)-1), 0);
    EXPECT_ERRNO(chown("dangling", (uid_t)-1, (gid_t)-1), ENOENT);
}

TEST(chown_by_root)
{
    struct stat st;
    if (geteuid() != 0)
        SKIP("needs root");
    int fd = make_file("f");
    EXPECT_EQ(chown("f", 1000, 2000), 0);
    EXPECT_EQ(stat("f", &st), 0);
    EXPECT_EQ(st.st_uid, 1000);
    EXPECT_EQ(st.st_gid, 2000);
    EXPECT_EQ(fchown(fd, (uid_t)-1, 3000), 0);
    EXPECT_EQ(stat("f", &st), 0);
    EXPECT_EQ(st.st_uid, 1000);
    EXPECT_EQ(st.st_gid, 3000);
    ASSERT_EQ(symlink("f", "link"), 0);
    EXPECT_EQ(lchown("link", 7, 7), 0);
    EXPECT_EQ(stat("f", &st), 0);
    EXPECT_EQ(st.st_uid, 1000);
    EXPECT_EQ(lstat("link", &st), 0);
    EXPECT_EQ(st.st_uid, 7);
}

TEST(chown_by_others)
{
    if (geteuid() == 0)
        SKIP("root may");
    close(make_file("f"));
    EXPECT_ERRNO(chown("f", 0, (gid_t)-1), EPERM);
    EXPECT_ERRNO(chown("f", (uid_t)-1, 54321), EPERM);
    EXPECT_ERRNO(chown("/bin/sh", geteuid(), (gid_t)-1), EPERM);
}

TEST(chown_takes_the_set_id_bits)
{
    close(make_file("f"));
    ASSERT_EQ(mkdir("d", 0755), 0);
    ASSERT_EQ(chmod("f", 06755), 0);
    EXPECT_EQ(chown("f", geteuid(), getegid()), 0);
    EXPECT_EQ(mode_of("f"), 0755);
    ASSERT_EQ(chmod("f", 02644), 0);
    EXPECT_EQ(chown("f", geteuid(), getegid()), 0);
    EXPECT_EQ(mode_of("f") & 0777, 0644);
    ASSERT_EQ(chmod("f", 06755), 0);
    EXPECT_EQ(chown("f", (uid_t)-1, (gid_t)-1), 0);
    EXPECT_EQ(mode_of("f"), 0755);
}

TEST(chown_of_somebody_elses_set_id_bits)
{
    struct stat st;
    if (geteuid() != 0)
        SKIP("needs another user's file");
    close(make_file("f"));
    ASSERT_EQ(chmod("f", 06755), 0);
    ASSERT_EQ(chmod(".", 0755), 0);
    ASSERT_EQ(seteuid(65534), 0);
    EXPECT_ERRNO(chown("f", (uid_t)-1, (gid_t)-1), EPERM);
    ASSERT_EQ(seteuid(0), 0);
    ASSERT_EQ(stat("f", &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 06755);
}

TEST(chown_errors)
{
    close(make_file("f"));
    int path = open("f", O_PATH);
    EXPECT_ERRNO(chown("missing", 0, 0), ENOENT);
    EXPECT_ERRNO(fchown(-1, 0, 0), EBADF);
    EXPECT_ERRNO(fchown(path, (uid_t)-1, (gid_t)-1), EBADF);
    EXPECT_EQ(fchownat(path, "", (uid_t)-1, (gid_t)-1, AT_EMPTY_PATH), 0);
    EXPECT_ERRNO(fchownat(AT_FDCWD, "f", (uid_t)-1, (gid_t)-1, 0x8), EINVAL);
    EXPECT_ERRNO(fchownat(AT_FDCWD, "", (uid_t)-1, (gid_t)-1, 0), ENOENT);
}

/* ---- times ---- */

TEST(utimensat_sets_both_times)
{
    struct stat st;
    int fd = make_file("f");
    struct timespec t[2] = {{1000, 123456789}, {2000, 987654321}};
    EXPECT_EQ(utimensat(AT_FDCWD, "f", t, 0), 0);
    EXPECT_EQ(stat("f", &st), 0);
    EXPECT_EQ(st.st_atim.tv_sec, 1000);
    EXPECT_EQ(st.st_atim.tv_nsec, 123456789);
    EXPECT_EQ(st.st_mtim.tv_sec, 2000);
    EXPECT_EQ(st.st_mtim.tv_nsec, 987654321);
    EXPECT_LE(labs(st.st_ctim.tv_sec - time(NULL)), 5);
    t[0].tv_sec = 77;
    EXPECT_EQ(futimens(fd, t), 0);
    EXPECT_EQ(stat("f", &st), 0);
    EXPECT_EQ(st.st_atim.tv_sec, 77);
    t[1].tv_sec = -5;
    EXPECT_EQ(utimensat(AT_FDCWD, "f", t, 0), 0);
    EXPECT_EQ(stat("f", &st), 0);
    EXPECT_EQ(st.st_mtim.tv_sec, -5);
}

TEST(utime_now_and_omit)
{
    struct stat st;
    close(make_file("f"));
    struct timespec old[2] = {{1000, 0}, {2000, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, "f", old, 0), 0);
    struct timespec t[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
    EXPECT_EQ(utimensat(AT_FDCWD, "f", t, 0), 0);
    EXPECT_EQ(stat("f", &st), 0);
    EXPECT_EQ(st.st_atim.tv_sec, 1000);
    EXPECT_LE(labs(st.st_mtim.tv_sec - time(NULL)), 5);
    struct timespec none[2] = {{5, UTIME_OMIT}, {5, UTIME_OMIT}};
    EXPECT_EQ(utimensat(AT_FDCWD, "f", none, 0), 0);
    EXPECT_EQ(utimensat(AT_FDCWD, "missing", none, 0), 0);
    EXPECT_EQ(utimensat(AT_FDCWD, "f", NULL, 0), 0);
    EXPECT_EQ(stat("f", &st), 0);
    EXPECT_LE(labs(st.st_atim.tv_sec - time(NULL)), 5);
}

TEST(times_of_links)
{
    struct stat st;
    close(make_file("f"));
    ASSERT_EQ(symlink("f", "link"), 0);
    struct timespec t[2] = {{1000, 0}, {2000, 0}};
    EXPECT_EQ(utimensat(AT_FDCWD, "link", t, AT_SYMLINK_NOFOLLOW), 0);
    EXPECT_EQ(lstat("link", &st), 0);
    EXPECT_EQ(st.st_mtim.tv_sec, 2000);
    EXPECT_EQ(stat("f", &st), 0);
    EXPECT_LE(labs(st.st_mtim.tv_sec - time(NULL)), 5);
    EXPECT_EQ(utimensat(AT_FDCWD, "link", t, 0), 0);
    EXPECT_EQ(stat("f", &st), 0);
    EXPECT_EQ(st.st_mtim.tv_sec, 2000);
}

TEST(utimensat_errors)
{
    struct timespec bad[2] = {{0, 1000000000}, {0, 0}}, good[2] = {{0, 0}, {0, 0}};
    int fd = make_file("f"), path = open("f", O_PATH);
    EXPECT_ERRNO(utimensat(AT_FDCWD, "f", bad, 0), EINVAL);
    bad[0].tv_nsec = -1;
    EXPECT_ERRNO(utimensat(AT_FDCWD, "f", bad, 0), EINVAL);
    EXPECT_ERRNO(utimensat(AT_FDCWD, "missing", bad, 0), ENOENT);
    EXPECT_ERRNO(utimensat(AT_FDCWD, "f/x", bad, 0), ENOTDIR);
    EXPECT_ERRNO(utimensat(AT_FDCWD, "missing", good, 0), ENOENT);
    EXPECT_ERRNO(utimensat(AT_FDCWD, "f", good, 0x8), EINVAL);
    EXPECT_ERRNO(syscall(SYS_utimensat, AT_FDCWD, "f", 8L, 0), EFAULT);
    EXPECT_ERRNO(syscall(SYS_utimensat, AT_FDCWD, NULL, good, 0), EFAULT);
    EXPECT_ERRNO(syscall(SYS_utimensat, 9999, NULL, good, 0), EBADF);
    EXPECT_ERRNO(syscall(SYS_utimensat, path, NULL, good, 0), EBADF);
    EXPECT_ERRNO(syscall(SYS_utimensat, fd, NULL, good, AT_SYMLINK_NOFOLLOW), EINVAL);
}

TEST(older_forms)
{
    struct stat st;
    close(make_file("f"));
    struct timeval tv[2] = {{100, 5}, {200, 6}};
    EXPECT_EQ(syscall(SYS_utimes, "f", tv), 0);
    EXPECT_EQ(stat("f", &st), 0);
    EXPECT_EQ(st.st_atim.tv_sec, 100);
    EXPECT_EQ(st.st_mtim.tv_nsec, 6000);
    tv[0].tv_usec = 1000000;
    EXPECT_ERRNO(syscall(SYS_utimes, "f", tv), EINVAL);
    struct utimbuf ut = {300, 400};
    EXPECT_EQ(syscall(SYS_utime, "f", &ut), 0);
    EXPECT_EQ(stat("f", &st), 0);
    EXPECT_EQ(st.st_atim.tv_sec, 300);
    EXPECT_EQ(st.st_mtim.tv_sec, 400);
    tv[0].tv_usec = 0;
    EXPECT_EQ(syscall(SYS_futimesat, AT_FDCWD, "f", tv), 0);
    EXPECT_EQ(stat("f", &st), 0);
    EXPECT_EQ(st.st_atim.tv_sec, 100);
    EXPECT_EQ(syscall(SYS_utime, "f", NULL), 0);
    EXPECT_EQ(stat("f", &st), 0);
    EXPECT_LE(labs(st.st_mtim.tv_sec - time(NULL)), 5);
}

static int set_times_of_writable(void)
{
    struct timespec fixed[2] = {{1, 0}, {2, 0}};
    struct timespec half[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
    struct timespec both[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
    if (utimensat(AT_FDCWD, "f", NULL, 0) != 0 || utimensat(AT_FDCWD, "f", both, 0) != 0)
        return 1;
    if (utimensat(AT_FDCWD, "f", fixed, 0) == 0 || errno != EPERM)
        return 2;
    return utimensat(AT_FDCWD, "f", half, 0) == 0 || errno != EPERM ? 3 : 0;
}

static int set_times_of_read_only(void)
{
    return utimensat(AT_FDCWD, "f", NULL, 0) == 0 ? 0 : errno;
}

TEST(who_may_write_may_set_the_times_to_now)
{
    if (geteuid() != 0)
        SKIP("needs root");
    ASSERT_EQ(chmod(".", 0755), 0);
    close(make_file("f"));
    ASSERT_EQ(chmod("f", 0666), 0);
    EXPECT_EQ(as_other_user(set_times_of_writable), 0);
    ASSERT_EQ(chmod("f", 0644), 0);
    EXPECT_EQ(as_other_user(set_times_of_read_only), EACCES);
}

/* ---- extended attributes ---- */

static bool keeps_attributes(void)
{
    close(make_file("probe"));
    return setxattr("probe", "user.probe", "x", 1, 0) == 0;
}

#define NEED_ATTRIBUTES()                        \
    do {                                         \
        if (!keeps_attributes())                 \
            SKIP("no extended attributes here"); \
    } while (0)

TEST(attributes_are_kept)
{
    char value[16];
    NEED_ATTRIBUTES();
    int fd = make_file("f");
    EXPECT_EQ(setxattr("f", "user.a", "hello", 5, 0), 0);
    EXPECT_EQ(getxattr("f", "user.a", value, sizeof(value)), 5);
    EXPECT_EQ(memcmp(value, "hello", 5), 0);
    EXPECT_EQ(fgetxattr(fd, "user.a", NULL, 0), 5);
    EXPECT_ERRNO(getxattr("f", "user.a", value, 4), ERANGE);
    EXPECT_EQ(fsetxattr(fd, "user.a", "", 0, 0), 0);
    EXPECT_EQ(getxattr("f", "user.a", value, sizeof(value)), 0);
    EXPECT_EQ(removexattr("f", "user.a"), 0);
    EXPECT_ERRNO(getxattr("f", "user.a", value, sizeof(value)), ENODATA);
    EXPECT_ERRNO(removexattr("f", "user.a"), ENODATA);
}

TEST(attributes_created_or_replaced)
{
    NEED_ATTRIBUTES();
    close(make_file("f"));
    EXPECT_ERRNO(setxattr("f", "user.a", "x", 1, XATTR_REPLACE), ENODATA);
    EXPECT_EQ(setxattr("f", "user.a", "x", 1, XATTR_CREATE), 0);
    EXPECT_ERRNO(setxattr("f", "user.a", "x", 1, XATTR_CREATE), EEXIST);
    EXPECT_EQ(setxattr("f", "user.a", "y", 1, XATTR_REPLACE), 0);
    EXPECT_ERRNO(setxattr("f", "user.a", "y", 1, 0x10), EINVAL);
}

TEST(attributes_are_listed)
{
    char names[256];
    NEED_ATTRIBUTES();
    int fd = make_file("f");
    EXPECT_EQ(listxattr("f", names, sizeof(names)), 0);
    EXPECT_EQ(setxattr("f", "user.one", "x", 1, 0), 0);
    EXPECT_EQ(setxattr("f", "user.three", "x", 1, 0), 0);
    EXPECT_EQ(listxattr("f", NULL, 0), 20);
    EXPECT_EQ(flistxattr(fd, names, sizeof(names)), 20);
    EXPECT_EQ(llistxattr("f", names, 20), 20);
    EXPECT_TRUE(!strcmp(names, "user.one") || !strcmp(names, "user.three"));
    EXPECT_ERRNO(listxattr("f", names, 19), ERANGE);
}

TEST(names_of_attributes)
{
    char name[300];
    NEED_ATTRIBUTES();
    close(make_file("f"));
    memset(name, 'n', sizeof(name));
    memcpy(name, "user.", 5);
    name[256] = '\0';
    EXPECT_ERRNO(setxattr("f", name, "x", 1, 0), ERANGE);
    name[255] = '\0';
    EXPECT_EQ(setxattr("f", name, "x", 1, 0), 0);
    EXPECT_ERRNO(setxattr("f", "", "x", 1, 0), ERANGE);
    EXPECT_ERRNO(setxattr("f", "user.", "x", 1, 0), EINVAL);
    EXPECT_ERRNO(setxattr("f", "nonsense.x", "x", 1, 0), EOPNOTSUPP);
    EXPECT_ERRNO(setxattr("f", "noprefix", "x", 1, 0), EOPNOTSUPP);
    EXPECT_ERRNO(getxattr("f", "nonsense.x", name, 1), EOPNOTSUPP);
}

TEST(errors_of_attributes)
{
    char value[16];
    NEED_ATTRIBUTES();
    close(make_file("f"));
    int path = open("f", O_PATH);
    EXPECT_ERRNO(setxattr("f", "user.a", "x", 65537, 0), E2BIG);
    EXPECT_ERRNO(setxattr("missing", "user.a", "x", 1, 0), ENOENT);
    EXPECT_ERRNO(setxattr("f", "user.a", NULL, 5, 0), EFAULT);
    EXPECT_ERRNO(syscall(SYS_setxattr, "f", NULL, "x", 1, 0), EFAULT);
    EXPECT_ERRNO(fsetxattr(path, "user.a", "x", 1, 0), EBADF);
    EXPECT_ERRNO(fgetxattr(-1, "user.a", value, 16), EBADF);
    EXPECT_ERRNO(flistxattr(path, value, 16), EBADF);
    EXPECT_ERRNO(getxattr("missing", "user.a", value, 16), ENOENT);
}

TEST(user_attributes_are_for_files_and_directories)
{
    char value[16];
    NEED_ATTRIBUTES();
    ASSERT_EQ(mkdir("d", 0755), 0);
    ASSERT_EQ(symlink("d", "link"), 0);
    ASSERT_EQ(mkfifo("fifo", 0600), 0);
    EXPECT_EQ(setxattr("d", "user.a", "x", 1, 0), 0);
    EXPECT_EQ(setxattr("link", "user.b", "x", 1, 0), 0);
    EXPECT_EQ(getxattr("d", "user.b", value, 16), 1);
    EXPECT_ERRNO(lsetxattr("link", "user.a", "x", 1, 0), EPERM);
    EXPECT_ERRNO(setxattr("fifo", "user.a", "x", 1, 0), EPERM);
    EXPECT_ERRNO(getxattr("fifo", "user.a", value, 16), ENODATA);
}

TEST(trusted_attributes_are_for_the_privileged)
{
    char value[16];
    NEED_ATTRIBUTES();
    close(make_file("f"));
    if (geteuid() == 0) {
        EXPECT_EQ(setxattr("f", "trusted.a", "x", 1, 0), 0);
        EXPECT_EQ(getxattr("f", "trusted.a", value, 16), 1);
        EXPECT_EQ(listxattr("f", value, 16), 10);
        return;
    }
    EXPECT_ERRNO(setxattr("f", "trusted.a", "x", 1, 0), EPERM);
    EXPECT_ERRNO(getxattr("f", "trusted.a", value, 16), ENODATA);
    EXPECT_ERRNO(setxattr("f", "security.a", "x", 1, 0), EPERM);
}

TEST(attributes_obey_the_mode)
{
    char value[16];
    NEED_ATTRIBUTES();
    if (geteuid() == 0)
        SKIP("root may");
    close(make_file("f"));
    EXPECT_EQ(setxattr("f", "user.a", "x", 1, 0), 0);
    ASSERT_EQ(chmod("f", 0400), 0);
    EXPECT_ERRNO(setxattr("f", "user.a", "x", 1, 0), EACCES);
    EXPECT_EQ(getxattr("f", "user.a", value, 16), 1);
    ASSERT_EQ(chmod("f", 0200), 0);
    EXPECT_ERRNO(getxattr("f", "user.a", value, 16), EACCES);
}

static int names_and_modes(void)
{
    char value[16];
    if (setxattr("f", "unknown.a", "x", 1, 0) != -1 || errno != EACCES)
        return 1;
    if (getxattr("f", "unknown.a", value, 16) != -1 || errno != EACCES)
        return 2;
    if (getxattr("f", "user.", value, 16) != -1 || errno != EACCES)
        return 3;
    if (removexattr("f", "unknown.a") != -1 || errno != EACCES)
        return 4;
    if (setxattr("open", "unknown.a", "x", 1, 0) != -1 || errno != EOPNOTSUPP)
        return 5;
    return 0;
}

TEST(the_mode_is_asked_before_the_name_of_an_attribute)
{
    NEED_ATTRIBUTES();
    if (geteuid() != 0)
        SKIP("needs root");
    close(make_file("f"));
    close(make_file("open"));
    ASSERT_EQ(chmod(".", 0755), 0);
    ASSERT_EQ(chmod("f", 0), 0);
    ASSERT_EQ(chmod("open", 0666), 0);
    EXPECT_EQ(as_other_user(names_and_modes), 0);
}

static int chmod_link(void)
{
    return syscall(452, AT_FDCWD, "link", 0600, AT_SYMLINK_NOFOLLOW) == -1 ? errno : 0;
}

TEST(a_link_has_no_mode_whoever_asks)
{
    if (geteuid() != 0)
        SKIP("needs root");
    ASSERT_EQ(chmod(".", 0755), 0);
    ASSERT_EQ(symlink("f", "link"), 0);
    EXPECT_EQ(chmod_link(), EOPNOTSUPP);
    EXPECT_EQ(as_other_user(chmod_link), EOPNOTSUPP);
}
