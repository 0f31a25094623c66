// SPDX-License-Identifier: Apache-2.0
/*
 * Pipes without tasks: order and capacity under many random steps, and the limits on all of them.
 */
#include "kernel/core/kernel.h"
#include "kernel/fs/pipe.h"
#include "tests/unit/fs_support.h"

#define PAGE 4096

static struct file *reader, *writer;

static void make(int flags)
{
    ASSERT_EQ(pipe_create(flags, &reader, &writer), 0);
}

static ssize_t put(const void *data, size_t size)
{
    struct uio u;
    off_t pos = 0;
    uio_init_kernel(&u, (void *)data, size);
    return writer->ops->write(writer, &u, &pos, 0);
}

static ssize_t get(void *data, size_t size)
{
    struct uio u;
    off_t pos = 0;
    uio_init_kernel(&u, data, size);
    return reader->ops->read(reader, &u, &pos, 0);
}

static size_t random_below(size_t limit)
{
    return (size_t)random() % limit;
}

TEST(bytes_keep_their_order_whatever_happens)
{
    static unsigned char buffer[40 * PAGE];
    unsigned char in = 0, out = 0;
    fs_start();
    make(0);
    srandom(1);
    for (int step = 0; step < 20000; step++) {
        struct pipe *p = pipe_of(reader);
        size_t before = pipe_readable_bytes(p);
        size_t size = 1 + random_below(step % 3 ? 2 * PAGE : sizeof(buffer));
        switch (random_below(5)) {
        case 0:
        case 1: {
            for (size_t i = 0; i < size; i++)
                buffer[i] = (unsigned char)(in + i);
            ssize_t n = put(buffer, size);
            ASSERT_TRUE(n > 0 || n == -EAGAIN);
            /* What is not larger than a page goes in whole or not at all. */
            if (size <= PAGE && n > 0)
                ASSERT_EQ(n, size);
            if (n > 0)
                in += (unsigned char)n;
            ASSERT_EQ(pipe_readable_bytes(p), before + (n > 0 ? (size_t)n : 0));
            break;
        }
        case 2:
        case 3: {
            ssize_t n = get(buffer, size);
            ASSERT_EQ(n, before ? (ssize_t)MIN(size, before) : -EAGAIN);
            for (ssize_t i = 0; i < n; i++)
                ASSERT_EQ(buffer[i], out++);
            break;
        }
        default: {
            long r = pipe_set_size(p, 1 + random_below(32 * PAGE), false);
            ASSERT_TRUE(r > 0 || r == -EBUSY);
            ASSERT_EQ(pipe_readable_bytes(p), before);
        }
        }
        ASSERT_TRUE(pipe_readable_bytes(p) <= (size_t)pipe_size(p));
        ASSERT_TRUE(pipe_readable_bytes(p) + pipe_writable_bytes(p) <= (size_t)pipe_size(p));
    }
    file_put(reader);
    file_put(writer);
}

TEST(peek_and_consume_agree_with_reading)
{
    char buffer[3 * PAGE], peeked[3 * PAGE];
    fs_start();
    make(0);
    for (int round = 0; round < 50; round++) {
        memset(buffer, 'a' + round % 26, sizeof(buffer));
        ASSERT_EQ(pipe_append(pipe_of(writer), buffer, sizeof(buffer)), sizeof(buffer));
        ASSERT_EQ(pipe_peek(pipe_of(reader), 10, peeked, sizeof(peeked)), sizeof(peeked) - 10);
        ASSERT_EQ(peeked[0], 'a' + round % 26);
        pipe_consume(pipe_of(reader), 100);
        ASSERT_EQ(get(buffer, sizeof(buffer)), sizeof(buffer) - 100);
    }
    file_put(reader);
    ASSERT_EQ(pipe_append(pipe_of(writer), buffer, 1), -EPIPE);
    file_put(writer);
}

TEST(pages_of_all_pipes_are_limited)
{
    struct file *ends[2];
    size_t full = 0, small = 0;
    int r;
    fs_start();
    while ((r = pipe_create(0, &ends[0], &ends[1])) == 0) {
        if (pipe_size(pipe_of(ends[0])) == 16 * PAGE)
            full++;
        else
            small++;
        ASSERT_TRUE(full + small < LIMIT_PIPE_PAGES);
    }
    EXPECT_EQ(r, -ENFILE);
    EXPECT_EQ(full, LIMIT_PIPE_PAGES_SOFT / 16);
    EXPECT_GT(small, 0);
    file_put(ends[0]);
    file_put(ends[1]);
    EXPECT_EQ(pipe_create(0, &ends[0], &ends[1]), 0);
}

TEST(sizes_count_against_the_limit)
{
    fs_start();
    make(0);
    EXPECT_EQ(pipe_set_size(pipe_of(reader), LIMIT_PIPE_BYTES, false), LIMIT_PIPE_BYTES);
    EXPECT_EQ(pipe_set_size(pipe_of(reader), LIMIT_PIPE_BYTES + 1, false), -EPERM);
    EXPECT_EQ(pipe_set_size(pipe_of(reader), LIMIT_PIPE_PAGES * 2UL * PAGE, true), -EPERM);
    EXPECT_EQ(pipe_set_size(pipe_of(reader), (1UL << 31) + 1, true), -EINVAL);
    file_put(reader);
    file_put(writer);
}
