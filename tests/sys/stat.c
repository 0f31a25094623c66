// SPDX-License-Identifier: Apache-2.0
/* stat(2), statx(2), access(2), readlink(2), statfs(2). */
#include "tests/sys/files.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

static long statx_call(int dirfd, const char *name, int flags, unsigned mask, void *buffer)
{
    return syscall(SYS_statx, dirfd, name, flags, mask, buffer);
}

TEST(stat_tells_of_a_file)
{
    struct stat st;
    umask(022);
    int fd = make_file("f", "hello");
    EXPECT_EQ(stat("f", &st), 0);
    EXPECT_EQ(st.st_mode, S_IFREG | 0644);
    EXPECT_EQ(st.st_size, 5);
    EXPECT_EQ(st.st_nlink, 1);
    EXPECT_EQ(st.st_uid, geteuid());
    EXPECT_GT(st.st_ino, 0);
    EXPECT_GT(st.st_blksize, 0);
    EXPECT_LE(labs(st.st_mtim.tv_sec - time(NULL)), 5);
    struct stat same;
    EXPECT_EQ(fstat(fd, &same), 0);
    EXPECT_EQ(memcmp(&st, &same, sizeof(st)), 0);
    EXPECT_EQ(link("f", "g"), 0);
    EXPECT_EQ(stat("g", &same), 0);
    EXPECT_EQ(same.st_ino, st.st_ino);
    EXPECT_EQ(same.st_dev, st.st_dev);
    EXPECT_EQ(same.st_nlink, 2);
}

TEST(stat_leaves_no_byte_unwritten)
{
    struct stat a, b;
    close(make_file("f", "hello"));
    memset(&a, 0xaa, sizeof(a));
    memset(&b, 0x55, sizeof(b));
    EXPECT_EQ(syscall(SYS_newfstatat, AT_FDCWD, "f", &a, 0), 0);
    EXPECT_EQ(syscall(SYS_newfstatat, AT_FDCWD, "f", &b, 0), 0);
    EXPECT_EQ(memcmp(&a, &b, sizeof(a)), 0);
    EXPECT_EQ(a.__pad0, 0);
}

TEST(stat_of_links_and_directories)
{
    struct stat st;
    close(make_file("f", "hello"));
    ASSERT_EQ(symlink("f", "link"), 0);
    ASSERT_EQ(mkdir("d", 0700), 0);
    EXPECT_EQ(stat("link", &st), 0);
    EXPECT_TRUE(S_ISREG(st.st_mode));
    EXPECT_EQ(lstat("link", &st), 0);
    EXPECT_EQ(st.st_mode, S_IFLNK | 0777);
    EXPECT_EQ(st.st_size, 1);
    EXPECT_EQ(fstatat(AT_FDCWD, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
    EXPECT_TRUE(S_ISLNK(st.st_mode));
    EXPECT_EQ(stat("d", &st), 0);
    EXPECT_EQ(st.st_mode, S_IFDIR | 0700);
    EXPECT_EQ(lstat("link/", &st), -1);
    EXPECT_EQ(errno, ENOTDIR);
}

TEST(stat_errors)
{
    struct stat st;
    close(make_file("f", "x"));
    EXPECT_ERRNO(stat("missing", &st), ENOENT);
    EXPECT_ERRNO(stat("", &st), ENOENT);
    EXPECT_ERRNO(stat("f/x", &st), ENOTDIR);
    EXPECT_ERRNO(syscall(SYS_stat, "f", NULL), EFAULT);
    EXPECT_ERRNO(syscall(SYS_stat, NULL, &st), EFAULT);
    EXPECT_ERRNO(fstat(-1, &st), EBADF);
    EXPECT_ERRNO(fstatat(-1, "f", &st, 0), EBADF);
    EXPECT_ERRNO(syscall(SYS_newfstatat, AT_FDCWD, "f", &st, 0x8), EINVAL);
}

TEST(empty_paths_mean_the_descriptor)
{
    struct stat st;
    int p[2], fd = make_file("f", "hello"), path = open("f", O_PATH);
    ASSERT_EQ(pipe(p), 0);
    EXPECT_EQ(fstatat(fd, "", &st, AT_EMPTY_PATH), 0);
    EXPECT_EQ(st.st_size, 5);
    EXPECT_EQ(fstatat(path, "", &st, AT_EMPTY_PATH), 0);
    EXPECT_EQ(fstatat(p[0], "", &st, AT_EMPTY_PATH), 0);
    EXPECT_TRUE(S_ISFIFO(st.st_mode));
    EXPECT_EQ(fstatat(AT_FDCWD, "", &st, AT_EMPTY_PATH), 0);
    EXPECT_TRUE(S_ISDIR(st.st_mode));
    EXPECT_ERRNO(fstatat(fd, "", &st, 0), ENOENT);
    EXPECT_ERRNO(fstatat(9999, "", &st, AT_EMPTY_PATH), EBADF);
    EXPECT_ERRNO(fstatat(fd, "x", &st, AT_EMPTY_PATH), ENOTDIR);
}

TEST(stat_of_what_has_no_name)
{
    struct stat a, b;
    int p[2];
    ASSERT_EQ(pipe(p), 0);
    EXPECT_EQ(fstat(p[0], &a), 0);
    EXPECT_EQ(fstat(p[1], &b), 0);
    EXPECT_EQ(a.st_mode, S_IFIFO | 0600);
    EXPECT_EQ(a.st_ino, b.st_ino);
    EXPECT_EQ(a.st_uid, geteuid());
}

TEST(stat_of_a_device)
{
    struct stat st;
    EXPECT_EQ(stat("/dev/null", &st), 0);
    EXPECT_TRUE(S_ISCHR(st.st_mode));
    EXPECT_EQ(major(st.st_rdev), 1);
    EXPECT_EQ(minor(st.st_rdev), 3);
}

TEST(inode_numbers_are_stable_and_unlike)
{
    struct stat a, b, again;
    close(make_file("a", "x"));
    close(make_file("b", "x"));
    EXPECT_EQ(stat("a", &a), 0);
    EXPECT_EQ(stat("b", &b), 0);
    EXPECT_NE(a.st_ino, b.st_ino);
    EXPECT_EQ(rename("a", "c"), 0);
    EXPECT_EQ(stat("c", &again), 0);
    EXPECT_EQ(again.st_ino, a.st_ino);
}

TEST(blocks_are_of_what_is_written)
{
    struct stat st;
    static char data[40960];
    int fd = make_file("f", "");
    memset(data, 'x', sizeof(data));
    ASSERT_EQ(ftruncate(fd, 1 << 20), 0);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_LT(st.st_blocks * 512, 65536);
    ASSERT_EQ(write(fd, data, sizeof(data)), sizeof(data));
    fsync(fd);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_GE(st.st_blocks * 512, 40960);
    EXPECT_LT(st.st_blocks * 512, 1 << 20);
}

TEST(statx_tells_the_same)
{
    struct stat st;
    struct statx x;
    memset(&x, 0xaa, sizeof(x));
    close(make_file("f", "hello"));
    EXPECT_EQ(stat("f", &st), 0);
    EXPECT_EQ(statx_call(AT_FDCWD, "f", 0, STATX_BASIC_STATS | STATX_BTIME, &x), 0);
    EXPECT_EQ(x.stx_mask & STATX_BASIC_STATS, STATX_BASIC_STATS);
    EXPECT_EQ(x.stx_size, st.st_size);
    EXPECT_EQ(x.stx_ino, st.st_ino);
    EXPECT_EQ(x.stx_mode, st.st_mode);
    EXPECT_EQ(x.stx_nlink, st.st_nlink);
    EXPECT_EQ(x.stx_uid, st.st_uid);
    EXPECT_EQ(x.stx_mtime.tv_sec, st.st_mtim.tv_sec);
    EXPECT_EQ(x.stx_mtime.tv_nsec, st.st_mtim.tv_nsec);
    EXPECT_EQ(makedev(x.stx_dev_major, x.stx_dev_minor), st.st_dev);
    if (x.stx_mask & STATX_BTIME)
        EXPECT_LE(labs(x.stx_btime.tv_sec - time(NULL)), 5);
    /* The spare words must not show what the kernel had in memory. */
    char zeros[64] = {0};
    EXPECT_EQ(memcmp((char *)&x + sizeof(x) - sizeof(zeros), zeros, sizeof(zeros)), 0);
}

TEST(statx_flags_are_checked)
{
    struct statx x;
    int fd = make_file("f", "hello");
    ASSERT_EQ(symlink("f", "link"), 0);
    EXPECT_EQ(statx_call(AT_FDCWD, "link", AT_SYMLINK_NOFOLLOW, STATX_TYPE, &x), 0);
    EXPECT_TRUE(S_ISLNK(x.stx_mode));
    EXPECT_EQ(statx_call(fd, "", AT_EMPTY_PATH, STATX_SIZE, &x), 0);
    EXPECT_EQ(x.stx_size, 5);
    EXPECT_EQ(statx_call(AT_FDCWD, "f", 0x2000, STATX_SIZE, &x), 0); /* AT_STATX_FORCE_SYNC */
    EXPECT_EQ(statx_call(AT_FDCWD, "f", 0x4000, STATX_SIZE, &x), 0); /* AT_STATX_DONT_SYNC */
    EXPECT_ERRNO(statx_call(AT_FDCWD, "f", 0x6000, STATX_SIZE, &x), EINVAL);
    EXPECT_ERRNO(statx_call(AT_FDCWD, "f", 0x8, STATX_SIZE, &x), EINVAL);
    EXPECT_ERRNO(statx_call(AT_FDCWD, "f", 0, 0x80000000u, &x), EINVAL);
    EXPECT_ERRNO(statx_call(AT_FDCWD, "f", 0, STATX_SIZE, NULL), EFAULT);
    EXPECT_ERRNO(statx_call(AT_FDCWD, NULL, 0, STATX_SIZE, &x), EFAULT);
    EXPECT_ERRNO(statx_call(fd, "", 0, STATX_SIZE, &x), ENOENT);
    EXPECT_ERRNO(statx_call(9999, "f", 0, STATX_SIZE, &x), EBADF);
}

TEST(statx_takes_a_null_name_for_empty)
{
    struct statx x;
    int fd = make_file("f", "hello");
    if (statx_call(fd, NULL, AT_EMPTY_PATH, STATX_SIZE, &x) != 0 && errno == EFAULT)
        SKIP("older than Linux 6.11");
    EXPECT_EQ(x.stx_size, 5);
    EXPECT_EQ(statx_call(AT_FDCWD, NULL, AT_EMPTY_PATH, STATX_TYPE, &x), 0);
    EXPECT_TRUE(S_ISDIR(x.stx_mode));
}

TEST(ctime_moves_with_every_change)
{
    struct stat before, after;
    struct timespec ms = {0, 20000000};
    int fd = make_file("f", "x");
    EXPECT_EQ(fstat(fd, &before), 0);
    nanosleep(&ms, NULL);
    EXPECT_EQ(fchmod(fd, 0600), 0);
    EXPECT_EQ(fstat(fd, &after), 0);
    EXPECT_TRUE(after.st_ctim.tv_nsec != before.st_ctim.tv_nsec);
    EXPECT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
    nanosleep(&ms, NULL);
    EXPECT_EQ(link("f", "g"), 0);
    EXPECT_EQ(fstat(fd, &before), 0);
    EXPECT_TRUE(after.st_ctim.tv_nsec != before.st_ctim.tv_nsec);
}

/* ---- access ---- */

TEST(access_asks_for_existence)
{
    close(make_file("f", "x"));
    ASSERT_EQ(symlink("nowhere", "dangling"), 0);
    EXPECT_EQ(access("f", F_OK), 0);
    EXPECT_ERRNO(access("missing", F_OK), ENOENT);
    EXPECT_ERRNO(access("dangling", F_OK), ENOENT);
    EXPECT_EQ(syscall(SYS_faccessat2, AT_FDCWD, "dangling", F_OK, AT_SYMLINK_NOFOLLOW), 0);
    EXPECT_ERRNO(access("f", 8), EINVAL);
    EXPECT_ERRNO(access("f", -1), EINVAL);
    EXPECT_ERRNO(access("", F_OK), ENOENT);
    EXPECT_ERRNO(syscall(SYS_access, NULL, F_OK), EFAULT);
    EXPECT_ERRNO(syscall(SYS_faccessat2, AT_FDCWD, "f", F_OK, 0x8), EINVAL);
}

TEST(access_asks_for_permission)
{
    close(make_file("f", "x"));
    ASSERT_EQ(chmod("f", 0400), 0);
    EXPECT_EQ(access("f", R_OK), 0);
    EXPECT_ERRNO(access("f", X_OK), EACCES);
    if (geteuid() == 0)
        return;
    EXPECT_ERRNO(access("f", W_OK), EACCES);
    EXPECT_ERRNO(access("f", R_OK | W_OK), EACCES);
    ASSERT_EQ(mkdir("d", 0), 0);
    EXPECT_ERRNO(access("d/x", F_OK), EACCES);
    EXPECT_ERRNO(access("/bin/sh", W_OK), EACCES);
}

TEST(access_asks_for_the_real_user)
{
    if (geteuid() != 0)
        SKIP("needs root");
    close(make_file("f", "x"));
    ASSERT_EQ(chmod(".", 0755), 0);
    ASSERT_EQ(chmod("f", 0600), 0);
    ASSERT_EQ(syscall(SYS_setresuid, 1000, 0, 0), 0);
    EXPECT_ERRNO(access("f", R_OK), EACCES);
    EXPECT_EQ(syscall(SYS_faccessat2, AT_FDCWD, "f", R_OK, 0x200), 0); /* AT_EACCESS */
}

TEST(faccessat2_of_a_descriptor)
{
    int fd = make_file("f", "x");
    EXPECT_EQ(syscall(SYS_faccessat2, fd, "", R_OK, AT_EMPTY_PATH), 0);
    EXPECT_ERRNO(syscall(SYS_faccessat2, fd, "", R_OK, 0), ENOENT);
    EXPECT_ERRNO(syscall(SYS_faccessat2, 9999, "f", R_OK, 0), EBADF);
}

/* ---- readlink ---- */

TEST(readlink_gives_the_text)
{
    char buffer[16];
    memset(buffer, '#', sizeof(buffer));
    ASSERT_EQ(symlink("some/where", "link"), 0);
    EXPECT_EQ(readlink("link", buffer, sizeof(buffer)), 10);
    EXPECT_EQ(memcmp(buffer, "some/where######", 16), 0);
    EXPECT_EQ(readlink("link", buffer, 4), 4);
    EXPECT_EQ(readlinkat(AT_FDCWD, "link", buffer, 4), 4);
}

TEST(readlink_errors)
{
    char buffer[16];
    int fd = make_file("f", "x");
    ASSERT_EQ(symlink("f", "link"), 0);
    EXPECT_ERRNO(readlink("f", buffer, 16), EINVAL);
    EXPECT_ERRNO(readlink(".", buffer, 16), EINVAL);
    EXPECT_ERRNO(readlink("missing", buffer, 16), ENOENT);
    EXPECT_ERRNO(readlink("", buffer, 16), ENOENT);
    EXPECT_ERRNO(syscall(SYS_readlink, "link", buffer, 0), EINVAL);
    EXPECT_ERRNO(syscall(SYS_readlink, "link", buffer, -1), EINVAL);
    EXPECT_ERRNO(syscall(SYS_readlink, "link", NULL, 16), EFAULT);
    EXPECT_ERRNO(readlinkat(fd, "", buffer, 16), ENOENT);
    EXPECT_ERRNO(readlinkat(9999, "link", buffer, 16), EBADF);
}

TEST(a_look_into_a_link_moves_its_access_time)
{
    struct stat st;
    char text[8];
    struct timespec times[2] = {{1000, 0}, {2000, 0}};
    make_file("f", "");
    ASSERT_EQ(symlink("f", "l"), 0);
    ASSERT_EQ(utimensat(AT_FDCWD, "l", times, AT_SYMLINK_NOFOLLOW), 0);
    ASSERT_EQ(stat("l", &st), 0);
    ASSERT_EQ(lstat("l", &st), 0);
    EXPECT_GT(st.st_atime, 1000);
    ASSERT_EQ(utimensat(AT_FDCWD, "l", times, AT_SYMLINK_NOFOLLOW), 0);
    EXPECT_EQ(readlink("l", text, sizeof(text)), 1);
    ASSERT_EQ(lstat("l", &st), 0);
    EXPECT_GT(st.st_atime, 1000);
}

/* ---- statfs ---- */

TEST(statfs_tells_of_the_file_system)
{
    struct statfs a, b;
    int fd = make_file("f", "x");
    EXPECT_EQ(statfs("f", &a), 0);
    EXPECT_EQ(fstatfs(fd, &b), 0);
    EXPECT_EQ(a.f_type, b.f_type);
    EXPECT_GT(a.f_bsize, 0);
    EXPECT_GT(a.f_blocks, 0);
    EXPECT_LE(a.f_bavail, a.f_blocks);
    EXPECT_EQ(a.f_namelen, 255);
    EXPECT_EQ(statfs("/proc", &a), 0);
    EXPECT_EQ(a.f_type, 0x9fa0);
    EXPECT_ERRNO(statfs("missing", &a), ENOENT);
    EXPECT_ERRNO(statfs("", &a), ENOENT);
    EXPECT_ERRNO(fstatfs(-1, &a), EBADF);
    EXPECT_ERRNO(syscall(SYS_statfs, "f", NULL), EFAULT);
}

TEST(statfs_of_files_without_a_name)
{
    struct statfs st;
    int pipes[2], sockets[2];
    ASSERT_EQ(pipe(pipes), 0);
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    EXPECT_EQ(fstatfs(pipes[0], &st), 0);
    EXPECT_EQ(st.f_type, PIPEFS_MAGIC);
    EXPECT_EQ(fstatfs(sockets[0], &st), 0);
    EXPECT_EQ(st.f_type, SOCKFS_MAGIC);
    EXPECT_EQ(fstatfs(eventfd(0, 0), &st), 0);
    EXPECT_EQ(st.f_type, ANON_INODE_FS_MAGIC);
}
