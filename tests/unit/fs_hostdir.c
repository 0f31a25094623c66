// SPDX-License-Identifier: Apache-2.0
/* Host folders: what is seen and changed, and what the sandbox can't make the host do. */
#include "tests/unit/fs_support.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static void start_with_folder(bool read_only)
{
    struct super *s;
    struct path at;
    mkdir("folder", 0755);
    mkdir("folder/dir", 0755);
    host_write("folder/file", "host");
    host_write("folder/dir/inner", "inner");
    host_write("outside", "secret");
    fs_start();
    ASSERT_EQ(fs_mkdir("m"), 0);
    ASSERT_EQ(walk_path(&fs_user, "m", 0, &at, NULL), 0);
    ASSERT_EQ(hostdir_super_new(host_directory("folder"), read_only, &s), 0);
    ASSERT_EQ(mount_add(s, at, "folder", NULL), 0);
    path_put(&at);
}

static bool host_is(const char *name, const char *text)
{
    char data[64] = "";
    int fd = open(name, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, data, sizeof(data) - 1);
    close(fd);
    return n >= 0 && strcmp(data, text) == 0;
}

TEST(what_the_host_has_is_seen_live)
{
    struct stat st;
    start_with_folder(true);
    EXPECT_STR(fs_read_file("m/file"), "host");
    EXPECT_STR(fs_read_file("m/dir/inner"), "inner");
    EXPECT_EQ(fs_try_open("m/late", O_RDONLY, 0), -ENOENT);
    host_write("folder/late", "late");
    EXPECT_STR(fs_read_file("m/late"), "late");
    host_write("folder/file", "longer than before");
    ASSERT_EQ(fs_stat("m/file", &st), 0);
    EXPECT_EQ(st.st_size, 18);
    EXPECT_EQ(st.st_uid, 1000);
    EXPECT_EQ(st.st_gid, 1000);
    ASSERT_EQ(unlink("folder/file"), 0);
    EXPECT_EQ(fs_stat("m/file", &st), -ENOENT);
    ASSERT_EQ(mkdir("folder/file", 0755), 0);
    ASSERT_EQ(fs_stat("m/file", &st), 0);
    EXPECT_TRUE(S_ISDIR(st.st_mode));
}

TEST(owners_of_the_host_are_not_shown)
{
    struct stat st;
    start_with_folder(true);
    if (geteuid() != 0)
        SKIP("needs root to give a file away");
    ASSERT_EQ(chown("folder/file", 33, 33), 0);
    ASSERT_EQ(fs_stat("m/file", &st), 0);
    EXPECT_EQ(st.st_uid, 65534);
    EXPECT_EQ(st.st_gid, 65534);
}

TEST(read_only_folders)
{
    start_with_folder(true);
    EXPECT_EQ(fs_try_open("m/file", O_WRONLY, 0), -EROFS);
    EXPECT_EQ(fs_try_open("m/file", O_RDONLY | O_TRUNC, 0), -EROFS);
    EXPECT_EQ(fs_try_open("m/new", O_CREAT | O_RDWR, 0600), -EROFS);
    EXPECT_EQ(fs_mkdir("m/new"), -EROFS);
    EXPECT_EQ(fs_symlink("x", "m/new"), -EROFS);
    EXPECT_EQ(fs_unlink("m/file"), -EROFS);
    EXPECT_EQ(fs_rmdir("m/dir"), -EROFS);
    EXPECT_EQ(fs_rename("m/file", "m/g", 0), -EROFS);
    EXPECT_EQ(fs_link("m/file", "m/g"), -EROFS);
    EXPECT_EQ(fs_chmod("m/file", 0600), -EROFS);
    EXPECT_TRUE(host_is("folder/file", "host"));
}

TEST(changes_reach_the_host)
{
    struct stat st;
    start_with_folder(false);
    EXPECT_EQ(fs_write_file("m/new", "made"), 0);
    EXPECT_TRUE(host_is("folder/new", "made"));
    EXPECT_EQ(fs_write_file("m/file", "x"), 0);
    EXPECT_TRUE(host_is("folder/file", "x"));
    EXPECT_EQ(fs_mkdir("m/d"), 0);
    EXPECT_EQ(fs_rename("m/new", "m/d/moved", 0), 0);
    EXPECT_TRUE(host_is("folder/d/moved", "made"));
    EXPECT_STR(fs_read_file("m/d/moved"), "made");
    EXPECT_EQ(fs_link("m/d/moved", "m/second"), 0);
    ASSERT_EQ(fs_stat("m/second", &st), 0);
    EXPECT_EQ(st.st_nlink, 2);
    EXPECT_EQ(fs_chmod("m/second", 0640), 0);
    ASSERT_EQ(stat("folder/second", &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0640);
    EXPECT_EQ(fs_symlink("second", "m/l"), 0);
    EXPECT_STR(fs_read_file("m/l"), "made");
    EXPECT_EQ(fs_rmdir("m/d"), -ENOTEMPTY);
    EXPECT_EQ(fs_unlink("m/d/moved"), 0);
    EXPECT_EQ(fs_rmdir("m/d"), 0);
    EXPECT_ERRNO(stat("folder/d", &st), ENOENT);
    EXPECT_EQ(fs_rename("m/second", "m/file", RENAME_EXCHANGE), 0);
    EXPECT_STR(fs_read_file("m/file"), "made");
    EXPECT_STR(fs_read_file("m/second"), "x");
    EXPECT_EQ(fs_rename("m/second", "m/file", RENAME_NOREPLACE), -EEXIST);
}

/* git writes its objects through a descriptor whose file is read-only from its birth. */
TEST(a_new_file_can_be_written_whatever_its_mode)
{
    struct file *f;
    start_with_folder(false);
    ASSERT_EQ(fs_open("m/object", O_CREAT | O_EXCL | O_RDWR, 0444, &f), 0);
    EXPECT_EQ(fs_pwrite(f, "data", 4, 0), 4);
    file_put(f);
    EXPECT_TRUE(host_is("folder/object", "data"));
    EXPECT_EQ(fs_try_open("m/object", O_RDWR, 0), -EACCES);
}

TEST(links_are_followed_in_the_sandbox_only)
{
    start_with_folder(true);
    ASSERT_EQ(symlink("../outside", "folder/up"), 0);
    ASSERT_EQ(symlink("/etc/passwd", "folder/abs"), 0);
    ASSERT_EQ(symlink("dir", "folder/to_dir"), 0);
    EXPECT_EQ(fs_try_open("m/up", O_RDONLY, 0), -ENOENT);
    EXPECT_EQ(fs_try_open("m/abs", O_RDONLY, 0), -ENOENT);
    EXPECT_STR(fs_read_file("m/to_dir/inner"), "inner");
    ASSERT_EQ(fs_write_file("outside", "of the sandbox"), 0);
    EXPECT_STR(fs_read_file("m/up"), "of the sandbox");
}

TEST(dotdot_leads_to_where_it_is_mounted)
{
    start_with_folder(true);
    EXPECT_EQ(fs_try_open("m/../outside", O_RDONLY, 0), -ENOENT);
    EXPECT_EQ(fs_try_open("m/dir/../../outside", O_RDONLY, 0), -ENOENT);
    EXPECT_STR(fs_read_file("m/dir/../../m/file"), "host");
}

TEST(a_place_that_holds_something_else_by_now)
{
    struct path dir;
    start_with_folder(false);
    ASSERT_EQ(walk_path(&fs_user, "m/dir", 0, &dir, NULL), 0);
    struct walk_base b = fs_user;
    b.base = dir;
    ASSERT_EQ(rename("folder/dir", "folder/old"), 0);
    mkdir("elsewhere", 0755);
    host_write("elsewhere/inner", "other");
    ASSERT_EQ(symlink("../elsewhere", "folder/dir"), 0);
    struct file *f;
    struct open_how_in how = {O_RDONLY, 0, 0};
    int r = vfs_open(&b, "inner", &how, &f);
    EXPECT_EQ(r, -ENOENT);
    EXPECT_EQ(vfs_mkdir(&b, "made", 0755), -ENOENT);
    EXPECT_ERRNO(access("elsewhere/made", F_OK), ENOENT);
    path_put(&dir);
}

TEST(fifos_sockets_and_devices_are_never_opened)
{
    struct stat st;
    start_with_folder(false);
    ASSERT_EQ(mkfifo("folder/fifo", 0666), 0);
    EXPECT_EQ(fs_try_open("m/fifo", O_RDONLY, 0), -EACCES);
    EXPECT_EQ(fs_try_open("m/fifo", O_WRONLY, 0), -EACCES);
    EXPECT_EQ(fs_try_open("m/fifo", O_PATH, 0), 0);
    ASSERT_EQ(fs_stat("m/fifo", &st), 0);
    EXPECT_TRUE(S_ISFIFO(st.st_mode));
    if (geteuid() == 0 && mknod("folder/null", S_IFCHR | 0666, makedev(1, 3)) == 0)
        EXPECT_EQ(fs_try_open("m/null", O_RDONLY, 0), -EACCES);
    EXPECT_EQ(vfs_mknod(&fs_super, "m/made", S_IFIFO | 0600, 0), -EPERM);
    EXPECT_EQ(vfs_mknod(&fs_super, "m/made", S_IFSOCK | 0600, 0), -EPERM);
    EXPECT_EQ(vfs_mknod(&fs_super, "m/made", S_IFCHR | 0600, 5), -EPERM);
}

TEST(no_set_user_id_bits_reach_the_host)
{
    struct stat st;
    start_with_folder(false);
    EXPECT_EQ(fs_chmod("m/file", 04755), -EPERM);
    EXPECT_EQ(fs_try_open("m/new", O_CREAT | O_RDWR, 06755), 0);
    ASSERT_EQ(stat("folder/new", &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0755);
    ASSERT_EQ(chmod("folder/dir", 02755), 0);
    EXPECT_EQ(fs_mkdir("m/dir/sub"), 0);
    struct path p;
    ASSERT_EQ(walk_path(&fs_super, "m/file", 0, &p, NULL), 0);
    struct inode_attr attr = {.valid = ATTR_UID, .uid = 5};
    EXPECT_EQ(vfs_setattr(&p, fs_super.cred, &attr), -EPERM);
    attr.uid = 1000;
    EXPECT_EQ(vfs_setattr(&p, fs_super.cred, &attr), 0);
    path_put(&p);
}

TEST(times_and_sizes)
{
    struct path p;
    struct stat st;
    start_with_folder(false);
    ASSERT_EQ(walk_path(&fs_user, "m/file", 0, &p, NULL), 0);
    struct inode_attr attr = {.valid = ATTR_ATIME | ATTR_MTIME, .atime = {5, 6}, .mtime = {7, 8}};
    EXPECT_EQ(vfs_setattr(&p, fs_user.cred, &attr), 0);
    ASSERT_EQ(stat("folder/file", &st), 0);
    EXPECT_EQ(st.st_mtim.tv_sec, 7);
    EXPECT_EQ(st.st_atim.tv_nsec, 6);
    attr.valid = ATTR_MTIME;
    attr.mtime.tv_sec = 9;
    EXPECT_EQ(vfs_setattr(&p, fs_user.cred, &attr), 0);
    ASSERT_EQ(fs_stat("m/file", &st), 0);
    EXPECT_EQ(st.st_mtim.tv_sec, 9);
    EXPECT_EQ(st.st_atim.tv_sec, 5);
    EXPECT_EQ(vfs_truncate(&p, NULL, fs_user.cred, 2), 0);
    EXPECT_TRUE(host_is("folder/file", "ho"));
    EXPECT_EQ(p.dentry->inode->size, 2);
    path_put(&p);
}

TEST(unlinked_while_open)
{
    struct file *f;
    struct stat st;
    char text[8] = "";
    start_with_folder(false);
    ASSERT_EQ(fs_open("m/file", O_RDWR, 0, &f), 0);
    EXPECT_EQ(fs_unlink("m/file"), 0);
    EXPECT_EQ(fs_pread(f, text, 7, 0), 4);
    EXPECT_STR(text, "host");
    ASSERT_EQ(vfs_stat(f->inode, &st), 0);
    EXPECT_EQ(st.st_nlink, 0);
    EXPECT_EQ(vfs_truncate(&f->path, f, fs_user.cred, 1), 0);
    ASSERT_EQ(vfs_stat(f->inode, &st), 0);
    EXPECT_EQ(st.st_size, 1);
    file_put(f);
}

TEST(appending)
{
    struct file *f;
    off_t pos = 0;
    start_with_folder(false);
    ASSERT_EQ(fs_open("m/file", O_WRONLY | O_APPEND, 0, &f), 0);
    struct uio u;
    char text[] = "++";
    uio_init_kernel(&u, text, 2);
    EXPECT_EQ(f->ops->write(f, &u, &pos, 0), 2);
    EXPECT_EQ(pos, 6);
    file_put(f);
    EXPECT_TRUE(host_is("folder/file", "host++"));
}

TEST(maps_are_the_host_file)
{
    struct file *f;
    struct hostfd fd;
    start_with_folder(false);
    ASSERT_EQ(fs_open("m/file", O_RDONLY, 0, &f), 0);
    EXPECT_EQ(f->ops->map(f, true, &fd), -EACCES);
    ASSERT_EQ(f->ops->map(f, false, &fd), 0);
    EXPECT_EQ(fcntl(fd.n, F_GETFL) & O_ACCMODE, O_RDONLY);
    file_put(f);
    ASSERT_EQ(fs_open("m/file", O_RDWR, 0, &f), 0);
    ASSERT_EQ(f->ops->map(f, true, &fd), 0);
    char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd.n, 0);
    ASSERT_TRUE(p != MAP_FAILED);
    p[0] = 'H';
    EXPECT_STR(fs_read_file("m/file"), "Host");
    file_put(f);
}

TEST(listing)
{
    start_with_folder(false);
    const char *names = fs_list("m");
    EXPECT_EQ(strlen(names), strlen("dir file"));
    EXPECT_TRUE(strstr(names, "dir") && strstr(names, "file"));
    host_write("folder/more", "");
    EXPECT_TRUE(strstr(fs_list("m"), "more"));
}

#define MANY_NAMES    700 /* long ones: more than a part holds */
#define MANY_LISTINGS 11

struct counted {
    struct dir_emit emit;
    unsigned count, wrong;
    unsigned char seen[MANY_NAMES];
};

static bool count_name(struct dir_emit *e, const char *name, size_t length, uint64_t ino,
                       uint8_t d_type, uint64_t cookie)
{
    struct counted *c = container_of(e, struct counted, emit);
    unsigned n;
    if (cookie <= 2)
        return true;
    if (sscanf(name, "n%u", &n) == 1 && n < MANY_NAMES && !c->seen[n])
        c->seen[n] = 1;
    else
        c->wrong++;
    c->count++;
    return true;
}

/* More at a time than have a descriptor, each a part at a time. */
TEST(large_folders_are_listed_in_parts)
{
    static struct counted counted[MANY_LISTINGS];
    struct file *files[MANY_LISTINGS];
    unsigned parts = 0;
    start_with_folder(false);
    mkdir("folder/many", 0755);
    for (int i = 0; i < MANY_NAMES; i++) {
        char name[256];
        snprintf(name, sizeof(name), "folder/many/n%d-%0200d", i, 0);
        ASSERT_EQ(mknod(name, S_IFREG | 0644, 0), 0);
    }
    for (int i = 0; i < MANY_LISTINGS; i++) {
        counted[i].emit = (struct dir_emit){.emit = count_name, .in_parts = true};
        ASSERT_EQ(fs_open("m/many", O_RDONLY | O_DIRECTORY, 0, &files[i]), 0);
    }
    for (int left = MANY_LISTINGS; left > 0; parts++) {
        for (int i = 0; i < MANY_LISTINGS; i++) {
            if (counted[i].count > 0)
                continue;
            int r = files[i]->inode->ops->list(files[i], &counted[i].emit);
            ASSERT_TRUE(r == 0 || r == -EAGAIN);
            EXPECT_EQ(counted[i].count, r == 0 ? MANY_NAMES : 0);
            EXPECT_EQ(counted[i].wrong, 0);
            left -= r == 0;
        }
    }
    EXPECT_GT(parts, 1);
    /* One that is given up halfway leaves nothing. */
    struct dir_emit e = {.emit = count_name, .in_parts = true};
    EXPECT_EQ(files[0]->inode->ops->list(files[0], &e), -EAGAIN);
    for (int i = 0; i < MANY_LISTINGS; i++)
        file_put(files[i]);
}

TEST(hard_links_are_one_inode)
{
    struct path a, b;
    start_with_folder(true);
    ASSERT_EQ(link("folder/file", "folder/dir/same"), 0);
    ASSERT_EQ(walk_path(&fs_user, "m/file", 0, &a, NULL), 0);
    ASSERT_EQ(walk_path(&fs_user, "m/dir/same", 0, &b, NULL), 0);
    EXPECT_TRUE(a.dentry->inode == b.dentry->inode);
    path_put(&a);
    path_put(&b);
}

TEST(a_single_file_can_be_mounted)
{
    struct super *s;
    struct path at;
    start_with_folder(true);
    ASSERT_EQ(fs_write_file("f", ""), 0);
    ASSERT_EQ(walk_path(&fs_user, "f", 0, &at, NULL), 0);
    struct hostfd fd = {open("folder/file", O_PATH | O_CLOEXEC)};
    ASSERT_EQ(hostdir_super_new(fd, true, &s), 0);
    ASSERT_EQ(mount_add(s, at, "file", NULL), 0);
    path_put(&at);
    EXPECT_STR(fs_read_file("f"), "host");
    EXPECT_EQ(fs_try_open("f", O_WRONLY, 0), -EROFS);
}

TEST(deep_trees_with_few_descriptors)
{
    enum { DEPTH = 3000 };
    start_with_folder(false);
    fdcache_set_limit(16);
    struct path at;
    ASSERT_EQ(walk_path(&fs_user, "m", 0, &at, NULL), 0);
    struct walk_base b = fs_user;
    b.base = at;
    for (int i = 0; i < DEPTH; i++) {
        struct path next;
        ASSERT_EQ(vfs_mkdir(&b, "d", 0755), 0);
        ASSERT_EQ(walk_path(&b, "d", 0, &next, NULL), 0);
        path_put(&b.base);
        b.base = next;
    }
    fdcache_trim();
    struct stat st;
    EXPECT_EQ(vfs_stat(b.base.dentry->inode, &st), 0);
    EXPECT_LE(fdcache_open_count(), 17);
    for (int i = 0; i < DEPTH; i++) {
        struct path up;
        ASSERT_EQ(walk_path(&b, "..", 0, &up, NULL), 0);
        path_put(&b.base);
        b.base = up;
        fdcache_set_limit(16);
        ASSERT_EQ(vfs_rmdir(&b, "d"), 0);
        if (i % 500 == 0)
            fdcache_trim();
    }
    path_put(&b.base);
}

/* The folder is changed behind our back, between two looks: first sub was in dir, then dir in sub.
 */
TEST(places_never_form_a_ring)
{
    struct path sub, p;
    struct stat st;
    start_with_folder(false);
    ASSERT_EQ(mkdir("folder/dir/sub", 0755), 0);
    ASSERT_EQ(walk_path(&fs_user, "m/dir/sub", 0, &sub, NULL), 0);
    struct walk_base b = fs_user;
    b.base = sub;
    EXPECT_EQ(walk_path(&b, "opens-the-directory", 0, &p, NULL), -ENOENT);
    ASSERT_EQ(rename("folder/dir/sub", "folder/sub"), 0);
    ASSERT_EQ(rename("folder/dir", "folder/sub/dir"), 0);
    EXPECT_EQ(walk_path(&b, "dir", 0, &p, NULL), -ENOENT);
    fdcache_trim();
    EXPECT_EQ(vfs_stat(sub.dentry->inode, &st), 0);
    EXPECT_STR(fs_read_file("m/sub/dir/inner"), "inner");
    EXPECT_EQ(walk_path(&b, "dir", 0, &p, NULL), 0);
    path_put(&p);
    path_put(&sub);
}

TEST(files_that_nobody_opens_hold_no_descriptors)
{
    char name[16];
    struct rlimit few;
    start_with_folder(false);
    fdcache_set_limit(16);
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &few), 0);
    few.rlim_cur = 128;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (int i = 0; i < 256; i++) {
        snprintf(name, sizeof(name), "m/%d", i);
        ASSERT_EQ(vfs_mknod(&fs_user, name, S_IFREG | 0600, 0), 0);
    }
    EXPECT_EQ(fs_write_file("m/new", "made"), 0);
    EXPECT_TRUE(host_is("folder/new", "made"));
}
