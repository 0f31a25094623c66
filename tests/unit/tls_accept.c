// SPDX-License-Identifier: Apache-2.0
/* Sessions towards programs: the handshake, what is refused, resumption. */
#include "tests/unit/tls_support.h"

#include <openssl/err.h>

#define NAME "api.good.test"

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

static struct tls_authority *authority;
static struct tls_session *session;
static SSL_CTX *context;
static struct peer peer;

static void begin(int version)
{
    if (!authority)
        authority = tls_authority_new("box", NOW_S);
    ASSERT_TRUE(authority);
    context = client_context(version, authority);
}

static void connect_peer(const char *name)
{
    session = tls_session_accept(authority, name, NOW_S);
    ASSERT_TRUE(session);
    peer_init(&peer, context, false, name);
}

static void disconnect(void)
{
    tls_session_free(session);
    peer_done(&peer);
}

static void end(void)
{
    SSL_CTX_free(context);
    tls_authority_free(authority);
    authority = NULL;
}

static void expect_talk(void)
{
    EXPECT_EQ(tls_session_progress(session), TLS_OPEN);
    expect_heard(&peer, session, "a request", WHOLE);
    expect_said(session, &peer, "an answer");
}

TEST(handshake_in_pieces_of_any_size)
{
    for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
        begin(versions[v]);
        for (size_t piece = 1; piece < 120; piece += 2) {
            connect_peer(NAME);
            EXPECT_TRUE(shake(session, &peer, piece));
            EXPECT_EQ(tls_session_progress(session), TLS_OPEN);
            EXPECT_EQ(tls_session_version(session), versions[v]);
            EXPECT_STR(tls_session_protocol(session), "");
            expect_heard(&peer, session, "a request", piece);
            expect_said(session, &peer, "an answer");
            EXPECT_STR(tls_session_error(session), "");
            disconnect();
        }
        EXPECT_EQ(tls_authority_minted(authority), 1);
        end();
    }
}

/* A program's last message of the handshake and its request come in one piece. */
TEST(request_with_the_end_of_the_handshake)
{
    char got[100] = "";
    for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
        begin(versions[v]);
        connect_peer(NAME);
        SSL_do_handshake(peer.ssl);
        while (!SSL_is_init_finished(peer.ssl) && !SSL_in_before(peer.ssl)) {
            carry_to_session(&peer, session, WHOLE);
            carry_to_peer(session, &peer);
            if (SSL_do_handshake(peer.ssl) == 1)
                break;
        }
        ASSERT_EQ(SSL_write(peer.ssl, "GET", 3), 3);
        carry_to_session(&peer, session, WHOLE);
        EXPECT_EQ(tls_session_progress(session), TLS_OPEN);
        EXPECT_EQ(tls_session_read(session, got, sizeof(got)), 3);
        EXPECT_TRUE(!memcmp(got, "GET", 3));
        disconnect();
        end();
    }
}

TEST(address_as_name)
{
    static const char *const addresses[] = {"192.0.2.1", "2001:db8::1"};
    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
        begin(TLS1_3_VERSION);
        session = tls_session_accept(authority, addresses[i], NOW_S);
        peer_init(&peer, context, false, NULL);
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(peer.ssl), addresses[i]);
        EXPECT_TRUE(shake(session, &peer, WHOLE));
        expect_talk();
        disconnect();
        end();
    }
}

TEST(names_that_are_none)
{
    static const char *const names[] = {"", "a b", "a,DNS:b", "a/b", "m\xc3\xbcnchen.test", "*"};
    char text[255];
    begin(TLS1_3_VERSION);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        errno = 0;
        EXPECT_TRUE(!tls_session_accept(authority, names[i], NOW_S) && errno == EINVAL);
    }
    memset(text, 'a', sizeof(text) - 1);
    text[254] = '\0';
    EXPECT_TRUE(!tls_session_accept(authority, text, NOW_S));
    text[253] = '\0';
    session = tls_session_accept(authority, text, NOW_S);
    EXPECT_TRUE(session);
    tls_session_free(session);
    end();
}

/* C17: what is offered without http/1.1 is refused, in words and by an alert. */
TEST(application_protocols)
{
    static const struct {
        const char *offered, *chosen; /* NULL: refused */
    } rows[] = {
        {"\x08http/1.1", "http/1.1"},
        {"\x02h2\x08http/1.1", "http/1.1"},
        {"\x08http/1.1\x02h2", "http/1.1"},
        {"\x02h2", NULL},
        {"\x08http/1.0\x08HTTP/1.1\x09http/1.12", NULL},
    };
    for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
        const char *offered = rows[i / 2].offered, *chosen = rows[i / 2].chosen;
        begin(versions[i % 2]);
        connect_peer(NAME);
        SSL_set_alpn_protos(peer.ssl, (const uint8_t *)offered, (unsigned)strlen(offered));
        EXPECT_EQ(shake(session, &peer, WHOLE), chosen != NULL);
        EXPECT_STR(tls_session_protocol(session), chosen ? chosen : "");
        if (chosen) {
            expect_talk();
        } else {
            EXPECT_EQ(alert_received(), TLS_ALERT_NO_APPLICATION_PROTOCOL);
            EXPECT_EQ(tls_session_progress(session), TLS_FAILED);
            EXPECT_STR(tls_session_error(session),
                       "TLS with the program: of the protocols that it offers (ALPN) none is "
                       "spoken here and by the server");
        }
        disconnect();
        end();
    }
}

/* C16 */
TEST(old_versions_are_refused)
{
    static const int old[] = {TLS1_VERSION, TLS1_1_VERSION};
    for (size_t i = 0; i < ARRAY_SIZE(old); i++) {
        begin(old[i]);
        SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0");
        connect_peer(NAME);
        EXPECT_TRUE(!shake(session, &peer, WHOLE));
        EXPECT_EQ(alert_received(), TLS_ALERT_PROTOCOL_VERSION);
        EXPECT_STR(tls_session_error(session),
                   "TLS with the program: no version of TLS that both speak is new enough");
        disconnect();
        end();
    }
}

/* A key share of a group that is not ours: the program is asked for another (RFC 8446, 4.1.4). */
TEST(second_hello)
{
    begin(TLS1_3_VERSION);
    SSL_CTX_set1_groups_list(context, "P-521:P-384");
    connect_peer(NAME);
    EXPECT_TRUE(shake(session, &peer, 7));
    expect_talk();
    disconnect();
    end();
}

TEST(what_is_not_tls)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *error;
    } rows[] = {
        {"GET / HTTP/1.1\r\n\r\n", 18, "TLS with the program: what came is not TLS"},
        {"SSH-2.0-x\r\n", 11, "TLS with the program: what came is not TLS"},
        {"\x16\x03\x01\xff\xff\x01\x02\x03", 8, NULL},          /* a record that is too long */
        {"\x17\x03\x03\x00\x05hello", 10, NULL},                /* data before a hello */
        {"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00", 10, NULL}, /* another message */
        {"\x16\x03\x01\x00\x06\x01\x00\x00\x02\x03\x03", 11, NULL},
    };
    begin(TLS1_3_VERSION);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        size_t taken;
        session = tls_session_accept(authority, NAME, NOW_S);
        EXPECT_EQ(tls_session_take(session, rows[i].bytes, rows[i].size, &taken), TLS_FAILED);
        EXPECT_TRUE(*tls_session_error(session));
        if (rows[i].error)
            EXPECT_STR(tls_session_error(session), rows[i].error);
        EXPECT_EQ(tls_session_room(session), 0);
        EXPECT_EQ(tls_session_take(session, "x", 1, &taken), TLS_FAILED);
        EXPECT_EQ(taken, 0);
        tls_session_free(session);
    }
    end();
}

/* At every byte of the program's part of the handshake. */
TEST(handshake_that_ends_early)
{
    begin(TLS1_3_VERSION);
    for (size_t most = 0; most < 700; most += 13) {
        char *data;
        size_t taken;
        connect_peer(NAME);
        SSL_do_handshake(peer.ssl);
        size_t size = (size_t)BIO_get_mem_data(peer.out, &data);
        tls_session_take(session, data, MIN(size, most), &taken);
        tls_session_end(session);
        EXPECT_EQ(tls_session_progress(session), TLS_FAILED);
        EXPECT_STR(tls_session_error(session),
                   "the program ended the connection during the handshake");
        disconnect();
    }
    end();
}

static SSL_SESSION *last_session;

static int keep_session(SSL *ssl, SSL_SESSION *s)
{
    SSL_SESSION_free(last_session);
    last_session = s;
    return 1;
}

static bool resumes(const char *name)
{
    connect_peer(name);
    EXPECT_TRUE(SSL_set_session(peer.ssl, last_session));
    EXPECT_TRUE(shake(session, &peer, WHOLE));
    expect_talk();
    bool was_resumed = tls_session_was_resumed(session);
    EXPECT_EQ(SSL_session_reused(peer.ssl), was_resumed);
    disconnect();
    return was_resumed;
}

TEST(resumption)
{
    for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
        begin(versions[v]);
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT);
        SSL_CTX_sess_set_new_cb(context, keep_session);
        connect_peer(NAME);
        EXPECT_TRUE(shake(session, &peer, WHOLE));
        expect_talk();
        EXPECT_TRUE(!tls_session_was_resumed(session));
        ASSERT_TRUE(last_session);
        /* C22: nothing that could be replayed */
        EXPECT_EQ(SSL_SESSION_get_max_early_data(last_session), 0);
        disconnect();
        EXPECT_TRUE(resumes(NAME));
        EXPECT_TRUE(resumes(NAME));
        /* A ticket is for its name alone, and for its authority. */
        SSL_SESSION *kept = last_session;
        SSL_SESSION_up_ref(kept);
        EXPECT_TRUE(!resumes("other.good.test"));
        keep_session(NULL, kept);
        SSL_CTX_free(context);
        tls_authority_free(authority);
        authority = NULL;
        begin(versions[v]);
        EXPECT_TRUE(!resumes(NAME));
        SSL_SESSION_free(last_session);
        last_session = NULL;
        end();
    }
}

TEST(alert_instead_of_an_answer)
{
    const uint8_t *data;
    size_t size, taken;
    uint8_t record[TLS_ALERT_RECORD_BYTES];
    begin(TLS1_3_VERSION);
    connect_peer(NAME);
    EXPECT_EQ(tls_session_alert(session, TLS_ALERT_ACCESS_DENIED), 0);
    EXPECT_EQ(tls_session_progress(session), TLS_FAILED);
    EXPECT_STR(tls_session_error(session), "refused: access denied (alert 49)");
    tls_session_pending(session, &data, &size);
    tls_alert_write(record, TLS_ALERT_FATAL, TLS_ALERT_ACCESS_DENIED);
    ASSERT_EQ(size, sizeof(record));
    EXPECT_TRUE(!memcmp(data, record, size));
    EXPECT_TRUE(!shake(session, &peer, WHOLE));
    EXPECT_EQ(alert_received(), TLS_ALERT_ACCESS_DENIED);
    EXPECT_EQ(tls_session_alert(session, TLS_ALERT_ACCESS_DENIED), -EALREADY);
    disconnect();

    connect_peer(NAME);
    SSL_do_handshake(peer.ssl);
    char *hello;
    size = (size_t)BIO_get_mem_data(peer.out, &hello);
    tls_session_take(session, hello, size, &taken);
    EXPECT_EQ(tls_session_alert(session, TLS_ALERT_ACCESS_DENIED), -EALREADY);
    disconnect();
    end();
}

TEST(alert_record)
{
    uint8_t record[TLS_ALERT_RECORD_BYTES];
    tls_alert_write(record, TLS_ALERT_FATAL, TLS_ALERT_ACCESS_DENIED);
    EXPECT_TRUE(!memcmp(record, "\x15\x03\x03\x00\x02\x02\x31", 7));
}

/* The other end does not trust this authority, and says so. */
TEST(program_that_refuses)
{
    begin(TLS1_3_VERSION);
    SSL_CTX_set_cert_store(context, X509_STORE_new());
    connect_peer(NAME);
    EXPECT_TRUE(!shake(session, &peer, WHOLE));
    EXPECT_EQ(tls_session_progress(session), TLS_FAILED);
    EXPECT_STR(tls_session_error(session), "the program refuses: unknown CA (alert 48)");
    disconnect();
    end();
}
