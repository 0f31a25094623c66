// SPDX-License-Identifier: Apache-2.0
/*
 * What is freed holds no secret any more: neither the keys of a connection nor what they protected.
 * meson.build puts the function here in the place of libc's free().
 */
#include "tests/unit/tls_support.h"

#include <malloc.h>

#define NAME       "api.good.test"
#define TEXT       "Authorization: Bearer 0123456789abcdef"
#define SECRET_MAX 64

void __real_free(void *p);
void __wrap_free(void *p);

static struct secret {
    uint8_t data[SECRET_MAX];
    size_t size;
} secrets[8];
static size_t secret_count;
static bool is_watching;
static int found, freed;

void __wrap_free(void *p)
{
    if (p && is_watching) {
        freed++;
        for (size_t i = 0; i < secret_count; i++)
            found += memmem(p, malloc_usable_size(p), secrets[i].data, secrets[i].size) != NULL;
    }
    __real_free(p);
}

static void add_secret(const void *data, size_t size)
{
    ASSERT_TRUE(secret_count < ARRAY_SIZE(secrets) && size <= SECRET_MAX);
    memcpy(secrets[secret_count].data, data, size);
    secrets[secret_count++].size = size;
}

/* "LABEL RANDOM SECRET", as for SSLKEYLOGFILE: both ends have the same. */
static void learn_secret(const SSL *ssl, const char *line)
{
    const char *hex = strrchr(line, ' ') + 1;
    uint8_t data[SECRET_MAX];
    size_t size = strlen(hex) / 2;
    for (size_t i = 0; i < size; i++)
        ASSERT_EQ(sscanf(hex + 2 * i, "%2hhx", &data[i]), 1);
    add_secret(data, size);
}

TEST(nothing_secret_in_what_is_freed)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
        struct tls_authority *authority = tls_authority_new("box", NOW_S);
        SSL_CTX *context = client_context(versions[v], authority);
        struct tls_session *session = tls_session_accept(authority, NAME, NOW_S);
        struct peer peer;
        SSL_CTX_set_keylog_callback(context, learn_secret);
        peer_init(&peer, context, false, NAME);
        EXPECT_TRUE(shake(session, &peer, WHOLE));
        EXPECT_GT(secret_count, 0);
        add_secret(TEXT, strlen(TEXT));
        is_watching = true;
        expect_heard(&peer, session, TEXT, WHOLE);
        expect_said(session, &peer, TEXT);
        tls_session_free(session);
        peer_done(&peer);
        tls_authority_free(authority);
        is_watching = false;
        EXPECT_GT(freed, 0);
        EXPECT_EQ(found, 0);
        SSL_CTX_free(context);
        secret_count = freed = 0;
    }
}
