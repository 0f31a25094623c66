// SPDX-License-Identifier: Apache-2.0
/* open, mkdir, unlink, rename, link, chmod and kin on the layer: their errors and effects. */
#include "tests/unit/fs_support.h"

#include "kernel/core/limits.h"

#include <fcntl.h>
#include <stdio.h>

static void start_with_tree(void)
{
    fs_start();
    ASSERT_EQ(fs_mkdir("d"), 0);
    ASSERT_EQ(fs_mkdir("d/e"), 0);
    ASSERT_EQ(fs_write_file("f", "text"), 0);
    fs_events();
    fs_lock_closes = fs_lock_releases = 0;
}

static mode_t mode_of(const char *name)
{
    struct stat st;
    return fs_lstat(name, &st) == 0 ? st.st_mode : 0;
}

/* ---- open ---- */

TEST(open_errors)
{
    start_with_tree();
    EXPECT_EQ(fs_try_open("x", O_RDONLY, 0), -ENOENT);
    EXPECT_EQ(fs_try_open("f", O_CREAT | O_EXCL | O_RDWR, 0600), -EEXIST);
    EXPECT_EQ(fs_try_open("d", O_CREAT | O_EXCL | O_RDWR, 0600), -EEXIST);
    EXPECT_EQ(fs_try_open("d", O_CREAT | O_RDONLY, 0600), -EISDIR);
    EXPECT_EQ(fs_try_open("d", O_WRONLY, 0), -EISDIR);
    EXPECT_EQ(fs_try_open("d", O_RDONLY | O_TRUNC, 0), -EISDIR);
    EXPECT_EQ(fs_try_open("d", O_RDONLY, 0), 0);
    EXPECT_EQ(fs_try_open("f", O_RDONLY | O_DIRECTORY, 0), -ENOTDIR);
    EXPECT_EQ(fs_try_open("f/", O_RDONLY, 0), -ENOTDIR);
    EXPECT_EQ(fs_try_open("new/", O_CREAT | O_RDWR, 0600), -EISDIR);
    EXPECT_EQ(fs_try_open("f/", O_CREAT | O_RDWR, 0600), -EISDIR);
    EXPECT_EQ(fs_try_open(".", O_CREAT | O_RDWR, 0600), -EISDIR);
    EXPECT_EQ(fs_try_open("d/..", O_CREAT | O_EXCL | O_RDWR, 0600), -EEXIST);
    EXPECT_EQ(fs_try_open("/", O_CREAT | O_RDWR, 0600), -EISDIR);
    EXPECT_EQ(fs_try_open("x", O_CREAT | O_DIRECTORY, 0600), -EINVAL);
    EXPECT_EQ(fs_try_open("f/x", O_CREAT | O_RDWR, 0600), -ENOTDIR);
}

TEST(open_and_links)
{
    start_with_tree();
    ASSERT_EQ(fs_symlink("f", "l"), 0);
    ASSERT_EQ(fs_symlink("d", "ld"), 0);
    ASSERT_EQ(fs_symlink("d/made", "dangling"), 0);
    EXPECT_EQ(fs_try_open("l", O_RDONLY, 0), 0);
    EXPECT_EQ(fs_try_open("l", O_RDONLY | O_NOFOLLOW, 0), -ELOOP);
    EXPECT_EQ(fs_try_open("ld", O_RDONLY | O_NOFOLLOW | O_DIRECTORY, 0), -ENOTDIR);
    EXPECT_EQ(fs_try_open("ld/", O_RDONLY | O_NOFOLLOW, 0), 0);
    EXPECT_EQ(fs_try_open("l", O_PATH | O_NOFOLLOW, 0), 0);
    EXPECT_EQ(fs_try_open("dangling", O_RDONLY, 0), -ENOENT);
    EXPECT_EQ(fs_try_open("dangling", O_CREAT | O_EXCL | O_RDWR, 0600), -EEXIST);
    EXPECT_EQ(fs_try_open("dangling", O_CREAT | O_RDWR | O_NOFOLLOW, 0600), -ELOOP);
    EXPECT_EQ(fs_try_open("dangling", O_CREAT | O_RDWR, 0600), 0);
    EXPECT_EQ(mode_of("d/made"), S_IFREG | 0600);
}

TEST(open_permissions)
{
    start_with_tree();
    ASSERT_EQ(fs_chmod("f", 0400), 0);
    EXPECT_EQ(fs_try_open("f", O_RDONLY, 0), 0);
    EXPECT_EQ(fs_try_open("f", O_WRONLY, 0), -EACCES);
    EXPECT_EQ(fs_try_open("f", O_RDWR, 0), -EACCES);
    EXPECT_EQ(fs_try_open("f", O_RDONLY | O_TRUNC, 0), -EACCES);
    EXPECT_EQ(fs_try_open("f", O_PATH, 0), 0);
    ASSERT_EQ(fs_chmod("d", 0555), 0);
    EXPECT_EQ(fs_try_open("d/x", O_CREAT | O_RDWR, 0600), -EACCES);
    EXPECT_EQ(fs_try_open("f", O_CREAT | O_RDONLY, 0600), 0);
    /* The mode of a file that is made does not stand in the way of its maker. */
    EXPECT_EQ(fs_try_open("new", O_CREAT | O_RDWR, 0), 0);
    EXPECT_EQ(fs_try_open("new", O_RDWR, 0), -EACCES);
}

TEST(open_truncates)
{
    struct stat st;
    struct file *f;
    start_with_tree();
    EXPECT_EQ(fs_try_open("f", O_RDONLY | O_TRUNC, 0), 0);
    ASSERT_EQ(fs_stat("f", &st), 0);
    EXPECT_EQ(st.st_size, 0);
    EXPECT_STR(fs_events(), "OPEN:f MODIFY:f CLOSE:f");
    ASSERT_EQ(fs_open("f", O_WRONLY | O_CREAT | O_EXCL | O_TRUNC, 0600, &f), -EEXIST);
    ASSERT_EQ(fs_open("f", O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_NONBLOCK, 0600, &f), 0);
    EXPECT_EQ(f->flags & ~0100000, O_RDWR | O_APPEND | O_NONBLOCK);
    file_put(f);
}

TEST(open_of_a_running_program)
{
    struct path p;
    start_with_tree();
    ASSERT_EQ(walk_path(&fs_user, "f", 0, &p, NULL), 0);
    p.dentry->inode->executing = 1;
    EXPECT_EQ(fs_try_open("f", O_WRONLY, 0), -ETXTBSY);
    EXPECT_EQ(fs_try_open("f", O_RDONLY | O_TRUNC, 0), -ETXTBSY);
    EXPECT_EQ(fs_try_open("f", O_RDONLY, 0), 0);
    EXPECT_EQ(vfs_truncate(&p, NULL, fs_user.cred, 0), -ETXTBSY);
    p.dentry->inode->executing = 0;
    struct file *f;
    ASSERT_EQ(fs_open("f", O_RDWR, 0, &f), 0);
    EXPECT_EQ(p.dentry->inode->writers, 1);
    file_put(f);
    EXPECT_EQ(p.dentry->inode->writers, 0);
    path_put(&p);
}

TEST(access_mode_three_gives_neither)
{
    struct file *f;
    start_with_tree();
    ASSERT_EQ(fs_open("f", O_ACCMODE, 0, &f), 0);
    EXPECT_TRUE(!f->can_read && !f->can_write);
    file_put(f);
}

TEST(path_files_do_nothing)
{
    struct file *f;
    start_with_tree();
    ASSERT_EQ(fs_open("f", O_PATH | O_RDWR | O_CREAT | O_TRUNC, 0, &f), 0);
    EXPECT_TRUE(!f->can_read && !f->can_write && !f->ops->read);
    EXPECT_EQ(f->flags, O_PATH);
    file_put(f);
    EXPECT_STR(fs_events(), "");
    EXPECT_STR(fs_read_file("f"), "text");
}

TEST(append)
{
    struct file *f;
    start_with_tree();
    ASSERT_EQ(fs_open("f", O_WRONLY | O_APPEND, 0, &f), 0);
    EXPECT_EQ(fs_pwrite(f, "+", 1, 0), 1);
    file_put(f);
    EXPECT_STR(fs_read_file("f"), "text+");
}

TEST(fifos_open_in_a_half_state_and_sockets_not_at_all)
{
    struct file *f;
    start_with_tree();
    EXPECT_EQ(vfs_mknod(&fs_user, "fifo", S_IFIFO | 0600, 0), 0);
    EXPECT_EQ(vfs_mknod(&fs_user, "sock", S_IFSOCK | 0600, 0), 0);
    ASSERT_EQ(fs_open("fifo", O_RDONLY, 0, &f), 0);
    EXPECT_TRUE(!f->ops->read && !f->ops->write);
    file_put(f);
    EXPECT_EQ(fs_try_open("sock", O_RDONLY, 0), -ENXIO);
    EXPECT_EQ(fs_try_open("sock", O_PATH, 0), 0);
    EXPECT_EQ(vfs_mknod(&fs_user, "dev", S_IFCHR | 0600, 0x103), -EPERM);
    EXPECT_EQ(vfs_mknod(&fs_user, "dir", S_IFDIR | 0700, 0), -EPERM);
    EXPECT_EQ(vfs_mknod(&fs_user, "reg", 0600, 0), 0);
    EXPECT_EQ(mode_of("reg"), S_IFREG | 0600);
}

TEST(tmpfile)
{
    struct file *f;
    char text[64];
    start_with_tree();
    EXPECT_EQ(fs_try_open("d", O_TMPFILE | O_RDONLY, 0600), -EINVAL);
    EXPECT_EQ(fs_try_open("f", O_TMPFILE | O_RDWR, 0600), -ENOTDIR);
    ASSERT_EQ(fs_open("d", O_TMPFILE | O_RDWR, 0600, &f), 0);
    EXPECT_EQ(f->inode->nlink, 0);
    EXPECT_STR(fs_list("d"), "e");
    EXPECT_EQ(fs_pwrite(f, "tmp", 3, 0), 3);
    EXPECT_GT(path_text(f->path, fs_user.root, text, sizeof(text)), 0);
    EXPECT_TRUE(strncmp(text, "/d/#", 4) == 0 && strstr(text, " (deleted)"));
    EXPECT_EQ(vfs_link(&f->path, &fs_user, "d/named"), 0);
    EXPECT_EQ(f->inode->nlink, 1);
    EXPECT_EQ(vfs_link(&f->path, &fs_user, "d/twice"), 0);
    file_put(f);
    EXPECT_STR(fs_read_file("d/named"), "tmp");
    uint64_t inodes = fs_budget.used_inodes;
    ASSERT_EQ(fs_open("d", O_TMPFILE | O_RDWR | O_EXCL, 0600, &f), 0);
    EXPECT_EQ(vfs_link(&f->path, &fs_user, "d/no"), -ENOENT);
    file_put(f);
    EXPECT_EQ(fs_budget.used_inodes, inodes);
}

TEST(read_only_mounts)
{
    struct path p;
    start_with_tree();
    ASSERT_EQ(walk_path(&fs_user, "f", 0, &p, NULL), 0);
    vfs_root_mount->read_only = true;
    EXPECT_EQ(fs_try_open("f", O_WRONLY, 0), -EROFS);
    EXPECT_EQ(fs_try_open("f", O_RDONLY | O_TRUNC, 0), -EROFS);
    EXPECT_EQ(fs_try_open("f", O_RDONLY, 0), 0);
    EXPECT_EQ(fs_try_open("new", O_CREAT | O_RDWR, 0600), -EROFS);
    EXPECT_EQ(fs_try_open("f", O_CREAT | O_RDONLY, 0600), 0);
    EXPECT_EQ(fs_mkdir("f"), -EEXIST);
    EXPECT_EQ(fs_mkdir("new"), -EROFS);
    EXPECT_EQ(fs_symlink("x", "new"), -EROFS);
    EXPECT_EQ(fs_unlink("f"), -EROFS);
    EXPECT_EQ(fs_rmdir("d"), -EROFS);
    EXPECT_EQ(fs_rename("f", "g", 0), -EROFS);
    EXPECT_EQ(fs_link("f", "g"), -EROFS);
    EXPECT_EQ(fs_chmod("f", 0600), -EROFS);
    EXPECT_EQ(vfs_truncate(&p, NULL, fs_user.cred, 0), -EROFS);
    path_put(&p);
}

/* ---- making and removing ---- */

TEST(mkdir_errors)
{
    start_with_tree();
    EXPECT_EQ(fs_mkdir("d"), -EEXIST);
    EXPECT_EQ(fs_mkdir("f"), -EEXIST);
    EXPECT_EQ(fs_mkdir("/"), -EEXIST);
    EXPECT_EQ(fs_mkdir("."), -EEXIST);
    EXPECT_EQ(fs_mkdir("d/.."), -EEXIST);
    EXPECT_EQ(fs_mkdir("x/y"), -ENOENT);
    EXPECT_EQ(fs_mkdir("f/y"), -ENOTDIR);
    EXPECT_EQ(fs_mkdir("new/"), 0);
    EXPECT_EQ(fs_mkdir(""), -ENOENT);
    ASSERT_EQ(fs_symlink("nowhere", "l"), 0);
    EXPECT_EQ(fs_mkdir("l"), -EEXIST);
    EXPECT_EQ(vfs_mknod(&fs_user, "reg/", S_IFREG | 0600, 0), -ENOENT);
    EXPECT_EQ(fs_symlink("x", "sl/"), -ENOENT);
    EXPECT_EQ(fs_symlink("", "sl"), -ENOENT);
}

TEST(unlink_and_rmdir_errors)
{
    start_with_tree();
    EXPECT_EQ(fs_unlink("x"), -ENOENT);
    EXPECT_EQ(fs_unlink("d"), -EISDIR);
    EXPECT_EQ(fs_unlink("d/"), -EISDIR);
    EXPECT_EQ(fs_unlink("f/"), -ENOTDIR);
    EXPECT_EQ(fs_unlink("."), -EISDIR);
    EXPECT_EQ(fs_unlink("/"), -EISDIR);
    EXPECT_EQ(fs_rmdir("f"), -ENOTDIR);
    EXPECT_EQ(fs_rmdir("x"), -ENOENT);
    EXPECT_EQ(fs_rmdir("d"), -ENOTEMPTY);
    EXPECT_EQ(fs_rmdir("d/."), -EINVAL);
    EXPECT_EQ(fs_rmdir("d/.."), -ENOTEMPTY);
    EXPECT_EQ(fs_rmdir("/"), -EBUSY);
    ASSERT_EQ(fs_symlink("d/e", "l"), 0);
    EXPECT_EQ(fs_rmdir("l"), -ENOTDIR);
    EXPECT_EQ(fs_rmdir("d/e/"), 0);
    EXPECT_EQ(fs_unlink("l"), 0);
}

TEST(sticky_directories)
{
    start_with_tree();
    struct walk_base other = fs_user;
    struct cred *cred = cred_new(2000, 2000);
    other.cred = cred;
    ASSERT_EQ(fs_chmod("d", 01777), 0);
    ASSERT_EQ(fs_write_file("d/mine", ""), 0);
    ASSERT_EQ(vfs_mknod(&other, "d/theirs", S_IFREG | 0600, 0), 0);
    EXPECT_EQ(vfs_unlink(&other, "d/mine"), -EPERM);
    EXPECT_EQ(vfs_rename(&other, "d/mine", &other, "d/x", 0), -EPERM);
    EXPECT_EQ(vfs_rename(&other, "d/theirs", &other, "d/mine", 0), -EPERM);
    EXPECT_EQ(vfs_unlink(&other, "d/theirs"), 0);
    ASSERT_EQ(vfs_mknod(&other, "d/theirs", S_IFREG | 0600, 0), 0);
    /* The directory's owner may. */
    EXPECT_EQ(fs_unlink("d/theirs"), 0);
    cred_put(cred);
}

TEST(set_group_id_directories)
{
    struct stat st;
    struct path p;
    start_with_tree();
    ASSERT_EQ(walk_path(&fs_user, "d", 0, &p, NULL), 0);
    struct inode_attr attr = {.valid = ATTR_GID | ATTR_MODE, .gid = 55, .mode = 02777};
    ASSERT_EQ(vfs_setattr(&p, fs_super.cred, &attr), 0);
    path_put(&p);
    ASSERT_EQ(fs_mkdir("d/sub"), 0);
    ASSERT_EQ(fs_stat("d/sub", &st), 0);
    EXPECT_EQ(st.st_gid, 55);
    EXPECT_EQ(st.st_mode & 07777, 02755);
    ASSERT_EQ(fs_try_open("d/x", O_CREAT | O_RDWR, 02770), 0);
    ASSERT_EQ(fs_stat("d/x", &st), 0);
    EXPECT_EQ(st.st_gid, 55);
    EXPECT_EQ(st.st_mode & 07777, 0770);
}

TEST(events_of_making_and_removing)
{
    start_with_tree();
    ASSERT_EQ(fs_mkdir("m"), 0);
    EXPECT_STR(fs_events(), "CREATE/:m");
    ASSERT_EQ(fs_rmdir("m"), 0);
    EXPECT_STR(fs_events(), "DELETE/:m");
    ASSERT_EQ(fs_link("f", "g"), 0);
    EXPECT_STR(fs_events(), "ATTRIB CREATE:g");
    ASSERT_EQ(fs_unlink("g"), 0);
    EXPECT_STR(fs_events(), "ATTRIB DELETE:g");
    ASSERT_EQ(fs_rename("f", "h", 0), 0);
    EXPECT_STR(fs_events(), "MOVED_FROM:f MOVED_TO:h MOVE_SELF");
    ASSERT_EQ(fs_chmod("h", 0600), 0);
    EXPECT_STR(fs_events(), "ATTRIB:h");
}

TEST(a_watched_inode_is_told_when_it_is_gone)
{
    struct file *f;
    struct list watch;
    start_with_tree();
    ASSERT_EQ(fs_open("f", O_RDONLY, 0, &f), 0);
    list_append(&f->inode->watches, &watch);
    ASSERT_EQ(fs_unlink("f"), 0);
    EXPECT_STR(fs_events(), "OPEN:f ATTRIB DELETE:f");
    file_put(f);
    EXPECT_STR(fs_events(), "CLOSE:f DELETE_SELF");
    EXPECT_TRUE(!list_is_linked(&watch));
}

/* ---- links and renaming ---- */

TEST(hard_links)
{
    struct stat a, b;
    start_with_tree();
    EXPECT_EQ(fs_link("f", "g"), 0);
    ASSERT_EQ(fs_stat("f", &a), 0);
    ASSERT_EQ(fs_stat("g", &b), 0);
    EXPECT_EQ(a.st_ino, b.st_ino);
    EXPECT_EQ(b.st_nlink, 2);
    EXPECT_EQ(fs_link("f", "g"), -EEXIST);
    EXPECT_EQ(fs_link("d", "x"), -EPERM);
    EXPECT_EQ(fs_link("none", "x"), -ENOENT);
    EXPECT_EQ(fs_unlink("f"), 0);
    EXPECT_STR(fs_read_file("g"), "text");
    ASSERT_EQ(fs_stat("g", &b), 0);
    EXPECT_EQ(b.st_nlink, 1);
}

TEST(links_to_what_is_unlinked)
{
    struct path p;
    start_with_tree();
    ASSERT_EQ(walk_path(&fs_user, "f", 0, &p, NULL), 0);
    ASSERT_EQ(fs_unlink("f"), 0);
    EXPECT_EQ(vfs_link(&p, &fs_user, "g"), -ENOENT);
    path_put(&p);
}

TEST(rename_errors)
{
    start_with_tree();
    ASSERT_EQ(fs_mkdir("empty"), 0);
    EXPECT_EQ(fs_rename("x", "y", 0), -ENOENT);
    EXPECT_EQ(fs_rename("f", "d", 0), -EISDIR);
    EXPECT_EQ(fs_rename("d", "f", 0), -ENOTDIR);
    EXPECT_EQ(fs_rename("empty", "d", 0), -ENOTEMPTY);
    EXPECT_EQ(fs_rename("d", "d/e/x", 0), -EINVAL);
    EXPECT_EQ(fs_rename("d", "d/x", 0), -EINVAL);
    EXPECT_EQ(fs_rename("d/e", "d", 0), -ENOTEMPTY);
    EXPECT_EQ(fs_rename(".", "x", 0), -EBUSY);
    EXPECT_EQ(fs_rename("f", "..", 0), -EBUSY);
    EXPECT_EQ(fs_rename("f", "/", 0), -EBUSY);
    EXPECT_EQ(fs_rename("f/", "g", 0), -ENOTDIR);
    EXPECT_EQ(fs_rename("f", "g/", 0), -ENOTDIR);
    EXPECT_EQ(fs_rename("empty/", "other/", 0), 0);
    EXPECT_EQ(fs_rename("f", "g", RENAME_NOREPLACE | RENAME_EXCHANGE), -EINVAL);
    EXPECT_EQ(fs_rename("f", "g", RENAME_WHITEOUT), -EINVAL);
    EXPECT_EQ(fs_rename("f", "g", 1u << 7), -EINVAL);
}

TEST(rename_replaces)
{
    struct stat st;
    struct file *f;
    char text[8] = "";
    start_with_tree();
    ASSERT_EQ(fs_write_file("g", "old"), 0);
    ASSERT_EQ(fs_open("g", O_RDONLY, 0, &f), 0);
    EXPECT_EQ(fs_rename("f", "g", 0), 0);
    EXPECT_STR(fs_read_file("g"), "text");
    EXPECT_EQ(fs_try_open("f", O_RDONLY, 0), -ENOENT);
    EXPECT_EQ(fs_pread(f, text, 7, 0), 3);
    EXPECT_EQ(f->inode->nlink, 0);
    file_put(f);
    ASSERT_EQ(fs_mkdir("x"), 0);
    EXPECT_EQ(fs_rename("x", "d/e", 0), 0);
    ASSERT_EQ(fs_stat("d", &st), 0);
    EXPECT_EQ(st.st_nlink, 3);
}

TEST(rename_of_one_inode_is_nothing)
{
    start_with_tree();
    ASSERT_EQ(fs_link("f", "g"), 0);
    EXPECT_EQ(fs_rename("f", "g", 0), 0);
    EXPECT_STR(fs_read_file("f"), "text");
    EXPECT_EQ(fs_rename("f", "f", 0), 0);
    EXPECT_EQ(fs_rename("d", "d", 0), 0);
}

TEST(rename_noreplace_and_exchange)
{
    start_with_tree();
    ASSERT_EQ(fs_write_file("g", "other"), 0);
    EXPECT_EQ(fs_rename("f", "g", RENAME_NOREPLACE), -EEXIST);
    EXPECT_EQ(fs_rename("f", "new", RENAME_NOREPLACE), 0);
    EXPECT_EQ(fs_rename("new", "g", RENAME_EXCHANGE), 0);
    EXPECT_STR(fs_read_file("g"), "text");
    EXPECT_STR(fs_read_file("new"), "other");
    EXPECT_EQ(fs_rename("g", "none", RENAME_EXCHANGE), -ENOENT);
    EXPECT_EQ(fs_rename("g", "d/e", RENAME_EXCHANGE), 0);
    EXPECT_STR(fs_read_file("d/e"), "text");
    EXPECT_EQ(mode_of("g") & S_IFMT, S_IFDIR);
    EXPECT_EQ(fs_rename("d", "d/e", RENAME_EXCHANGE), -EINVAL);
}

TEST(rename_to_a_longer_name)
{
    char name[256];
    start_with_tree();
    memset(name, 'n', 255);
    name[255] = '\0';
    EXPECT_EQ(fs_rename("f", name, 0), 0);
    EXPECT_STR(fs_read_file(name), "text");
    EXPECT_EQ(fs_rename(name, "f", 0), 0);
    EXPECT_STR(fs_read_file("f"), "text");
}

TEST(moving_a_directory_needs_its_own_write_permission)
{
    start_with_tree();
    ASSERT_EQ(fs_mkdir("other"), 0);
    ASSERT_EQ(fs_chmod("d/e", 0500), 0);
    EXPECT_EQ(fs_rename("d/e", "other/e", 0), -EACCES);
    EXPECT_EQ(fs_rename("d/e", "d/g", 0), 0);
}

TEST(mount_points_stay)
{
    struct layer_options options = {.type_name = "tmpfs",
                                    .lower = HOSTFD_NONE,
                                    .budget = &fs_budget,
                                    .max_bytes = UINT64_MAX,
                                    .root_mode = 0777};
    struct super *s;
    struct path p;
    start_with_tree();
    ASSERT_EQ(walk_path(&fs_user, "d/e", 0, &p, NULL), 0);
    ASSERT_EQ(layer_super_new(&options, &s), 0);
    ASSERT_EQ(mount_add(s, p, "none", NULL), 0);
    path_put(&p);
    EXPECT_EQ(fs_rmdir("d/e"), -EBUSY);
    EXPECT_EQ(fs_rename("d/e", "x", 0), -EBUSY);
    EXPECT_EQ(fs_rename("f", "d/e/f", 0), -EXDEV);
    EXPECT_EQ(fs_link("f", "d/e/f"), -EXDEV);
}

/* ---- attributes ---- */

TEST(chmod_rules)
{
    start_with_tree();
    struct cred *cred = cred_new(2000, 2000);
    struct path p;
    ASSERT_EQ(walk_path(&fs_user, "f", 0, &p, NULL), 0);
    struct inode_attr attr = {.valid = ATTR_MODE, .mode = 0777};
    EXPECT_EQ(vfs_setattr(&p, cred, &attr), -EPERM);
    attr.mode = 02755;
    EXPECT_EQ(vfs_setattr(&p, fs_user.cred, &attr), 0);
    EXPECT_EQ(p.dentry->inode->mode & 07777, 02755);
    p.dentry->inode->gid = 77;
    EXPECT_EQ(vfs_setattr(&p, fs_user.cred, &attr), 0);
    EXPECT_EQ(p.dentry->inode->mode & 07777, 0755);
    path_put(&p);
    cred_put(cred);
}

TEST(chown_rules)
{
    start_with_tree();
    struct path p;
    ASSERT_EQ(walk_path(&fs_user, "f", 0, &p, NULL), 0);
    struct inode *i = p.dentry->inode;
    struct inode_attr attr = {.valid = ATTR_UID, .uid = 1001};
    EXPECT_EQ(vfs_setattr(&p, fs_user.cred, &attr), -EPERM);
    attr.uid = 1000;
    EXPECT_EQ(vfs_setattr(&p, fs_user.cred, &attr), 0);
    attr = (struct inode_attr){.valid = ATTR_GID, .gid = 5};
    EXPECT_EQ(vfs_setattr(&p, fs_user.cred, &attr), -EPERM);
    struct cred *cred = cred_copy(fs_user.cred);
    cred->groups[cred->group_count++] = 5;
    ASSERT_EQ(fs_chmod("f", 06755), 0);
    attr.valid |= ATTR_CHOWN;
    EXPECT_EQ(vfs_setattr(&p, cred, &attr), 0);
    EXPECT_EQ(i->gid, 5);
    EXPECT_EQ(i->mode & 07777, 0755);
    attr = (struct inode_attr){.valid = ATTR_UID | ATTR_GID, .uid = 7, .gid = 8};
    EXPECT_EQ(vfs_setattr(&p, fs_super.cred, &attr), 0);
    EXPECT_EQ(i->uid, 7);
    EXPECT_EQ(i->gid, 8);
    path_put(&p);
    cred_put(cred);
}

TEST(times_rules)
{
    start_with_tree();
    struct path p;
    struct cred *other = cred_new(2000, 2000);
    ASSERT_EQ(walk_path(&fs_user, "f", 0, &p, NULL), 0);
    struct inode *i = p.dentry->inode;
    struct inode_attr set = {.valid = ATTR_ATIME | ATTR_MTIME, .atime = {1, 2}, .mtime = {3, 4}};
    EXPECT_EQ(vfs_setattr(&p, other, &set), -EPERM);
    EXPECT_EQ(vfs_setattr(&p, fs_user.cred, &set), 0);
    EXPECT_EQ(i->atime.tv_sec, 1);
    EXPECT_EQ(i->mtime.tv_nsec, 4);
    set.valid |= ATTR_TOUCH;
    EXPECT_EQ(vfs_setattr(&p, other, &set), -EACCES);
    ASSERT_EQ(fs_chmod("f", 0666), 0);
    EXPECT_EQ(vfs_setattr(&p, other, &set), 0);
    path_put(&p);
    cred_put(other);
}

TEST(every_change_moves_ctime)
{
    start_with_tree();
    struct path p;
    ASSERT_EQ(walk_path(&fs_user, "f", 0, &p, NULL), 0);
    struct inode *i = p.dentry->inode;
    i->ctime = i->mtime = (struct timespec){0};
    ASSERT_EQ(fs_chmod("f", 0600), 0);
    EXPECT_GT(i->ctime.tv_sec, 0);
    EXPECT_EQ(i->mtime.tv_sec, 0);
    i->ctime = (struct timespec){0};
    ASSERT_EQ(fs_link("f", "g"), 0);
    EXPECT_GT(i->ctime.tv_sec, 0);
    i->ctime = (struct timespec){0};
    ASSERT_EQ(fs_rename("g", "h", 0), 0);
    EXPECT_GT(i->ctime.tv_sec, 0);
    i->ctime = (struct timespec){0};
    ASSERT_EQ(fs_unlink("h"), 0);
    EXPECT_GT(i->ctime.tv_sec, 0);
    i->ctime = (struct timespec){0};
    ASSERT_EQ(vfs_truncate(&p, NULL, fs_user.cred, 4), 0);
    EXPECT_GT(i->ctime.tv_sec, 0);
    EXPECT_GT(i->mtime.tv_sec, 0);
    path_put(&p);
}

TEST(truncate_rules)
{
    struct path p;
    struct file *f;
    start_with_tree();
    ASSERT_EQ(walk_path(&fs_user, "d", 0, &p, NULL), 0);
    EXPECT_EQ(vfs_truncate(&p, NULL, fs_user.cred, 0), -EISDIR);
    path_put(&p);
    ASSERT_EQ(vfs_mknod(&fs_user, "fifo", S_IFIFO | 0600, 0), 0);
    ASSERT_EQ(walk_path(&fs_user, "fifo", 0, &p, NULL), 0);
    EXPECT_EQ(vfs_truncate(&p, NULL, fs_user.cred, 0), -EINVAL);
    path_put(&p);
    ASSERT_EQ(fs_open("f", O_RDONLY, 0, &f), 0);
    EXPECT_EQ(vfs_truncate(&f->path, f, fs_user.cred, 0), -EINVAL);
    EXPECT_EQ(vfs_truncate(&f->path, NULL, fs_user.cred, -1), -EINVAL);
    file_put(f);
    ASSERT_EQ(fs_open("f", O_RDWR, 0, &f), 0);
    ASSERT_EQ(fs_chmod("f", 0), 0);
    EXPECT_EQ(vfs_truncate(&f->path, f, fs_user.cred, 2), 0);
    EXPECT_EQ(vfs_truncate(&f->path, NULL, fs_user.cred, 2), -EACCES);
    file_put(f);
}

/* ---- descriptors ---- */

static struct file *some_file(void)
{
    struct file *f;
    ASSERT_EQ(fs_open("f", O_RDONLY, 0, &f), 0);
    return f;
}

TEST(descriptors_take_the_lowest_number)
{
    start_with_tree();
    struct fdtable *t = fdtable_new();
    for (int i = 0; i < 100; i++)
        ASSERT_EQ(fdtable_install(t, some_file(), 0, 1000, false), i);
    EXPECT_EQ(fdtable_close(t, 50, t), 0);
    EXPECT_EQ(fdtable_close(t, 20, t), 0);
    EXPECT_EQ(fdtable_close(t, 20, t), -EBADF);
    EXPECT_EQ(fdtable_install(t, some_file(), 30, 1000, false), 50);
    EXPECT_EQ(fdtable_install(t, some_file(), 0, 1000, false), 20);
    EXPECT_EQ(fdtable_install(t, some_file(), 0, 1000, false), 100);
    EXPECT_EQ(fdtable_install(t, some_file(), 500, 1000, false), 500);
    struct file *f = some_file();
    EXPECT_EQ(fdtable_install(t, f, 0, 101, false), -EMFILE);
    EXPECT_EQ(fdtable_install(t, f, 101, 101, false), -EINVAL);
    EXPECT_EQ(fdtable_install(t, f, -1, 1000, false), -EINVAL);
    EXPECT_EQ(fdtable_install(t, f, 0, 0, false), -EMFILE);
    EXPECT_EQ(fdtable_install_at(t, f, 1000, 1000, false), -EBADF);
    EXPECT_EQ(fdtable_install_at(t, f, -1, 1000, false), -EBADF);
    file_put(f);
    fdtable_put(t);
    EXPECT_EQ(fs_lock_closes, 104);
}

TEST(descriptors_at_a_number_replace)
{
    start_with_tree();
    struct fdtable *t = fdtable_new();
    struct file *f = some_file();
    EXPECT_EQ(fdtable_install_at(t, some_file(), 0, 10, false), 0);
    EXPECT_EQ(fdtable_install_at(t, f, 0, 10, true), 0);
    EXPECT_EQ(fs_lock_releases, 1);
    EXPECT_TRUE(fdtable_file(t, 0) == f && fdtable_entry(t, 0)->cloexec);
    EXPECT_EQ(fdtable_install(t, some_file(), 0, 10, false), 1);
    EXPECT_TRUE(!fdtable_file(t, 2) && !fdtable_file(t, -1) && !fdtable_file(t, INT32_MAX));
    fdtable_put(t);
}

TEST(descriptors_over_fork_and_exec)
{
    start_with_tree();
    struct fdtable *t = fdtable_new();
    struct file *f = some_file();
    ASSERT_EQ(fdtable_install(t, f, 0, 100, true), 0);
    ASSERT_EQ(fdtable_install(t, some_file(), 70, 100, false), 70);
    fdtable_entry(t, 70)->host_slot = 5;
    struct fdtable *copy = fdtable_copy(t);
    EXPECT_EQ(f->refs, 2);
    fdtable_exec(copy, copy);
    EXPECT_EQ(f->refs, 1);
    EXPECT_TRUE(!fdtable_file(copy, 0) && fdtable_file(copy, 70));
    EXPECT_EQ(fdtable_entry(copy, 70)->host_slot, 0);
    EXPECT_EQ(fdtable_entry(t, 70)->host_slot, 5);
    EXPECT_EQ(fdtable_install(copy, some_file(), 0, 100, false), 0);
    fdtable_put(copy);
    fdtable_put(t);
}

/* ---- how many ---- */

TEST(names_are_bounded)
{
    static struct dentry *all[LIMIT_DENTRIES + 1];
    size_t count = 0;
    fs_start();
    while (count <= LIMIT_DENTRIES && (all[count] = dentry_new(NULL, "x", 1)))
        count++;
    EXPECT_LE(count, LIMIT_DENTRIES);
    EXPECT_GT(count, LIMIT_DENTRIES - 1000);
    EXPECT_TRUE(fs_mkdir("d") < 0);
    dentry_put(all[--count]);
    dentry_put(all[--count]);
    EXPECT_EQ(fs_mkdir("d"), 0);
    while (count > 0)
        dentry_put(all[--count]);
}
