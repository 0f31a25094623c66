// SPDX-License-Identifier: Apache-2.0
/*
 * Memory runs out at each place where it can, in the libraries below too: no policy, a sentence,
 * and nothing is leaked. meson.build puts these functions in the place of libc's.
 */
#include "lib/policy/compose.h"
#include "tests/harness/harness.h"

#include <malloc.h>

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

/* libunistring makes what it gives smaller, and goes on without. */
void *__wrap_realloc(void *old, size_t size)
{
    return size > malloc_usable_size(old) && runs_out() ? NULL : __real_realloc(old, size);
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
        if (!has_failed) {
            EXPECT_TRUE(is_done);
            break;
        }
        EXPECT_TRUE(!is_done);
    }
    EXPECT_GT(failures, 3);
}

static bool parse(void)
{
    static const char text[] =
        "{\"version\":1,\"rules\":[{\"id\":\"a\",\"action\":\"allow\",\"to\":{\"domain\":["
        "\"a.test:443\",\"*.b\\u00fccher.test:443\",\"c.test:443\"]},\"http\":{\"path\":{\"glob\":"
        "\"/*\"},\"headers\":[{\"name\":\"X\",\"value\":{\"exact\":\"y\"}}]},\"transforms\":[{"
        "\"set_headers\":{\"x\":\"${secret.K}\"}}]},{\"id\":\"b\",\"action\":\"deny\",\"to\":{"
        "\"cidr\":[\"192.0.2.0/24\",\"::/0\"]}}],\"secrets\":{\"K\":{\"source\":{\"fd\":3},"
        "\"allow\":{\"hosts\":[\"a.test\"]}}},\"upstream\":{\"type\":\"http\",\"address\":"
        "\"p.test:1\"},\"dns\":{\"hosts\":{\"a.test\":[\"192.0.2.1\"]}}}";
    struct policy_error e;
    struct policy *p = policy_parse(text, sizeof(text) - 1, &e);
    if (!p)
        EXPECT_TRUE(e.text[0] && strstr(e.text, "; "));
    bool is_done = p != NULL;
    policy_free(p);
    return is_done;
}

static bool compose(void)
{
    static const char *const words[] = {"a.test:443,b\u00fccher.test", "192.0.2.0/24:80-90,public"};
    static const char *const secrets[] = {"A=env:A@a.test:8443:GET,POST /v1/*",
                                          "B=file:b@a.test,b.test"};
    struct policy_error e;
    struct buf json = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES);
    int r = policy_compose(&(struct policy_words){words, 2, secrets, 2, "/tmp", NULL}, &json, &e);
    if (r < 0)
        EXPECT_TRUE(e.text[0] && strstr(e.text, "; "));
    buf_done(&json);
    return r == 0;
}

TEST(memory_runs_out)
{
    expect_each_failure(parse);
    expect_each_failure(compose);
}
