// SPDX-License-Identifier: Apache-2.0
#include "lib/http/head.h"
#include "tests/harness/harness.h"

static struct http_response_parser p;
static size_t taken_total;

static enum http_progress feed(const char *method, bool asks_upgrade, const char *text,
                               size_t piece)
{
    enum http_progress progress = HTTP_MORE;
    size_t size = strlen(text);
    http_response_done(&p);
    http_response_init(&p, NULL);
    http_response_expect(&p, method, asks_upgrade);
    taken_total = 0;
    while (progress == HTTP_MORE && taken_total < size) {
        size_t n = MIN(piece, size - taken_total), taken;
        char *copy = malloc(n); /* of its exact size, for ASan */
        memcpy(copy, text + taken_total, n);
        progress = http_response_take(&p, copy, n, &taken);
        free(copy);
        taken_total += taken;
    }
    return progress;
}

/* In pieces of several sizes, which must make no difference; the last time whole. */
static enum http_progress take_for(const char *method, bool asks_upgrade, const char *text)
{
    enum http_progress progress = feed(method, asks_upgrade, text, 1);
    enum http_error error = p.error;
    size_t taken = taken_total;
    EXPECT_EQ(feed(method, asks_upgrade, text, 7), progress);
    EXPECT_EQ(taken_total, taken);
    EXPECT_EQ(feed(method, asks_upgrade, text, SIZE_MAX), progress);
    EXPECT_EQ(taken_total, taken);
    EXPECT_EQ(p.error, error);
    return progress;
}

static void expect_error(const char *method, const char *text, enum http_error error)
{
    if (take_for(method, false, text) != HTTP_FAILED || p.error != error)
        harness_fail(__FILE__, __LINE__, "%s: %s", text, http_error_words(p.error));
}

static void expect_kind(const char *method, const char *text, enum http_body_kind kind)
{
    if (take_for(method, false, text) != HTTP_DONE || p.response.framing.kind != kind)
        harness_fail(__FILE__, __LINE__, "%s to %s: kind %d %s", text, method,
                     p.response.framing.kind, http_error_words(p.error));
}

TEST(a_response_and_its_parts)
{
    static const char text[] = "HTTP/1.1 404 Not \xc3\xa4 Found\r\n"
                               "Content-Length: 3\r\n"
                               "X-Empty: \r\n"
                               "\r\n"
                               "abc";
    ASSERT_EQ(take_for("GET", false, text), HTTP_DONE);
    EXPECT_EQ(taken_total, sizeof(text) - 4);
    const struct http_response *r = &p.response;
    EXPECT_EQ(r->status, 404);
    EXPECT_STR(r->reason, "Not \xc3\xa4 Found");
    EXPECT_EQ(r->version, HTTP_1_1);
    ASSERT_EQ(r->field_count, 2);
    EXPECT_STR(r->fields[1].name, "X-Empty");
    EXPECT_STR(r->fields[1].value, "");
    EXPECT_EQ(r->framing.kind, HTTP_BODY_LENGTH);
    EXPECT_EQ(r->framing.length, 3);
    EXPECT_TRUE(r->persists && !r->upgrade);
}

TEST(status_lines)
{
    ASSERT_EQ(take_for("GET", false, "HTTP/1.0 200\r\n\r\n"), HTTP_DONE);
    EXPECT_STR(p.response.reason, "");
    EXPECT_TRUE(!p.response.persists);
    ASSERT_EQ(take_for("GET", false, "HTTP/1.1 999 \r\n\r\n"), HTTP_DONE);
    EXPECT_EQ(p.response.status, 999);
    static const char *const wrong[] = {
        "HTTP/1.1 20 OK",
        "HTTP/1.1  200 OK",
        "HTTP/1.1 2000 OK",
        "HTTP/1.1 099 X",
        "HTTP/1.1",
        "HTTP/1.1 +20 X",
        "HTTP/1.1 2x0 OK",
        "HTTP/1.1\t200 OK",
        "http/1.1 200 OK",
        "ICY 200 OK",
        "HTTP/1.1 200\tOK",
        "<html>",
        "",
    };
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        char text[64];
        snprintf(text, sizeof(text), "%s\r\n\r\n", wrong[i]);
        expect_error("GET", text, HTTP_ERROR_START_LINE);
    }
    expect_error("GET", "HTTP/2.0 200 OK\r\n\r\n", HTTP_ERROR_VERSION);
    expect_error("GET", "HTTP/1.1 200 OK\n\n", HTTP_ERROR_LINE_END);
    expect_error("GET", "HTTP/1.1 200 O\x01K\r\n\r\n", HTTP_ERROR_BYTE);
}

/* RFC 9112, 6.3, in its order. */
TEST(where_a_response_ends)
{
    expect_kind("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", HTTP_BODY_NONE);
    EXPECT_TRUE(p.response.framing.has_length && p.response.framing.length == 5);
    EXPECT_TRUE(p.response.persists);
    expect_kind("HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_BODY_NONE);
    expect_kind("HEAD", "HTTP/1.1 200 OK\r\n\r\n", HTTP_BODY_NONE);
    expect_kind("head", "HTTP/1.1 200 OK\r\n\r\n", HTTP_BODY_CLOSE); /* another method */
    expect_kind("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", HTTP_BODY_NONE);
    EXPECT_EQ(p.response.framing.length, 5);
    expect_kind("GET", "HTTP/1.1 204 No Content\r\n\r\n", HTTP_BODY_NONE);
    expect_kind("GET", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", HTTP_BODY_NONE);
    EXPECT_TRUE(!p.response.framing.has_length);
    expect_kind("GET", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", HTTP_BODY_NONE);
    EXPECT_TRUE(http_response_is_interim(&p.response));
    expect_kind("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_BODY_CHUNKED);
    expect_kind("GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", HTTP_BODY_LENGTH);
    EXPECT_TRUE(p.response.persists);
    expect_kind("GET", "HTTP/1.1 200 OK\r\n\r\n", HTTP_BODY_CLOSE);
    EXPECT_TRUE(!p.response.persists);
    expect_kind("GET", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n",
                HTTP_BODY_LENGTH);
    EXPECT_TRUE(!p.response.persists);
}

TEST(content_where_there_can_be_none)
{
    expect_error("GET", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", HTTP_ERROR_CONTENT);
    expect_error("GET", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
                 HTTP_ERROR_CONTENT);
    expect_error("GET", "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n", HTTP_ERROR_CONTENT);
    expect_error("GET", "HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\n",
                 HTTP_ERROR_CONTENT);
}

/* G17: what a server sends is read as strictly as what a client sends. */
TEST(g17_responses_that_readers_disagree_on)
{
    static const struct {
        const char *lines;
        enum http_error error;
    } cases[] = {
        {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", HTTP_ERROR_LENGTH_AND_CODING},
        {"Content-Length: 5\r\nContent-Length: 5\r\n", HTTP_ERROR_LENGTH_REPEATED},
        {"Content-Length: 5, 5\r\n", HTTP_ERROR_LENGTH},
        {"Transfer-Encoding: gzip, chunked\r\n", HTTP_ERROR_CODING},
        {"Transfer-Encoding: identity\r\n", HTTP_ERROR_CODING},
        {"X: a\r\n b\r\n", HTTP_ERROR_FIELD_FOLDED},
        {"X : a\r\n", HTTP_ERROR_FIELD_BLANK},
        {"X: a\n", HTTP_ERROR_LINE_END},
        {"X: a\rb\r\n", HTTP_ERROR_LINE_END},
        {"Connection: a b\r\n", HTTP_ERROR_CONNECTION},
    };
    char text[256];
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\n%s\r\n", cases[i].lines);
        expect_error("GET", text, cases[i].error);
        expect_error("HEAD", text, cases[i].error);
    }
    expect_error("GET", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                 HTTP_ERROR_CODING_OLD);
}

/* G17: 1xx without end. */
TEST(g17_interim_responses)
{
    static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
    size_t taken;
    http_response_init(&p, NULL);
    http_response_expect(&p, "GET", false);
    for (int i = 0; i < HTTP_INTERIM_MAX; i++) {
        ASSERT_EQ(http_response_take(&p, interim, sizeof(interim) - 1, &taken), HTTP_DONE);
        ASSERT_TRUE(http_response_is_interim(&p.response));
        http_response_next(&p);
    }
    ASSERT_EQ(http_response_take(&p, interim, sizeof(interim) - 1, &taken), HTTP_DONE);
    http_response_next(&p);
    EXPECT_EQ(http_response_take(&p, interim, sizeof(interim) - 1, &taken), HTTP_FAILED);
    EXPECT_EQ(taken, 0);
    EXPECT_EQ(p.error, HTTP_ERROR_INTERIM_MANY);
    http_response_expect(&p, "GET", false);
    EXPECT_TRUE(!http_response_has_begun(&p));
    EXPECT_EQ(http_response_take(&p, interim, 1, &taken), HTTP_MORE);
    EXPECT_TRUE(http_response_has_begun(&p));
}

/* C23, C25. */
TEST(c23_where_http_ends)
{
    static const char switching[] = "HTTP/1.1 101 Switching Protocols\r\n"
                                    "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x05";
    ASSERT_EQ(take_for("GET", true, switching), HTTP_DONE);
    EXPECT_EQ(p.response.framing.kind, HTTP_BODY_OPAQUE);
    EXPECT_EQ(taken_total, sizeof(switching) - 3);
    EXPECT_STR(p.response.upgrade, "websocket");
    EXPECT_TRUE(!http_response_is_interim(&p.response) && !p.response.persists);
    expect_error("GET", switching, HTTP_ERROR_SWITCH);
    EXPECT_EQ(take_for("GET", true, "HTTP/1.1 101 X\r\nConnection: upgrade\r\n\r\n"), HTTP_FAILED);
    EXPECT_EQ(p.error, HTTP_ERROR_SWITCH);
    expect_kind("CONNECT", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", HTTP_BODY_OPAQUE);
    expect_kind("CONNECT", "HTTP/1.1 204 OK\r\n\r\n", HTTP_BODY_OPAQUE);
    expect_kind("CONNECT", "HTTP/1.1 407 No\r\nContent-Length: 5\r\n\r\n", HTTP_BODY_LENGTH);
    expect_kind("CONNECT", "HTTP/1.1 100 Continue\r\n\r\n", HTTP_BODY_NONE);
}

TEST(limits)
{
    struct http_limits small = {.line_bytes = 20, .head_bytes = 60, .fields = 1};
    size_t taken;
    static const struct {
        const char *text;
        enum http_error error;
    } cases[] = {
        {"HTTP/1.1 200 01234567\r\n\r\n", HTTP_ERROR_FIELD_LONG},
        {"HTTP/1.1 200 0123456\r\nX: 012345678901234567\r\n\r\n", HTTP_ERROR_FIELD_LONG},
        {"HTTP/1.1 200 \r\nA:\r\nB:\r\n\r\n", HTTP_ERROR_FIELDS_MANY},
        {"HTTP/1.1 200 0123456\r\nX: 01234567890123456\r\n\r\n", HTTP_ERROR_NONE},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        http_response_init(&p, &small);
        http_response_expect(&p, "GET", false);
        EXPECT_EQ(http_response_take(&p, cases[i].text, strlen(cases[i].text), &taken),
                  cases[i].error ? HTTP_FAILED : HTTP_DONE);
        EXPECT_EQ(p.error, cases[i].error);
        http_response_done(&p);
    }
    small.head_bytes = 45; /* what the last one has is 46 */
    http_response_init(&p, &small);
    http_response_expect(&p, "GET", false);
    EXPECT_EQ(http_response_take(&p, cases[3].text, strlen(cases[3].text), &taken), HTTP_FAILED);
    EXPECT_EQ(p.error, HTTP_ERROR_HEAD_LONG);
}
