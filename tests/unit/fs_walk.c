// SPDX-License-Identifier: Apache-2.0
/* The path walk: path_resolution(7), openat2(2). */
#include "tests/unit/fs_support.h"

static int walk(const char *name, unsigned flags)
{
    struct path p;
    int r = walk_path(&fs_user, name, flags, &p, NULL);
    if (r == 0)
        path_put(&p);
    return r;
}

static const char *text_of(const char *name, unsigned flags)
{
    static char text[GUEST_PATH_MAX];
    struct path p;
    int r = walk_path(&fs_user, name, flags, &p, NULL);
    snprintf(text, sizeof(text), "error %d", r);
    if (r == 0) {
        path_text(p, fs_user.root, text, sizeof(text));
        path_put(&p);
    }
    return text;
}

static void start_with_tree(void)
{
    fs_start();
    ASSERT_EQ(fs_mkdir("a"), 0);
    ASSERT_EQ(fs_mkdir("a/b"), 0);
    ASSERT_EQ(fs_mkdir("a/b/c"), 0);
    ASSERT_EQ(fs_write_file("a/f", "text"), 0);
}

/* A walk base in a directory of the tree. */
static struct walk_base base_at(const char *name)
{
    struct walk_base b = fs_user;
    ASSERT_EQ(walk_path(&fs_user, name, 0, &b.base, NULL), 0);
    return b;
}

static int walk_from(const struct walk_base *b, const char *name, unsigned flags)
{
    struct path p;
    int r = walk_path(b, name, flags, &p, NULL);
    if (r == 0)
        path_put(&p);
    return r;
}

TEST(plain_names_lead_where_they_say)
{
    start_with_tree();
    EXPECT_STR(text_of("a/b/c", 0), "/a/b/c");
    EXPECT_STR(text_of("/a//b///c/", 0), "/a/b/c");
    EXPECT_STR(text_of("a/./b/../b/c/.", 0), "/a/b/c");
    EXPECT_STR(text_of("/", 0), "/");
    EXPECT_STR(text_of(".", 0), "/");
}

TEST(dotdot_stops_at_the_root)
{
    start_with_tree();
    EXPECT_STR(text_of("../../..", 0), "/");
    EXPECT_STR(text_of("/../../a/..", 0), "/");
}

TEST(dotdot_stops_at_the_root_of_the_process)
{
    start_with_tree();
    struct walk_base b = base_at("a/b");
    b.root = b.base;
    struct path p;
    ASSERT_EQ(walk_path(&b, "../../..", 0, &p, NULL), 0);
    EXPECT_TRUE(path_is_same(p, b.base));
    EXPECT_EQ(walk_from(&b, "/a", 0), -ENOENT);
    EXPECT_EQ(walk_from(&b, "/c", 0), 0);
}

TEST(empty_name)
{
    start_with_tree();
    EXPECT_EQ(walk("", 0), -ENOENT);
    EXPECT_EQ(walk("", WALK_EMPTY_OK), 0);
}

TEST(missing_and_not_a_directory)
{
    start_with_tree();
    EXPECT_EQ(walk("nothing", 0), -ENOENT);
    EXPECT_EQ(walk("nothing/x", 0), -ENOENT);
    EXPECT_EQ(walk("a/f/x", 0), -ENOTDIR);
    EXPECT_EQ(walk("a/f/", 0), -ENOTDIR);
    EXPECT_EQ(walk("a/f/.", 0), -ENOTDIR);
    EXPECT_EQ(walk("a/f/..", 0), -ENOTDIR);
    EXPECT_EQ(walk("a/f", WALK_DIRECTORY), -ENOTDIR);
    EXPECT_EQ(walk("a/b", WALK_DIRECTORY), 0);
}

TEST(a_component_may_have_255_bytes)
{
    char name[258];
    fs_start();
    memset(name, 'x', sizeof(name));
    name[256] = '\0';
    EXPECT_EQ(walk(name, 0), -ENAMETOOLONG);
    EXPECT_EQ(fs_mkdir(name), -ENAMETOOLONG);
    name[255] = '\0';
    EXPECT_EQ(walk(name, 0), -ENOENT);
    EXPECT_EQ(fs_mkdir(name), 0);
}

TEST(search_permission_of_each_directory)
{
    start_with_tree();
    ASSERT_EQ(fs_chmod("a/b", 0600), 0);
    EXPECT_EQ(walk("a/b", 0), 0);
    EXPECT_EQ(walk("a/b/c", 0), -EACCES);
    EXPECT_EQ(walk("a/b/nothing", 0), -EACCES);
    EXPECT_EQ(walk("a/b/.", 0), -EACCES);
    EXPECT_EQ(walk_from(&fs_super, "a/b/c", 0), 0);
}

TEST(links_are_followed_inside_a_path)
{
    start_with_tree();
    ASSERT_EQ(fs_symlink("a/b", "rel"), 0);
    ASSERT_EQ(fs_symlink("/a/b", "abs"), 0);
    ASSERT_EQ(fs_symlink("../f", "a/b/up"), 0);
    EXPECT_STR(text_of("rel/c", 0), "/a/b/c");
    EXPECT_STR(text_of("abs/c", 0), "/a/b/c");
    EXPECT_STR(text_of("rel/up", WALK_FOLLOW), "/a/f");
    EXPECT_STR(text_of("rel/up", 0), "/a/b/up");
    EXPECT_STR(text_of("rel/../f", 0), "/a/f");
}

TEST(a_link_in_the_last_place)
{
    start_with_tree();
    ASSERT_EQ(fs_symlink("a/b", "l"), 0);
    ASSERT_EQ(fs_symlink("a/f", "lf"), 0);
    EXPECT_STR(text_of("l", 0), "/l");
    EXPECT_STR(text_of("l", WALK_FOLLOW), "/a/b");
    EXPECT_STR(text_of("l/", 0), "/a/b");
    EXPECT_STR(text_of("l/.", 0), "/a/b");
    EXPECT_EQ(walk("lf/", 0), -ENOTDIR);
    EXPECT_EQ(walk("l", WALK_DIRECTORY), -ENOTDIR);
    EXPECT_EQ(walk("l", WALK_DIRECTORY | WALK_FOLLOW), 0);
}

TEST(a_trailing_slash_in_the_text_of_a_link_asks_for_a_directory)
{
    start_with_tree();
    ASSERT_EQ(fs_symlink("a/f/", "l"), 0);
    EXPECT_EQ(walk("l", WALK_FOLLOW), -ENOTDIR);
    ASSERT_EQ(fs_symlink("a/b/", "m"), 0);
    EXPECT_EQ(walk("m", WALK_FOLLOW), 0);
}

TEST(dangling_links)
{
    start_with_tree();
    ASSERT_EQ(fs_symlink("nowhere", "l"), 0);
    EXPECT_EQ(walk("l", 0), 0);
    EXPECT_EQ(walk("l", WALK_FOLLOW), -ENOENT);
    EXPECT_EQ(walk("l/x", 0), -ENOENT);
}

TEST(forty_links_and_not_one_more)
{
    char name[16], target[16];
    start_with_tree();
    ASSERT_EQ(fs_symlink("a", "l0"), 0);
    for (int i = 1; i <= 40; i++) {
        snprintf(name, sizeof(name), "l%d", i);
        snprintf(target, sizeof(target), "l%d", i - 1);
        ASSERT_EQ(fs_symlink(target, name), 0);
    }
    EXPECT_EQ(walk("l39", WALK_FOLLOW), 0);
    EXPECT_EQ(walk("l40", WALK_FOLLOW), -ELOOP);
    EXPECT_EQ(walk("l40", 0), 0);
    EXPECT_EQ(walk("l39/b", 0), 0);
    EXPECT_EQ(walk("l40/b", 0), -ELOOP);
}

TEST(a_link_to_itself)
{
    fs_start();
    ASSERT_EQ(fs_symlink("self", "self"), 0);
    EXPECT_EQ(walk("self", WALK_FOLLOW), -ELOOP);
    EXPECT_EQ(walk("self/x", 0), -ELOOP);
}

TEST(links_count_over_the_whole_path_not_by_depth)
{
    char name[512] = "";
    start_with_tree();
    ASSERT_EQ(fs_symlink(".", "here"), 0);
    for (int i = 0; i < 40; i++)
        strcat(name, "here/");
    strcat(name, "a");
    EXPECT_EQ(walk(name, 0), 0);
    strcpy(name + strlen(name) - 1, "here/a");
    EXPECT_EQ(walk(name, 0), -ELOOP);
}

TEST(parent_walks)
{
    struct path p;
    struct walk_last last;
    start_with_tree();
    ASSERT_EQ(walk_path(&fs_user, "a/new/", WALK_PARENT, &p, &last), 0);
    EXPECT_STR(p.dentry->name, "a");
    EXPECT_STR(last.name, "new");
    EXPECT_TRUE(last.trailing_slash && last.kind == LAST_NORMAL);
    path_put(&p);
    ASSERT_EQ(walk_path(&fs_user, "a/..", WALK_PARENT, &p, &last), 0);
    EXPECT_EQ(last.kind, LAST_DOTDOT);
    path_put(&p);
    ASSERT_EQ(walk_path(&fs_user, "///", WALK_PARENT, &p, &last), 0);
    EXPECT_EQ(last.kind, LAST_ROOT);
    path_put(&p);
    EXPECT_EQ(walk_path(&fs_user, "no/x", WALK_PARENT, &p, &last), -ENOENT);
    EXPECT_EQ(walk_path(&fs_user, "a/f/x", WALK_PARENT, &p, &last), -ENOTDIR);
}

TEST(beneath)
{
    start_with_tree();
    ASSERT_EQ(fs_symlink("..", "a/out"), 0);
    ASSERT_EQ(fs_symlink("/a/b", "a/abs"), 0);
    ASSERT_EQ(fs_symlink("b/c", "a/in"), 0);
    struct walk_base b = base_at("a");
    EXPECT_EQ(walk_from(&b, "b/c", WALK_BENEATH), 0);
    EXPECT_EQ(walk_from(&b, "b/../b", WALK_BENEATH), 0);
    EXPECT_EQ(walk_from(&b, "in", WALK_BENEATH | WALK_FOLLOW), 0);
    EXPECT_EQ(walk_from(&b, "..", WALK_BENEATH), -EXDEV);
    EXPECT_EQ(walk_from(&b, "b/../..", WALK_BENEATH), -EXDEV);
    EXPECT_EQ(walk_from(&b, "/a", WALK_BENEATH), -EXDEV);
    EXPECT_EQ(walk_from(&b, "out", WALK_BENEATH | WALK_FOLLOW), -EXDEV);
    EXPECT_EQ(walk_from(&b, "abs/c", WALK_BENEATH), -EXDEV);
}

TEST(in_root)
{
    start_with_tree();
    ASSERT_EQ(fs_symlink("/b", "a/abs"), 0);
    struct walk_base b = base_at("a");
    EXPECT_EQ(walk_from(&b, "/b/c", WALK_IN_ROOT), 0);
    EXPECT_EQ(walk_from(&b, "../../b", WALK_IN_ROOT), 0);
    EXPECT_EQ(walk_from(&b, "abs/c", WALK_IN_ROOT), 0);
    EXPECT_EQ(walk_from(&b, "/a", WALK_IN_ROOT), -ENOENT);
}

TEST(no_symlinks)
{
    start_with_tree();
    ASSERT_EQ(fs_symlink("b", "a/l"), 0);
    EXPECT_EQ(walk("a/b", WALK_NO_SYMLINKS), 0);
    EXPECT_EQ(walk("a/l/c", WALK_NO_SYMLINKS), -ELOOP);
    EXPECT_EQ(walk("a/l", WALK_NO_SYMLINKS | WALK_FOLLOW), -ELOOP);
    EXPECT_EQ(walk("a/l", WALK_NO_SYMLINKS), 0);
}

static struct mount *mount_tmpfs(const char *at)
{
    struct layer_options options = {.type_name = "tmpfs",
                                    .lower = HOSTFD_NONE,
                                    .budget = &fs_budget,
                                    .max_bytes = UINT64_MAX,
                                    .root_mode = 0777};
    struct super *s;
    struct mount *m;
    struct path p;
    ASSERT_EQ(layer_super_new(&options, &s), 0);
    ASSERT_EQ(walk_path(&fs_user, at, 0, &p, NULL), 0);
    ASSERT_EQ(mount_add(s, p, "none", &m), 0);
    path_put(&p);
    return m;
}

TEST(mounts_are_crossed_down_and_up)
{
    struct stat below, root;
    start_with_tree();
    mount_tmpfs("a/b");
    EXPECT_EQ(walk("a/b/c", 0), -ENOENT);
    ASSERT_EQ(fs_mkdir("a/b/in"), 0);
    EXPECT_STR(text_of("a/b/in", 0), "/a/b/in");
    EXPECT_STR(text_of("a/b/in/../..", 0), "/a");
    ASSERT_EQ(fs_stat("a/b", &below), 0);
    ASSERT_EQ(fs_stat("/", &root), 0);
    EXPECT_NE(below.st_dev, root.st_dev);
    EXPECT_EQ(walk("a/b", WALK_NO_XDEV), -EXDEV);
    struct walk_base b = base_at("a/b");
    EXPECT_EQ(walk_from(&b, "in", WALK_NO_XDEV), 0);
    EXPECT_EQ(walk_from(&b, "..", WALK_NO_XDEV), -EXDEV);
    EXPECT_EQ(walk_from(&b, "in/..", WALK_NO_XDEV), 0);
}

TEST(mounts_on_mounts)
{
    start_with_tree();
    mount_tmpfs("a/b");
    ASSERT_EQ(fs_mkdir("a/b/first"), 0);
    mount_tmpfs("a/b");
    EXPECT_EQ(walk("a/b/first", 0), -ENOENT);
    EXPECT_STR(text_of("a/b/..", 0), "/a");
    EXPECT_STR(text_of("a/b", 0), "/a/b");
}

TEST(text_of_unlinked_unreachable_and_anonymous)
{
    char text[64];
    struct file *f, *anonymous;
    start_with_tree();
    ASSERT_EQ(fs_open("a/f", O_RDONLY, 0, &f), 0);
    ASSERT_EQ(fs_unlink("a/f"), 0);
    EXPECT_EQ(path_text(f->path, fs_user.root, text, sizeof(text)), 14);
    EXPECT_STR(text, "/a/f (deleted)");
    struct walk_base b = base_at("a/b");
    EXPECT_GT(path_text(f->path, b.base, text, sizeof(text)), 0);
    EXPECT_STR(text, "(unreachable)/a/f (deleted)");
    EXPECT_EQ(path_text(f->path, fs_user.root, text, 14), -ENAMETOOLONG);
    static const struct file_ops ops;
    ASSERT_EQ(file_new_anonymous("pipe:[%llu]", S_IFIFO | 0600, O_RDONLY, &ops, NULL, &anonymous),
              0);
    EXPECT_GT(path_text(anonymous->path, fs_user.root, text, sizeof(text)), 0);
    EXPECT_TRUE(strncmp(text, "pipe:[", 6) == 0);
    file_put(anonymous);
    file_put(f);
}

TEST(a_removed_directory_finds_nothing)
{
    start_with_tree();
    struct walk_base b = base_at("a/b/c");
    ASSERT_EQ(fs_rmdir("a/b/c"), 0);
    EXPECT_EQ(walk_from(&b, "x", 0), -ENOENT);
    EXPECT_EQ(walk_from(&b, ".", 0), 0);
    EXPECT_EQ(walk_from(&b, "..", 0), 0);
    EXPECT_EQ(vfs_mkdir(&b, "x", 0755), -ENOENT);
}

TEST(depth_of_a_tree_is_no_depth_of_the_stack)
{
    enum { DEPTH = 20000 };
    fs_start();
    struct walk_base b = fs_user;
    path_get(b.base);
    for (int i = 0; i < DEPTH; i++) {
        struct path next;
        ASSERT_EQ(vfs_mkdir(&b, "d", 0755), 0);
        ASSERT_EQ(walk_path(&b, "d", 0, &next, NULL), 0);
        path_put(&b.base);
        b.base = next;
    }
    char text[GUEST_PATH_MAX];
    EXPECT_EQ(path_text(b.base, fs_user.root, text, sizeof(text)), -ENAMETOOLONG);
    for (int i = 0; i < DEPTH; i++) {
        struct path up;
        ASSERT_EQ(walk_path(&b, "..", 0, &up, NULL), 0);
        path_put(&b.base);
        b.base = up;
        ASSERT_EQ(vfs_rmdir(&b, "d"), 0);
    }
    path_put(&b.base);
    EXPECT_EQ(fs_budget.used_inodes, 1);
}
