// SPDX-License-Identifier: Apache-2.0
#include "lib/base/buf.h"
#include "sandbox/files_listing.h"
#include "tests/harness/harness.h"

#include <sys/stat.h>

static struct buf packet = {.max_bytes = 1 << 20};

static void add(const char *name, unsigned level, mode_t mode, const char *target,
                const char *owner)
{
    const struct files_entry e = {
        .mode = mode,
        .target_mode = *target ? S_IFREG | 0644 : 0,
        .uid = 7,
        .level = (uint16_t)level,
        .name_size = (uint16_t)strlen(name),
        .target_size = (uint16_t)strlen(target),
        .owner_size = (uint16_t)strlen(owner),
    };
    buf_append(&packet, &e, sizeof(e));
    buf_append_str(&packet, name);
    buf_append_str(&packet, target);
    buf_append_str(&packet, owner);
}

static void add_file(const char *name, unsigned level)
{
    add(name, level, S_IFREG | 0644, "", "user");
}

static void add_directory(const char *name, unsigned level)
{
    add(name, level, S_IFDIR | 0755, "", "user");
}

static int take(struct files_listing *l)
{
    /* On the heap and of its size, so that ASan sees its end. */
    char *copy = malloc(packet.size);
    memcpy(copy, packet.data, packet.size);
    int r = files_listing_take(l, (struct files_records){copy, packet.size});
    free(copy);
    buf_reset(&packet);
    return r;
}

/* What is taken, or refused, of a fresh list. */
static int take_new(void)
{
    struct files_listing *l = files_listing_new(100);
    int r = take(l);
    files_listing_free(l);
    return r;
}

TEST(order_is_that_of_a_walk)
{
    static const char *const wanted[] = {"/w/B",  "/w/a",   "/w/a/x", "/w/a/x/y",
                                         "/w/a-", "/w/a.b", "/w/ab"};
    struct files_listing *l = files_listing_new(100);
    size_t count;
    const char *root;
    add_directory("/w", 0);
    add_file("ab", 1);
    add_directory("a", 1);
    add_directory("x", 2);
    ASSERT_EQ(take(l), 0);
    add_file("y", 3);
    add_file("a.b", 1);
    add_file("B", 1);
    add_file("a-", 1);
    ASSERT_EQ(take(l), 0);
    const struct files_listed *all = files_listing_end(l, &count, &root);
    EXPECT_STR(root, "/w");
    ASSERT_EQ(count, ARRAY_SIZE(wanted));
    for (size_t i = 0; i < count; i++)
        EXPECT_STR(all[i].path, wanted[i]);
    files_listing_free(l);
}

TEST(levels_nest)
{
    add_file("a", 1); /* in nothing */
    EXPECT_EQ(take_new(), -EPROTO);
    add_directory("/w", 0);
    add_file("a", 2);
    EXPECT_EQ(take_new(), -EPROTO);
    add_directory("/w", 0);
    add_file("a", 1);
    add_file("b", 2); /* in a file */
    EXPECT_EQ(take_new(), -EPROTO);
    add_directory("/w", 0);
    add_directory("/v", 0);
    EXPECT_EQ(take_new(), -EPROTO);
    add_directory("/", 0);
    add_directory("a", 1);
    add_file("b", 2);
    add_file("c", 1);
    EXPECT_EQ(take_new(), 0);
}

TEST(names_lead_nowhere)
{
    static const char *const bad[] = {"", ".", "..", "a/b", "/a", "../x"};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        add_directory("/w", 0);
        add_file(bad[i], 1);
        EXPECT_EQ(take_new(), -EPROTO);
    }
    static const char *const roots[] = {"", "w", "/w/", "//", "/w/../x", "/.", "/a//b"};
    for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
        add_directory(roots[i], 0);
        EXPECT_EQ(take_new(), -EPROTO);
    }
}

TEST(what_is_impossible_is_refused)
{
    add("/w", 0, S_IFREG | 0644, "/target", "user"); /* of no link */
    EXPECT_EQ(take_new(), -EPROTO);
    add("/w", 0, S_IFLNK | 0777, "relative", "user");
    EXPECT_EQ(take_new(), -EPROTO);
    add("/w", 0, 0644, "", "user"); /* no type */
    EXPECT_EQ(take_new(), -EPROTO);
    add("/w", 0, 1U << 20 | S_IFREG, "", "user");
    EXPECT_EQ(take_new(), -EPROTO);
    add_directory("/w", 0);
    packet.size -= 1;
    EXPECT_EQ(take_new(), -EPROTO);
    buf_append(&packet, "short", 5);
    EXPECT_EQ(take_new(), -EPROTO);
    add("/l", 0, S_IFLNK | 0777, "/w/x", "user");
    EXPECT_EQ(take_new(), 0);
}

TEST(owners_are_printable)
{
    struct files_info info;
    add("/w", 0, S_IFDIR, "", "a\x1b[2J");
    struct files_records r = {packet.data, packet.size};
    ASSERT_EQ(files_read_info(&r, &info), 1);
    EXPECT_STR(info.owner, "7");
    EXPECT_STR(info.group, "0");
    EXPECT_EQ(files_read_info(&r, &info), 0);
    buf_reset(&packet);
}

TEST(no_more_than_so_many)
{
    struct files_listing *l = files_listing_new(2);
    add_directory("/", 0);
    add_file("a", 1);
    add_file("b", 1);
    EXPECT_EQ(take(l), 0);
    add_file("c", 1);
    EXPECT_EQ(take(l), -E2BIG);
    files_listing_free(l);
}

TEST(paths_that_are_too_long_are_left_out)
{
    struct files_listing *l = files_listing_new(100);
    char name[FILES_NAME_MAX_BYTES + 1];
    size_t count;
    const char *root;
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    add_directory("/", 0);
    for (unsigned level = 1; level <= 30; level++)
        add_directory(name, level);
    add_file("last", 1);
    ASSERT_EQ(take(l), 0);
    const struct files_listed *all = files_listing_end(l, &count, &root);
    EXPECT_EQ(count, FILES_PATH_MAX_BYTES / sizeof(name) + 1);
    EXPECT_STR(all[0].path, "/last");
    files_listing_free(l);
}
