// SPDX-License-Identifier: Apache-2.0
/*
 * What image_directory_complete() makes of directories with systems of several kinds, and of
 * hostile ones.
 */
#include "tests/unit/fs_support.h"

#include "kernel/fs/image/directory.h"
#include "kernel/fs/image/place.h"

#include <sys/stat.h>

#define HOSTS                                                               \
    "127.0.0.1\tlocalhost box\n::1\tlocalhost ip6-localhost ip6-loopback\n" \
    "ff02::1\tip6-allnodes\nff02::2\tip6-allrouters\n"
#define RESOLVER "nameserver 127.0.0.53\n"

static int complete(const char *hostname)
{
    const struct image_options o = {
        .hostname = hostname, .user_name = "user", .uid = 1000, .gid = 1000};
    fs_start_over("lower");
    return image_directory_complete(&o, fs_root_super);
}

static void expect_names(void)
{
    EXPECT_STR(fs_read_file("etc/hostname"), "box\n");
    EXPECT_STR(fs_read_file("etc/hosts"), HOSTS);
    EXPECT_STR(fs_read_file("etc/resolv.conf"), RESOLVER);
}

static void expect_directory(const char *name, mode_t mode, uid_t uid)
{
    struct stat st = {0};
    ASSERT_EQ(fs_lstat(name, &st), 0);
    EXPECT_EQ(st.st_mode, S_IFDIR | mode);
    EXPECT_EQ(st.st_uid, uid);
}

/* A folder of the image with these users and groups; NULL: no such file. */
static void image(const char *passwd, const char *group)
{
    mkdir("lower", 0755);
    mkdir("lower/etc", 0755);
    if (passwd)
        host_write("lower/etc/passwd", passwd);
    if (group)
        host_write("lower/etc/group", group);
}

TEST(nothing_but_a_directory)
{
    mkdir("lower", 0755);
    ASSERT_EQ(complete("box"), 0);
    expect_names();
    expect_directory("proc", 0555, 0);
    expect_directory("sys", 0555, 0);
    expect_directory("dev", 0755, 0);
    expect_directory("tmp", 01777, 0);
    expect_directory("home/user", 0755, 1000);
    EXPECT_STR(fs_read_file("etc/passwd"), "root:*:0:0:root:/root:/bin/sh\n"
                                           "user:*:1000:1000::/home/user:/bin/sh\n");
    EXPECT_STR(fs_read_file("etc/group"), "root:x:0:\nuser:x:1000:\n");
    EXPECT_EQ(access("lower/etc", F_OK), -1);
}

TEST(a_system_keeps_what_it_has)
{
    image("root:x:0:0:root:/root:/bin/bash\nwww:x:33:33::/:/bin/false", "root:x:0:\n");
    host_write("lower/etc/hosts", "192.0.2.1 elsewhere\n");
    host_write("lower/etc/resolv.conf", "nameserver 192.0.2.53\n");
    host_write("lower/etc/other", "kept");
    mkdir("lower/tmp", 0700);
    mkdir("lower/bin", 0755);
    host_write("lower/tmp/file", "kept too");
    host_write("lower/bin/bash", "");
    ASSERT_EQ(complete("box"), 0);
    expect_names();
    EXPECT_STR(fs_read_file("etc/other"), "kept");
    fs_user = fs_super;
    EXPECT_STR(fs_read_file("tmp/file"), "kept too");
    expect_directory("tmp", 0700, 0);
    EXPECT_STR(fs_read_file("etc/passwd"), "root:x:0:0:root:/root:/bin/bash\n"
                                           "www:x:33:33::/:/bin/false\n"
                                           "user:*:1000:1000::/home/user:/bin/bash\n");
    EXPECT_STR(fs_read_file("etc/group"), "root:x:0:\nuser:x:1000:\n");
}

TEST(the_number_is_somebody_elses)
{
    static const char passwd[] = "root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000::/home/node:\n";
    image(passwd, "node:x:1000:\n");
    ASSERT_EQ(complete("box"), 0);
    EXPECT_STR(fs_read_file("etc/passwd"), passwd);
    EXPECT_STR(fs_read_file("etc/group"), "node:x:1000:\n");
    expect_directory("home/user", 0755, 1000);
}

TEST(the_name_is_there)
{
    static const char passwd[] = "user:x:1234:1234::/srv/user:/bin/sh\n";
    image(passwd, NULL);
    ASSERT_EQ(complete("box"), 0);
    EXPECT_STR(fs_read_file("etc/passwd"), passwd);
    EXPECT_TRUE(!image_has("/home"));
    EXPECT_TRUE(!image_has("/etc/group"));
}

/* None of these lines is one of "user" or of 1000. */
TEST(lines_that_only_look_like_it)
{
#define LOOKALIKES "user2:x:1:1::/:\nx:user:2:1000::/:\n1000:x:10001:3::/:\n\nuse\n"
    image(LOOKALIKES, "");
    ASSERT_EQ(complete("box"), 0);
    EXPECT_STR(fs_read_file("etc/passwd"), LOOKALIKES "user:*:1000:1000::/home/user:/bin/sh\n");
    EXPECT_STR(fs_read_file("etc/group"), "user:x:1000:\n");
}

TEST(files_that_can_not_be_taken_whole_are_left)
{
    static char large[300 * 1024];
    memset(large, '#', sizeof(large) - 1);
    image(large, NULL);
    FILE *group = fopen("lower/etc/group", "w");
    ASSERT_TRUE(group);
    fwrite("root:x:0:\0\n", 1, 11, group);
    fclose(group);
    ASSERT_EQ(complete("box"), 0);
    struct stat st = {0};
    ASSERT_EQ(fs_stat("etc/passwd", &st), 0);
    EXPECT_EQ(st.st_size, (off_t)sizeof(large) - 1);
    ASSERT_EQ(fs_stat("etc/group", &st), 0);
    EXPECT_EQ(st.st_size, 11);
    expect_names();
}

TEST(sudo_asks_for_nothing)
{
    image("user:x:1000:1000::/home/user:/bin/sh\n", NULL);
    mkdir("lower/etc/sudoers.d", 0755);
    ASSERT_EQ(complete("box"), 0);
    fs_user = fs_super;
    EXPECT_STR(fs_read_file("etc/sudoers.d/glovebox"), "#1000 ALL=(ALL:ALL) NOPASSWD: ALL\n");
}

/* ---- links, and what is in the way ---- */

TEST(links_of_the_image_are_followed_within_it)
{
    mkdir("lower", 0755);
    mkdir("lower/usr", 0755);
    mkdir("lower/usr/etc", 0755);
    mkdir("lower/var", 0755);
    mkdir("lower/var/tmp", 0755);
    ASSERT_EQ(symlink("usr/etc", "lower/etc"), 0);
    ASSERT_EQ(symlink("/var/tmp", "lower/tmp"), 0);
    ASSERT_EQ(
        symlink("../../../../run/systemd/resolve/stub-resolv.conf", "lower/usr/etc/resolv.conf"),
        0);
    ASSERT_EQ(complete("box"), 0);
    expect_names();
    EXPECT_STR(fs_read_file("usr/etc/hosts"), HOSTS);
    EXPECT_STR(fs_list("usr/etc"), "hostname hosts resolv.conf passwd group");
    struct stat st = {0};
    ASSERT_EQ(fs_lstat("tmp", &st), 0);
    EXPECT_TRUE(S_ISLNK(st.st_mode));
}

/* What is mounted on a link would be mounted where it leads. */
TEST(mount_points_are_directories)
{
    mkdir("lower", 0755);
    mkdir("lower/usr", 0755);
    host_write("lower/sys", "a file");
    ASSERT_EQ(symlink("usr", "lower/proc"), 0);
    ASSERT_EQ(symlink("nowhere", "lower/tmp"), 0);
    ASSERT_EQ(symlink("dev", "lower/dev"), 0);
    ASSERT_EQ(complete("box"), 0);
    expect_directory("proc", 0555, 0);
    expect_directory("sys", 0555, 0);
    expect_directory("dev", 0755, 0);
    expect_directory("tmp", 01777, 0);
}

TEST(an_etc_that_is_none)
{
    mkdir("lower", 0755);
    host_write("lower/etc", "a file");
    ASSERT_EQ(symlink("/etc", "lower/home"), 0);
    ASSERT_EQ(complete("box"), 0);
    EXPECT_STR(fs_read_file("etc"), "a file");
    expect_directory("tmp", 01777, 0);
}

TEST(links_without_end)
{
    image(NULL, NULL);
    ASSERT_EQ(symlink("passwd", "lower/etc/passwd"), 0);
    ASSERT_EQ(symlink("b", "lower/home"), 0);
    ASSERT_EQ(symlink("home", "lower/b"), 0);
    ASSERT_EQ(complete("box"), 0);
    expect_names();
    EXPECT_EQ(fs_try_open("etc/passwd", 0, 0), -ELOOP);
}

TEST(a_host_name_with_lines_in_it_is_refused)
{
    mkdir("lower", 0755);
    EXPECT_EQ(complete("box\n192.0.2.1 example.org"), -EINVAL);
    EXPECT_EQ(complete(""), -EINVAL);
}
