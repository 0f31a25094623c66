// SPDX-License-Identifier: Apache-2.0
/*
 * Memory runs out at each place where it can, in this code and in OpenSSL under it: that is said,
 * and nothing is leaked. meson.build puts these functions in the place of libc's.
 */
#include "lib/tls/session.h"
#include "tests/unit/tls_support.h"

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

static struct tls_authority *authority;
static struct tls_roots *roots;

static size_t carry(struct tls_session *from, struct tls_session *to)
{
    const uint8_t *data;
    size_t size, taken;
    tls_session_pending(from, &data, &size);
    tls_session_take(to, data, size, &taken);
    tls_session_sent(from, taken);
    return taken;
}

/* A failed end may leave the other waiting, but not without words of its own. */
static bool converse(void)
{
    char got[10];
    struct tls_session *s = tls_session_accept(authority, "a.test", NOW_S);
    struct tls_session *c = s ? tls_session_connect(roots, "a.test", TLS_VERSION_1_2, NOW_S) : NULL;
    while (c && carry(s, c) + carry(c, s) > 0)
        continue;
    bool is_done = c && tls_session_write(c, "words", 5) == 5 && carry(c, s) > 0 &&
                   tls_session_read(s, got, sizeof(got)) == 5 && !memcmp(got, "words", 5);
    for (int i = 0; c && i < 2; i++) {
        const struct tls_session *end = i ? s : c;
        EXPECT_EQ(tls_session_progress(end) == TLS_FAILED, *tls_session_error(end) != '\0');
    }
    tls_session_free(c);
    tls_session_free(s);
    return is_done;
}

static bool make_authority(void)
{
    struct tls_authority *a = tls_authority_new("box", NOW_S);
    tls_authority_free(a);
    return a != NULL;
}

static bool load_roots(void)
{
    struct tls_roots *r = NULL;
    const char *what = NULL;
    int result = tls_roots_load("roots.pem", NULL, 0, &r, &what);
    EXPECT_TRUE(result == 0 || what);
    tls_roots_free(r);
    return result == 0;
}

/*
 * With one allocation failing, each step-th in its turn (there are thousands), until there is none
 * any more. OpenSSL goes on without some of what it asks for, so that it is done is no failure; but
 * it must be when nothing failed.
 */
static void expect_no_crash(bool (*run)(void), int step)
{
    int failures = 0, done = 0;
    EXPECT_TRUE(run());
    for (bool has_failed = true; has_failed; failures++) {
        left = failures * step;
        bool is_done = run();
        has_failed = left < 0;
        left = -1;
        done += is_done;
        EXPECT_TRUE(is_done || has_failed);
    }
    EXPECT_GT(failures, done);
    EXPECT_TRUE(run());
}

static void begin(void)
{
    uint8_t der[TLS_CERTIFICATE_MAX_BYTES];
    const uint8_t *at = der;
    authority = tls_authority_new("box", NOW_S);
    int size = tls_authority_certificate(authority, der, sizeof(der));
    X509 *root = d2i_X509(NULL, &at, size);
    roots = roots_of(root);
    X509_free(root);
}

static void end(void)
{
    tls_authority_free(authority);
    tls_roots_free(roots);
}

TEST(conversation)
{
    begin();
    expect_no_crash(converse, 23);
    end();
}

TEST(authority)
{
    begin();
    expect_no_crash(make_authority, 7);
    end();
}

TEST(roots)
{
    begin();
    expect_no_crash(load_roots, 1);
    end();
}
