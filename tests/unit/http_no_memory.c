// SPDX-License-Identifier: Apache-2.0
/*
 * Memory runs out at each place where it can: 503, or -ENOMEM, and nothing is leaked or half there.
 * meson.build puts these functions in the place of libc's.
 */
#include "lib/http/body.h"
#include "lib/http/write.h"
#include "lib/tls/hello.h"
#include "tests/harness/harness.h"
#include "tests/unit/hello_bytes.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static int left = -1; /* allocations until one fails; -1: none does */

static bool runs_out(void)
{
    return left >= 0 && left-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return runs_out() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return runs_out() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return runs_out() ? NULL : __real_realloc(old, size);
}

/* Runs it with the first, the second, ... allocation failing, until there is none any more. */
static void expect_each_failure(bool (*run)(void))
{
    int failures = 0;
    for (;; failures++) {
        left = failures;
        bool is_done = run();
        bool has_failed = left < 0;
        left = -1;
        EXPECT_EQ(is_done, !has_failed);
        if (!has_failed)
            break;
    }
    EXPECT_GT(failures, 0);
}

static bool read_request(void)
{
    static const char text[] = "GET /a?b HTTP/1.1\r\nHost: a.test\r\nX: y\r\n\r\n";
    struct http_request_parser p;
    size_t taken;
    http_request_init(&p, NULL);
    bool is_done = http_request_take(&p, text, sizeof(text) - 1, &taken) == HTTP_DONE;
    EXPECT_EQ(p.error, is_done ? HTTP_ERROR_NONE : HTTP_ERROR_MEMORY);
    http_request_done(&p);
    return is_done;
}

static bool read_response(void)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nX: y\r\n\r\n";
    struct http_response_parser p;
    size_t taken;
    http_response_init(&p, NULL);
    http_response_expect(&p, "GET", false);
    bool is_done = http_response_take(&p, text, sizeof(text) - 1, &taken) == HTTP_DONE;
    EXPECT_EQ(p.error, is_done ? HTTP_ERROR_NONE : HTTP_ERROR_MEMORY);
    http_response_done(&p);
    return is_done;
}

static bool read_trailer(void)
{
    static const char text[] = "0\r\nX: y\r\n\r\n";
    struct http_body b;
    struct http_slice slice;
    size_t taken;
    http_body_init(&b, &(struct http_framing){.kind = HTTP_BODY_CHUNKED}, HTTP_BODY_ANY_LENGTH);
    bool is_done = http_body_take(&b, text, sizeof(text) - 1, &taken, &slice) == HTTP_DONE;
    EXPECT_EQ(b.error, is_done ? HTTP_ERROR_NONE : HTTP_ERROR_MEMORY);
    EXPECT_EQ(b.trailers != NULL, is_done);
    http_body_done(&b);
    return is_done;
}

static bool write_request(void)
{
    static char path[300];
    struct buf out = BUF_INIT(4096);
    memset(path, '/', sizeof(path) - 1);
    struct http_request_head h = {.method = "GET", .authority = {"a.test", 0}, .path = path};
    int r = http_request_write(&out, &h);
    EXPECT_EQ(out.failed, r < 0);
    if (r < 0)
        EXPECT_EQ(out.size, 0);
    buf_done(&out);
    return r == 0;
}

static bool read_hello(void)
{
    struct tls_hello_parser p;
    size_t taken;
    tls_hello_init(&p);
    enum tls_hello_progress progress = tls_hello_take(&p, hello_tls13, sizeof(hello_tls13), &taken);
    EXPECT_EQ(progress == TLS_HELLO_MALFORMED, p.wrong != NULL);
    tls_hello_done(&p);
    return progress == TLS_HELLO_DONE;
}

TEST(memory_runs_out)
{
    expect_each_failure(read_request);
    expect_each_failure(read_response);
    expect_each_failure(read_trailer);
    expect_each_failure(write_request);
    expect_each_failure(read_hello);
}

TEST(no_memory_is_503)
{
    EXPECT_EQ(http_error_status(HTTP_ERROR_MEMORY), 503);
}
