// SPDX-License-Identifier: Apache-2.0
#include "lib/text/capture.h"
#include "tests/harness/harness.h"

#define LIMIT (1024 * 1024)
#define HEAD  (LIMIT / 2)
#define TAIL  (LIMIT / 2)

static struct text_capture c;
static struct text_excerpt e;
static struct buf text = {.max_bytes = SIZE_MAX};

static void begin(size_t limit)
{
    text_capture_init(&c, limit);
}

static void put(const char *data, size_t size)
{
    text_capture_take(&c, data, size);
}

static void put_many(char byte, size_t count)
{
    char piece[4096];
    memset(piece, byte, sizeof(piece));
    for (; count > 0; count -= MIN(count, sizeof(piece)))
        put(piece, MIN(count, sizeof(piece)));
}

static void end(void)
{
    ASSERT_EQ(text_capture_end(&c, &e), 0);
    text_excerpt_append_valid(&e, &text);
    ASSERT_TRUE(!text.failed);
    EXPECT_EQ(e.kept.size + e.omitted_bytes, e.total_bytes);
}

static void done(void)
{
    text_excerpt_done(&e);
    buf_done(&text);
}

static bool is(const char *expected, size_t size)
{
    return text.size == size && (size == 0 || !memcmp(text.data, expected, size));
}

TEST(nothing)
{
    begin(LIMIT);
    end();
    EXPECT_TRUE(is("", 0));
    EXPECT_EQ(e.total_bytes, 0);
    done();
}

TEST(short_text_stays_as_it_is)
{
    begin(LIMIT);
    put("a\0b", 3);
    put("\xc3", 1);
    put("\xa4\x1b\n", 3);
    end();
    EXPECT_TRUE(is("a\0b\xc3\xa4\x1b\n", 7));
    EXPECT_EQ(e.omitted_bytes, 0);
    EXPECT_EQ(e.total_bytes, 7);
    done();
}

TEST(bytes_are_kept_as_they_came)
{
    begin(LIMIT);
    put("\xff\xc3", 2);
    end();
    EXPECT_TRUE(is("\xef\xbf\xbd\xef\xbf\xbd", 6));
    EXPECT_EQ(e.kept.size, 2);
    EXPECT_TRUE(!memcmp(e.kept.data, "\xff\xc3", 2));
    done();
}

TEST(exactly_full_is_whole)
{
    begin(LIMIT);
    put_many('x', HEAD - 1);
    put("\xc3\xa4", 2); /* across the border of head and tail */
    put_many('y', TAIL - 1);
    end();
    EXPECT_EQ(e.omitted_bytes, 0);
    EXPECT_EQ(text.size, LIMIT);
    EXPECT_TRUE(!memcmp(text.data + HEAD - 2, "x\xc3\xa4y", 4));
    done();
}

TEST(one_byte_too_many_is_said)
{
    static const char gap[] = "x\n[... 1 bytes left out ...]\nz";
    begin(LIMIT);
    put_many('x', HEAD);
    put("y", 1);
    put_many('z', TAIL);
    end();
    EXPECT_EQ(e.omitted_bytes, 1);
    EXPECT_EQ(e.gap_at, HEAD);
    EXPECT_TRUE(!memcmp(text.data + HEAD - 1, gap, sizeof(gap) - 1));
    EXPECT_EQ(text.size, LIMIT + sizeof(gap) - 3);
    EXPECT_EQ(e.total_bytes, LIMIT + 1);
    done();
}

TEST(the_end_of_a_long_stream_is_kept)
{
    begin(LIMIT);
    put("begin", 5);
    put_many('x', 10u << 20);
    put("end", 3);
    end();
    EXPECT_TRUE(!memcmp(text.data, "begin", 5));
    EXPECT_TRUE(!memcmp(text.data + text.size - 3, "end", 3));
    EXPECT_EQ(e.kept.size, LIMIT);
    done();
}

TEST(a_piece_larger_than_the_ring)
{
    size_t size = 3u << 20;
    char *data = malloc(size);
    ASSERT_TRUE(data != NULL);
    memset(data, 'x', size);
    memcpy(data + size - 3, "end", 3);
    begin(LIMIT);
    put(data, size);
    end();
    EXPECT_TRUE(!memcmp(text.data + text.size - 3, "end", 3));
    EXPECT_EQ(e.total_bytes, size);
    free(data);
    done();
}

/* Whatever the limit and the pieces: what is kept are the two ends, and the rest is counted. */
TEST(small_limits)
{
    static const char stream[] = "0123456789abcdef";
    size_t total = sizeof(stream) - 1;
    for (size_t limit = 1; limit <= total + 1; limit++)
        for (size_t piece = 1; piece <= total; piece++) {
            begin(limit);
            for (size_t at = 0; at < total; at += piece)
                put(stream + at, MIN(piece, total - at));
            end();
            size_t kept = MIN(limit, total), tail = kept - e.gap_at;
            EXPECT_EQ(e.kept.size, kept);
            if (limit < total)
                EXPECT_EQ(e.gap_at, limit - limit / 2);
            EXPECT_TRUE(!memcmp(e.kept.data, stream, e.gap_at));
            EXPECT_TRUE(!memcmp(e.kept.data + e.gap_at, stream + total - tail, tail));
            done();
        }
}

TEST(no_character_is_cut_in_two)
{
    for (size_t limit = 1; limit < 40; limit++) {
        begin(limit);
        for (int i = 0; i < 20; i++)
            put("a\xc3\xa4\xe6\xbc\xa2\xf0\x9f\x98\x80", 10);
        end();
        EXPECT_TRUE(memmem(text.data, text.size, "\xef\xbf\xbd", 3) == NULL);
        EXPECT_GE(e.kept.size + 6, limit);
        done();
    }
}

TEST(the_gap_says_what_is_missing)
{
    begin(LIMIT);
    put_many('x', HEAD - 1);
    for (int i = 0; i < TAIL; i++)
        put("\xc3\xa4", 2);
    end();
    const char *gap = memmem(text.data, text.size, "\n[... ", 6);
    ASSERT_TRUE(gap != NULL);
    unsigned long long left_out = strtoull(gap + 6, NULL, 10);
    const char *gap_end = memmem(gap + 1, 64, "\n", 1);
    ASSERT_TRUE(gap_end != NULL);
    size_t kept = (size_t)(gap - text.data) + text.size - (size_t)(gap_end + 1 - text.data);
    EXPECT_EQ(kept + left_out, e.total_bytes);
    EXPECT_EQ(left_out, e.omitted_bytes);
    done();
}
