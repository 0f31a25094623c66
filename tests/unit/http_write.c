// SPDX-License-Identifier: Apache-2.0
#include "lib/http/write.h"
#include "lib/http/body.h"
#include "tests/harness/harness.h"

static struct buf out = {.max_bytes = 1 << 20};
static struct http_request_parser request;
static struct http_response_parser response;

static const struct http_request_head get = {
    .method = "GET",
    .authority = {"api.good.test", 0},
    .path = "/",
};

static const struct http_response_head ok = {
    .status = 200,
    .reason = "OK",
    .framing = {.kind = HTTP_BODY_LENGTH, .has_length = true, .length = 0},
};

static void expect_request(const struct http_request_head *h, const char *expected)
{
    buf_reset(&out);
    EXPECT_EQ(http_request_write(&out, h), 0);
    EXPECT_STR(out.data ? out.data : "", expected);
}

static void expect_response(const struct http_response_head *h, const char *expected)
{
    buf_reset(&out);
    EXPECT_EQ(http_response_write(&out, h), 0);
    EXPECT_STR(out.data ? out.data : "", expected);
}

/* Parses text, forwards its fields, and writes it. */
static void expect_forwarded(const char *text, const char *expected)
{
    size_t taken;
    http_request_done(&request);
    http_request_init(&request, NULL);
    ASSERT_EQ(http_request_take(&request, text, strlen(text), &taken), HTTP_DONE);
    struct http_request *r = &request.request;
    r->field_count = http_fields_forward(r->fields, r->field_count);
    struct http_request_head head = http_request_head_of(r);
    expect_request(&head, expected);
}

static void expect_response_forwarded(const char *method, const char *text, const char *expected)
{
    size_t taken;
    http_response_done(&response);
    http_response_init(&response, NULL);
    http_response_expect(&response, method, true);
    ASSERT_EQ(http_response_take(&response, text, strlen(text), &taken), HTTP_DONE);
    struct http_response *r = &response.response;
    r->field_count = http_fields_forward(r->fields, r->field_count);
    struct http_response_head head = http_response_head_of(r);
    expect_response(&head, expected);
}

TEST(requests_are_made_anew)
{
    expect_forwarded("\r\nGET /a?b HTTP/1.1\r\nx:   y  \r\nhost: A.test:81\r\nZ:\r\n\r\n",
                     "GET /a?b HTTP/1.1\r\nHost: A.test:81\r\nx: y\r\nZ: \r\n\r\n");
    expect_forwarded("GET http://a.test/p?q HTTP/1.1\r\nHost: a.test\r\n\r\n",
                     "GET /p?q HTTP/1.1\r\nHost: a.test\r\n\r\n");
    expect_forwarded("GET /? HTTP/1.1\r\nHost: a\r\n\r\n", "GET /? HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_forwarded("OPTIONS http://a.test HTTP/1.1\r\nHost: a.test\r\n\r\n",
                     "OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n");
    expect_forwarded("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n",
                     "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n");
    expect_forwarded(
        "POST / HTTP/1.0\r\nHost: a\r\nContent-Length: 007\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\nConnection: close\r\n\r\n");
    /* G15: the framing stays, whatever the method. */
    expect_forwarded("GET / HTTP/1.1\r\nHost: a\r\ntransfer-encoding: CHUNKED\r\n\r\n",
                     "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    /* A path with two slashes is no authority. */
    expect_forwarded("GET //evil.test/ HTTP/1.1\r\nHost: a\r\n\r\n",
                     "GET //evil.test/ HTTP/1.1\r\nHost: a\r\n\r\n");
}

/* RFC 9110, 7.6.1; C24, G9. */
TEST(g9_what_belongs_to_the_connection_stays_there)
{
    expect_forwarded(
        "GET / HTTP/1.1\r\nHost: a\r\nX-Mine: 1\r\nKeep-Alive: 5\r\nKept: 1\r\n"
        "Connection: x-mine , Keep-Alive\r\nProxy-Connection: keep-alive\r\n"
        "TE: trailers\r\nProxy-Authorization: Basic eA==\r\nConnection: close, Host\r\n"
        "Upgrade: h2c\r\nHTTP2-Settings: AAA\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nKept: 1\r\nConnection: close\r\n\r\n");
    /* What is added afterwards can't be taken out by the client's Connection. */
    size_t taken;
    static const char text[] = "GET / HTTP/1.1\r\nHost: a\r\nConnection: authorization\r\n"
                               "Authorization: fake\r\n\r\n";
    http_request_init(&request, NULL);
    ASSERT_EQ(http_request_take(&request, text, sizeof(text) - 1, &taken), HTTP_DONE);
    struct http_request *r = &request.request;
    ASSERT_EQ(http_fields_forward(r->fields, r->field_count), 0);
    struct http_field injected = {"Authorization", "Bearer real"};
    struct http_request_head head = http_request_head_of(r);
    head.fields = &injected;
    head.field_count = 1;
    expect_request(&head, "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer real\r\n\r\n");
}

TEST(c23_upgrades_are_asked_for_anew)
{
    expect_forwarded("GET /ws HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\n"
                     "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n",
                     "GET /ws HTTP/1.1\r\nHost: a\r\nSec-WebSocket-Version: 13\r\n"
                     "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n");
    expect_response_forwarded("GET",
                              "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                              "Connection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n",
                              "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: x\r\n"
                              "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n");
}

TEST(responses_are_made_anew)
{
    expect_response_forwarded("GET",
                              "HTTP/1.1 200\r\nContent-Length: 5\r\nA:b\r\nKeep-Alive: 5\r\n\r\n",
                              "HTTP/1.1 200 \r\nA: b\r\nContent-Length: 5\r\n\r\n");
    expect_response_forwarded("GET", "HTTP/1.0 200 OK\r\nA: b\r\n\r\n",
                              "HTTP/1.1 200 OK\r\nA: b\r\nConnection: close\r\n\r\n");
    expect_response_forwarded("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
                              "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    expect_response_forwarded("GET", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
                              "HTTP/1.1 204 No Content\r\n\r\n");
    expect_response_forwarded("GET", "HTTP/1.1 100 Continue\r\n\r\n",
                              "HTTP/1.1 100 Continue\r\n\r\n");
    expect_response_forwarded("CONNECT", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
                              "HTTP/1.1 200 OK\r\n\r\n");
}

TEST(an_absolute_target_for_another_proxy)
{
    struct http_request_head h = get;
    h.form = HTTP_TARGET_ABSOLUTE;
    h.scheme = "http";
    h.authority = (struct http_authority){"[2001:db8::1]", 8080};
    h.query = "q";
    expect_request(&h,
                   "GET http://[2001:db8::1]:8080/?q HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\n\r\n");
}

static void expect_invalid(const struct http_request_head *h)
{
    buf_reset(&out);
    buf_append_str(&out, "before");
    EXPECT_EQ(http_request_write(&out, h), -EINVAL);
    EXPECT_STR(out.data, "before");
}

static void expect_field_invalid(const char *name, const char *value)
{
    struct http_field field = {name, value};
    struct http_request_head h = get;
    struct http_response_head r = ok;
    h.fields = r.fields = &field;
    h.field_count = r.field_count = 1;
    expect_invalid(&h);
    EXPECT_EQ(http_response_write(&out, &r), -EINVAL);
    EXPECT_EQ(http_chunks_end(&out, &field, 1), -EINVAL);
    EXPECT_STR(out.data, "before");
}

/* G7, G16: also of what was substituted, nothing gets out of its place. */
TEST(g16_nothing_can_be_injected)
{
    static const char *const names[] = {"", "a b", "a:", "a\r\nb", "a\n", "\xc3\xa4", "a\t", "(a)"};
    static const char *const values[] = {"a\r\nB: c", "a\n", "\r", "a\x01", "a\x7f", " a", "a\t"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        expect_field_invalid(names[i], "x");
    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        expect_field_invalid("X", values[i]);
    static const char *const hop[] = {
        "Host", "content-length",     "Transfer-Encoding", "connection", "Upgrade",
        "TE",   "Proxy-Authorization"};
    for (size_t i = 0; i < ARRAY_SIZE(hop); i++)
        expect_field_invalid(hop[i], "x");

    struct http_request_head h;
    static const char *const targets[] = {"",     "x",         "/a b", "/a\r\n",
                                          "/a#b", "/\xc3\xa4", "/a?b", "*"};
    for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
        h = get;
        h.path = targets[i];
        expect_invalid(&h);
    }
    static const char *const queries[] = {"a b", "a\r\nX: y", "a#", "\x80"};
    for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
        h = get;
        h.query = queries[i];
        expect_invalid(&h);
    }
    static const char *const hosts[] = {"", "a b", "a\r\nX: y", "u@a", "a:80", "a,b", "[a]", NULL};
    for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
        h = get;
        h.authority.host = hosts[i];
        expect_invalid(&h);
    }
    static const char *const methods[] = {"", "GET /", "G\r\n", "G\xc3"};
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        h = get;
        h.method = methods[i];
        expect_invalid(&h);
    }
    static const char *const upgrades[] = {"", "a\r\nX: y", " a"};
    for (size_t i = 0; i < ARRAY_SIZE(upgrades); i++) {
        h = get;
        h.upgrade = upgrades[i];
        expect_invalid(&h);
    }
    struct http_response_head r = ok;
    r.reason = "OK\r\nX: y";
    EXPECT_EQ(http_response_write(&out, &r), -EINVAL);
}

TEST(framing_goes_with_the_rest)
{
    struct http_request_head h = get;
    h.framing.kind = HTTP_BODY_CLOSE;
    expect_invalid(&h);
    h.framing.kind = HTTP_BODY_OPAQUE;
    expect_invalid(&h);
    h = get;
    h.method = "CONNECT";
    expect_invalid(&h);
    h.form = HTTP_TARGET_AUTHORITY;
    h.framing.kind = HTTP_BODY_OPAQUE;
    expect_invalid(&h); /* without a port */
    h.authority.port = 443;
    expect_request(&h, "CONNECT api.good.test:443 HTTP/1.1\r\nHost: api.good.test:443\r\n\r\n");
    h.proxy_authorization = "Basic YTpi";
    expect_request(&h, "CONNECT api.good.test:443 HTTP/1.1\r\nHost: api.good.test:443\r\n"
                       "Proxy-Authorization: Basic YTpi\r\n\r\n");
    h.proxy_authorization = "Basic\r\nX: y";
    expect_invalid(&h);
    h = get;
    h.proxy_authorization = "Basic YTpi";
    expect_invalid(&h);
    h = get;
    h.framing = (struct http_framing){HTTP_BODY_LENGTH, true, (uint64_t)INT64_MAX + 1};
    expect_invalid(&h);

    static const struct {
        unsigned status;
        struct http_framing framing;
        const char *upgrade;
    } wrong[] = {
        {204, {HTTP_BODY_LENGTH, true, 0}, NULL},   {204, {HTTP_BODY_NONE, true, 5}, NULL},
        {100, {HTTP_BODY_CHUNKED, false, 0}, NULL}, {304, {HTTP_BODY_CHUNKED, false, 0}, NULL},
        {304, {HTTP_BODY_CLOSE, false, 0}, NULL},   {101, {HTTP_BODY_OPAQUE, false, 0}, NULL},
        {101, {HTTP_BODY_NONE, false, 0}, "x"},     {200, {HTTP_BODY_LENGTH, true, 0}, "x"},
        {404, {HTTP_BODY_OPAQUE, false, 0}, NULL},  {99, {HTTP_BODY_NONE, false, 0}, NULL},
        {1000, {HTTP_BODY_NONE, false, 0}, NULL},
    };
    buf_reset(&out);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct http_response_head r = {.status = wrong[i].status,
                                       .reason = "",
                                       .framing = wrong[i].framing,
                                       .upgrade = wrong[i].upgrade};
        if (http_response_write(&out, &r) != -EINVAL)
            harness_fail(__FILE__, __LINE__, "case %zu", i);
    }
    EXPECT_EQ(out.size, 0);
}

TEST(a_buffer_that_is_too_small)
{
    struct buf small = BUF_INIT(20);
    buf_append_str(&small, "before");
    EXPECT_EQ(http_request_write(&small, &get), -E2BIG);
    EXPECT_STR(small.data, "before");
    EXPECT_EQ(small.size, 6);
    EXPECT_TRUE(small.failed);
    buf_done(&small);
}

TEST(chunks_for_an_old_client)
{
    struct http_framing f =
        http_framing_for((struct http_framing){.kind = HTTP_BODY_CHUNKED}, HTTP_1_0);
    EXPECT_EQ(f.kind, HTTP_BODY_CLOSE);
    f = http_framing_for((struct http_framing){.kind = HTTP_BODY_CHUNKED}, HTTP_1_1);
    EXPECT_EQ(f.kind, HTTP_BODY_CHUNKED);
    struct http_response_head r = ok;
    r.framing = http_framing_for((struct http_framing){.kind = HTTP_BODY_CLOSE}, HTTP_1_0);
    expect_response(&r, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
}

TEST(chunks_are_written)
{
    char head[HTTP_CHUNK_HEAD_MAX_BYTES + 1];
    EXPECT_EQ(http_chunk_head(head, 1), 3);
    EXPECT_STR(head, "1\r\n");
    EXPECT_EQ(http_chunk_head(head, UINT64_MAX), HTTP_CHUNK_HEAD_MAX_BYTES);
    EXPECT_STR(head, "ffffffffffffffff\r\n");
    struct http_field trailer = {"X-Digest", "abc"};
    buf_reset(&out);
    EXPECT_EQ(http_chunks_end(&out, NULL, 0), 0);
    EXPECT_STR(out.data, "0\r\n\r\n");
    EXPECT_EQ(http_chunks_end(&out, &trailer, 1), 0);
    EXPECT_STR(out.data, "0\r\n\r\n0\r\nX-Digest: abc\r\n\r\n");
    trailer.name = "Content-Type";
    EXPECT_EQ(http_chunks_end(&out, &trailer, 1), -EINVAL);
}
