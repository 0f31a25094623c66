// SPDX-License-Identifier: Apache-2.0
/* The private layer over a host directory. */
#include "tests/unit/fs_support.h"

#include "kernel/fs/layer/lower.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

static void start_over_tree(void)
{
    mkdir("lower", 0755);
    mkdir("lower/dir", 0755);
    mkdir("lower/dir/sub", 0755);
    host_write("lower/file", "below");
    host_write("lower/dir/one", "1");
    host_write("lower/dir/two", "2");
    ASSERT_EQ(symlink("dir/one", "lower/link"), 0);
    ASSERT_EQ(mkfifo("lower/fifo", 0666), 0);
    ASSERT_EQ(chmod("lower/file", 04755), 0);
    fs_start_over("lower");
}

static bool host_has(const char *name)
{
    return access(name, F_OK) == 0;
}

TEST(files_shine_through)
{
    struct stat st, again;
    start_over_tree();
    EXPECT_STR(fs_read_file("file"), "below");
    EXPECT_STR(fs_read_file("dir/one"), "1");
    EXPECT_STR(fs_read_file("link"), "1");
    ASSERT_EQ(fs_stat("file", &st), 0);
    EXPECT_EQ(st.st_uid, 0);
    EXPECT_EQ(st.st_mode, S_IFREG | 04755);
    EXPECT_EQ(st.st_size, 5);
    EXPECT_EQ(st.st_blksize, 4096);
    dentry_trim(0);
    ASSERT_EQ(fs_stat("file", &again), 0);
    EXPECT_EQ(st.st_ino, again.st_ino);
    EXPECT_EQ(st.st_dev, again.st_dev);
}

TEST(what_is_no_file_directory_or_link_is_hidden)
{
    start_over_tree();
    EXPECT_EQ(fs_try_open("fifo", O_RDONLY | O_NONBLOCK, 0), -ENOENT);
    EXPECT_TRUE(!strstr(fs_list("."), "fifo"));
    EXPECT_EQ(fs_write_file("fifo", "mine"), 0);
    EXPECT_STR(fs_read_file("fifo"), "mine");
}

TEST(listing_merges_both)
{
    start_over_tree();
    ASSERT_EQ(fs_super.cred->uid, 0);
    struct walk_base b = fs_super;
    ASSERT_EQ(vfs_mkdir(&b, "dir/made", 0755), 0);
    const char *names = fs_list("dir");
    EXPECT_TRUE(strstr(names, "one") && strstr(names, "two") && strstr(names, "sub") &&
                strstr(names, "made"));
    EXPECT_EQ(strlen(names), strlen("one two sub made"));
}

TEST(writing_copies_up_and_leaves_below_alone)
{
    struct file *f;
    start_over_tree();
    ASSERT_EQ(fs_chmod("file", 0666), -EPERM);
    struct open_how_in how = {O_RDWR, 0, 0};
    ASSERT_EQ(vfs_open(&fs_super, "file", &how, &f), 0);
    EXPECT_EQ(fs_pwrite(f, "BE", 2, 0), 2);
    file_put(f);
    EXPECT_STR(fs_read_file("file"), "BElow");
    int fd = open("lower/file", O_RDONLY);
    char text[8] = "";
    EXPECT_EQ(read(fd, text, 7), 5);
    EXPECT_STR(text, "below");
    dentry_trim(0);
    EXPECT_STR(fs_read_file("file"), "BElow");
}

TEST(an_open_file_sees_what_another_one_writes)
{
    struct file *reader, *writer;
    char text[8] = "";
    start_over_tree();
    ASSERT_EQ(fs_open("file", O_RDONLY, 0, &reader), 0);
    struct open_how_in how = {O_WRONLY, 0, 0};
    ASSERT_EQ(vfs_open(&fs_super, "file", &how, &writer), 0);
    EXPECT_EQ(fs_pread(reader, text, 7, 0), 5);
    EXPECT_EQ(fs_pwrite(writer, "X", 1, 0), 1);
    EXPECT_EQ(fs_pread(reader, text, 7, 0), 5);
    EXPECT_STR(text, "Xelow");
    file_put(reader);
    file_put(writer);
}

TEST(opening_for_writing_copies_nothing)
{
    struct file *f;
    start_over_tree();
    uint64_t before = fs_budget.used_bytes;
    struct open_how_in how = {O_RDWR, 0, 0};
    ASSERT_EQ(vfs_open(&fs_super, "file", &how, &f), 0);
    EXPECT_EQ(fs_budget.used_bytes, before);
    EXPECT_EQ(fs_pwrite(f, "", 0, 0), 0);
    EXPECT_EQ(fs_budget.used_bytes, before);
    file_put(f);
}

TEST(truncating_to_nothing_copies_nothing)
{
    start_over_tree();
    struct open_how_in how = {O_WRONLY | O_TRUNC, 0, 0};
    struct file *f;
    ASSERT_EQ(vfs_open(&fs_super, "file", &how, &f), 0);
    EXPECT_EQ(fs_budget.used_bytes, 0);
    file_put(f);
    EXPECT_STR(fs_read_file("file"), "");
    EXPECT_TRUE(host_has("lower/file"));
}

TEST(truncating_shorter_keeps_the_front)
{
    struct path p;
    start_over_tree();
    ASSERT_EQ(walk_path(&fs_super, "file", 0, &p, NULL), 0);
    EXPECT_EQ(vfs_truncate(&p, NULL, fs_super.cred, 3), 0);
    path_put(&p);
    EXPECT_STR(fs_read_file("file"), "bel");
}

TEST(unlinked_names_stay_away)
{
    start_over_tree();
    EXPECT_EQ(fs_unlink("file"), 0);
    EXPECT_EQ(fs_try_open("file", O_RDONLY, 0), -ENOENT);
    dentry_trim(0);
    EXPECT_EQ(fs_try_open("file", O_RDONLY, 0), -ENOENT);
    EXPECT_TRUE(!strstr(fs_list("."), "file"));
    EXPECT_TRUE(host_has("lower/file"));
    EXPECT_EQ(fs_write_file("file", "again"), 0);
    EXPECT_STR(fs_read_file("file"), "again");
    EXPECT_EQ(fs_unlink("file"), 0);
    dentry_trim(0);
    EXPECT_EQ(fs_try_open("file", O_RDONLY, 0), -ENOENT);
}

TEST(an_unlinked_open_file_can_still_be_read)
{
    struct file *f;
    char text[8] = "";
    start_over_tree();
    ASSERT_EQ(fs_open("file", O_RDONLY, 0, &f), 0);
    ASSERT_EQ(fs_unlink("file"), 0);
    EXPECT_EQ(f->inode->nlink, 0);
    EXPECT_EQ(fs_pread(f, text, 7, 0), 5);
    EXPECT_STR(text, "below");
    file_put(f);
}

static int super_unlink(const char *name)
{
    return vfs_unlink(&fs_super, name);
}

TEST(rmdir_of_a_directory_from_below)
{
    start_over_tree();
    EXPECT_EQ(vfs_rmdir(&fs_super, "dir"), -ENOTEMPTY);
    EXPECT_EQ(super_unlink("dir/one"), 0);
    EXPECT_EQ(super_unlink("dir/two"), 0);
    EXPECT_EQ(vfs_rmdir(&fs_super, "dir"), -ENOTEMPTY);
    EXPECT_EQ(vfs_rmdir(&fs_super, "dir/sub"), 0);
    EXPECT_EQ(vfs_rmdir(&fs_super, "dir"), 0);
    dentry_trim(0);
    EXPECT_EQ(fs_try_open("dir", O_RDONLY, 0), -ENOENT);
    EXPECT_EQ(fs_mkdir("dir"), 0);
    EXPECT_STR(fs_list("dir"), "");
    EXPECT_EQ(fs_try_open("dir/one", O_RDONLY, 0), -ENOENT);
}

TEST(renaming_a_directory_takes_along_what_is_below)
{
    start_over_tree();
    EXPECT_EQ(vfs_rename(&fs_super, "dir", &fs_super, "moved", 0), 0);
    EXPECT_EQ(fs_try_open("dir", O_RDONLY, 0), -ENOENT);
    EXPECT_STR(fs_read_file("moved/one"), "1");
    dentry_trim(0);
    EXPECT_STR(fs_read_file("moved/two"), "2");
    EXPECT_EQ(fs_try_open("dir", O_RDONLY, 0), -ENOENT);
    EXPECT_EQ(vfs_rename(&fs_super, "moved", &fs_super, "dir", 0), 0);
    EXPECT_STR(fs_read_file("dir/two"), "2");
}

TEST(renaming_over_a_name_from_below)
{
    start_over_tree();
    ASSERT_EQ(fs_write_file("new", "new"), 0);
    EXPECT_EQ(fs_rename("new", "file", 0), 0);
    EXPECT_STR(fs_read_file("file"), "new");
    dentry_trim(0);
    EXPECT_STR(fs_read_file("file"), "new");
    EXPECT_EQ(fs_rename("file", "elsewhere", 0), 0);
    dentry_trim(0);
    EXPECT_EQ(fs_try_open("file", O_RDONLY, 0), -ENOENT);
}

TEST(exchange_of_names_from_below)
{
    start_over_tree();
    EXPECT_EQ(vfs_rename(&fs_super, "file", &fs_super, "dir/one", RENAME_EXCHANGE), 0);
    dentry_trim(0);
    EXPECT_STR(fs_read_file("file"), "1");
    EXPECT_STR(fs_read_file("dir/one"), "below");
}

TEST(metadata_changes_survive_without_a_copy)
{
    struct stat st;
    struct path p;
    start_over_tree();
    ASSERT_EQ(walk_path(&fs_super, "file", 0, &p, NULL), 0);
    struct inode_attr attr = {.valid = ATTR_MODE | ATTR_UID, .mode = 0640, .uid = 1000};
    EXPECT_EQ(vfs_setattr(&p, fs_super.cred, &attr), 0);
    path_put(&p);
    dentry_trim(0);
    ASSERT_EQ(fs_stat("file", &st), 0);
    EXPECT_EQ(st.st_mode, S_IFREG | 0640);
    EXPECT_EQ(st.st_uid, 1000);
    EXPECT_EQ(fs_budget.used_bytes, 0);
    EXPECT_STR(fs_read_file("file"), "below");
}

TEST(xattrs_survive)
{
    struct path p;
    char value[8] = "";
    start_over_tree();
    ASSERT_EQ(walk_path(&fs_super, "file", 0, &p, NULL), 0);
    const struct inode_ops *ops = p.dentry->inode->ops;
    EXPECT_EQ(ops->getxattr(p.dentry->inode, "user.a", value, sizeof(value)), -ENODATA);
    EXPECT_EQ(ops->setxattr(p.dentry->inode, "user.a", "xyz", 3, 0), 0);
    path_put(&p);
    dentry_trim(0);
    ASSERT_EQ(walk_path(&fs_super, "file", 0, &p, NULL), 0);
    EXPECT_EQ(ops->getxattr(p.dentry->inode, "user.a", NULL, 0), 3);
    EXPECT_EQ(ops->getxattr(p.dentry->inode, "user.a", value, 2), -ERANGE);
    EXPECT_EQ(ops->getxattr(p.dentry->inode, "user.a", value, 8), 3);
    EXPECT_STR(value, "xyz");
    EXPECT_EQ(ops->setxattr(p.dentry->inode, "user.a", "q", 1, 1), -EEXIST);
    EXPECT_EQ(ops->setxattr(p.dentry->inode, "user.b", "q", 1, 2), -ENODATA);
    EXPECT_EQ(ops->listxattr(p.dentry->inode, value, 8), 7);
    EXPECT_EQ(ops->setxattr(p.dentry->inode, "user.a", NULL, 0, 0), 0);
    EXPECT_EQ(ops->setxattr(p.dentry->inode, "user.a", NULL, 0, 0), -ENODATA);
    path_put(&p);
}

TEST(forgotten_negative_answers_do_not_hide_what_was_made)
{
    start_over_tree();
    EXPECT_EQ(fs_try_open("x", O_RDONLY, 0), -ENOENT);
    EXPECT_EQ(fs_write_file("x", "1"), 0);
    dentry_trim(0);
    EXPECT_STR(fs_read_file("x"), "1");
}

TEST(after_a_listing_misses_are_not_asked_below)
{
    start_over_tree();
    fs_list("dir");
    host_write("lower/dir/late", "late");
    EXPECT_EQ(fs_try_open("dir/late", O_RDONLY, 0), -ENOENT);
    EXPECT_STR(fs_read_file("dir/one"), "1");
    dentry_trim(0);
    EXPECT_STR(fs_read_file("dir/late"), "late");
}

TEST(links_below_are_followed_in_the_tree_of_the_sandbox)
{
    mkdir("lower", 0755);
    host_write("secret", "host");
    ASSERT_EQ(symlink("../secret", "lower/up"), 0);
    ASSERT_EQ(symlink("/etc/passwd", "lower/abs"), 0);
    ASSERT_EQ(symlink("/proc/self/root/etc/passwd", "lower/magic"), 0);
    fs_start_over("lower");
    EXPECT_EQ(fs_try_open("up", O_RDONLY, 0), -ENOENT);
    EXPECT_EQ(fs_try_open("abs", O_RDONLY, 0), -ENOENT);
    EXPECT_EQ(fs_try_open("magic", O_RDONLY, 0), -ENOENT);
}

TEST(a_file_that_was_exchanged_for_a_link_below_is_not_followed)
{
    start_over_tree();
    host_write("secret", "host");
    struct stat st;
    ASSERT_EQ(fs_stat("dir/one", &st), 0);
    ASSERT_EQ(unlink("lower/dir/one"), 0);
    ASSERT_EQ(symlink("../../secret", "lower/dir/one"), 0);
    EXPECT_EQ(fs_try_open("dir/one", O_RDONLY, 0), -ELOOP);
    ASSERT_EQ(fs_stat("dir/two", &st), 0);
    ASSERT_EQ(unlink("lower/dir/two"), 0);
    ASSERT_EQ(mkfifo("lower/dir/two", 0666), 0);
    EXPECT_EQ(fs_try_open("dir/two", O_RDONLY, 0), -ENOENT);
}

TEST(few_descriptors_are_enough_for_many_files)
{
    enum { FILES = 300 };
    struct file *files[FILES];
    char name[32], text[16];
    mkdir("lower", 0755);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "lower/%d", i);
        snprintf(text, sizeof(text), "%d", i);
        host_write(name, text);
    }
    fs_start_over("lower");
    fdcache_set_limit(16);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "%d", i);
        ASSERT_EQ(fs_open(name, O_RDONLY, 0, &files[i]), 0);
    }
    EXPECT_LE(fdcache_open_count(), 16);
    for (int i = 0; i < FILES; i++) {
        memset(text, 0, sizeof(text));
        EXPECT_GT(fs_pread(files[i], text, sizeof(text), 0), 0);
        EXPECT_EQ(atoi(text), i);
        file_put(files[i]);
    }
}

TEST(map_of_a_file_below_is_the_host_file_read_only)
{
    struct file *f;
    struct hostfd fd, again;
    start_over_tree();
    ASSERT_EQ(fs_open("file", O_RDONLY, 0, &f), 0);
    ASSERT_EQ(f->ops->map(f, false, &fd), 0);
    ASSERT_EQ(f->ops->map(f, false, &again), 0);
    EXPECT_EQ(fd.n, again.n);
    EXPECT_EQ(fcntl(fd.n, F_GETFL) & O_ACCMODE, O_RDONLY);
    const char *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd.n, 0);
    ASSERT_TRUE(p != MAP_FAILED);
    EXPECT_TRUE(memcmp(p, "below", 5) == 0);
    fdcache_trim();
    EXPECT_GE(fcntl(fd.n, F_GETFD), 0);
    file_put(f);
    fdcache_trim();
    EXPECT_ERRNO(fcntl(fd.n, F_GETFD), EBADF);
}

TEST(shared_writable_map_of_a_file_below_copies_up)
{
    struct file *f;
    struct hostfd fd;
    start_over_tree();
    struct open_how_in how = {O_RDWR, 0, 0};
    ASSERT_EQ(vfs_open(&fs_super, "file", &how, &f), 0);
    ASSERT_EQ(f->ops->map(f, true, &fd), 0);
    char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd.n, 0);
    ASSERT_TRUE(p != MAP_FAILED);
    p[0] = 'B';
    EXPECT_STR(fs_read_file("file"), "Below");
    EXPECT_EQ(fs_pwrite(f, "X", 1, 1), 1);
    EXPECT_EQ(p[1], 'X');
    file_put(f);
}

TEST(host_folders_and_files_put_into_the_root)
{
    struct stat st;
    start_over_tree();
    struct dentry *root = fs_root_super->root, *etc;
    ASSERT_EQ(layer_add_directory(root, "etc", 0755, 0, 0, &etc), 0);
    EXPECT_EQ(layer_add_file(etc, "passwd", 0644, "root:x:0", 8), 0);
    EXPECT_EQ(layer_add_symlink(root, "bin", "usr/dir"), 0);
    EXPECT_EQ(layer_add_lower(root, "usr", host_directory("lower"), NULL, NULL), 0);
    EXPECT_EQ(layer_add_symlink(etc, "passwd", "twice"), -EEXIST);
    dentry_trim(0);
    EXPECT_STR(fs_read_file("etc/passwd"), "root:x:0");
    EXPECT_STR(fs_read_file("usr/dir/one"), "1");
    EXPECT_STR(fs_read_file("bin/two"), "2");
    ASSERT_EQ(fs_stat("usr", &st), 0);
    EXPECT_EQ(st.st_uid, 0);
}

static enum lower_verdict part_of_tree(const char *path)
{
    if (!strcmp(path, "shown") || !strcmp(path, "part/shown") || !strcmp(path, "link") ||
        !strcmp(path, "way-out") || !strcmp(path, "folder-for-a-file"))
        return LOWER_FILE;
    if (!strcmp(path, "part"))
        return LOWER_PARTLY;
    return !strcmp(path, "whole") || !strcmp(path, "file-for-a-folder") ? LOWER_WHOLE
                                                                        : LOWER_HIDDEN;
}

static bool is_link_beside(const char *target)
{
    return !strchr(target, '/');
}

static int list_parts(const char *path, int (*visit)(void *context, const char *name),
                      void *context)
{
    static const char *const names[] = {
        "shown",    "link", "way-out", "part", "whole", "file-for-a-folder", "folder-for-a-file",
        "not-there"};
    size_t count = *path ? 1 : sizeof(names) / sizeof(names[0]);
    int r = 0;
    for (size_t i = 0; i < count && r == 0; i++)
        r = visit(context, names[i]);
    return r;
}

static const struct lower_view part_view = {part_of_tree, is_link_beside, list_parts};

TEST(of_a_folder_with_a_view_the_rest_is_not_there)
{
    struct stat st;
    start_over_tree();
    mkdir("etc", 0755);
    mkdir("etc/part", 0755);
    mkdir("etc/whole", 0755);
    mkdir("etc/hidden-folder", 0755);
    mkdir("etc/folder-for-a-file", 0755);
    host_write("etc/shown", "shown");
    host_write("etc/hidden", "hidden");
    host_write("etc/file-for-a-folder", "");
    host_write("etc/part/shown", "part");
    host_write("etc/part/hidden", "hidden");
    host_write("etc/whole/any", "any");
    EXPECT_EQ(symlink("shown", "etc/link"), 0);
    EXPECT_EQ(symlink("../hidden", "etc/way-out"), 0);
    struct dentry *etc;
    ASSERT_EQ(layer_add_lower(fs_root_super->root, "etc", host_directory("etc"), &part_view, &etc),
              0);
    EXPECT_EQ(layer_add_file(etc, "hidden", 0644, "made up", 7), 0);
    for (int round = 0; round < 2; round++) {
        EXPECT_STR(fs_read_file("etc/shown"), "shown");
        EXPECT_STR(fs_read_file("etc/link"), "shown");
        EXPECT_STR(fs_read_file("etc/part/shown"), "part");
        EXPECT_STR(fs_read_file("etc/whole/any"), "any");
        EXPECT_STR(fs_read_file("etc/hidden"), "made up");
        EXPECT_EQ(fs_stat("etc/part/hidden", &st), -ENOENT);
        EXPECT_EQ(fs_stat("etc/hidden-folder", &st), -ENOENT);
        EXPECT_EQ(fs_stat("etc/way-out", &st), -ENOENT);
        EXPECT_EQ(fs_stat("etc/file-for-a-folder", &st), -ENOENT);
        EXPECT_EQ(fs_stat("etc/folder-for-a-file", &st), -ENOENT);
        EXPECT_EQ(strlen(fs_list("etc")), strlen("hidden link part shown whole"));
        EXPECT_STR(fs_list("etc/part"), "shown");
        dentry_trim(0);
    }
    ASSERT_EQ(fs_stat("etc", &st), 0);
    EXPECT_EQ(st.st_nlink, 2);
}

TEST(many_names_below_are_listed_once_each)
{
    enum { FILES = 9000 };
    char name[32];
    mkdir("lower", 0755);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "lower/%05d", i);
        host_write(name, "");
    }
    fs_start_over("lower");
    const char *names = fs_list(".");
    EXPECT_EQ(strlen(names), FILES * 6 - 1);
    EXPECT_EQ(strlen(fs_list(".")), FILES * 6 - 1);
}

/* Reads a directory a few names at a time, and unlinks what it has seen: as rm -r does. */
struct sweep {
    struct dir_emit emit;
    char names[4][16];
    int count;
    uint64_t cookie;
};

static bool sweep_name(struct dir_emit *e, const char *name, size_t length, uint64_t ino,
                       uint8_t d_type, uint64_t cookie)
{
    struct sweep *s = container_of(e, struct sweep, emit);
    if (s->count == 4)
        return false;
    s->cookie = cookie;
    if (cookie > 2)
        snprintf(s->names[s->count++], sizeof(s->names[0]), "%s", name);
    return true;
}

TEST(unlinking_while_listing_misses_nothing)
{
    enum { FILES = 50 };
    struct file *f;
    char name[32];
    int seen = 0;
    mkdir("lower", 0755);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "lower/%d", i);
        host_write(name, "");
    }
    fs_start_over("lower");
    ASSERT_EQ(fs_open(".", O_RDONLY, 0, &f), 0);
    struct sweep s = {.emit = {sweep_name, 0}};
    do {
        s.count = 0;
        s.emit.after = s.cookie;
        ASSERT_EQ(dentry_list(f, &s.emit), 0);
        for (int i = 0; i < s.count; i++, seen++)
            EXPECT_EQ(fs_unlink(s.names[i]), 0);
    } while (s.count > 0);
    EXPECT_EQ(seen, FILES);
    file_put(f);
    EXPECT_STR(fs_list("."), "");
}

TEST(inode_budget)
{
    fs_start();
    fs_budget.max_inodes = fs_budget.used_inodes + 2;
    EXPECT_EQ(fs_mkdir("a"), 0);
    EXPECT_EQ(fs_write_file("b", ""), 0);
    EXPECT_EQ(fs_mkdir("c"), -ENOSPC);
    EXPECT_EQ(fs_try_open("c", O_CREAT | O_RDWR, 0600), -ENOSPC);
    EXPECT_EQ(fs_symlink("x", "c"), -ENOSPC);
    EXPECT_EQ(fs_unlink("b"), 0);
    EXPECT_EQ(fs_mkdir("c"), 0);
}

TEST(removed_directories_leave_nothing_behind)
{
    start_over_tree();
    uint64_t before = fs_budget.used_inodes;
    ASSERT_EQ(fs_mkdir("new"), 0);
    EXPECT_EQ(fs_try_open("new/missing", O_RDONLY, 0), -ENOENT);
    EXPECT_EQ(fs_rmdir("new"), 0);
    EXPECT_EQ(fs_budget.used_inodes, before);
    EXPECT_EQ(super_unlink("dir/one"), 0);
    EXPECT_EQ(super_unlink("dir/two"), 0);
    EXPECT_EQ(vfs_rmdir(&fs_super, "dir/sub"), 0);
    struct dentry *d;
    ASSERT_EQ(walk_lookup_child(fs_root_super->root, "dir", 3, &d), 0);
    EXPECT_EQ(vfs_rmdir(&fs_super, "dir"), 0);
    EXPECT_EQ(d->refs, 1);
    EXPECT_TRUE(list_is_empty(&d->children));
    dentry_put(d);
    EXPECT_EQ(fs_try_open("dir", O_RDONLY, 0), -ENOENT);
}

TEST(xattrs_of_all_inodes_together_are_bounded)
{
    static char value[60000];
    struct path p;
    char name[16];
    int r = 0, made = 0;
    fs_start();
    for (int i = 0; i < 400 && r == 0; i++, made++) {
        snprintf(name, sizeof(name), "%d", i);
        ASSERT_EQ(fs_write_file(name, ""), 0);
        ASSERT_EQ(walk_path(&fs_user, name, 0, &p, NULL), 0);
        r = p.dentry->inode->ops->setxattr(p.dentry->inode, "user.a", value, sizeof(value), 0);
        path_put(&p);
    }
    EXPECT_EQ(r, -ENOSPC);
    EXPECT_EQ(made, (16 << 20) / 60007 + 1);
    EXPECT_EQ(fs_unlink("0"), 0);
    EXPECT_EQ(fs_write_file("again", ""), 0);
    ASSERT_EQ(walk_path(&fs_user, "again", 0, &p, NULL), 0);
    EXPECT_EQ(p.dentry->inode->ops->setxattr(p.dentry->inode, "user.a", value, 60000, 0), 0);
    path_put(&p);
}

TEST(statfs_tells_the_budget)
{
    struct statfs st;
    fs_start();
    ASSERT_EQ(fs_write_file("a", "text"), 0);
    ASSERT_EQ(fs_root_super->statfs(fs_root_super, &st), 0);
    EXPECT_EQ(st.f_blocks, (1 << 30) / 4096);
    EXPECT_EQ(st.f_bfree, (1 << 30) / 4096 - 1);
    EXPECT_EQ(st.f_files - st.f_ffree, 2);
}

TEST(links_of_directories)
{
    struct stat st;
    fs_start();
    ASSERT_EQ(fs_mkdir("a"), 0);
    ASSERT_EQ(fs_stat("a", &st), 0);
    EXPECT_EQ(st.st_nlink, 2);
    ASSERT_EQ(fs_mkdir("a/b"), 0);
    ASSERT_EQ(fs_mkdir("c"), 0);
    ASSERT_EQ(fs_stat("a", &st), 0);
    EXPECT_EQ(st.st_nlink, 3);
    EXPECT_EQ(fs_rename("a/b", "c/b", 0), 0);
    ASSERT_EQ(fs_stat("a", &st), 0);
    EXPECT_EQ(st.st_nlink, 2);
    ASSERT_EQ(fs_stat("c", &st), 0);
    EXPECT_EQ(st.st_nlink, 3);
    EXPECT_EQ(fs_rmdir("c/b"), 0);
    ASSERT_EQ(fs_stat("c", &st), 0);
    EXPECT_EQ(st.st_nlink, 2);
}

TEST(set_user_id_goes_when_written_by_others)
{
    struct stat st;
    struct file *f;
    fs_start();
    ASSERT_EQ(fs_write_file("a", "text"), 0);
    ASSERT_EQ(fs_chmod("a", 06777), 0);
    ASSERT_EQ(fs_open("a", O_WRONLY, 0, &f), 0);
    EXPECT_EQ(fs_pwrite(f, "", 0, 0), 0);
    EXPECT_EQ(f->inode->mode & 07777, 06777);
    EXPECT_EQ(fs_pwrite(f, "x", 1, 0), 1);
    file_put(f);
    ASSERT_EQ(fs_stat("a", &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0777);
}
