// SPDX-License-Identifier: Apache-2.0
#include "lib/text/base64.h"
#include "lib/text/utf8.h"
#include "tests/harness/harness.h"

#define R TEXT_UTF8_REPLACEMENT

static struct buf b = {.max_bytes = 4096};

static void expect_valid(const char *in, size_t size, const char *out)
{
    buf_reset(&b);
    text_utf8_append_valid(&b, in, size);
    if (b.size != strlen(out) || memcmp(b.data, out, b.size))
        harness_fail(__FILE__, __LINE__, "'%s': '%.*s'", in, (int)b.size, b.data);
}

TEST(well_formed_text_stays)
{
    static const char *const cases[] = {
        "plain",
        "\xc2\x80",
        "\xdf\xbf",
        "\xe0\xa0\x80",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
        "\xef\xbf\xbf",
        "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf",
        "a\xc3\xa4\xe6\xbc\xa2\xf0\x9f\x98\x80z",
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        expect_valid(cases[i], strlen(cases[i]), cases[i]);
}

/* The examples of Unicode 15, tables 3-8 to 3-11, and what lies beside the borders of table 3-7. */
TEST(one_replacement_for_a_maximal_subpart)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", R R R R R R R R "A"},
        {"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", R R R R R R R R "A"},
        {"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", R R R R R "A" R R "B"},
        {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", R R R R "A"},
        {"\xff", R},
        {"a\x80z", "a" R "z"},
        {"\xc3", R},
        {"\xe2\x82", R},
        {"\xf0\x9f\x98", R},
        {"\xe2\x82\xe2\x82\xac", R "\xe2\x82\xac"},
        {"\xf4\x90\x80\x80", R R R R},
        {"\xf5\x80", R R},
        {"\xc1\xbf", R R},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        expect_valid(cases[i].in, strlen(cases[i].in), cases[i].out);
}

TEST(every_code_point_comes_back)
{
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        char bytes[TEXT_UTF8_MAX_BYTES];
        uint32_t decoded;
        if (code == 0xd800)
            code = 0xe000;
        size_t size = text_utf8_encode(code, bytes);
        ASSERT_EQ(text_utf8_decode(bytes, size, &decoded), (int)size);
        ASSERT_EQ(decoded, code);
        for (size_t cut = 1; cut < size; cut++)
            ASSERT_EQ(text_utf8_decode(bytes, cut, &decoded), 0);
    }
}

TEST(characters_cut_in_two)
{
    EXPECT_EQ(text_utf8_cut_end("a", 1), 0);
    EXPECT_EQ(text_utf8_cut_end("", 0), 0);
    EXPECT_EQ(text_utf8_cut_end("a\xe6\xbc", 3), 2);
    EXPECT_EQ(text_utf8_cut_end("a\xe6\xbc\xa2", 4), 0);
    EXPECT_EQ(text_utf8_cut_end("\xf0\x9f\x98", 3), 3);
    EXPECT_EQ(text_utf8_cut_end("\x80\x80\x80\x80", 4), 0);
    EXPECT_EQ(text_utf8_cut_end("a\xe0\x80", 3), 0); /* begins nothing */
    EXPECT_EQ(text_utf8_cut_start("\xbc\xa2z", 3), 2);
    EXPECT_EQ(text_utf8_cut_start("z\xbc", 2), 0);
    EXPECT_EQ(text_utf8_cut_start("\x80\x80\x80\x80\x80", 5), 3);
}

/* RFC 4648, section 10. */
TEST(base64_of_the_rfc)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xff\xfe\xfd\xfb", "//79+w=="},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        buf_reset(&b);
        text_base64_append(&b, cases[i][0], strlen(cases[i][0]));
        EXPECT_STR(b.data ? b.data : "", cases[i][1]);
    }
}

TEST(base64_of_more_than_a_piece)
{
    char data[3000];
    memset(data, 0, sizeof(data));
    buf_reset(&b);
    text_base64_append(&b, data, sizeof(data));
    EXPECT_EQ(b.size, 4000);
    EXPECT_EQ(strspn(b.data, "A"), 4000);
}
