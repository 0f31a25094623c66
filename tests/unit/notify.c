// SPDX-License-Identifier: Apache-2.0
/*
 * The limits of inotify, on inodes that are in no file system.
 */
#include "kernel/fs/notify.h"
#include "kernel/core/kernel.h"
#include "tests/harness/harness.h"

static struct inode *make_inode(void)
{
    struct inode *i = calloc(1, sizeof(*i));
    ASSERT_TRUE(i);
    i->mode = S_IFREG;
    list_init(&i->watches);
    return i;
}

static size_t drain(struct notify_group *g, struct notify_event *ret_last)
{
    size_t count = 0;
    for (; notify_group_first(g); count++) {
        *ret_last = *notify_group_first(g);
        notify_group_drop_first(g);
    }
    return count;
}

/* Two events in turn, so that no two neighbours are equal. */
static void tell_many(struct inode *i, size_t count)
{
    for (size_t n = 0; n < count; n++)
        notify_inode(i, n % 2 ? IN_ATTRIB : IN_OPEN);
}

TEST(instances_are_limited)
{
    struct notify_group *g;
    int count = 0;
    while (count <= LIMIT_INOTIFY_INSTANCES && notify_group_new(NOTIFY_INSIDE, &g) == 0)
        count++;
    EXPECT_EQ(count, LIMIT_INOTIFY_INSTANCES);
    EXPECT_EQ(notify_group_new(NOTIFY_INSIDE, &g), -EMFILE);
    notify_group_free(g);
    EXPECT_EQ(notify_group_new(NOTIFY_INSIDE, &g), 0);
}

/* What programs use up is not the owner's, and the other way round. */
TEST(each_side_has_limits_of_its_own)
{
    struct notify_group *g, *outside;
    while (notify_group_new(NOTIFY_INSIDE, &g) == 0)
        ;
    while (notify_watch_add(g, make_inode(), IN_OPEN) > 0)
        ;
    ASSERT_EQ(notify_group_new(NOTIFY_OUTSIDE, &outside), 0);
    EXPECT_EQ(notify_watch_add(outside, make_inode(), IN_OPEN), 1);
    while (notify_group_new(NOTIFY_OUTSIDE, &outside) == 0)
        ;
    EXPECT_EQ(notify_group_new(NOTIFY_INSIDE, &outside), -EMFILE);
    notify_group_free(g);
    EXPECT_EQ(notify_group_new(NOTIFY_INSIDE, &g), 0);
    EXPECT_GT(notify_watch_add(g, make_inode(), IN_OPEN), 0);
}

TEST(watches_are_limited_together)
{
    struct notify_group *a, *b;
    ASSERT_EQ(notify_group_new(NOTIFY_INSIDE, &a), 0);
    ASSERT_EQ(notify_group_new(NOTIFY_INSIDE, &b), 0);
    int count = 0;
    while (notify_watch_add(count % 2 ? a : b, make_inode(), IN_OPEN) > 0)
        count++;
    EXPECT_EQ(count, LIMIT_INOTIFY_WATCHES);
    EXPECT_EQ(notify_watch_add(a, make_inode(), IN_OPEN), -ENOSPC);
    notify_group_free(b);
    EXPECT_GT(notify_watch_add(a, make_inode(), IN_OPEN), 0);
}

TEST(queue_ends_with_one_overflow)
{
    struct notify_group *g;
    struct notify_event last = {0};
    struct inode *i = make_inode();
    ASSERT_EQ(notify_group_new(NOTIFY_INSIDE, &g), 0);
    ASSERT_EQ(notify_watch_add(g, i, IN_OPEN | IN_ATTRIB), 1);
    tell_many(i, LIMIT_INOTIFY_QUEUE + 100);
    EXPECT_EQ(drain(g, &last), LIMIT_INOTIFY_QUEUE + 1);
    EXPECT_EQ(last.mask, IN_Q_OVERFLOW);
    EXPECT_EQ(last.wd, -1);
    EXPECT_EQ(notify_group_bytes(g), 0);
    /* It goes on afterwards, and can overflow again. */
    tell_many(i, LIMIT_INOTIFY_QUEUE + 1);
    EXPECT_EQ(drain(g, &last), LIMIT_INOTIFY_QUEUE + 1);
    EXPECT_EQ(last.mask, IN_Q_OVERFLOW);
}

TEST(queues_are_limited_together)
{
    enum { GROUPS = LIMIT_INOTIFY_QUEUED / LIMIT_INOTIFY_QUEUE + 2 };
    struct notify_group *groups[GROUPS];
    struct notify_event last;
    struct inode *i = make_inode();
    size_t total = 0;
    for (int n = 0; n < GROUPS; n++) {
        ASSERT_EQ(notify_group_new(NOTIFY_INSIDE, &groups[n]), 0);
        ASSERT_EQ(notify_watch_add(groups[n], i, IN_OPEN | IN_ATTRIB), 1);
    }
    tell_many(i, LIMIT_INOTIFY_QUEUE);
    for (int n = 0; n < GROUPS; n++)
        total += drain(groups[n], &last);
    EXPECT_LE(total, LIMIT_INOTIFY_QUEUED + GROUPS);
    EXPECT_EQ(last.mask, IN_Q_OVERFLOW);
}

TEST(inode_takes_its_watches_along)
{
    struct notify_group *g;
    struct notify_event last;
    struct inode *i = make_inode();
    ASSERT_EQ(notify_group_new(NOTIFY_INSIDE, &g), 0);
    ASSERT_EQ(notify_watch_add(g, i, IN_DELETE_SELF), 1);
    notify_inode_gone(i);
    free(i);
    EXPECT_EQ(drain(g, &last), 2);
    EXPECT_EQ(last.mask, IN_IGNORED);
    EXPECT_EQ(notify_watch_remove(g, 1), -EINVAL);
    notify_group_free(g);
}
