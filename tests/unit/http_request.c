// SPDX-License-Identifier: Apache-2.0
#include "lib/http/head.h"
#include "tests/harness/harness.h"

static struct http_request_parser p;
static size_t taken_total;

static enum http_progress feed(const struct http_limits *limits, const char *data, size_t size,
                               size_t piece)
{
    enum http_progress progress = HTTP_MORE;
    http_request_done(&p);
    http_request_init(&p, limits);
    taken_total = 0;
    while (progress == HTTP_MORE && taken_total < size) {
        size_t n = MIN(piece, size - taken_total), taken;
        char *copy = malloc(n); /* of its exact size, for ASan */
        memcpy(copy, data + taken_total, n);
        progress = http_request_take(&p, copy, n, &taken);
        free(copy);
        taken_total += taken;
    }
    return progress;
}

/* In pieces of several sizes, which must make no difference; the last time whole. */
static enum http_progress take_with(const struct http_limits *limits, const char *data, size_t size)
{
    enum http_progress progress = feed(limits, data, size, 1);
    enum http_error error = p.error;
    size_t taken = taken_total;
    for (size_t piece = 2; piece < 12; piece += 3) {
        EXPECT_EQ(feed(limits, data, size, piece), progress);
        EXPECT_EQ(p.error, error);
        EXPECT_EQ(taken_total, taken);
    }
    EXPECT_EQ(feed(limits, data, size, SIZE_MAX), progress);
    EXPECT_EQ(p.error, error);
    EXPECT_EQ(taken_total, taken);
    return progress;
}

static enum http_progress take(const char *text)
{
    return take_with(NULL, text, strlen(text));
}

static void expect_done(const char *text)
{
    if (take(text) != HTTP_DONE) {
        harness_fail(__FILE__, __LINE__, "%s: %s", text, http_error_words(p.error));
        harness_end_case();
    }
}

static void expect_error_of(const char *text, size_t size, enum http_error error, unsigned status)
{
    if (take_with(NULL, text, size) != HTTP_FAILED || p.error != error ||
        http_error_status(error) != status)
        harness_fail(__FILE__, __LINE__, "%s: %s", text, http_error_words(p.error));
}

static void expect_error(const char *text, enum http_error error, unsigned status)
{
    expect_error_of(text, strlen(text), error, status);
}

/* A good request line and Host, and then these lines. */
static char *with_lines(const char *lines)
{
    static char text[4096];
    snprintf(text, sizeof(text), "POST /x HTTP/1.1\r\nHost: api.good.test\r\n%s\r\n", lines);
    return text;
}

static void expect_lines_error(const char *lines, enum http_error error, const char *reason)
{
    expect_error(with_lines(lines), error, 400);
    EXPECT_STR(http_error_reason(error), reason);
}

TEST(a_request_and_its_parts)
{
    static const char text[] = "GET /a/b%2f?c=d?e HTTP/1.1\r\n"
                               "Host: api.good.test:8443\r\n"
                               "X-Empty:\r\n"
                               "x-padded: \t a  b \t \r\n"
                               "X-Bytes: \xc3\xa4\t\xff\r\n"
                               "\r\n"
                               "body";
    expect_done(text);
    EXPECT_EQ(taken_total, sizeof(text) - 5);
    const struct http_request *r = &p.request;
    EXPECT_STR(r->method, "GET");
    EXPECT_STR(r->target, "/a/b%2f?c=d?e");
    EXPECT_STR(r->path, "/a/b%2f");
    EXPECT_STR(r->query, "c=d?e");
    EXPECT_EQ(r->form, HTTP_TARGET_ORIGIN);
    EXPECT_EQ(r->version, HTTP_1_1);
    EXPECT_STR(r->authority.host, "api.good.test");
    EXPECT_EQ(r->authority.port, 8443);
    EXPECT_TRUE(!r->scheme && !r->upgrade && !r->expects_continue && r->persists);
    ASSERT_EQ(r->field_count, 4);
    EXPECT_STR(r->fields[0].name, "Host");
    EXPECT_STR(r->fields[1].value, "");
    EXPECT_STR(r->fields[2].name, "x-padded");
    EXPECT_STR(r->fields[2].value, "a  b");
    EXPECT_STR(r->fields[3].value, "\xc3\xa4\t\xff");
    EXPECT_STR(http_field_get(r->fields, r->field_count, "X-PADDED"), "a  b");
    EXPECT_EQ(r->framing.kind, HTTP_BODY_NONE);
    size_t taken = 1;
    EXPECT_EQ(http_request_take(&p, "x", 1, &taken), HTTP_DONE);
    EXPECT_EQ(taken, 0);
}

/* C5, C6: each request of a connection is taken apart by itself. */
TEST(c6_pipelined_requests)
{
    static const char text[] = "GET /1 HTTP/1.1\r\nHost: api.good.test\r\n\r\n"
                               "GET /2 HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    size_t first, second;
    http_request_init(&p, NULL);
    EXPECT_TRUE(!http_request_has_begun(&p));
    ASSERT_EQ(http_request_take(&p, text, sizeof(text) - 1, &first), HTTP_DONE);
    EXPECT_STR(p.request.authority.host, "api.good.test");
    http_request_reset(&p);
    EXPECT_TRUE(!http_request_has_begun(&p));
    EXPECT_EQ(http_request_take(&p, text + first, 1, &second), HTTP_MORE);
    EXPECT_TRUE(http_request_has_begun(&p));
    ASSERT_EQ(http_request_take(&p, text + first + 1, sizeof(text) - 2 - first, &second),
              HTTP_DONE);
    EXPECT_EQ(first + 1 + second, sizeof(text) - 1);
    EXPECT_STR(p.request.authority.host, "evil.test");
    EXPECT_STR(p.request.path, "/2");
}

/* C7. */
TEST(c7_absolute_targets)
{
    expect_done("GET http://Api.good.test HTTP/1.1\r\nHost: api.GOOD.test:80\r\n\r\n");
    EXPECT_EQ(p.request.form, HTTP_TARGET_ABSOLUTE);
    EXPECT_STR(p.request.scheme, "http");
    EXPECT_STR(p.request.authority.host, "Api.good.test");
    EXPECT_STR(p.request.path, "/");
    EXPECT_TRUE(!p.request.query);
    expect_done("GET HTTPS://a.test:443?q HTTP/1.1\r\nHost: a.test\r\n\r\n");
    EXPECT_STR(p.request.scheme, "https");
    EXPECT_EQ(p.request.authority.port, 443);
    EXPECT_STR(p.request.path, "/");
    EXPECT_STR(p.request.query, "q");
    expect_done("GET http://[2001:db8::1]:81/p HTTP/1.1\r\nHost: [2001:db8::1]:81\r\n\r\n");
    EXPECT_STR(p.request.authority.host, "[2001:db8::1]");
    expect_done("GET http://a.test/p HTTP/1.0\r\n\r\n");
    EXPECT_STR(p.request.authority.host, "a.test");
    expect_done("OPTIONS http://a.test HTTP/1.1\r\nHost: a.test\r\n\r\n");
    EXPECT_STR(p.request.path, "*");
    /* Long enough that the text moves while the parts are put in the line's place. */
    char text[512];
    snprintf(text, sizeof(text), "GET http://a.test?%0200d HTTP/1.1\r\nHost: a.test\r\n\r\n", 0);
    expect_done(text);
    EXPECT_STR(p.request.authority.host, "a.test");
    EXPECT_EQ(strlen(p.request.query), 200);

    static const char *const others[] = {
        "GET https://evil.test/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n",
        "GET http://a.test:8080/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET https://a.test/ HTTP/1.1\r\nHost: a.test:80\r\n\r\n",
        "CONNECT evil.test:443 HTTP/1.1\r\nHost: api.good.test:443\r\n\r\n",
        "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:80\r\n\r\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        expect_error(others[i], HTTP_ERROR_HOST_OTHER, 421);
    EXPECT_STR(http_error_reason(HTTP_ERROR_HOST_OTHER), "name_conflict");
    expect_error("GET http://a.test/ HTTP/1.1\r\n\r\n", HTTP_ERROR_HOST_MISSING, 400);
}

TEST(targets_that_are_wrong)
{
    static const char *const targets[] = {
        "GET a.test:443",
        "GET http://",
        "GET http:///x",
        "GET http://u@a.test/",
        "GET ftp://a.test",
        "GET http://a.test:/x",
        "GET http:a.test/",
        "GET *",
        "OPTIONS *x",
        "GET /a#b",
        "CONNECT a.test",
        "CONNECT /x",
        "CONNECT u@a:1",
        "CONNECT a.test:0",
        "CONNECT *",
        "CONNECT http://a.test/",
        "GET http://a.test\\@b.test/",
        "GET http://a.test#/",
        "CONNECT a.test:443/",
    };
    for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
        char text[256];
        snprintf(text, sizeof(text), "%s HTTP/1.1\r\nHost: a.test\r\n\r\n", targets[i]);
        expect_error(text, HTTP_ERROR_TARGET, 400);
    }
}

TEST(other_forms_of_target)
{
    expect_done("OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n");
    EXPECT_EQ(p.request.form, HTTP_TARGET_ASTERISK);
    EXPECT_STR(p.request.path, "*");
    expect_done("CONNECT a.test:443 HTTP/1.1\r\nHost: A.test\r\n\r\n");
    EXPECT_EQ(p.request.form, HTTP_TARGET_AUTHORITY);
    EXPECT_STR(p.request.authority.host, "a.test");
    EXPECT_EQ(p.request.authority.port, 443);
    EXPECT_STR(p.request.path, "");
    EXPECT_EQ(p.request.framing.kind, HTTP_BODY_OPAQUE);
    EXPECT_TRUE(!p.request.persists);
    expect_done("GET //evil.test/x HTTP/1.1\r\nHost: a.test\r\n\r\n");
    EXPECT_STR(p.request.authority.host, "a.test");
    EXPECT_STR(p.request.path, "//evil.test/x");
    expect_error("CONNECT a:1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", HTTP_ERROR_CONTENT,
                 400);
    expect_error("CONNECT a:1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
                 HTTP_ERROR_CONTENT, 400);
}

/* C8. */
TEST(c8_empty_lines_before_the_request_line)
{
    expect_done("\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n");
    EXPECT_STR(p.request.authority.host, "evil.test");
    expect_done("\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    expect_error("\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
                 HTTP_ERROR_EMPTY_LINES, 400);
    expect_error("\nGET / HTTP/1.1\r\n", HTTP_ERROR_LINE_END, 400);
}

/* C9. */
TEST(c9_hosts_that_are_wrong)
{
    static const char *const hosts[] = {
        "",
        "user@a.test",
        "a.test, b.test",
        "a.test b.test",
        "a.test/x",
        "a.test:",
        "a.test:0",
        "a.test:65536",
        "a.test:080",
        "a.test:8o",
        ":80",
        "[::1",
        "[::1]x",
        "[fe80::1%eth0]",
        "[v1.x]",
        "::1",
        "a%2etest",
        "a.test:80:80",
        "\xc3\xa4.test",
        "http://a.test",
        "a.test:-1",
        "[1.2.3.4]",
        "[]",
        "a.test?x",
        "a\ttest",
    };
    for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
        char text[256];
        snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", hosts[i]);
        expect_error(text, HTTP_ERROR_HOST, 400);
    }
    expect_error("GET / HTTP/1.1\r\n\r\n", HTTP_ERROR_HOST_MISSING, 400);
    expect_error("GET / HTTP/1.1\r\nHost: a.test\r\nhost: a.test\r\n\r\n", HTTP_ERROR_HOST_REPEATED,
                 400);
    expect_error("GET / HTTP/1.0\r\nHost: a.test\r\nHost: b.test\r\n\r\n", HTTP_ERROR_HOST_REPEATED,
                 400);
    char text[512];
    int size = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: %0255d\r\n\r\n", 0);
    EXPECT_EQ(take_with(NULL, text, (size_t)size), HTTP_DONE);
    EXPECT_EQ(strlen(p.request.authority.host), 255);
    size = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: %0256d\r\n\r\n", 0);
    expect_error_of(text, (size_t)size, HTTP_ERROR_HOST, 400);
}

/* C10. */
TEST(c10_versions)
{
    expect_done("GET / HTTP/1.0\r\nHost: a.test\r\n\r\n");
    EXPECT_EQ(p.request.version, HTTP_1_0);
    EXPECT_TRUE(!p.request.persists);
    expect_done("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_TRUE(!p.request.authority.host && !p.request.persists);
    static const char *const unknown[] = {"HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "HTTP/3.1"};
    static const char *const malformed[] = {"http/1.1", "HTTP/1.1 ", "HTTP/1.10",
                                            "HTTP/11",  "HTTP/01.1", "HTTPS/1.1",
                                            "HTTP/1,1", "HTTP/+.1",  ""};
    char text[128];
    for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
        snprintf(text, sizeof(text), "GET / %s\r\nHost: a.test\r\n\r\n", unknown[i]);
        expect_error(text, HTTP_ERROR_VERSION, 505);
    }
    for (size_t i = 0; i < ARRAY_SIZE(malformed); i++) {
        snprintf(text, sizeof(text), "GET / %s\r\nHost: a.test\r\n\r\n", malformed[i]);
        expect_error(text, HTTP_ERROR_START_LINE, 400);
    }
    expect_error("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HTTP_ERROR_VERSION, 505);
    expect_error("GET /\r\n", HTTP_ERROR_START_LINE, 400); /* HTTP/0.9 */
    expect_error("GET / HTTP/1.1\nHost: a.test\n\n", HTTP_ERROR_LINE_END, 400);
    expect_error("GET / HTTP/1.1\r\nHost: a.test\n\r\n", HTTP_ERROR_LINE_END, 400);
    expect_error("GET / HTTP/1.1\r\nHost: a.test\r\n\n", HTTP_ERROR_LINE_END, 400);
}

TEST(request_lines_that_are_wrong)
{
    static const char *const lines[] = {
        " GET / HTTP/1.1",
        "GET  / HTTP/1.1",
        "GET /  HTTP/1.1",
        "GET / x HTTP/1.1",
        "GET",
        "G(T / HTTP/1.1",
        "GET HTTP/1.1",
        "SSH-2.0-OpenSSH",
        "/ HTTP/1.1",
        "GET:/ / HTTP/1.1",
    };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        char text[128];
        snprintf(text, sizeof(text), "%s\r\nHost: a.test\r\n\r\n", lines[i]);
        expect_error(text, HTTP_ERROR_START_LINE, 400);
        EXPECT_EQ(taken_total, strlen(lines[i]) + 2); /* nothing more is waited for */
    }
}

/* C18. */
TEST(c18_what_is_no_http_is_known_at_once)
{
    static const char *const starts[] = {"\x16\3\1\2", "\5\1", "\xff\xfb", "GET\t/", "GET /\xc3"};
    static const size_t taken[] = {0, 0, 0, 3, 5};
    for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
        expect_error(starts[i], HTTP_ERROR_BYTE, 400);
        EXPECT_EQ(taken_total, taken[i]);
    }
    expect_error_of("GET /\0 HTTP/1.1\r\n", 17, HTTP_ERROR_BYTE, 400);
}

/* G14, in the head's lines: what makes one reader see another field than the next. */
TEST(g14_fields_that_readers_disagree_on)
{
    static const struct {
        const char *lines;
        enum http_error error;
        const char *reason;
    } cases[] = {
        {"X: a\r\n b\r\n", HTTP_ERROR_FIELD_FOLDED, "smuggling"},
        {"X: a\r\n\tb\r\n", HTTP_ERROR_FIELD_FOLDED, "smuggling"},
        {"Transfer-Encoding:\r\n chunked\r\n", HTTP_ERROR_FIELD_FOLDED, "smuggling"},
        {"Transfer-Encoding : chunked\r\n", HTTP_ERROR_FIELD_BLANK, "smuggling"},
        {"Content-Length\t: 5\r\n", HTTP_ERROR_FIELD_BLANK, "smuggling"},
        {"X: a\rY: b\r\n", HTTP_ERROR_LINE_END, "smuggling"},
        {"X: a\nTransfer-Encoding: chunked\r\n", HTTP_ERROR_LINE_END, "smuggling"},
        {"X: a\r\r\n", HTTP_ERROR_LINE_END, "smuggling"},
        {"no colon\r\n", HTTP_ERROR_FIELD_BLANK, "smuggling"},
        {"nocolon\r\n", HTTP_ERROR_FIELD, "malformed"},
        {": value\r\n", HTTP_ERROR_FIELD, "malformed"},
        {"X\xc3: a\r\n", HTTP_ERROR_FIELD, "malformed"},
        {"\"X\": a\r\n", HTTP_ERROR_FIELD, "malformed"},
        {"X[]: a\r\n", HTTP_ERROR_FIELD, "malformed"},
        {"X: a\x01\r\n", HTTP_ERROR_BYTE, "malformed"},
        {"X: a\x0b\r\n", HTTP_ERROR_BYTE, "malformed"},
        {"X: a\x7f\r\n", HTTP_ERROR_BYTE, "malformed"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        expect_lines_error(cases[i].lines, cases[i].error, cases[i].reason);
    expect_error("GET / HTTP/1.1\r\n Host: a.test\r\n\r\n", HTTP_ERROR_FIELD_FOLDED, 400);
    expect_error_of("GET / HTTP/1.1\r\nX: a\0b\r\n\r\n", 26, HTTP_ERROR_BYTE, 400);
}

/* G14, the lengths. */
TEST(g14_lengths_that_readers_disagree_on)
{
    static const struct {
        const char *lines;
        enum http_error error;
    } cases[] = {
        {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", HTTP_ERROR_LENGTH_AND_CODING},
        {"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", HTTP_ERROR_LENGTH_AND_CODING},
        {"Content-Length: 5\r\nContent-Length: 6\r\n", HTTP_ERROR_LENGTH_REPEATED},
        {"Content-Length: 5\r\nCONTENT-LENGTH: 5\r\n", HTTP_ERROR_LENGTH_REPEATED},
        {"Content-Length: 5, 5\r\n", HTTP_ERROR_LENGTH},
        {"Content-Length: 5,\r\n", HTTP_ERROR_LENGTH},
        {"Content-Length: +5\r\n", HTTP_ERROR_LENGTH},
        {"Content-Length: -1\r\n", HTTP_ERROR_LENGTH},
        {"Content-Length: 0x5\r\n", HTTP_ERROR_LENGTH},
        {"Content-Length: 5 5\r\n", HTTP_ERROR_LENGTH},
        {"Content-Length: 5;a\r\n", HTTP_ERROR_LENGTH},
        {"Content-Length: \"5\"\r\n", HTTP_ERROR_LENGTH},
        {"Content-Length: 5.0\r\n", HTTP_ERROR_LENGTH},
        {"Content-Length: 1e1\r\n", HTTP_ERROR_LENGTH},
        {"Content-Length:\r\n", HTTP_ERROR_LENGTH},
        {"Content-Length: 9223372036854775808\r\n", HTTP_ERROR_LENGTH},
        {"Content-Length: 18446744073709551621\r\n", HTTP_ERROR_LENGTH}, /* 5, modulo 2^64 */
        {"Content-Length: 4294967301000000000000\r\n", HTTP_ERROR_LENGTH},
        {"Transfer-Encoding: xchunked\r\n", HTTP_ERROR_CODING},
        {"Transfer-Encoding: chunked, chunked\r\n", HTTP_ERROR_CODING},
        {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", HTTP_ERROR_CODING},
        {"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", HTTP_ERROR_CODING},
        {"Transfer-Encoding: gzip, chunked\r\n", HTTP_ERROR_CODING},
        {"Transfer-Encoding: chunked, gzip\r\n", HTTP_ERROR_CODING},
        {"Transfer-Encoding: identity\r\n", HTTP_ERROR_CODING},
        {"Transfer-Encoding: \"chunked\"\r\n", HTTP_ERROR_CODING},
        {"Transfer-Encoding: chunked;q=1\r\n", HTTP_ERROR_CODING},
        {"Transfer-Encoding: chunked,\r\n", HTTP_ERROR_CODING},
        {"Transfer-Encoding: , chunked\r\n", HTTP_ERROR_CODING},
        {"Transfer-Encoding:\r\n", HTTP_ERROR_CODING},
        {"Transfer-Encoding: chunk\r\n", HTTP_ERROR_CODING},
        {"Transfer-Encoding: ch\xc3\xbcnked\r\n", HTTP_ERROR_CODING},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        expect_lines_error(cases[i].lines, cases[i].error, "smuggling");
    expect_lines_error("Transfer-Encoding: \x0b"
                       "chunked\r\n",
                       HTTP_ERROR_BYTE, "malformed");
    expect_error("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_ERROR_CODING_OLD,
                 400);
}

TEST(framing_of_requests)
{
    expect_done(with_lines(""));
    EXPECT_EQ(p.request.framing.kind, HTTP_BODY_NONE);
    expect_done(with_lines("content-length: 9223372036854775807\r\n"));
    EXPECT_EQ(p.request.framing.kind, HTTP_BODY_LENGTH);
    EXPECT_EQ(p.request.framing.length, INT64_MAX);
    expect_done(with_lines("Content-Length: 0\r\n"));
    EXPECT_EQ(p.request.framing.kind, HTTP_BODY_LENGTH);
    EXPECT_TRUE(p.request.framing.has_length && p.request.framing.length == 0);
    expect_done(with_lines("transfer-encoding: \tChunked \r\n"));
    EXPECT_EQ(p.request.framing.kind, HTTP_BODY_CHUNKED);
    /* G15: also where content is unusual. */
    expect_done("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    EXPECT_EQ(p.request.framing.kind, HTTP_BODY_CHUNKED);
    /* Others that only look alike mean nothing. */
    expect_done(with_lines("X-Transfer-Encoding: gzip\r\nTransfer_Encoding: chunked\r\n"));
    EXPECT_EQ(p.request.framing.kind, HTTP_BODY_NONE);
    expect_error("POST / HTTP/1.0\r\n\r\n", HTTP_ERROR_LENGTH_MISSING, 411);
    expect_done("POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\n");
    EXPECT_EQ(p.request.framing.length, 3);
}

TEST(connection_options)
{
    expect_done(with_lines("Connection: Close\r\n"));
    EXPECT_TRUE(!p.request.persists);
    expect_done(with_lines("Connection: , x-a ,close,\r\n"));
    EXPECT_TRUE(!p.request.persists);
    expect_done(with_lines("Connection: keep-alive\r\nConnection: closed\r\n"));
    EXPECT_TRUE(p.request.persists);
    expect_lines_error("Connection: \"close\"\r\n", HTTP_ERROR_CONNECTION, "malformed");
    expect_lines_error("Connection: a b\r\n", HTTP_ERROR_CONNECTION, "malformed");
    expect_done(with_lines("Connection: ,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\r\n"));
    expect_lines_error("Connection: ,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\r\n", HTTP_ERROR_CONNECTION,
                       "malformed");
}

/* C23, C24, C27. */
TEST(c23_upgrade_and_c27_expect)
{
    expect_done(with_lines("Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"));
    EXPECT_STR(p.request.upgrade ? p.request.upgrade : "", "websocket");
    static const char *const none[] = {
        "Upgrade: websocket\r\n",
        "Connection: upgrade\r\n",
        "Connection: upgrade\r\nUpgrade:\r\n",
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
        "Connection: upgrade\r\nUpgrade: websocket\r\nUpgrade: H2C\r\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
        expect_done(with_lines(none[i]));
        EXPECT_TRUE(!p.request.upgrade);
    }
    expect_done(with_lines("Expect: 100-Continue\r\nContent-Length: 1\r\n"));
    EXPECT_TRUE(p.request.expects_continue);
    expect_done(
        "GET / HTTP/1.0\r\nExpect: 100-continue\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
    EXPECT_TRUE(!p.request.expects_continue && !p.request.upgrade);
}

/* Each limit at what it allows, and one more. */
TEST(limits)
{
    static const struct http_limits small = {.line_bytes = 40, .head_bytes = 100, .fields = 3};
    char text[512];
    for (int more = 0; more < 2; more++) {
        /* "GET /" and " HTTP/1.1" are 14 bytes of the line. */
        int size =
            snprintf(text, sizeof(text), "GET /%0*d HTTP/1.1\r\nHost: a\r\n\r\n", 26 + more, 0);
        EXPECT_EQ(take_with(&small, text, (size_t)size), more ? HTTP_FAILED : HTTP_DONE);
        EXPECT_EQ(p.error, more ? HTTP_ERROR_TARGET_LONG : HTTP_ERROR_NONE);
        size = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: a\r\nX: %0*d\r\n\r\n",
                        37 + more, 0);
        EXPECT_EQ(take_with(&small, text, (size_t)size), more ? HTTP_FAILED : HTTP_DONE);
        EXPECT_EQ(p.error, more ? HTTP_ERROR_FIELD_LONG : HTTP_ERROR_NONE);
        /* 16 + 9 + 2 bytes without the two fields. */
        size =
            snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: a\r\nX: %030d\r\nY: %0*d\r\n\r\n",
                     0, 33 + more, 0);
        EXPECT_EQ(size, 100 + more);
        EXPECT_EQ(take_with(&small, text, (size_t)size), more ? HTTP_FAILED : HTTP_DONE);
        EXPECT_EQ(p.error, more ? HTTP_ERROR_HEAD_LONG : HTTP_ERROR_NONE);
        size = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: a\r\nX:\r\nY:\r\n%s\r\n",
                        more ? "Z:\r\n" : "");
        EXPECT_EQ(take_with(&small, text, (size_t)size), more ? HTTP_FAILED : HTTP_DONE);
        EXPECT_EQ(p.error, more ? HTTP_ERROR_FIELDS_MANY : HTTP_ERROR_NONE);
        size = snprintf(text, sizeof(text), "%0*d / HTTP/1.1\r\nHost: a\r\n\r\n",
                        HTTP_METHOD_MAX_BYTES + more, 0);
        EXPECT_EQ(take_with(NULL, text, (size_t)size), more ? HTTP_FAILED : HTTP_DONE);
        EXPECT_EQ(p.error, more ? HTTP_ERROR_METHOD_LONG : HTTP_ERROR_NONE);
    }
    EXPECT_EQ(http_error_status(HTTP_ERROR_TARGET_LONG), 414);
    EXPECT_EQ(http_error_status(HTTP_ERROR_FIELD_LONG), 431);
    EXPECT_EQ(http_error_status(HTTP_ERROR_HEAD_LONG), 431);
    EXPECT_EQ(http_error_status(HTTP_ERROR_FIELDS_MANY), 431);
    EXPECT_EQ(http_error_status(HTTP_ERROR_METHOD_LONG), 501);
}

/* Whoever sends without end is stopped, and no more is kept than the limit says. */
TEST(endless_heads)
{
    static char text[3 * HTTP_HEAD_MAX_BYTES];
    size_t taken;
    memset(text, 'a', sizeof(text));
    http_request_init(&p, NULL);
    EXPECT_EQ(http_request_take(&p, text, sizeof(text), &taken), HTTP_FAILED);
    EXPECT_EQ(p.error, HTTP_ERROR_TARGET_LONG);
    EXPECT_EQ(taken, HTTP_LINE_MAX_BYTES);
    http_request_reset(&p);
    static const char start[] = "GET / HTTP/1.1\r\nHost: a\r\n";
    ASSERT_EQ(http_request_take(&p, start, sizeof(start) - 1, &taken), HTTP_MORE);
    size_t total = taken;
    for (size_t at = 0; at + 1000 <= sizeof(text); at += 1000) {
        memcpy(text + at, "X: ", 3);
        memcpy(text + at + 998, "\r\n", 2);
    }
    EXPECT_EQ(http_request_take(&p, text, sizeof(text), &taken), HTTP_FAILED);
    EXPECT_EQ(p.error, HTTP_ERROR_HEAD_LONG);
    EXPECT_EQ(total + taken, HTTP_HEAD_MAX_BYTES);
    EXPECT_LE(p.lines.text.capacity, 2 * (HTTP_HEAD_MAX_BYTES + HTTP_LINE_MAX_BYTES + 16));
}

TEST(every_error_has_its_status_and_words)
{
    for (int e = HTTP_ERROR_NONE + 1; e < HTTP_ERROR_COUNT; e++) {
        const char *words = http_error_words((enum http_error)e);
        if (http_error_status((enum http_error)e) < 400 ||
            !http_error_reason((enum http_error)e)[0] || !words[0] || strpbrk(words, "\r\n"))
            harness_fail(__FILE__, __LINE__, "error %d", e);
    }
}
