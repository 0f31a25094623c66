// SPDX-License-Identifier: Apache-2.0
/* mkdir(2), unlink(2), rename(2), link(2), symlink(2), mknod(2), chdir(2), getcwd(2), umask(2). */
#include "tests/sys/files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

static ino_t inode_of(const char *name)
{
    struct stat st;
    return lstat(name, &st) == 0 ? st.st_ino : 0;
}

static nlink_t links_of(const char *name)
{
    struct stat st;
    return lstat(name, &st) == 0 ? st.st_nlink : 0;
}

static const char *long_name(void)
{
    static char name[257];
    memset(name, 'n', 256);
    return name;
}

/* ---- directories ---- */

TEST(mkdir_makes_a_directory)
{
    struct stat st;
    umask(027);
    EXPECT_EQ(mkdir("d", 0777), 0);
    EXPECT_EQ(stat("d", &st), 0);
    EXPECT_EQ(st.st_mode, S_IFDIR | 0750);
    EXPECT_EQ(mkdir("d/e/", 0777), 0);
    int fd = open("d", O_RDONLY);
    EXPECT_EQ(mkdirat(fd, "f", 0777), 0);
    EXPECT_EQ(access("d/f", F_OK), 0);
}

TEST(mkdir_errors)
{
    close(make_file("f", "x"));
    ASSERT_EQ(mkdir("d", 0755), 0);
    ASSERT_EQ(symlink("nowhere", "dangling"), 0);
    EXPECT_ERRNO(mkdir("d", 0755), EEXIST);
    EXPECT_ERRNO(mkdir("f", 0755), EEXIST);
    EXPECT_ERRNO(mkdir("dangling", 0755), EEXIST);
    EXPECT_ERRNO(mkdir("/", 0755), EEXIST);
    EXPECT_ERRNO(mkdir(".", 0755), EEXIST);
    EXPECT_ERRNO(mkdir("", 0755), ENOENT);
    EXPECT_ERRNO(mkdir("missing/d", 0755), ENOENT);
    EXPECT_ERRNO(mkdir("f/d", 0755), ENOTDIR);
    EXPECT_ERRNO(mkdir(long_name(), 0755), ENAMETOOLONG);
    EXPECT_ERRNO(syscall(SYS_mkdir, NULL, 0755), EFAULT);
    EXPECT_ERRNO(mkdirat(9999, "e", 0755), EBADF);
    if (geteuid() == 0)
        return;
    ASSERT_EQ(chmod("d", 0500), 0);
    EXPECT_ERRNO(mkdir("d/e", 0755), EACCES);
}

TEST(a_directory_with_set_group_id_hands_it_on)
{
    struct stat st;
    ASSERT_EQ(mkdir("d", 0755), 0);
    ASSERT_EQ(chmod("d", 02755), 0);
    ASSERT_EQ(mkdir("d/e", 0755), 0);
    EXPECT_EQ(stat("d/e", &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 02755);
}

TEST(link_counts_of_directories)
{
    ASSERT_EQ(mkdir("d", 0755), 0);
    nlink_t before = links_of("d");
    ASSERT_EQ(mkdir("d/e", 0755), 0);
    nlink_t after = links_of("d");
    EXPECT_TRUE(after == before + 1 || (before == 1 && after == 1));
    ASSERT_EQ(rmdir("d/e"), 0);
    EXPECT_EQ(links_of("d"), before);
}

TEST(rmdir_errors)
{
    close(make_file("f", "x"));
    ASSERT_EQ(mkdir("d", 0755), 0);
    ASSERT_EQ(mkdir("d/e", 0755), 0);
    ASSERT_EQ(symlink("d", "link"), 0);
    EXPECT_ERRNO(rmdir("d"), ENOTEMPTY);
    EXPECT_ERRNO(rmdir("f"), ENOTDIR);
    EXPECT_ERRNO(rmdir("link"), ENOTDIR);
    EXPECT_ERRNO(rmdir("missing"), ENOENT);
    EXPECT_ERRNO(rmdir(""), ENOENT);
    EXPECT_ERRNO(rmdir("d/."), EINVAL);
    EXPECT_ERRNO(rmdir("d/e/.."), ENOTEMPTY);
    EXPECT_ERRNO(rmdir("/"), EBUSY);
    EXPECT_EQ(rmdir("d/e/"), 0);
    EXPECT_EQ(rmdir("d"), 0);
}

/* ---- unlink ---- */

TEST(unlink_takes_a_name)
{
    struct stat st;
    int fd = make_file("f", "x");
    ASSERT_EQ(link("f", "g"), 0);
    EXPECT_EQ(unlink("f"), 0);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(st.st_nlink, 1);
    EXPECT_EQ(unlink("g"), 0);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(st.st_nlink, 0);
    EXPECT_ERRNO(unlink("g"), ENOENT);
}

TEST(unlink_errors)
{
    close(make_file("f", "x"));
    ASSERT_EQ(mkdir("d", 0755), 0);
    EXPECT_ERRNO(unlink("d"), EISDIR);
    EXPECT_ERRNO(unlink("f/"), ENOTDIR);
    EXPECT_ERRNO(unlink(""), ENOENT);
    EXPECT_ERRNO(unlink("d/."), EISDIR);
    EXPECT_ERRNO(unlinkat(AT_FDCWD, "f", 0x8), EINVAL);
    EXPECT_ERRNO(unlinkat(AT_FDCWD, "f", AT_REMOVEDIR), ENOTDIR);
    EXPECT_EQ(unlinkat(AT_FDCWD, "d", AT_REMOVEDIR), 0);
    EXPECT_ERRNO(unlinkat(9999, "f", 0), EBADF);
}

TEST(unlink_of_a_link_leaves_its_target)
{
    close(make_file("f", "x"));
    ASSERT_EQ(symlink("f", "link"), 0);
    EXPECT_EQ(unlink("link"), 0);
    EXPECT_EQ(access("f", F_OK), 0);
}

TEST(the_sticky_bit_protects_others_files)
{
    int status;
    if (geteuid() != 0)
        SKIP("needs root");
    ASSERT_EQ(chmod(".", 0755), 0);
    ASSERT_EQ(mkdir("d", 0755), 0);
    ASSERT_EQ(chmod("d", 01777), 0);
    close(make_file("d/f", "x"));
    pid_t pid = fork();
    if (pid == 0) {
        if (setresuid(1000, 1000, 1000) != 0)
            _exit(9);
        int bad = unlink("d/f") == 0 || errno != EPERM;
        bad |= rename("d/f", "d/g") == 0 || errno != EPERM;
        _exit(bad);
    }
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

/* ---- rename ---- */

TEST(rename_moves_and_replaces)
{
    close(make_file("a", "x"));
    close(make_file("b", "y"));
    ino_t a = inode_of("a");
    EXPECT_EQ(rename("a", "b"), 0);
    EXPECT_EQ(inode_of("b"), a);
    EXPECT_EQ(inode_of("a"), 0);
    ASSERT_EQ(mkdir("d", 0755), 0);
    EXPECT_EQ(rename("b", "d/c"), 0);
    EXPECT_EQ(inode_of("d/c"), a);
    EXPECT_EQ(rename("d/c", "d/c"), 0);
}

TEST(rename_of_directories)
{
    ASSERT_EQ(mkdir("a", 0755), 0);
    ASSERT_EQ(mkdir("a/sub", 0755), 0);
    ASSERT_EQ(mkdir("empty", 0755), 0);
    ASSERT_EQ(mkdir("full", 0755), 0);
    close(make_file("full/f", "x"));
    close(make_file("file", "x"));
    EXPECT_ERRNO(rename("a", "full"), ENOTEMPTY);
    EXPECT_ERRNO(rename("a", "file"), ENOTDIR);
    EXPECT_ERRNO(rename("file", "empty"), EISDIR);
    EXPECT_ERRNO(rename("a", "a/sub/x"), EINVAL);
    EXPECT_ERRNO(rename("a/sub", "a"), ENOTEMPTY);
    EXPECT_EQ(rename("a", "empty"), 0);
    EXPECT_EQ(access("empty/sub", F_OK), 0);
    EXPECT_EQ(rename("empty/", "again/"), 0);
    EXPECT_EQ(access("again/sub", F_OK), 0);
}

TEST(rename_errors)
{
    close(make_file("f", "x"));
    ASSERT_EQ(mkdir("d", 0755), 0);
    EXPECT_ERRNO(rename("missing", "x"), ENOENT);
    EXPECT_ERRNO(rename("f", "missing/x"), ENOENT);
    EXPECT_ERRNO(rename("f", "f/x"), ENOTDIR);
    EXPECT_ERRNO(rename("f/", "g"), ENOTDIR);
    EXPECT_ERRNO(rename("f", "g/"), ENOTDIR);
    EXPECT_ERRNO(rename("", "g"), ENOENT);
    EXPECT_ERRNO(rename("f", ""), ENOENT);
    EXPECT_ERRNO(rename(".", "x"), EBUSY);
    EXPECT_ERRNO(rename("d/..", "x"), EBUSY);
    EXPECT_ERRNO(rename("f", long_name()), ENAMETOOLONG);
    EXPECT_ERRNO(renameat(9999, "f", AT_FDCWD, "g"), EBADF);
}

/* The directory that the old name is in is found before the new name is looked at; the old name
 * itself is looked for after that. */
TEST(rename_finds_the_old_directory_first)
{
    close(make_file("f", "x"));
    EXPECT_ERRNO(rename("f/x", ""), ENOTDIR);
    EXPECT_ERRNO(rename("f/x", (char *)8), ENOTDIR);
    EXPECT_ERRNO(rename("f/x", long_name()), ENOTDIR);
    EXPECT_ERRNO(renameat(AT_FDCWD, "f/x", 9999, "g"), ENOTDIR);
    EXPECT_ERRNO(renameat(AT_FDCWD, "missing/x", 9999, "g"), ENOENT);
    EXPECT_ERRNO(renameat(AT_FDCWD, "missing", 9999, "g"), EBADF);
    EXPECT_ERRNO(rename("missing", (char *)8), EFAULT);
    EXPECT_ERRNO(rename("", (char *)8), ENOENT);
}

TEST(rename_onto_another_name_of_the_same_file_does_nothing)
{
    close(make_file("a", "x"));
    ASSERT_EQ(link("a", "b"), 0);
    EXPECT_EQ(rename("a", "b"), 0);
    EXPECT_NE(inode_of("a"), 0);
    EXPECT_NE(inode_of("b"), 0);
}

TEST(rename_of_a_link_moves_the_link)
{
    struct stat st;
    close(make_file("f", "x"));
    ASSERT_EQ(symlink("f", "link"), 0);
    EXPECT_EQ(rename("link", "moved"), 0);
    EXPECT_EQ(lstat("moved", &st), 0);
    EXPECT_TRUE(S_ISLNK(st.st_mode));
    EXPECT_EQ(access("f", F_OK), 0);
}

TEST(renameat2_flags)
{
    close(make_file("a", "x"));
    close(make_file("b", "y"));
    ASSERT_EQ(mkdir("d", 0755), 0);
    ino_t a = inode_of("a"), b = inode_of("b"), d = inode_of("d");
    EXPECT_ERRNO(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_NOREPLACE), EEXIST);
    EXPECT_EQ(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_EXCHANGE), 0);
    EXPECT_EQ(inode_of("a"), b);
    EXPECT_EQ(inode_of("b"), a);
    EXPECT_EQ(renameat2(AT_FDCWD, "a", AT_FDCWD, "d", RENAME_EXCHANGE), 0);
    EXPECT_EQ(inode_of("a"), d);
    EXPECT_EQ(inode_of("d"), b);
    EXPECT_ERRNO(renameat2(AT_FDCWD, "a", AT_FDCWD, "missing", RENAME_EXCHANGE), ENOENT);
    EXPECT_ERRNO(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_EXCHANGE | RENAME_NOREPLACE),
                 EINVAL);
    EXPECT_ERRNO(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", 0x100), EINVAL);
    EXPECT_EQ(renameat2(AT_FDCWD, "a", AT_FDCWD, "new", RENAME_NOREPLACE), 0);
}

TEST(an_open_file_keeps_what_rename_replaced)
{
    char c = 0;
    int old = make_file("a", "old");
    close(make_file("b", "new"));
    EXPECT_EQ(rename("b", "a"), 0);
    EXPECT_EQ(pread(old, &c, 1, 0), 1);
    EXPECT_EQ(c, 'o');
}

/* ---- links ---- */

TEST(hard_links)
{
    close(make_file("f", "x"));
    ASSERT_EQ(symlink("f", "soft"), 0);
    EXPECT_EQ(link("f", "g"), 0);
    EXPECT_EQ(inode_of("f"), inode_of("g"));
    EXPECT_EQ(links_of("f"), 2);
    EXPECT_EQ(link("soft", "soft2"), 0);
    EXPECT_EQ(inode_of("soft2"), inode_of("soft"));
    EXPECT_EQ(linkat(AT_FDCWD, "soft", AT_FDCWD, "hard", AT_SYMLINK_FOLLOW), 0);
    EXPECT_EQ(inode_of("hard"), inode_of("f"));
    EXPECT_EQ(links_of("f"), 3);
}

TEST(link_errors)
{
    close(make_file("f", "x"));
    ASSERT_EQ(mkdir("d", 0755), 0);
    EXPECT_ERRNO(link("missing", "g"), ENOENT);
    EXPECT_ERRNO(link("f", "f"), EEXIST);
    EXPECT_ERRNO(link("f", "d"), EEXIST);
    EXPECT_ERRNO(link("d", "e"), EPERM);
    EXPECT_ERRNO(link("f", "missing/g"), ENOENT);
    EXPECT_ERRNO(link("f/", "g"), ENOTDIR);
    EXPECT_ERRNO(link("f", "g/"), ENOENT);
    EXPECT_ERRNO(link("", "g"), ENOENT);
    EXPECT_ERRNO(link("f", "/dev/shm/glovebox-test-link"), EXDEV);
    EXPECT_ERRNO(linkat(AT_FDCWD, "f", AT_FDCWD, "g", 0x8), EINVAL);
}

TEST(linkat_of_a_descriptor_is_for_the_privileged)
{
    int fd = make_file("f", "x");
    if (geteuid() == 0) {
        EXPECT_EQ(linkat(fd, "", AT_FDCWD, "g", AT_EMPTY_PATH), 0);
        EXPECT_EQ(inode_of("g"), inode_of("f"));
    }
    EXPECT_ERRNO(linkat(fd, "", AT_FDCWD, "h", 0), ENOENT);
}

/* /proc/sys/fs/protected_hardlinks, proc(5). */
static const struct {
    const char *name;
    mode_t mode;
    uid_t owner;
    int error; /* of link(2) by user 1000 */
} link_sources[] = {
    {"private", S_IFREG | 0600, 0, EPERM},
    {"readable", S_IFREG | 0644, 0, EPERM},
    {"writable", S_IFREG | 0666, 0, 0},
    {"set-user-ID", S_IFREG | 04777, 0, EPERM},
    {"set-group-ID", S_IFREG | 02777, 0, EPERM},
    {"locked", S_IFREG | 02767, 0, 0},
    {"pipe", S_IFIFO | 0666, 0, EPERM},
    {"own", S_IFREG | 0400, 1000, 0},
    {"own-set-user-ID", S_IFREG | 04777, 1000, 0},
    {"own-pipe", S_IFIFO | 0600, 1000, 0},
};

static int link_all(void)
{
    char to[64];
    int bad = 0;
    if (setresgid(1000, 1000, 1000) != 0 || setresuid(1000, 1000, 1000) != 0)
        return 99;
    for (size_t i = 0; i < sizeof(link_sources) / sizeof(*link_sources); i++) {
        snprintf(to, sizeof(to), "d/%s", link_sources[i].name);
        int error = link(link_sources[i].name, to) == 0 ? 0 : errno;
        if (error != link_sources[i].error) {
            printf("  %s: %d, not %d\n", to, error, link_sources[i].error);
            bad++;
        }
    }
    /* The name is looked at first, and the directory's permission last. */
    bad += link("private", "d/own") == 0 || errno != EEXIST;
    bad += link("private", "closed/new") == 0 || errno != EPERM;
    bad += link("own", "closed/new") == 0 || errno != EACCES;
    bad += link("link", "d/link") == 0 || errno != EPERM;
    return bad;
}

TEST(link_to_a_file_of_somebody_else)
{
    int status;
    if (geteuid() != 0)
        SKIP("needs root");
    FILE *f = fopen("/proc/sys/fs/protected_hardlinks", "r");
    ASSERT_TRUE(f != NULL);
    int protected = fgetc(f);
    fclose(f);
    if (protected != '1')
        SKIP("this machine's fs.protected_hardlinks is off");
    ASSERT_EQ(chmod(".", 0755), 0);
    ASSERT_EQ(mkdir("d", 0755), 0);
    ASSERT_EQ(chmod("d", 0777), 0);
    ASSERT_EQ(mkdir("closed", 0755), 0);
    ASSERT_EQ(symlink("nowhere", "link"), 0);
    for (size_t i = 0; i < sizeof(link_sources) / sizeof(*link_sources); i++) {
        ASSERT_EQ(mknod(link_sources[i].name, link_sources[i].mode, 0), 0);
        ASSERT_EQ(chown(link_sources[i].name, link_sources[i].owner, 0), 0);
        ASSERT_EQ(chmod(link_sources[i].name, link_sources[i].mode & 07777), 0);
    }
    EXPECT_EQ(link("own", "d/of-root"), 0);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int bad = link_all();
        fflush(stdout);
        _exit(bad);
    }
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

TEST(symbolic_links)
{
    char buffer[PATH_MAX], longest[PATH_MAX];
    EXPECT_EQ(symlink("anything at all", "link"), 0);
    EXPECT_EQ(readlink("link", buffer, sizeof(buffer)), 15);
    EXPECT_ERRNO(symlink("x", "link"), EEXIST);
    EXPECT_ERRNO(symlink("", "empty"), ENOENT);
    EXPECT_ERRNO(symlink("x", ""), ENOENT);
    EXPECT_ERRNO(symlink("x", "missing/link"), ENOENT);
    EXPECT_ERRNO(symlink("x", "link/y"), ENOENT);
    memset(longest, 'x', sizeof(longest));
    longest[PATH_MAX - 1] = '\0';
    EXPECT_EQ(symlink(longest, "long"), 0);
    EXPECT_EQ(readlink("long", buffer, sizeof(buffer)), PATH_MAX - 1);
    EXPECT_EQ(symlinkat("target", AT_FDCWD, "at"), 0);
    EXPECT_ERRNO(symlinkat("target", 9999, "bad"), EBADF);
}

/* ---- mknod ---- */

TEST(mknod_makes_files_fifos_and_sockets)
{
    struct stat st;
    umask(0);
    EXPECT_EQ(mknod("file", 0640, 0), 0);
    EXPECT_EQ(stat("file", &st), 0);
    EXPECT_EQ(st.st_mode, S_IFREG | 0640);
    EXPECT_EQ(mknod("fifo", S_IFIFO | 0600, 0), 0);
    EXPECT_EQ(stat("fifo", &st), 0);
    EXPECT_EQ(st.st_mode, S_IFIFO | 0600);
    EXPECT_EQ(mknod("socket", S_IFSOCK | 0600, 0), 0);
    EXPECT_EQ(stat("socket", &st), 0);
    EXPECT_TRUE(S_ISSOCK(st.st_mode));
    EXPECT_ERRNO(mknod("file", 0640, 0), EEXIST);
    EXPECT_ERRNO(mknod("d", S_IFDIR | 0700, 0), EPERM);
    EXPECT_ERRNO(mknod("l", S_IFLNK | 0700, 0), EINVAL);
}

/* The character device 0:0 of overlay file systems leads to nothing. */
TEST(anybody_may_make_a_whiteout)
{
    struct stat st;
    EXPECT_EQ(mknod("whiteout", S_IFCHR | 0600, 0), 0);
    EXPECT_EQ(lstat("whiteout", &st), 0);
    EXPECT_TRUE(S_ISCHR(st.st_mode));
    EXPECT_EQ(st.st_rdev, 0);
    EXPECT_ERRNO(mknod("whiteout", S_IFCHR | 0600, 0), EEXIST);
    EXPECT_EQ(unlink("whiteout"), 0);
}

TEST(devices_are_not_for_programs_to_make)
{
    if (geteuid() == 0)
        SKIP("root may");
    EXPECT_ERRNO(mknod("null", S_IFCHR | 0666, makedev(1, 3)), EPERM);
    EXPECT_ERRNO(mknod("disk", S_IFBLK | 0666, makedev(8, 0)), EPERM);
}

TEST(a_device_that_root_makes_leads_nowhere)
{
    struct stat st;
    if (geteuid() != 0 || !harness_is_inside())
        SKIP("only for the sandbox's root");
    EXPECT_EQ(mknod("disk", S_IFBLK | 0600, makedev(8, 0)), 0);
    EXPECT_EQ(stat("disk", &st), 0);
    EXPECT_TRUE(S_ISBLK(st.st_mode));
    EXPECT_EQ(st.st_rdev, makedev(8, 0));
    EXPECT_ERRNO(open("disk", O_RDONLY), ENXIO);
    EXPECT_EQ(mknod("null", S_IFCHR | 0600, makedev(1, 3)), 0);
    EXPECT_ERRNO(open("null", O_RDWR), ENXIO);
}

/* ---- where a process stands ---- */

TEST(chdir_and_getcwd)
{
    char before[PATH_MAX], after[PATH_MAX], expected[PATH_MAX + 4];
    ASSERT_TRUE(getcwd(before, sizeof(before)) != NULL);
    ASSERT_EQ(mkdir("d", 0755), 0);
    EXPECT_EQ(chdir("d"), 0);
    ASSERT_TRUE(getcwd(after, sizeof(after)) != NULL);
    snprintf(expected, sizeof(expected), "%s/d", before);
    EXPECT_STR(after, expected);
    EXPECT_EQ(chdir(".."), 0);
    ASSERT_TRUE(getcwd(after, sizeof(after)) != NULL);
    EXPECT_STR(after, before);
    EXPECT_EQ(chdir("/"), 0);
    EXPECT_EQ(syscall(SYS_getcwd, after, sizeof(after)), 2);
    EXPECT_STR(after, "/");
    EXPECT_EQ(chdir("/.."), 0);
    EXPECT_EQ(syscall(SYS_getcwd, after, sizeof(after)), 2);
}

TEST(getcwd_needs_room)
{
    char buffer[PATH_MAX];
    long size = syscall(SYS_getcwd, buffer, sizeof(buffer));
    EXPECT_EQ(size, strlen(buffer) + 1);
    EXPECT_EQ(syscall(SYS_getcwd, buffer, size), size);
    EXPECT_ERRNO(syscall(SYS_getcwd, buffer, size - 1), ERANGE);
    EXPECT_ERRNO(syscall(SYS_getcwd, buffer, 0), ERANGE);
    EXPECT_ERRNO(syscall(SYS_getcwd, NULL, PATH_MAX), EFAULT);
}

TEST(a_working_directory_that_is_removed)
{
    char buffer[PATH_MAX];
    struct stat st;
    ASSERT_EQ(mkdir("d", 0755), 0);
    ASSERT_EQ(chdir("d"), 0);
    ASSERT_EQ(rmdir("../d"), 0);
    EXPECT_ERRNO(syscall(SYS_getcwd, buffer, sizeof(buffer)), ENOENT);
    EXPECT_EQ(stat(".", &st), 0);
    EXPECT_ERRNO(open("f", O_RDWR | O_CREAT, 0600), ENOENT);
    EXPECT_ERRNO(mkdir("e", 0755), ENOENT);
    EXPECT_EQ(chdir(".."), 0);
}

TEST(a_working_directory_that_is_renamed)
{
    char buffer[PATH_MAX];
    ASSERT_EQ(mkdir("d", 0755), 0);
    ASSERT_EQ(chdir("d"), 0);
    ASSERT_EQ(rename("../d", "../e"), 0);
    ASSERT_GT(syscall(SYS_getcwd, buffer, sizeof(buffer)), 0);
    EXPECT_STR(buffer + strlen(buffer) - 2, "/e");
}

TEST(chdir_errors)
{
    int fd = make_file("f", "x");
    EXPECT_ERRNO(chdir("missing"), ENOENT);
    EXPECT_ERRNO(chdir(""), ENOENT);
    EXPECT_ERRNO(chdir("f"), ENOTDIR);
    EXPECT_ERRNO(fchdir(fd), ENOTDIR);
    EXPECT_ERRNO(fchdir(-1), EBADF);
    EXPECT_ERRNO(syscall(SYS_chdir, NULL), EFAULT);
    if (geteuid() == 0)
        return;
    ASSERT_EQ(mkdir("d", 0600), 0);
    EXPECT_ERRNO(chdir("d"), EACCES);
    int d = open("d", O_RDONLY);
    EXPECT_ERRNO(fchdir(d), EACCES);
}

TEST(chroot_is_for_the_privileged)
{
    if (geteuid() == 0)
        SKIP("root may");
    EXPECT_ERRNO(chroot("."), EPERM);
    EXPECT_ERRNO(chroot("missing"), ENOENT);
}

TEST(chroot_moves_the_root)
{
    char buffer[PATH_MAX];
    struct stat st, dot;
    if (geteuid() != 0)
        SKIP("needs root");
    close(make_file("f", "x"));
    ASSERT_EQ(symlink("/f", "link"), 0);
    ASSERT_EQ(stat(".", &dot), 0);
    ASSERT_EQ(chroot("."), 0);
    EXPECT_EQ(stat("/f", &st), 0);
    EXPECT_EQ(stat("link", &st), 0);
    EXPECT_EQ(stat("/../../..", &st), 0);
    EXPECT_EQ(st.st_ino, dot.st_ino);
    EXPECT_EQ(chdir("/"), 0);
    EXPECT_EQ(syscall(SYS_getcwd, buffer, sizeof(buffer)), 2);
}

TEST(umask_is_kept_and_masked)
{
    umask(0);
    EXPECT_EQ(umask(0777), 0);
    EXPECT_EQ(umask(01777 | 0xf000), 0777);
    EXPECT_EQ(umask(022), 0777);
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(umask(0) != 022);
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(umask(0), 022);
}

TEST(deep_trees)
{
    char buffer[PATH_MAX];
    for (int i = 0; i < 200; i++) {
        ASSERT_EQ(mkdir("directory-of-a-tree", 0755), 0);
        ASSERT_EQ(chdir("directory-of-a-tree"), 0);
    }
    ASSERT_GT(syscall(SYS_getcwd, buffer, sizeof(buffer)), 4000);
    for (int i = 0; i < 30; i++) {
        ASSERT_EQ(mkdir("directory-of-a-tree", 0755), 0);
        ASSERT_EQ(chdir("directory-of-a-tree"), 0);
    }
    EXPECT_ERRNO(syscall(SYS_getcwd, buffer, sizeof(buffer)), ENAMETOOLONG);
}
