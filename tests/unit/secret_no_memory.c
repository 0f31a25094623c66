// SPDX-License-Identifier: Apache-2.0
/*
 * Memory that can't be had, and memory that is given back. Linked with --wrap for each function of
 * libc that lib/secret gets or gives back memory with.
 */
#include "lib/secret/internal.h"
#include "tests/harness/harness.h"

#include <sys/mman.h>

#define VALUE "a value that is nowhere else"

static int fails_at; /* that allocation, from 1; 0: none */
static int allocations;
static int given_back, not_wiped;

static bool fails(void)
{
    return ++allocations == fails_at;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
char *__real_strdup(const char *text);
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
char *__wrap_strdup(const char *text);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *p, size_t size);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fails()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap(at, size, protection, flags, fd, offset);
}

int __wrap_munmap(void *p, size_t size)
{
    given_back++;
    for (size_t i = 0; i < size; i++)
        if (((char *)p)[i]) {
            not_wiped++;
            break;
        }
    return __real_munmap(p, size);
}

static struct policy *make_policy(void)
{
    static const char text[] = "{\"version\":1,\"secrets\":{\"K\":{\"source\":{\"env\":\"A\"},"
                               "\"allow\":{\"hosts\":[\"a.test\"]}}}}";
    struct policy_error e;
    struct policy *p = policy_parse(text, strlen(text), &e);
    ASSERT_TRUE(p != NULL);
    return p;
}

TEST(memory_runs_out)
{
    const struct secret_value value = {"K", "placeholder-1", VALUE, strlen(VALUE)};
    struct policy *p = make_policy();
    int r = -1;
    for (int n = 1; r < 0 && n < 100; n++) {
        struct secrets *s = NULL;
        struct secret_error e = {.name = NULL};
        allocations = 0;
        fails_at = n;
        r = secrets_new(policy_get_document(p), &value, 1, &s, &e);
        fails_at = 0;
        EXPECT_EQ(r, s ? 0 : -ENOMEM);
        EXPECT_TRUE(s || strstr(e.text, "memory ran out; "));
        EXPECT_GT(n, r == 0 ? 10 : 0);
        secrets_put(s);
    }
    EXPECT_EQ(r, 0);
    EXPECT_GT(given_back, 10);
    EXPECT_EQ(not_wiped, 0);
    policy_free(p);
}

TEST(what_a_request_had_is_wiped)
{
    const struct secret_value value = {"K", "placeholder-1", VALUE, strlen(VALUE)};
    const struct secrets_request request = {"a.test", 443, "GET", "/", true};
    struct policy *p = make_policy();
    struct secrets *s = NULL;
    struct secret_error e;
    struct secrets_exchange x;
    struct buf out = BUF_INIT(100);
    ASSERT_EQ(secrets_new(policy_get_document(p), &value, 1, &s, &e), 0);
    secrets_begin(&x, s, &request);
    secrets_put(s);
    EXPECT_EQ(secrets_fill_field(&x, "X", "Bearer placeholder-1", &out), 1);
    EXPECT_TRUE(memmem(out.data, out.size, VALUE, strlen(VALUE)));
    secret_cut_buf(&out, 7);
    EXPECT_TRUE(!memmem(out.data, out.capacity, VALUE, strlen(VALUE)));
    int before = given_back;
    secrets_end(&x);
    EXPECT_GT(given_back, before);
    EXPECT_EQ(not_wiped, 0);
    buf_done(&out);
    policy_free(p);
}
