// SPDX-License-Identifier: Apache-2.0
#include "sandbox/exec_messages.h"
#include "sandbox/journal.h"
#include "tests/harness/harness.h"

#include <stdlib.h>

static const struct journal_source out = {.stream = EXEC_OUT, .tag = ""};
static const struct journal_source web = {.pid = 7, .stream = EXEC_ERR, .tag = "web"};

static void append(struct journal *j, const struct journal_source *from, const char *text)
{
    journal_append(j, from, text, strlen(text));
}

TEST(pieces_come_in_order)
{
    struct journal j;
    struct journal_piece p;
    uint64_t offset = 0;
    journal_init(&j);
    EXPECT_TRUE(!journal_at(&j, &offset, &p));
    append(&j, &out, "one ");
    append(&j, &out, "two");
    append(&j, &web, "three");
    ASSERT_TRUE(journal_at(&j, &offset, &p));
    EXPECT_EQ(p.head.size, 7u);
    EXPECT_EQ(memcmp(p.data, "one two", 7), 0);
    offset = 4;
    ASSERT_TRUE(journal_at(&j, &offset, &p));
    EXPECT_EQ(p.head.size, 3u);
    offset = 7;
    ASSERT_TRUE(journal_at(&j, &offset, &p));
    EXPECT_EQ(p.head.pid, 7);
    EXPECT_EQ(p.head.stream, EXEC_ERR);
    EXPECT_EQ(p.head.tag_size, 3u);
    EXPECT_EQ(memcmp(p.tag, "web", 3), 0);
    offset = 12;
    EXPECT_TRUE(!journal_at(&j, &offset, &p));
    journal_done(&j);
}

TEST(it_has_an_end)
{
    struct journal j;
    struct journal_piece p;
    uint64_t offset = 0;
    static char much[3 * JOURNAL_KEPT_BYTES];
    journal_init(&j);
    memset(much, 'x', sizeof(much));
    journal_append(&j, &out, much, sizeof(much));
    EXPECT_EQ(j.end, sizeof(much));
    EXPECT_LE(j.end - j.start, (uint64_t)JOURNAL_KEPT_BYTES);
    ASSERT_TRUE(journal_at(&j, &offset, &p));
    EXPECT_EQ(offset, j.start);
    /* A byte at a time, of two who take turns. */
    for (int i = 0; i < 100000; i++)
        append(&j, i % 2 ? &out : &web, "y");
    EXPECT_LE(j.memory, 2 * (size_t)JOURNAL_KEPT_BYTES);
    EXPECT_EQ(j.end, sizeof(much) + 100000u);
    journal_done(&j);
    EXPECT_EQ(j.memory, 0u);
}

TEST(records_come_back)
{
    struct journal j;
    struct journal_piece p;
    struct buf b = BUF_INIT(1 << 20);
    journal_init(&j);
    append(&j, &out, "first");
    append(&j, &web, "second");
    append(&j, &out, "third");
    journal_write(&j, &b, 2 * sizeof(struct journal_head) + 3 + 6 + 5);
    size_t used = journal_read(b.data, b.size, &p);
    ASSERT_GT(used, 0u);
    EXPECT_EQ(memcmp(p.data, "second", 6), 0);
    EXPECT_EQ(p.head.offset, 5u);
    used += journal_read(b.data + used, b.size - used, &p);
    EXPECT_EQ(memcmp(p.data, "third", 5), 0);
    EXPECT_EQ(used, b.size);
    /* None of its beginnings is more than it is. */
    for (size_t size = 0; size < b.size; size++) {
        char *copy = malloc(size + 1);
        ASSERT_TRUE(copy != NULL);
        memcpy(copy, b.data, size);
        for (size_t at = 0, n; (n = journal_read(copy + at, size - at, &p)) > 0; at += n)
            EXPECT_TRUE(p.data + p.head.size <= copy + size);
        free(copy);
    }
    buf_done(&b);
    journal_done(&j);
}

TEST(nothing_too_large_is_kept)
{
    struct journal j;
    struct buf b = BUF_INIT(1 << 20);
    journal_init(&j);
    append(&j, &out, "first");
    journal_write(&j, &b, sizeof(struct journal_head) + 4);
    EXPECT_EQ(b.size, 0u);
    buf_done(&b);
    journal_done(&j);
}
