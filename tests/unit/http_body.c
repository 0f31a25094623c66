// SPDX-License-Identifier: Apache-2.0
#include "lib/http/body.h"
#include "tests/harness/harness.h"

static struct http_body b;
static struct buf content = {.max_bytes = 1 << 20};
static size_t taken_total;

static enum http_progress feed(const struct http_framing *f, uint64_t max_bytes, const char *data,
                               size_t size, size_t piece)
{
    struct http_slice slice;
    size_t taken;
    http_body_done(&b);
    http_body_init(&b, f, max_bytes);
    buf_reset(&content);
    taken_total = 0;
    enum http_progress progress = http_body_take(&b, data, 0, &taken, &slice);
    while (progress == HTTP_MORE && taken_total < size) {
        size_t n = MIN(piece, size - taken_total);
        char *copy = malloc(n); /* of its exact size, for ASan */
        memcpy(copy, data + taken_total, n);
        progress = http_body_take(&b, copy, n, &taken, &slice);
        if (slice.size > 0) {
            ASSERT_TRUE(slice.data >= copy && slice.data + slice.size <= copy + taken);
            buf_append(&content, slice.data, slice.size);
        }
        free(copy);
        ASSERT_TRUE(taken > 0 || progress == HTTP_FAILED);
        taken_total += taken;
    }
    EXPECT_EQ(b.content_bytes, content.size);
    return progress;
}

/* In pieces of several sizes, which must make no difference; the last time whole. */
static enum http_progress take(const struct http_framing *f, uint64_t max_bytes, const char *data,
                               size_t size)
{
    enum http_progress progress = feed(f, max_bytes, data, size, 1);
    enum http_error error = b.error;
    size_t taken = taken_total, given = content.size;
    for (size_t piece = 2; piece < 9; piece += 3) {
        EXPECT_EQ(feed(f, max_bytes, data, size, piece), progress);
        EXPECT_EQ(taken_total, taken);
    }
    EXPECT_EQ(feed(f, max_bytes, data, size, SIZE_MAX), progress);
    EXPECT_EQ(b.error, error);
    EXPECT_EQ(taken_total, taken);
    EXPECT_EQ(content.size, given);
    return progress;
}

static const struct http_framing chunked = {.kind = HTTP_BODY_CHUNKED};

static enum http_progress take_chunks(const char *text)
{
    return take(&chunked, HTTP_BODY_ANY_LENGTH, text, strlen(text));
}

static void expect_chunks(const char *text, const char *expected)
{
    if (take_chunks(text) != HTTP_DONE || content.size != strlen(expected) ||
        (content.size && memcmp(content.data, expected, content.size)))
        harness_fail(__FILE__, __LINE__, "%s: %s", text, http_error_words(b.error));
}

static void expect_error(const char *text, enum http_error error)
{
    if (take_chunks(text) != HTTP_FAILED || b.error != error)
        harness_fail(__FILE__, __LINE__, "%s: %s", text, http_error_words(b.error));
}

TEST(content_of_a_length)
{
    struct http_framing f = {.kind = HTTP_BODY_LENGTH, .has_length = true, .length = 5};
    ASSERT_EQ(take(&f, 5, "hello, next", 11), HTTP_DONE);
    EXPECT_STR(content.data, "hello");
    EXPECT_EQ(taken_total, 5);
    EXPECT_EQ(http_body_end(&b), HTTP_DONE);
    EXPECT_EQ(take(&f, HTTP_BODY_ANY_LENGTH, "hell", 4), HTTP_MORE);
    EXPECT_EQ(http_body_end(&b), HTTP_FAILED);
    EXPECT_EQ(b.error, HTTP_ERROR_TRUNCATED);
    f.length = 0;
    EXPECT_EQ(take(&f, 0, "next", 4), HTTP_DONE);
    EXPECT_EQ(taken_total, 0);
}

TEST(no_content)
{
    /* The length is that of what a GET would be answered. */
    struct http_framing f = {.kind = HTTP_BODY_NONE, .has_length = true, .length = 5};
    EXPECT_EQ(take(&f, 0, "next", 4), HTTP_DONE);
    EXPECT_EQ(taken_total, 0);
    EXPECT_EQ(content.size, 0);
}

TEST(content_up_to_the_end_of_the_connection)
{
    struct http_framing f = {.kind = HTTP_BODY_CLOSE};
    ASSERT_EQ(take(&f, 8, "all\r\n0\r\n", 8), HTTP_MORE);
    EXPECT_EQ(content.size, 8);
    EXPECT_EQ(http_body_end(&b), HTTP_DONE);
    EXPECT_EQ(take(&f, 7, "all\r\n0\r\n", 8), HTTP_FAILED);
    EXPECT_EQ(b.error, HTTP_ERROR_BODY_LONG);
    EXPECT_EQ(content.size, 7);
    f.kind = HTTP_BODY_OPAQUE;
    EXPECT_EQ(take(&f, HTTP_BODY_ANY_LENGTH, "GET / HTTP/1.1", 14), HTTP_MORE);
    EXPECT_EQ(content.size, 14);
    EXPECT_EQ(http_body_end(&b), HTTP_DONE);
}

TEST(chunks)
{
    expect_chunks("0\r\n\r\n", "");
    expect_chunks("5\r\nhello\r\n0\r\n\r\n", "hello");
    expect_chunks("1\r\na\r\n0000000a\r\n\r\n\r\n\r\n\r\n\r\n\r\n00\r\n\r\n",
                  "a\r\n\r\n\r\n\r\n\r\n");
    expect_chunks("A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789");
    ASSERT_EQ(take_chunks("1\r\na\r\n0\r\n\r\nGET /"), HTTP_DONE);
    EXPECT_EQ(taken_total, 11);
    ASSERT_EQ(take_chunks("1\r\na\r\n0\r\n"), HTTP_MORE);
    EXPECT_EQ(http_body_end(&b), HTTP_FAILED);
    EXPECT_EQ(b.error, HTTP_ERROR_TRUNCATED);
}

TEST(chunk_extensions_are_dropped)
{
    expect_chunks("1;a=b\r\nx\r\n0;last;c=\"d\\\"\"\r\n\r\n", "x");
    char text[512];
    snprintf(text, sizeof(text), "1;%0*d\r\nx\r\n0\r\n\r\n", HTTP_CHUNK_EXTENSION_MAX_BYTES, 0);
    expect_chunks(text, "x");
    snprintf(text, sizeof(text), "1;%0*d\r\nx\r\n0\r\n\r\n", HTTP_CHUNK_EXTENSION_MAX_BYTES + 1, 0);
    expect_error(text, HTTP_ERROR_CHUNK_EXTENSION);
}

/* G14, in the content. */
TEST(g14_chunks_that_readers_disagree_on)
{
    static const struct {
        const char *text;
        enum http_error error;
    } cases[] = {
        {"\r\n", HTTP_ERROR_CHUNK_SIZE},
        {";a\r\n", HTTP_ERROR_CHUNK_SIZE},
        {"0x5\r\nhello\r\n", HTTP_ERROR_CHUNK_SIZE},
        {"+5\r\nhello\r\n", HTTP_ERROR_CHUNK_SIZE},
        {"-5\r\nhello\r\n", HTTP_ERROR_CHUNK_SIZE},
        {" 5\r\nhello\r\n", HTTP_ERROR_CHUNK_SIZE},
        {"5 \r\nhello\r\n", HTTP_ERROR_CHUNK_SIZE},
        {"5\t;a\r\nhello\r\n", HTTP_ERROR_CHUNK_SIZE},
        {"5,5\r\nhello\r\n", HTTP_ERROR_CHUNK_SIZE},
        {"g\r\n", HTTP_ERROR_CHUNK_SIZE},
        {"5_0\r\n", HTTP_ERROR_CHUNK_SIZE},
        {"5\nhello\r\n", HTTP_ERROR_CHUNK_SIZE},
        {"5\r\r\nhello\r\n", HTTP_ERROR_CHUNK_SIZE},
        {"5\rhello\r\n", HTTP_ERROR_CHUNK_SIZE},
        {"8000000000000000\r\n", HTTP_ERROR_CHUNK_SIZE},
        {"10000000000000005\r\nhello\r\n", HTTP_ERROR_CHUNK_SIZE}, /* 5, modulo 2^64 */
        {"00000000000000005\r\nhello\r\n", HTTP_ERROR_CHUNK_SIZE},
        {"2;\nxx\r\n4c\r\n", HTTP_ERROR_CHUNK_EXTENSION},
        {"5;a\nhello\r\n", HTTP_ERROR_CHUNK_EXTENSION},
        {"5;a\rhello\r\n", HTTP_ERROR_CHUNK_SIZE},
        {"5;\xc3\xa4\r\nhello\r\n", HTTP_ERROR_CHUNK_EXTENSION},
        {"5;\x01\r\nhello\r\n", HTTP_ERROR_CHUNK_EXTENSION},
        {"5\r\nhelloxx0\r\n\r\n", HTTP_ERROR_CHUNK_END},
        {"5\r\nhello\n0\r\n\r\n", HTTP_ERROR_CHUNK_END},
        {"5\r\nhello\r0\r\n\r\n", HTTP_ERROR_CHUNK_END},
        {"5\r\nhello0\r\n\r\n", HTTP_ERROR_CHUNK_END},
        {"5\r\nhellox\n0\r\n\r\n", HTTP_ERROR_CHUNK_END},
        {"5\r\nhello\r\n\r\n", HTTP_ERROR_CHUNK_SIZE},
        {"0\r\n\n", HTTP_ERROR_LINE_END},
        {"0\n\n", HTTP_ERROR_CHUNK_SIZE},
        {"0\r\nGET / HTTP/1.1\r\n", HTTP_ERROR_FIELD_BLANK},
        {"0\r\nX : a\r\n", HTTP_ERROR_FIELD_BLANK},
        {"0\r\nX: a\r\n b\r\n", HTTP_ERROR_FIELD_FOLDED},
        {"0\r\nX: a\nY: b\r\n", HTTP_ERROR_LINE_END},
        {"0\r\nX: a\x01\r\n", HTTP_ERROR_BYTE},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        expect_error(cases[i].text, cases[i].error);
    EXPECT_EQ(take_chunks("7fffffffffffffff\r\n"), HTTP_MORE);
    expect_error("7fffffffffffffff0\r\n", HTTP_ERROR_CHUNK_SIZE);
}

TEST(a_trailer)
{
    expect_chunks("0\r\nX-Digest:  abc \r\nGrpc-Status: 0\r\n\r\n", "");
    ASSERT_EQ(b.trailer_count, 2);
    EXPECT_STR(b.trailers[0].name, "X-Digest");
    EXPECT_STR(b.trailers[0].value, "abc");
    EXPECT_STR(b.trailers[1].name, "Grpc-Status");
    expect_chunks("0\r\n\r\n", "");
    EXPECT_EQ(b.trailer_count, 0);
}

/* G8: what changes a request may not come after it was judged. */
TEST(g8_fields_that_no_trailer_has)
{
    static const char *const names[] = {
        "authorization",
        "Content-Length",
        "Transfer-Encoding",
        "Host",
        "Connection",
        "Upgrade",
        "TE",
        "Trailer",
        "Content-Type",
        "Set-Cookie",
        "Cookie",
        "Proxy-Authorization",
        "Expect",
        "Range",
        "Location",
        "Content-Encoding",
    };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char text[128];
        snprintf(text, sizeof(text), "0\r\nX: a\r\n%s: x\r\n\r\n", names[i]);
        expect_error(text, HTTP_ERROR_TRAILER);
    }
}

TEST(trailers_are_bounded)
{
    static char text[2 * HTTP_TRAILER_MAX_BYTES];
    size_t size = (size_t)snprintf(text, sizeof(text), "0\r\n");
    for (int i = 0; i < HTTP_TRAILER_FIELDS_MAX; i++)
        size += (size_t)snprintf(text + size, sizeof(text) - size, "X: %d\r\n", i);
    snprintf(text + size, sizeof(text) - size, "\r\n");
    expect_chunks(text, "");
    EXPECT_EQ(b.trailer_count, HTTP_TRAILER_FIELDS_MAX);
    snprintf(text + size, sizeof(text) - size, "X: a\r\n\r\n");
    expect_error(text, HTTP_ERROR_TRAILERS_LONG);
    /* "X: ", its line end, and the empty line are 7 bytes. */
    snprintf(text, sizeof(text), "0\r\nX: %0*d\r\n\r\n", HTTP_TRAILER_MAX_BYTES - 7, 0);
    expect_chunks(text, "");
    snprintf(text, sizeof(text), "0\r\nX: %0*d\r\n\r\n", HTTP_TRAILER_MAX_BYTES - 6, 0);
    expect_error(text, HTTP_ERROR_TRAILERS_LONG);
}

/* 413, as soon as it is announced. */
TEST(content_that_is_too_long)
{
    struct http_framing f = {.kind = HTTP_BODY_LENGTH, .has_length = true, .length = 11};
    EXPECT_EQ(take(&f, 10, "", 0), HTTP_FAILED);
    EXPECT_EQ(b.error, HTTP_ERROR_BODY_LONG);
    EXPECT_EQ(http_error_status(b.error), 413);
    static const char text[] = "5\r\nhello\r\n6\r\nworld!\r\n0\r\n\r\n";
    EXPECT_EQ(take(&chunked, 11, text, sizeof(text) - 1), HTTP_DONE);
    EXPECT_EQ(take(&chunked, 10, text, sizeof(text) - 1), HTTP_FAILED);
    EXPECT_EQ(b.error, HTTP_ERROR_BODY_LONG);
    EXPECT_EQ(content.size, 5);
    /* Nothing is added up that could overflow. */
    EXPECT_EQ(take_chunks("1\r\na\r\n7fffffffffffffff\r\n"), HTTP_MORE);
}

/* A body of 64 MiB goes through without anything being allocated for it. */
TEST(memory_is_constant)
{
    static char piece[65536];
    struct http_framing f = {.kind = HTTP_BODY_LENGTH, .has_length = true, .length = 64 << 20};
    struct http_slice slice;
    size_t taken;
    http_body_init(&b, &f, HTTP_BODY_ANY_LENGTH);
    for (int i = 0; i < 1024; i++) {
        EXPECT_EQ(http_body_take(&b, piece, sizeof(piece), &taken, &slice),
                  i < 1023 ? HTTP_MORE : HTTP_DONE);
        EXPECT_TRUE(slice.data == piece && slice.size == sizeof(piece) && taken == slice.size);
    }
    EXPECT_TRUE(!b.lines.text.data);
}
