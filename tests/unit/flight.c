// SPDX-License-Identifier: Apache-2.0
#include "gateway/flight.h"

#include "lib/http/head.h"
#include "tests/harness/harness.h"
#include "tests/unit/hello_bytes.h"

static struct flight f;

static enum flight_kind take_whole(const void *data, size_t size)
{
    flight_done(&f);
    flight_init(&f);
    return flight_take(&f, data, size);
}

static enum flight_kind take_bytes(const void *data, size_t size)
{
    enum flight_kind kind = FLIGHT_MORE;
    flight_done(&f);
    flight_init(&f);
    for (size_t i = 0; i < size; i++)
        kind = flight_take(&f, (const char *)data + i, 1);
    return kind;
}

/* Whole and byte by byte; all that came is kept, whatever it is. */
static void expect(const char *text, enum flight_kind kind)
{
    size_t size = strlen(text);
    EXPECT_EQ(take_whole(text, size), kind);
    EXPECT_EQ(take_bytes(text, size), kind);
    EXPECT_EQ(f.bytes.size, size);
    EXPECT_EQ(memcmp(f.bytes.data, text, size), 0);
}

TEST(requests_are_known_by_their_line)
{
    expect("GET / HTTP/1.1\r\n", FLIGHT_HTTP);
    expect("GET / HTTP/1.1\r\nHost: a\r\n\r\n", FLIGHT_HTTP);
    expect("POST /x HTTP/1.0\n", FLIGHT_HTTP);
    expect("\r\n\r\nGET / HTTP/1.1\r\n", FLIGHT_HTTP); /* row C8 */
    expect("CONNECT evil.test:443 HTTP/1.1\r\n", FLIGHT_HTTP);
    expect("OPTIONS * HTTP/1.1\r\n", FLIGHT_HTTP);
    expect("GET http://evil.test/ HTTP/1.1\r\n", FLIGHT_HTTP);
    expect("GET /", FLIGHT_MORE);
    expect("GE", FLIGHT_MORE);
}

TEST(what_a_lenient_server_takes_for_a_request_is_one)
{
    expect("get / HTTP/1.1\r\n", FLIGHT_HTTP);
    expect("GET\t/\tHTTP/1.1\r\n", FLIGHT_HTTP);
    expect("GET  /  HTTP/1.1  \r\n", FLIGHT_HTTP);
    expect("GET /a b HTTP/1.1\n", FLIGHT_HTTP);
    expect("GET / HTTP/2.0\r\n", FLIGHT_HTTP);
    expect("GET / http/9.9\r\n", FLIGHT_HTTP);
    expect("GET / RTSP/1.0\r\n", FLIGHT_HTTP);
    expect("GET /\r\n", FLIGHT_HTTP);
    expect("GET ftp://evil.test/\r\n", FLIGHT_HTTP);
    expect("GET evil HTTP/1.1\r\n", FLIGHT_HTTP);
    expect(" GET / HTTP/1.1\r\n", FLIGHT_HTTP);
    expect("\r\n\t GET / HTTP/1.1\r\n", FLIGHT_HTTP);
    expect("GET\x1c/\xa0HTTP/1.1\r\n", FLIGHT_HTTP);
    expect("\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\n\n\r\rGET / HTTP/1.1\r\n", FLIGHT_HTTP);
}

TEST(C10_http2_without_tls)
{
    expect("PRI * HTTP/2.0\r\n", FLIGHT_HTTP2);
    expect("PRI * HTTP/2.0\n", FLIGHT_HTTP2);
    expect("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", FLIGHT_HTTP2);
    /* To a server of HTTP/1 these are requests. */
    expect("PRI * HTTP/2.0x\r\n", FLIGHT_HTTP);
    expect("PRI / HTTP/2.0\r\n", FLIGHT_HTTP);
    expect("PRI * HTTP/1.1\r\n", FLIGHT_HTTP);
    expect("pri * HTTP/2.0\r\n", FLIGHT_HTTP);
}

TEST(other_protocols_are_known_at_once)
{
    expect("SSH-2.0-OpenSSH_9.2\r\n", FLIGHT_OTHER);
    expect("hello", FLIGHT_OTHER);
    expect("*1\r\n$4\r\nPING\r\n", FLIGHT_OTHER);
    expect("EHLO there\r\n", FLIGHT_OTHER);
    expect("get /of/memcached\r\n", FLIGHT_OTHER);
    expect("SET key value\r\n", FLIGHT_OTHER);
    expect("GET key\r\n", FLIGHT_OTHER);
    expect("x", FLIGHT_OTHER);
    EXPECT_EQ(take_whole("\x20\0\0\1", 4), FLIGHT_OTHER); /* so MySQL's clients may begin */
    expect(" hello", FLIGHT_OTHER);
    EXPECT_EQ(take_whole("\0\0\0\x08\x04\xd2\x16\x2f", 8),
              FLIGHT_OTHER); /* Postgres asks for TLS */
}

TEST(words_that_no_method_begins_with_are_told_apart_whole)
{
    static const char *const lines[] = {"FROB /x HTTP/1.1\r\n", "FROB evil.test:80 HTTP/1.1\r\n",
                                        "MKCALENDAR s://evil.test/ HTTP/1.1\r\n"};
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        EXPECT_EQ(take_whole(lines[i], strlen(lines[i])), FLIGHT_HTTP);
}

/* What becomes of a first line that comes in pieces of size bytes, and how much of it has passed.
 */
static enum flight_kind take_line(const char *text, size_t size, size_t *ret_passed)
{
    struct flight_line line = {0};
    enum flight_kind kind = FLIGHT_MORE;
    for (*ret_passed = 0; kind == FLIGHT_MORE && text[*ret_passed];) {
        size_t n = MIN(size, strlen(text + *ret_passed));
        kind = flight_line_take(&line, text + *ret_passed, n);
        *ret_passed += kind == FLIGHT_HTTP ? 0 : n;
    }
    return kind;
}

TEST(C5_words_that_no_method_begins_with_are_watched)
{
    size_t passed;
    EXPECT_EQ(take_whole("FROB", 4), FLIGHT_OTHER);
    EXPECT_TRUE(f.is_open);
    EXPECT_EQ(take_whole("FROB x", 6), FLIGHT_OTHER);
    EXPECT_TRUE(f.is_open);
    EXPECT_EQ(take_whole("FROB x\r\n", 8), FLIGHT_OTHER);
    EXPECT_TRUE(!f.is_open);
    EXPECT_EQ(take_whole("\1\2\3", 3), FLIGHT_OTHER);
    EXPECT_TRUE(!f.is_open);
    for (size_t size = 1; size < 30; size++) {
        EXPECT_EQ(take_line("FROB /x HTTP/1.1\r\nHost: evil.test\r\n\r\n", size, &passed),
                  FLIGHT_HTTP);
        EXPECT_TRUE(passed < 16);
        EXPECT_EQ(take_line("frob x:80 rtsp/1.0\r\n", size, &passed), FLIGHT_HTTP);
        EXPECT_EQ(take_line("hello there\nGET / HTTP/1.1\r\n", size, &passed), FLIGHT_OTHER);
        EXPECT_EQ(take_line("hello\r\nGET / HTTP/1.1\r\n", size, &passed), FLIGHT_OTHER);
        EXPECT_EQ(take_line("hello there", size, &passed), FLIGHT_MORE);
        /* A server skips empty lines before a request (RFC 9112, 2.2). */
        EXPECT_EQ(take_line("\r\n\nFROB /x HTTP/1.1\r\n", size, &passed), FLIGHT_HTTP);
        EXPECT_EQ(take_line(" \n\x1f FROB /x HTTP/1.1\r\n", size, &passed), FLIGHT_HTTP);
        EXPECT_EQ(take_line("\r\n\r\n", size, &passed), FLIGHT_MORE);
    }
}

TEST(H2_a_line_that_is_too_long_is_a_request)
{
    char line[10000];
    memset(line, 'a', sizeof(line));
    memcpy(line, "GET /", 5);
    EXPECT_EQ(take_whole(line, sizeof(line)), FLIGHT_HTTP);
    EXPECT_EQ(take_whole(line, HTTP_LINE_MAX_BYTES), FLIGHT_MORE);
    line[sizeof(line) - 1] = '\n';
    EXPECT_EQ(take_whole(line, sizeof(line)), FLIGHT_HTTP);
    EXPECT_EQ(take_bytes(line, sizeof(line)), FLIGHT_HTTP);
    memcpy(line, "get", 3);
    line[100] = '\n';
    EXPECT_EQ(take_whole(line, sizeof(line)), FLIGHT_OTHER);
}

TEST(a_hello_in_any_pieces)
{
    EXPECT_EQ(take_whole(hello_tls13, sizeof(hello_tls13)), FLIGHT_TLS);
    EXPECT_EQ(take_bytes(hello_tls13, sizeof(hello_tls13)), FLIGHT_TLS);
    EXPECT_EQ(f.bytes.size, sizeof(hello_tls13));
    EXPECT_NE(f.hello.hello.server_name[0], '\0');
}

TEST(what_begins_as_tls_and_is_none)
{
    EXPECT_EQ(take_whole("\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00", 10), FLIGHT_TLS_BROKEN);
    EXPECT_EQ(take_whole("\x16\x03\x01", 3), FLIGHT_MORE);
    EXPECT_EQ(flight_end(&f), FLIGHT_TLS_BROKEN);
}

TEST(the_end_decides)
{
    flight_done(&f);
    flight_init(&f);
    EXPECT_EQ(flight_end(&f), FLIGHT_OTHER);
    take_whole("GET /", 5);
    EXPECT_EQ(flight_end(&f), FLIGHT_OTHER);
}

TEST(more_than_it_keeps)
{
    static char record[6 * FLIGHT_MAX_BYTES];
    size_t size = 0;
    /* Records of one byte each. */
    for (; size < sizeof(record); size += 6)
        memcpy(record + size, "\x16\x03\x01\x00\x01\x01", 6);
    memcpy(record + 6, "\x16\x03\x01\x00\x01\x00", 6);
    EXPECT_EQ(take_whole(record, sizeof(record)), FLIGHT_TLS_BROKEN);
    EXPECT_TRUE(f.bytes.size <= FLIGHT_MAX_BYTES);
    flight_done(&f);
}
