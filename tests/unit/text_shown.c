// SPDX-License-Identifier: Apache-2.0
#include "lib/text/shown.h"
#include "tests/harness/harness.h"

#define R   TEXT_UTF8_REPLACEMENT
#define OUT 65536

static const struct text_style *const styles[] = {
    &text_style_terminal,
    &text_style_plain,
    &text_style_model,
};
#define TERMINAL &text_style_terminal
#define PLAIN    &text_style_plain
#define MODEL    &text_style_model

/* data in three pieces. */
static size_t show_cut(const struct text_style *style, const char *data, size_t size, size_t first,
                       size_t second, char *out)
{
    struct text_shown s;
    text_shown_init(&s, style);
    size_t n = text_shown_feed(&s, data, first, out);
    n += text_shown_feed(&s, data + first, second - first, out + n);
    n += text_shown_feed(&s, data + second, size - second, out + n);
    return n + text_shown_end(&s, out + n);
}

static size_t show_bytes(const struct text_style *style, const char *data, size_t size, char *out)
{
    struct text_shown s;
    size_t n = 0;
    text_shown_init(&s, style);
    for (size_t at = 0; at < size; at++)
        n += text_shown_feed(&s, data + at, 1, out + n);
    return n + text_shown_end(&s, out + n);
}

/* Wherever it is cut, even into bytes, the result is this one. */
static void expect(const struct text_style *style, const char *in, size_t size, const char *out)
{
    static char got[OUT];
    size_t wanted = strlen(out);
    for (size_t first = 0; first <= size; first++)
        for (size_t second = first; second <= size; second++) {
            size_t n = show_cut(style, in, size, first, second, got);
            if (n == wanted && !memcmp(got, out, n))
                continue;
            harness_fail(__FILE__, __LINE__, "'%s' cut at %zu and %zu: '%.*s', not '%s'", in, first,
                         second, (int)n, got, out);
            return;
        }
    size_t n = show_bytes(style, in, size, got);
    if (n != wanted || memcmp(got, out, n))
        harness_fail(__FILE__, __LINE__, "'%s' in bytes: '%.*s', not '%s'", in, (int)n, got, out);
}

struct example {
    const char *in, *out;
};

static void expect_all(const struct text_style *style, const struct example *e, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect(style, e[i].in, strlen(e[i].in), e[i].out);
}

static void expect_in_all_styles(const struct example *e, size_t count)
{
    for (size_t i = 0; i < ARRAY_SIZE(styles); i++)
        expect_all(styles[i], e, count);
}

TEST(ordinary_text_stays)
{
    static const struct example examples[] = {
        {"", ""},
        {"plain text, \"quoted\" and back\\slashed ~\n",
         "plain text, \"quoted\" and back\\slashed ~\n"},
        {"a\tb\n\n\nc", "a\tb\n\n\nc"},
        {"\xc3\xa4\xc3\xb6 \xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\x9a\x80",
         "\xc3\xa4\xc3\xb6 \xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\x9a\x80"},
        {"e\xcc\x81", "e\xcc\x81"},       /* a combining accent */
        {"a\xc2\xa0z", "a\xc2\xa0z"},     /* a space that can be seen as one */
        {"\xef\xbf\xbd", "\xef\xbf\xbd"}, /* U+FFFD itself */
        {"\xee\x82\xb0", "\xee\x82\xb0"}, /* private use: a prompt's arrow */
    };
    expect_in_all_styles(examples, ARRAY_SIZE(examples));
}

TEST(controls_are_escaped)
{
    static const struct example examples[] = {
        {"\x01\x07\x08\x0b\x0c\x0e\x1a\x7f", "\\x01\\x07\\x08\\x0b\\x0c\\x0e\\x1a\\x7f"},
        {"pass\b\b\b\bfail", "pass\\x08\\x08\\x08\\x08fail"},
        {"\xc2\x80\xc2\x85\xc2\x8d\xc2\x9c", "\\u0080\\u0085\\u008d\\u009c"},
        {"a\x80z\x85", "a\\x80z\\x85"},
    };
    expect_in_all_styles(examples, ARRAY_SIZE(examples));
    expect(PLAIN, "a\0b", 3, "a\\x00b");
}

TEST(what_is_not_utf8_is_replaced)
{
    static const struct example examples[] = {
        {"\xff\xfe", R R},       {"a\xe2\x82z", "a" R "z"},
        {"\xf0\x9f\x9a", R},     {"\xc0\xaf", R R},
        {"\xed\xa0\xbd", R R R}, {"\xc3\xc3\xa4", R "\xc3\xa4"},
        {"\xe2\x82\n", R "\n"},  {"\xe6\xbc\xe6\xbc\xa2", R "\xe6\xbc\xa2"},
    };
    expect_in_all_styles(examples, ARRAY_SIZE(examples));
}

TEST(what_can_not_be_seen_is_escaped)
{
    static const struct example examples[] = {
        {"a\xe2\x80\xae"
         "cba",
         "a\\u202ecba"},                                               /* right-to-left override */
        {"\xe2\x81\xa6x\xe2\x81\xa9", "\\u2066x\\u2069"},              /* isolates */
        {"\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c", "\\u200e\\u200f\\u061c"}, /* directional marks */
        {"pass\xe2\x80\x8bword", "pass\\u200bword"},                   /* zero width space */
        {"a\xe2\x80\x8c\xe2\x80\x8dz", "a\\u200c\\u200dz"}, /* joiners that join nothing */
        {"\xef\xbb\xbfx\xe2\x81\xa0", "\\ufeffx\\u2060"},   /* no-break spaces */
        {"co\xc2\xadop", "co\\u00adop"},                    /* soft hyphen */
        {"\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029"},     /* separators */
        {"\xf3\xa0\x81\x88\xf3\xa0\x81\xa9", "\\U000e0048\\U000e0069"}, /* tags: "Hi" */
        {"\xf3\xa0\x84\x80\xf3\xa0\x87\xaf", "\\U000e0100\\U000e01ef"}, /* selectors 17, 256 */
        {"\xcd\x8f\xe1\x85\x9f\xe3\x85\xa4\xef\xbe\xa0", "\\u034f\\u115f\\u3164\\uffa0"},
        {"\xe1\xa0\x8e\xe1\x9e\xb4", "\\u180e\\u17b4"},
        {"\xef\xbf\xb9\xef\xbf\xbe\xef\xb7\x90", "\\ufff9\\ufffe\\ufdd0"},
        {"\xf4\x8f\xbf\xbf", "\\U0010ffff"},
        {"\xe2\x81\xa2\xe2\x81\xaf", "\\u2062\\u206f"},
    };
    expect_in_all_styles(examples, ARRAY_SIZE(examples));
}

/* Selectors and joiners stay where they do what they are for, and nowhere else. */
TEST(emoji_and_spelling)
{
    static const char *const stay[] = {
        "\xe2\x9d\xa4\xef\xb8\x8f!",                          /* heart, emoji style */
        "\xe2\x9a\xa0\xef\xb8\x8e",                           /* warning sign, text style */
        "1\xef\xb8\x8f\xe2\x83\xa3#\xef\xb8\x8f\xe2\x83\xa3", /* keycaps */
        "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x9a\x80",       /* astronaut */
        ("\xf0\x9f\x91\xa9\xf0\x9f\x8f\xbd\xe2\x80\x8d\xe2\x9d\xa4\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f"
         "\x91\xa8"),                                       /* a couple */
        "\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xae",             /* Persian, ZWNJ within a word */
        "\xe0\xa4\x95\xe0\xa5\x8d\xe2\x80\x8d\xe0\xa4\xb7", /* Hindi, ZWJ after a virama */
    };
    static const struct example escaped[] = {
        {"a\xef\xb8\x8f", "a\\ufe0f"},
        {"1\xef\xb8\x8fz", "1\\ufe0fz"},
        {"1\xef\xb8\x8f", "1\\ufe0f"},
        {"\xe2\x9d\xa4\xef\xb8\x8f\xef\xb8\x8f", "\xe2\x9d\xa4\xef\xb8\x8f\\ufe0f"},
        {"\xe2\x9d\xa4\xef\xb8\x81\xf3\xa0\x84\x85", "\xe2\x9d\xa4\\ufe01\\U000e0105"},
        {"\xf0\x9f\x91\xa9\xe2\x80\x8dx", "\xf0\x9f\x91\xa9\\u200dx"},
        {"\xf0\x9f\x91\xa9\xe2\x80\x8d", "\xf0\x9f\x91\xa9\\u200d"},
        {"\xf0\x9f\x91\xa9\xe2\x80\x8d\xe2\x80\x8d\xf0\x9f\x9a\x80",
         "\xf0\x9f\x91\xa9\\u200d\\u200d\xf0\x9f\x9a\x80"},
        {"\xf0\x9f\x91\xa9\xe2\x80\x8d\xa9", "\xf0\x9f\x91\xa9\\u200d" R},
        {"\xd9\x85\xe2\x80\x8c.", "\xd9\x85\\u200c."},
        {"\xd9\x85\xe2\x80\x8d\xf0\x9f\x9a\x80", "\xd9\x85\\u200d\xf0\x9f\x9a\x80"},
        {"\n\xef\xb8\x8f", "\n\\ufe0f"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(stay); i++)
        for (size_t j = 0; j < ARRAY_SIZE(styles); j++)
            expect(styles[j], stay[i], strlen(stay[i]), stay[i]);
    expect_in_all_styles(escaped, ARRAY_SIZE(escaped));
}

TEST(a_terminal_gets_colours)
{
    static const struct example examples[] = {
        {"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"},
        {"\x1b[1;4;92mx\x1b[m", "\x1b[1;4;92mx\x1b[0m"},
        {"\x1b[38;5;208mx\x1b[39m\x1b[0m", "\x1b[38;5;208mx\x1b[39m\x1b[0m"},
        {"\x1b[48;2;1;2;255mx\x1b[0m", "\x1b[48;2;1;2;255mx\x1b[0m"},
        {"\x1b[38:5:8;1mx\x1b[0m", "\x1b[38;5;8;1mx\x1b[0m"},
        {"\x1b[38:2:1:2:3mx\x1b[0m", "\x1b[38;2;1;2;3mx\x1b[0m"},
        {"\x1b[38:2::1:2:3mx\x1b[0m", "\x1b[38;2;1;2;3mx\x1b[0m"},
        {"\x1b[4:3mx\x1b[4:0my\x1b[0m", "\x1b[4mx\x1b[24my\x1b[0m"},
        {"\x9b"
         "7mx\xc2\x9b"
         "27m\x9bm",
         "\x1b[7mx\x1b[27m\x1b[0m"},
        {"\x1b[;31mx\x1b[0m", "\x1b[0;31mx\x1b[0m"},
    };
    expect_all(TERMINAL, examples, ARRAY_SIZE(examples));
}

TEST(a_terminal_gets_nothing_that_hides)
{
    static const struct example examples[] = {
        {"\x1b[8mhidden", "hidden"},
        {"\x1b[31;8mx\x1b[0m", "\x1b[31mx\x1b[0m"},
        {"\x1b[5;6;10;73mx", "x"},
        {"\x1b[58;5;8mx\x1b[58:5:8my", "xy"},
        {"\x1b[38;5;8;8mx\x1b[0m", "\x1b[38;5;8mx\x1b[0m"},
        {"\x1b[99999999999999999999mx", "x"},
        {"\x1b[38;8mx", "\\x1b[38;8mx"}, /* a terminal may take the 8 for conceal */
        {"\x1b[38;5mx", "\\x1b[38;5mx"},
        {"\x1b[38;5;256mx", "\\x1b[38;5;256mx"},
        {"\x1b[38;2;1;2mx", "\\x1b[38;2;1;2mx"},
        {"\x1b[38;5:8mx", "\\x1b[38;5:8mx"},
        {"\x1b[38:5;8mx", "\\x1b[38:5;8mx"},
        {"\x1b[>4;2mx", "\\x1b[>4;2mx"}, /* keyboard modes of xterm */
        {"\x1b[?4mx", "\\x1b[?4mx"},
        {"\x1b[1 mx", "\\x1b[1 mx"},
    };
    expect_all(TERMINAL, examples, ARRAY_SIZE(examples));
}

TEST(colours_end_with_the_text)
{
    static const struct example examples[] = {
        {"\x1b[31mred", "\x1b[31mred\x1b[0m"},
        {"\x1b[31mred\x1b[39mx", "\x1b[31mred\x1b[39mx\x1b[0m"},
        {"\x1b[1;0mx", "\x1b[1;0mx"},
    };
    expect_all(TERMINAL, examples, ARRAY_SIZE(examples));
}

TEST(other_sequences_are_shown_on_a_terminal)
{
    static const struct example examples[] = {
        {"\x1b]0;pwned\a", "\\x1b]0;pwned\\x07"},
        {"\x1b]52;c;cm0gLXJm\x1b\\", "\\x1b]52;c;cm0gLXJm\\x1b\\"},
        {"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
         "\\x1b]8;;http://x\\x1b\\link\\x1b]8;;\\x1b\\"},
        {"\x9d"
         "0;t\x9c",
         "\\x9d0;t\\x9c"},
        {"\xc2\x9d"
         "0;t\xc2\x9c",
         "\\u009d0;t\\u009c"},
        {"\x1b[2J\x1b[H", "\\x1b[2J\\x1b[H"},
        {"\x1b[1Aup\x1b[8D", "\\x1b[1Aup\\x1b[8D"},
        {"\x1b[?1049h", "\\x1b[?1049h"},
        {"\x1b[6n\x1b[c\x1b[21t", "\\x1b[6n\\x1b[c\\x1b[21t"}, /* those that make a terminal type */
        {"\x1bPq#0~\x1b\\", "\\x1bPq#0~\\x1b\\"},
        {"\x1b_G\x1b\\\x1b^x\x1b\\\x1bXx\x1b\\", "\\x1b_G\\x1b\\\\x1b^x\\x1b\\\\x1bXx\\x1b\\"},
        {"\x1b"
         "c\x1b"
         "7\x1b(0q\x1b#8",
         "\\x1bc\\x1b7\\x1b(0q\\x1b#8"},
        {"\x1b", "\\x1b"},
        {"\x1b[", "\\x1b["},
        {"\x1b[31", "\\x1b[31"},
        {"\x1b[3\n1m", "\\x1b[3\n1m"},
        {"\x1b[3\x18m", "\\x1b[3\\x18m"},
        {"\x1b\x1b[1mx\x1b[0m", "\\x1b\x1b[1mx\x1b[0m"},
        {"\x1b[3\x1b[1mx\x1b[0m", "\\x1b[3\x1b[1mx\x1b[0m"},
        {"\x1b[3\xc3\xa4m", "\\x1b[3\xc3\xa4m"},
        {"\x1b[3\xffm", "\\x1b[3" R "m"},
        {"\x1b[1\xe2\x80", "\\x1b[1" R},
    };
    expect_all(TERMINAL, examples, ARRAY_SIZE(examples));
}

TEST(all_sequences_are_shown_in_plain_text)
{
    static const struct example examples[] = {
        {"\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"},
        {"\x9b"
         "31m\xc2\x9b"
         "0m",
         "\\x9b31m\\u009b0m"},
        {"\x1b]0;t\a", "\\x1b]0;t\\x07"},
    };
    expect_all(PLAIN, examples, ARRAY_SIZE(examples));
}

TEST(complete_sequences_are_removed_for_a_model)
{
    static const struct example examples[] = {
        {"\x1b[31mred\x1b[0m\x1b[K", "red"},
        {"\x1b[2J\x1b[?25l\x1b[6nx", "x"},
        {"\x1b]0;t\ax\x1b]0;t\x1b\\y\x1b]8;;u\x9cz", "xyz"},
        {"\x1bP1;2|a\x1b\\x\x1b_a\x1b\\y\x1b^a\x1b\\z\x1bXa\x1b\\!", "xyz!"},
        {"\x90"
         "a\x9cx\x98"
         "a\x9cy\x9d"
         "a\x9cz\x9e"
         "a\x9c!\x9f"
         "a\x9c.",
         "xyz!."},
        {"\xc2\x9d"
         "a\xc2\x9cx\xc2\x9b"
         "1my",
         "xy"},
        {"\x1b(Bx\x1b"
         "7y\x1b=z\x1b#8!",
         "xyz!"},
        {"\x1b]0;\xc3\xa4\xe6\xbc\xa2\ax", "x"},
    };
    expect_all(MODEL, examples, ARRAY_SIZE(examples));
}

TEST(a_sequence_without_its_end_hides_nothing)
{
    static const struct example examples[] = {
        {"\x1b]0;title and all that comes", "\\x1b]0;title and all that comes"},
        {"\x1b]0;t\nnext line\n", "\\x1b]0;t\nnext line\n"},
        {"\x1bPq\x18rest", "\\x1bPq\\x18rest"},
        {"\x1b]0;t\x1b[31mred", "\\x1b]0;tred"},
        {"\x1b]0;t\x1b\x1b\\x", "\\x1b]0;t\\x1bx"},
        {"\x1b]0;\xff\ax", "\\x1b]0;" R "\\x07x"},
        {"\x1b[31", "\\x1b[31"},
        {"\x1b(", "\\x1b("},
        {"\x1b(\nx", "\\x1b(\nx"},
        {"\x1b]0;\xc3", "\\x1b]0;" R},
    };
    expect_all(MODEL, examples, ARRAY_SIZE(examples));
}

static char *repeat(const char *prefix, char byte, size_t count, const char *suffix)
{
    size_t before = strlen(prefix), after = strlen(suffix);
    char *text = malloc(before + count + after + 1);
    ASSERT_TRUE(text != NULL);
    memcpy(text, prefix, before);
    memset(text + before, byte, count);
    memcpy(text + before + count, suffix, after + 1);
    return text;
}

TEST(a_sequence_of_any_length_is_bounded)
{
    /* "ESC ]", the text, and BEL are as long as is held at most; then one byte too long. */
    size_t fits = TEXT_SEQUENCE_MAX_BYTES - 3;
    static const char *const ends[] = {"\a", "\x1b\\"};
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        size_t most = fits + 1 - strlen(ends[i]);
        char *in = repeat("\x1b]", 'x', most, ends[i]);
        expect(MODEL, in, strlen(in), "");
        free(in);
        in = repeat("\x1b]", 'x', most + 1, ends[i]);
        /* The end of a string that was none is a control, or a sequence of its own. */
        char *out = repeat("\\x1b]", 'x', most + 1, i == 0 ? "\\x07" : "");
        expect(MODEL, in, strlen(in), out);
        free(in);
        free(out);
    }
    char *in = repeat("\x1b[", '1', TEXT_SEQUENCE_MAX_BYTES - 2, "m");
    char *out = repeat("\\x1b[", '1', TEXT_SEQUENCE_MAX_BYTES - 2, "m");
    expect(TERMINAL, in, strlen(in), out);
    free(in);
    free(out);
}

TEST(carriage_returns)
{
    static const struct example lines[] = {
        {"a\r\nb\r\n", "a\nb\n"},
        {"a\r\r\nb", "a\nb"},
        {"\r\n", "\n"},
    };
    static const struct example terminal[] = {
        {"10%\r20%\n", "10%\r\x1b[K\\r20%\n"},
        {"evil # \rls\n", "evil # \r\x1b[K\\rls\n"},
        {"a\r\rb", "a\r\x1b[K\\rb"},
        {"100%\r", "100%\\r"}, /* nothing comes that would take its place */
        {"a\r\x1b[32mb\x1b[0m", "a\x1b[32m\r\x1b[K\\rb\x1b[0m"},
        {"a\x1b[0m\r\nb", "a\x1b[0m\nb"},
        {"a\r\x1b[0m\nb", "a\x1b[0m\nb"},
        {"a\x1b[Kb\x1b[0Kc", "abc"},
        {"a\r\x1b[2Kb", "a\r\x1b[K\\rb"},
        {"a\x1b[2Kb\x1b[1Kc", "a\\x1b[2Kb\\x1b[1Kc"},
        {"a\r\xff", "a\r\x1b[K\\r" R},
        {"a\r\x1b", "a\r\x1b[K\\r\\x1b"},
    };
    static const struct example elsewhere[] = {
        {"10%\r20%\n", "10%\\r20%\n"},
        {"a\r", "a\\r"},
        {"a\rb\rc", "a\\rb\\rc"},
    };
    expect_in_all_styles(lines, ARRAY_SIZE(lines));
    expect_all(TERMINAL, terminal, ARRAY_SIZE(terminal));
    expect_all(PLAIN, elsewhere, ARRAY_SIZE(elsewhere));
    expect_all(MODEL, elsewhere, ARRAY_SIZE(elsewhere));
}

static const struct text_style short_lines = {
    .sequences = TEXT_SEQUENCES_COLOURS,
    .is_rewritten = true,
    .line_max_bytes = 256,
};

TEST(long_lines_are_cut_and_it_is_said)
{
    char *in = repeat("", 'x', 256, "\nnext\n"), *out = repeat("", 'x', 256, "\nnext\n");
    expect(&short_lines, in, strlen(in), out);
    free(in);
    free(out);
    in = repeat("", 'x', 260, "\nnext\n");
    out = repeat("", 'x', 256, " [... 4 bytes of this line left out ...]\nnext\n");
    expect(&short_lines, in, strlen(in), out);
    free(in);
    in = repeat("", 'x', 260, "");
    out[strlen(out) - strlen("\nnext\n")] = '\0';
    expect(&short_lines, in, strlen(in), out);
    free(in);
    free(out);
    /* A character or an escape is there whole or not at all. */
    in = repeat("", 'x', 255, "\xc3\xa4\x01yz\x1b[31m\n");
    out = repeat("", 'x', 255, " [... 10 bytes of this line left out ...]\n");
    expect(&short_lines, in, strlen(in), out);
    free(in);
    free(out);
    in = repeat("\x1b[31m", 'x', 300, "\x1b[0m\n");
    out = repeat("\x1b[31m", 'x', 251, "\x1b[0m [... 53 bytes of this line left out ...]\n");
    expect(&short_lines, in, strlen(in), out);
    free(in);
    free(out);
    in = repeat("", 'x', 300, "\ry");
    out = repeat("", 'x', 256, " [... 44 bytes of this line left out ...]\r\x1b[K\\ry");
    expect(&short_lines, in, strlen(in), out);
    free(in);
    free(out);
}

TEST(what_is_left_out_or_removed_is_counted)
{
    static char out[OUT];
    struct text_shown s;
    char *in = repeat("\x1b[1mx\x1b]0;t\a\n", 'y', 5000, "\n\x1b]unfinished");
    text_shown_init(&s, MODEL);
    text_shown_feed(&s, in, strlen(in), out);
    text_shown_end(&s, out);
    EXPECT_EQ(s.removed_bytes, 10);
    EXPECT_EQ(s.omitted_bytes, 5000 - 4096);
    free(in);
}

/* Text that was made fit to be seen already does not change again. */
TEST(plain_text_of_plain_text_is_the_same)
{
    static char once[OUT], twice[OUT];
    char in[512];
    for (size_t i = 0; i < sizeof(in); i++)
        in[i] = (char)(i * 7 + i / 256);
    size_t n = show_bytes(PLAIN, in, sizeof(in), once);
    EXPECT_EQ(show_bytes(PLAIN, once, n, twice), n);
    EXPECT_TRUE(!memcmp(once, twice, n));
}

TEST(the_state_begins_anew)
{
    static char out[OUT];
    struct text_shown s;
    text_shown_init(&s, TERMINAL);
    size_t n = text_shown_feed(&s, "\x1b[31mx\r\x1b[3", 10, out);
    n = text_shown_end(&s, out);
    EXPECT_EQ(n, strlen("\r\x1b[K\\r\\x1b[3\x1b[0m"));
    n = text_shown_feed(&s, "1m\n", 3, out);
    EXPECT_EQ(n, 3);
    EXPECT_TRUE(!memcmp(out, "1m\n", 3));
    EXPECT_EQ(text_shown_end(&s, out), 0);
}

static void expect_line(const char *in, size_t capacity, const char *expected)
{
    char out[256];
    memset(out, '#', sizeof(out));
    size_t size = text_line(in, strlen(in), out, capacity);
    EXPECT_STR(out, expected);
    EXPECT_EQ(size, strlen(expected));
    EXPECT_EQ(out[capacity], '#');
}

TEST(a_name_is_one_line)
{
    expect_line("name", 100, "name");
    expect_line("", 100, "");
    expect_line("a\tb\nc\rd\r\ne", 100, "a\\tb\\nc\\rd\\ne");
    expect_line("\x1b[31mred \xe2\x80\xaegpj.exe", 100, "\\x1b[31mred \\u202egpj.exe");
    expect_line("\xc3\xa4\xff", 100, "\xc3\xa4" R);
    expect_line("0123456789ab", 16, "0123456789ab");
    expect_line("0123456789abc", 16, "0123456789ab...");
    expect_line("0123456789\xe6\xbc\xa2", 16, "0123456789...");
    expect_line("0123456789\x01", 16, "0123456789...");
    expect_line("0123456789\xe6\xbc", 16, "0123456789...");
}
