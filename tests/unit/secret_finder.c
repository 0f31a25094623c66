// SPDX-License-Identifier: Apache-2.0
#include "lib/secret/finder.h"
#include "tests/harness/harness.h"

#define NEEDLES_MAX 12
#define TEXT_MAX    64

static struct finder *make(const char *const *texts, size_t count)
{
    struct finder_needle needles[NEEDLES_MAX];
    struct finder *f = NULL;
    for (size_t i = 0; i < count; i++)
        needles[i] = (struct finder_needle){{texts[i], strlen(texts[i])}, (unsigned)i};
    ASSERT_EQ(finder_new(needles, count, &f), 0);
    return f;
}

/* In pieces of `piece` bytes; 0: whole. */
static char *replace(const struct finder *f, const struct finder_bytes *by, const char *text,
                     size_t piece, uint64_t active, uint64_t *ret_seen)
{
    struct buf out = BUF_INIT(1 << 20);
    struct finder_stream s;
    size_t size = strlen(text);
    finder_begin(&s, f, by, active);
    for (size_t at = 0; at < size;) {
        size_t n = piece ? MIN(piece, size - at) : size;
        ASSERT_EQ(finder_take(&s, text + at, n, &out), 0);
        at += n;
    }
    ASSERT_EQ(finder_end(&s, &out), 0);
    *ret_seen = s.seen;
    return out.data ? out.data : strdup("");
}

static void expect(const char *const *needles, const char *text, const char *expected,
                   uint64_t seen)
{
    static const struct finder_bytes by[] = {{"<0>", 3}, {"<1>", 3}, {"<2>", 3}, {"<3>", 3}};
    size_t count = 0;
    uint64_t found;
    while (needles[count])
        count++;
    struct finder *f = make(needles, count);
    for (size_t piece = 0; piece <= strlen(text); piece++) {
        char *got = replace(f, by, text, piece, FINDER_ALL_TAGS, &found);
        EXPECT_STR(got, expected);
        EXPECT_EQ(found, seen);
        free(got);
    }
    finder_free(f);
}

#define NEEDLES(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(needles_are_replaced_wherever_they_are_cut)
{
    expect(NEEDLES("secret"), "a secret, and secretsecret.", "a <0>, and <0><0>.", 1);
    expect(NEEDLES("secret"), "secre secre", "secre secre", 0);
    expect(NEEDLES("he", "she", "hers"), "ushers", "u<1>", 7);
    expect(NEEDLES("a"), "aaa", "<0><0><0>", 1);
    expect(NEEDLES("aab"), "aaaab", "aa<0>", 1);
    expect(NEEDLES("x"), "", "", 0);
    expect(NEEDLES("x"), "x\xff.x", "<0>\xff.<0>", 1);
}

TEST(the_longest_that_begins_first_takes_what_overlaps)
{
    expect(NEEDLES("abc", "abcdef"), "abcdef abcdeX", "<1> <0>deX", 3);
    expect(NEEDLES("cd", "abcdef"), "abcdef abcdX", "<1> ab<0>X", 3);
    expect(NEEDLES("abc", "cde"), "abcde", "<0>", 3);
    expect(NEEDLES("aba"), "abababa", "<0>", 1);
    /* Two places wait for what would take both. */
    expect(NEEDLES("abc", "ef", "cdefgh"), "abcdefgX", "<0>d<1>gX", 3);
    expect(NEEDLES("abc", "ef", "cdefgh"), "abcdefgh", "<0>", 7);
    expect(NEEDLES("b", "d", "f", "abcdefgh"), "abcdefgX", "a<0>c<1>e<2>gX", 7);
}

TEST(equal_needles_have_the_tags_of_all)
{
    expect(NEEDLES("abc", "abc", "bc"), "abc", "<0>", 7);
}

TEST(needles_that_are_not_active_are_seen_and_left)
{
    static const struct finder_bytes by[] = {{"1", 1}, {"2", 1}};
    uint64_t seen;
    struct finder *f = make(NEEDLES("first", "second"), 2);
    char *got = replace(f, by, "first second", 3, 2, &seen);
    EXPECT_STR(got, "first 2");
    EXPECT_EQ(seen, 3);
    free(got);
    finder_free(f);
}

TEST(only_the_beginning_of_a_needle_is_kept_back)
{
    struct finder *f = make(NEEDLES("token-1", "token-22"), 2);
    static const struct finder_bytes by[] = {{"", 0}, {"", 0}};
    struct buf out = BUF_INIT(100);
    struct finder_stream s;
    finder_begin(&s, f, by, FINDER_ALL_TAGS);
    EXPECT_EQ(finder_take(&s, "data: to\n\n", 10, &out), 0);
    EXPECT_EQ(out.size, 10);
    EXPECT_EQ(finder_take(&s, "a token-2", 9, &out), 0);
    EXPECT_EQ(out.size, 12);
    EXPECT_EQ(finder_take(&s, "3", 1, &out), 0);
    EXPECT_STR(out.data, "data: to\n\na token-23");
    EXPECT_EQ(finder_take(&s, "token-22", 8, &out), 0);
    EXPECT_EQ(out.size, 20); /* what is whole is replaced at once */
    EXPECT_EQ(finder_end(&s, &out), 0);
    buf_done(&out);
    finder_free(f);
}

TEST(no_needles_find_nothing)
{
    struct finder *f;
    uint64_t seen;
    ASSERT_EQ(finder_new(NULL, 0, &f), 0);
    char *got = replace(f, NULL, "anything", 1, FINDER_ALL_TAGS, &seen);
    EXPECT_STR(got, "anything");
    EXPECT_EQ(seen, 0);
    free(got);
    finder_free(f);
    finder_free(NULL);
}

TEST(bounds_are_kept)
{
    static char big[FINDER_NEEDLE_MAX_BYTES + 1];
    static struct finder_needle many[FINDER_NEEDLES_MAX + 1];
    struct finder_needle needle = {{big, 0}, 0};
    struct finder *f;
    EXPECT_EQ(finder_new(&needle, 1, &f), -EINVAL);
    needle.bytes.size = sizeof(big);
    EXPECT_EQ(finder_new(&needle, 1, &f), -EINVAL);
    needle = (struct finder_needle){{big, 1}, FINDER_TAGS};
    EXPECT_EQ(finder_new(&needle, 1, &f), -EINVAL);
    for (size_t i = 0; i <= FINDER_NEEDLES_MAX; i++)
        many[i] = (struct finder_needle){{big, 1}, 0};
    EXPECT_EQ(finder_new(many, FINDER_NEEDLES_MAX + 1, &f), -EINVAL);
    for (size_t i = 0; i <= FINDER_NEEDLES_MAX; i++)
        many[i].bytes.size = FINDER_NEEDLE_MAX_BYTES;
    EXPECT_EQ(finder_new(many, FINDER_TOTAL_MAX_BYTES / FINDER_NEEDLE_MAX_BYTES + 1, &f), -EINVAL);
    ASSERT_EQ(finder_new(many, 2, &f), 0);
    finder_free(f);
}

TEST(output_that_does_not_fit_is_an_error)
{
    struct finder *f = make(NEEDLES("x"), 1);
    static const struct finder_bytes by[] = {{"much longer", 11}};
    struct buf out = BUF_INIT(10);
    struct finder_stream s;
    finder_begin(&s, f, by, FINDER_ALL_TAGS);
    EXPECT_EQ(finder_take(&s, "x", 1, &out), -E2BIG);
    buf_done(&out);
    finder_free(f);
}

/* The same, done slowly: every place by itself, then joined. */
static void replace_slowly(const char *const *needles, size_t count, const struct finder_bytes *by,
                           const char *text, struct buf *out)
{
    size_t size = strlen(text), at = 0;
    while (at < size) {
        size_t end = at, which = count;
        for (size_t i = 0; i < count; i++) {
            size_t n = strlen(needles[i]);
            if (!strncmp(text + at, needles[i], n) &&
                (which == count || n > strlen(needles[which])))
                which = i;
        }
        if (which == count) {
            buf_append(out, text + at++, 1);
            continue;
        }
        end = at + strlen(needles[which]);
        for (size_t k = at + 1; k < end; k++)
            for (size_t i = 0; i < count; i++)
                if (!strncmp(text + k, needles[i], strlen(needles[i])))
                    end = MAX(end, k + strlen(needles[i]));
        buf_append(out, by[which].data, by[which].size);
        at = end;
    }
}

static void random_word(char *to, size_t size, unsigned *seed)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (char)('a' + rand_r(seed) % 3);
    to[size] = 0;
}

TEST(random_texts_come_out_as_they_do_when_it_is_done_slowly)
{
    static char words[NEEDLES_MAX][16];
    static const struct finder_bytes by[NEEDLES_MAX] = {
        {"0", 1}, {"1", 1}, {"2", 1}, {"3", 1}, {"4", 1}, {"5", 1},
        {"6", 1}, {"7", 1}, {"8", 1}, {"9", 1}, {"", 0},  {"eleven", 6},
    };
    const char *needles[NEEDLES_MAX];
    char text[TEXT_MAX + 1];
    unsigned seed = 1;
    uint64_t seen;
    for (int round = 0; round < 20000; round++) {
        size_t count = 1 + (size_t)rand_r(&seed) % NEEDLES_MAX;
        for (size_t i = 0; i < count; i++) {
            random_word(words[i], 1 + (size_t)rand_r(&seed) % 8, &seed);
            needles[i] = words[i];
        }
        random_word(text, (size_t)rand_r(&seed) % TEXT_MAX, &seed);
        struct buf expected = BUF_INIT(4096);
        replace_slowly(needles, count, by, text, &expected);
        struct finder *f = make(needles, count);
        char *got = replace(f, by, text, (size_t)rand_r(&seed) % 5, FINDER_ALL_TAGS, &seen);
        EXPECT_STR(got, expected.data ? expected.data : "");
        uint64_t there = 0;
        for (size_t i = 0; i < count; i++)
            there |= strstr(text, needles[i]) ? UINT64_C(1) << i : 0;
        EXPECT_EQ(seen, there);
        free(got);
        buf_done(&expected);
        finder_free(f);
    }
}

TEST(more_places_than_are_told_apart_are_one)
{
    char needle[2 * FINDER_PLACES_MAX + 8], text[sizeof(needle)];
    memset(needle, '.', sizeof(needle) - 1);
    for (size_t i = 1; i < sizeof(needle) - 1; i += 2)
        needle[i] = 'x';
    needle[sizeof(needle) - 1] = 0;
    strcpy(text, needle);
    text[strlen(text) - 1] = 'Z';
    const char *needles[] = {"x", needle};
    static const struct finder_bytes by[] = {{"-", 1}, {"", 0}};
    struct finder *f = make(needles, 2);
    uint64_t seen;
    char *whole = replace(f, by, text, 0, FINDER_ALL_TAGS, &seen);
    EXPECT_TRUE(!strchr(whole, 'x') && strlen(whole) < strlen(text) && strchr(whole, 'Z'));
    for (size_t piece = 1; piece < 8; piece++) {
        char *got = replace(f, by, text, piece, FINDER_ALL_TAGS, &seen);
        EXPECT_STR(got, whole);
        free(got);
    }
    free(whole);
    finder_free(f);
}

/* What makes a search that begins anew after each miss take the square of it. */
TEST(hostile_bytes_take_no_longer)
{
    enum { NEEDLE = 60000, TEXT = 4 << 20 };
    char *needle = malloc(NEEDLE), *text = malloc(TEXT);
    memset(needle, 'a', NEEDLE);
    memset(text, 'a', TEXT);
    needle[NEEDLE - 1] = 'b';
    struct finder_needle needles[] = {{{needle, NEEDLE}, 0}, {{"a", 1}, 1}};
    static const struct finder_bytes by[] = {{"", 0}, {"", 0}};
    struct finder *f;
    ASSERT_EQ(finder_new(needles, 2, &f), 0);
    struct buf out = BUF_INIT(TEXT);
    struct finder_stream s;
    finder_begin(&s, f, by, FINDER_ALL_TAGS);
    EXPECT_EQ(finder_take(&s, text, TEXT, &out), 0);
    EXPECT_EQ(finder_end(&s, &out), 0);
    EXPECT_EQ(out.size, 0);
    EXPECT_EQ(s.seen, 2);
    buf_done(&out);
    finder_free(f);
    free(needle);
    free(text);
}
