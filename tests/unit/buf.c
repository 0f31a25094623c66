// SPDX-License-Identifier: Apache-2.0
#include "lib/base/buf.h"
#include "tests/harness/harness.h"

#define MAX_BYTES 1000
#define STEPS     20000

/* What a buffer should hold. */
struct model {
    char data[MAX_BYTES];
    size_t size;
};

static uint32_t next_random(void)
{
    static uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    return state >> 8;
}

static void expect_same(const struct buf *b, const struct model *m)
{
    ASSERT_EQ(b->size, m->size);
    if (!b->data)
        return;
    ASSERT_TRUE(!memcmp(b->data, m->data, m->size));
    ASSERT_EQ(b->data[b->size], '\0');
    ASSERT_TRUE(b->consumed_bytes + b->size < b->capacity);
}

static void append(struct buf *b, struct model *m, bool in_place)
{
    char text[MAX_BYTES];
    size_t size = next_random() % (MAX_BYTES - m->size + 1);
    for (size_t i = 0; i < size; i++)
        text[i] = (char)next_random();
    memcpy(m->data + m->size, text, size);
    m->size += size;
    if (in_place) {
        char *room = buf_room(b, size + (MAX_BYTES - m->size) / 2);
        ASSERT_TRUE(room);
        memcpy(room, text, size);
        buf_extend(b, size);
    } else {
        ASSERT_EQ(buf_append(b, text, size), 0);
    }
}

static void consume(struct buf *b, struct model *m)
{
    size_t size = next_random() % (m->size + 2);
    buf_consume(b, size);
    size = MIN(size, m->size);
    m->size -= size;
    memmove(m->data, m->data + size, m->size);
}

/* To one that has half a ceiling's room at least. */
static void move(struct buf *b, struct model *m, struct buf *from, struct model *from_model)
{
    if (m->size + from_model->size > MAX_BYTES)
        return;
    ASSERT_EQ(buf_move(b, from), 0);
    memcpy(m->data + m->size, from_model->data, from_model->size);
    m->size += from_model->size;
    from_model->size = 0;
}

TEST(holds_what_was_appended_and_not_consumed)
{
    struct buf b[2] = {BUF_INIT(MAX_BYTES), BUF_INIT(MAX_BYTES)};
    static struct model m[2];
    for (int i = 0; i < STEPS; i++) {
        size_t n = next_random() % 2;
        switch (next_random() % 5) {
        case 0:
        case 1:
            append(&b[n], &m[n], next_random() % 2);
            break;
        case 2:
        case 3:
            consume(&b[n], &m[n]);
            break;
        case 4:
            move(&b[n], &m[n], &b[1 - n], &m[1 - n]);
            break;
        }
        expect_same(&b[0], &m[0]);
        expect_same(&b[1], &m[1]);
    }
    buf_done(&b[0]);
    buf_done(&b[1]);
}

TEST(the_ceiling_counts_what_is_held)
{
    static const char text[MAX_BYTES];
    struct buf b = BUF_INIT(MAX_BYTES);
    for (int i = 0; i < 10; i++) {
        ASSERT_EQ(buf_append(&b, text, MAX_BYTES - b.size), 0);
        buf_consume(&b, MAX_BYTES / 3);
    }
    EXPECT_LE(b.capacity, (size_t)2 * MAX_BYTES);
    EXPECT_EQ(buf_append(&b, text, MAX_BYTES / 3 + 1), -E2BIG);
    EXPECT_TRUE(b.failed);
    EXPECT_TRUE(!buf_room(&b, 1));
    buf_done(&b);
}

TEST(moved_memory_changes_hands)
{
    struct buf a = BUF_INIT(MAX_BYTES), b = BUF_INIT(MAX_BYTES), small = BUF_INIT(3);
    buf_append_str(&a, "xtext");
    buf_consume(&a, 1);
    const char *data = a.data;
    EXPECT_EQ(buf_move(&b, &a), 0);
    EXPECT_TRUE(b.data == data && a.size == 0);
    EXPECT_STR(b.data, "text");
    EXPECT_EQ(buf_move(&small, &b), -E2BIG);
    EXPECT_TRUE(small.failed);
    EXPECT_STR(b.data, "text");
    buf_done(&a);
    buf_done(&b);
    buf_done(&small);
}
