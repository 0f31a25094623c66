// SPDX-License-Identifier: Apache-2.0
/* Sessions that programs continue: what tickets are good for, and what an attacker gets of them. */
#include "tests/unit/tls_support.h"

#include <openssl/err.h>

#define NAME    "api.good.test"
#define OTHER   "other.good.test"
#define REQUEST "GET /secret HTTP/1.1\r\n\r\n"

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

static struct tls_authority *authority;
static SSL_CTX *context;
static SSL_SESSION *kept; /* the latest that was given */
static size_t given;

static int keep(SSL *ssl, SSL_SESSION *s)
{
    SSL_SESSION_free(kept);
    kept = s;
    given++;
    return 1;
}

static void begin(int version)
{
    authority = tls_authority_new("box", NOW_S);
    ASSERT_TRUE(authority);
    context = client_context(version, authority);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(context, keep);
}

static void end(void)
{
    SSL_SESSION_free(kept);
    kept = NULL;
    SSL_CTX_free(context);
    tls_authority_free(authority);
}

/* A copy: OpenSSL's client uses one of TLS 1.3 once, which others are not held to. */
static void use_session(struct peer *peer, const SSL_SESSION *old)
{
    SSL_SESSION *s = old ? SSL_SESSION_dup(old) : NULL;
    if (s)
        ASSERT_TRUE(SSL_set_session(peer->ssl, s));
    SSL_SESSION_free(s);
}

/* One connection to name, over which something is said both ways. Whether it continued one. */
static bool connect_with(const SSL_SESSION *old, const char *name)
{
    struct peer peer;
    struct tls_session *s = tls_session_accept(authority, name, NOW_S);
    ASSERT_TRUE(s);
    peer_init(&peer, context, false, name);
    use_session(&peer, old);
    EXPECT_TRUE(shake(s, &peer, WHOLE));
    expect_heard(&peer, s, "a request", WHOLE);
    expect_said(s, &peer, "an answer");
    bool was_resumed = tls_session_was_resumed(s);
    EXPECT_EQ(SSL_session_reused(peer.ssl), was_resumed);
    tls_session_free(s);
    peer_done(&peer);
    return was_resumed;
}

/* A first connection, and what it was given: free it. */
static SSL_SESSION *earn(const char *name)
{
    EXPECT_TRUE(!connect_with(NULL, name));
    ASSERT_TRUE(kept);
    SSL_SESSION_up_ref(kept);
    return kept;
}

TEST(one_for_each_handshake)
{
    begin(TLS1_3_VERSION);
    given = 0;
    SSL_SESSION *first = earn(NAME);
    EXPECT_EQ(given, 1);
    EXPECT_TRUE(connect_with(first, NAME));
    EXPECT_EQ(given, 2);
    EXPECT_TRUE(SSL_SESSION_get_ticket_lifetime_hint(kept) <= TLS_AUTHORITY_SESSION_S);
    /* A program with several connections at once has but this one. */
    EXPECT_TRUE(connect_with(first, NAME));
    SSL_SESSION_free(first);
    end();
}

/* It is a number, and nothing that could be opened. */
TEST(there_is_nothing_in_it)
{
    const unsigned char *a, *b;
    size_t a_size, b_size;
    begin(TLS1_3_VERSION);
    SSL_SESSION *first = earn(NAME), *second = earn(NAME);
    SSL_SESSION_get0_ticket(first, &a, &a_size);
    SSL_SESSION_get0_ticket(second, &b, &b_size);
    EXPECT_EQ(a_size, SSL_MAX_SSL_SESSION_ID_LENGTH);
    EXPECT_EQ(b_size, a_size);
    EXPECT_TRUE(memcmp(a, b, a_size) != 0);
    SSL_SESSION_free(first);
    SSL_SESSION_free(second);
    end();
}

TEST(not_for_another_name)
{
    for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
        begin(versions[v]);
        SSL_SESSION *first = earn(NAME);
        EXPECT_TRUE(!connect_with(first, OTHER));
        EXPECT_TRUE(connect_with(first, NAME));
        SSL_SESSION_free(first);
        end();
    }
}

TEST(not_with_another_sandbox)
{
    for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
        begin(versions[v]);
        SSL_SESSION *first = earn(NAME);
        struct tls_authority *own = authority;
        SSL_CTX *own_context = context;
        authority = tls_authority_new("other", NOW_S);
        context = client_context(versions[v], authority);
        EXPECT_TRUE(!connect_with(first, NAME));
        SSL_CTX_free(context);
        tls_authority_free(authority);
        authority = own;
        context = own_context;
        SSL_SESSION_free(first);
        end();
    }
}

/* What is agreed on is agreed on anew: the protocol is not taken from the session. */
TEST(another_protocol)
{
    static const uint8_t http1[] = "\x08http/1.1", http2[] = "\x02h2";
    struct peer peer;
    for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
        begin(versions[v]);
        SSL_CTX_set_alpn_protos(context, http1, sizeof(http1) - 1);
        SSL_SESSION *first = earn(NAME);
        struct tls_session *s = tls_session_accept_http2(authority, NAME, NOW_S);
        SSL_CTX_set_alpn_protos(context, http2, sizeof(http2) - 1);
        peer_init(&peer, context, false, NAME);
        use_session(&peer, first);
        EXPECT_TRUE(shake(s, &peer, WHOLE));
        EXPECT_STR(tls_session_protocol(s), "h2");
        tls_session_free(s);
        peer_done(&peer);
        SSL_SESSION_free(first);
        end();
    }
}

/* The session as it was, but for one byte of what the gateway is to find it by. */
static SSL_SESSION *mangled(SSL_SESSION *s, size_t at, int version)
{
    const unsigned char *id;
    unsigned char der[8192], *to = der;
    size_t id_size;
    unsigned short_size;
    int size = i2d_SSL_SESSION(s, NULL);
    ASSERT_TRUE(size > 0 && (size_t)size <= sizeof(der));
    i2d_SSL_SESSION(s, &to);
    if (version == TLS1_3_VERSION) {
        SSL_SESSION_get0_ticket(s, &id, &id_size);
    } else {
        id = SSL_SESSION_get_id(s, &short_size);
        id_size = short_size;
    }
    unsigned char *place = memmem(der, (size_t)size, id, id_size);
    ASSERT_TRUE(place && id_size > 0);
    place[at % id_size] ^= (unsigned char)(1 << at % 8);
    const unsigned char *from = der;
    SSL_SESSION *other = d2i_SSL_SESSION(NULL, &from, size);
    ASSERT_TRUE(other);
    return other;
}

TEST(mangled_ones_are_none)
{
    for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
        begin(versions[v]);
        SSL_SESSION *first = earn(NAME);
        for (size_t at = 0; at < SSL_MAX_SSL_SESSION_ID_LENGTH; at++) {
            SSL_SESSION *other = mangled(first, at, versions[v]);
            EXPECT_TRUE(!connect_with(other, NAME));
            SSL_SESSION_free(other);
        }
        EXPECT_TRUE(connect_with(first, NAME));
        SSL_SESSION_free(first);
        end();
    }
}

/* Who has seen a whole connection that continued a session, and says it once more, gets nowhere. */
TEST(replayed)
{
    struct peer peer;
    size_t taken;
    for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
        struct buf said = BUF_INIT(65536);
        char *data, got[100];
        begin(versions[v]);
        SSL_SESSION *first = earn(NAME);
        struct tls_session *s = tls_session_accept(authority, NAME, NOW_S);
        peer_init(&peer, context, false, NAME);
        use_session(&peer, first);
        for (int i = 0; i < 4; i++) {
            if (SSL_do_handshake(peer.ssl) == 1 && i == 3)
                SSL_write(peer.ssl, REQUEST, sizeof(REQUEST) - 1);
            size_t size = (size_t)BIO_get_mem_data(peer.out, &data);
            buf_append(&said, data, size);
            carry_to_session(&peer, s, WHOLE);
            carry_to_peer(s, &peer);
        }
        EXPECT_TRUE(tls_session_was_resumed(s));
        EXPECT_EQ(tls_session_read(s, got, sizeof(got)), sizeof(REQUEST) - 1);
        tls_session_free(s);
        s = tls_session_accept(authority, NAME, NOW_S);
        EXPECT_EQ(tls_session_take(s, said.data, said.size, &taken), TLS_FAILED);
        EXPECT_EQ(tls_session_read(s, got, sizeof(got)), 0);
        tls_session_free(s);
        peer_done(&peer);
        SSL_SESSION_free(first);
        buf_done(&said);
        end();
    }
}

/* A program that believes it may send early data, against what its ticket says (C22). */
static struct tls_session *send_early(struct peer *peer, size_t times)
{
    size_t written;
    begin(TLS1_3_VERSION);
    SSL_SESSION *first = earn(NAME);
    EXPECT_EQ(SSL_SESSION_get_max_early_data(first), 0);
    SSL_SESSION *other = SSL_SESSION_dup(first);
    ASSERT_TRUE(SSL_SESSION_set_max_early_data(other, UINT32_MAX));
    struct tls_session *s = tls_session_accept(authority, NAME, NOW_S);
    peer_init(peer, context, false, NAME);
    ASSERT_TRUE(SSL_set_session(peer->ssl, other));
    for (size_t i = 0; i < times; i++)
        EXPECT_TRUE(SSL_write_early_data(peer->ssl, REQUEST, sizeof(REQUEST) - 1, &written));
    SSL_SESSION_free(first);
    SSL_SESSION_free(other);
    return s;
}

TEST(early_data_is_not_heard)
{
    struct peer peer;
    char got[100];
    struct tls_session *s = send_early(&peer, 1);
    carry_to_session(&peer, s, WHOLE);
    EXPECT_EQ(tls_session_read(s, got, sizeof(got)), 0);
    carry_to_peer(s, &peer);
    EXPECT_TRUE(shake(s, &peer, WHOLE));
    EXPECT_EQ(SSL_get_early_data_status(peer.ssl), SSL_EARLY_DATA_REJECTED);
    expect_heard(&peer, s, "a request", WHOLE);
    expect_said(s, &peer, "an answer");
    tls_session_free(s);
    peer_done(&peer);
    end();
}

TEST(early_data_without_end)
{
    struct peer peer;
    struct tls_session *s = send_early(&peer, 1000);
    while (carry_to_session(&peer, s, WHOLE) > 0 && tls_session_progress(s) == TLS_HANDSHAKE)
        ;
    EXPECT_EQ(tls_session_progress(s), TLS_FAILED);
    tls_session_free(s);
    peer_done(&peer);
    end();
}

TEST(what_is_kept_is_bounded)
{
    begin(TLS1_3_VERSION);
    SSL_SESSION *first = earn(NAME);
    for (int i = 0; i < TLS_AUTHORITY_SESSIONS_MAX; i++)
        EXPECT_TRUE(connect_with(kept, NAME));
    EXPECT_TRUE(!connect_with(first, NAME));
    EXPECT_TRUE(connect_with(kept, NAME));
    SSL_SESSION_free(first);
    end();
}
