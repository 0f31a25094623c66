// SPDX-License-Identifier: Apache-2.0
#include "cli/capture.h"
#include "tests/harness/harness.h"

static struct capture c;
static struct buf text;
static bool truncated;

static void take_text(void)
{
    buf_done(&text);
    ASSERT_EQ(capture_text(&c, &text, &truncated), 0);
}

static bool is(const char *expected, size_t size)
{
    return text.size == size && (size == 0 || !memcmp(text.data, expected, size));
}

static void put(const char *data, size_t size)
{
    capture_take(&c, data, size);
}

static void put_many(char byte, size_t count)
{
    char piece[4096];
    memset(piece, byte, sizeof(piece));
    for (; count > 0; count -= MIN(count, sizeof(piece)))
        put(piece, MIN(count, sizeof(piece)));
}

TEST(nothing)
{
    capture_init(&c);
    take_text();
    EXPECT_TRUE(is("", 0));
    EXPECT_TRUE(!truncated);
    capture_done(&c);
}

TEST(short_text_stays_as_it_is)
{
    capture_init(&c);
    put("a\0b", 3);
    put("\xc3", 1);
    put("\xa4\n", 2);
    take_text();
    EXPECT_TRUE(is("a\0b\xc3\xa4\n", 6));
    EXPECT_TRUE(!truncated);
    EXPECT_EQ(c.total_bytes, 6);
    capture_done(&c);
}

TEST(invalid_bytes_are_replaced_one_by_one)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"\xff", "\xef\xbf\xbd"},
        {"a\x80z", "a\xef\xbf\xbdz"},
        {"\xc3", "\xef\xbf\xbd"},                                 /* cut off */
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* overlong */
        {"\xe0\x80\xaf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* overlong */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* surrogate */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        {"\xed\x9f\xbf", "\xed\x9f\xbf"},
        {"\xef\xbf\xbf", "\xef\xbf\xbf"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        capture_init(&c);
        put(cases[i].in, strlen(cases[i].in));
        take_text();
        if (!is(cases[i].out, strlen(cases[i].out)))
            harness_fail(__FILE__, __LINE__, "case %zu: '%s'", i, text.data);
        capture_done(&c);
    }
}

TEST(exactly_full_is_whole)
{
    capture_init(&c);
    put_many('x', CAPTURE_HEAD_BYTES - 1);
    put("\xc3\xa4", 2); /* across the border of head and tail */
    put_many('y', CAPTURE_TAIL_BYTES - 1);
    take_text();
    EXPECT_TRUE(!truncated);
    EXPECT_EQ(text.size, CAPTURE_HEAD_BYTES + CAPTURE_TAIL_BYTES);
    EXPECT_TRUE(!memcmp(text.data + CAPTURE_HEAD_BYTES - 2, "x\xc3\xa4y", 4));
    capture_done(&c);
}

TEST(one_byte_too_many_is_said)
{
    static const char marker[] = "x\n[... 1 bytes left out ...]\nz";
    capture_init(&c);
    put_many('x', CAPTURE_HEAD_BYTES);
    put("y", 1);
    put_many('z', CAPTURE_TAIL_BYTES);
    take_text();
    EXPECT_TRUE(truncated);
    EXPECT_TRUE(!memcmp(text.data + CAPTURE_HEAD_BYTES - 1, marker, sizeof(marker) - 1));
    EXPECT_EQ(text.size, CAPTURE_HEAD_BYTES + CAPTURE_TAIL_BYTES + sizeof(marker) - 3);
    EXPECT_EQ(c.total_bytes, CAPTURE_HEAD_BYTES + 1 + CAPTURE_TAIL_BYTES);
    capture_done(&c);
}

TEST(the_end_of_a_long_stream_is_kept)
{
    capture_init(&c);
    put("begin", 5);
    put_many('x', 10u << 20);
    put("end", 3);
    take_text();
    EXPECT_TRUE(truncated);
    EXPECT_TRUE(!memcmp(text.data, "begin", 5));
    EXPECT_TRUE(!memcmp(text.data + text.size - 3, "end", 3));
    capture_done(&c);
}

TEST(a_piece_larger_than_the_ring)
{
    size_t size = 3u << 20;
    char *data = malloc(size);
    ASSERT_TRUE(data != NULL);
    memset(data, 'x', size);
    memcpy(data + size - 3, "end", 3);
    capture_init(&c);
    put(data, size);
    take_text();
    EXPECT_TRUE(!memcmp(text.data + text.size - 3, "end", 3));
    EXPECT_EQ(c.total_bytes, size);
    free(data);
    capture_done(&c);
}

TEST(characters_cut_in_two_are_counted_as_left_out)
{
    capture_init(&c);
    put_many('x', CAPTURE_HEAD_BYTES - 1);
    for (int i = 0; i < CAPTURE_TAIL_BYTES; i++)
        put("\xc3\xa4", 2);
    take_text();
    EXPECT_TRUE(truncated);
    EXPECT_TRUE(memmem(text.data, text.size, "\xef\xbf\xbd", 3) == NULL);
    const char *marker = memmem(text.data, text.size, "\n[... ", 6);
    ASSERT_TRUE(marker != NULL);
    unsigned long long left_out = strtoull(marker + 6, NULL, 10);
    const char *end = memmem(marker + 1, 64, "\n", 1);
    ASSERT_TRUE(end != NULL);
    size_t kept = (size_t)(marker - text.data) + text.size - (size_t)(end + 1 - text.data);
    EXPECT_EQ(kept + left_out, c.total_bytes);
    capture_done(&c);
}
