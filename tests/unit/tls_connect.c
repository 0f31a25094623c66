// SPDX-License-Identifier: Apache-2.0
/* Sessions towards servers: who is believed to be whom (C21), and what else is refused. */
#include "tests/unit/tls_support.h"

#include <openssl/err.h>
#include <openssl/x509.h>

#define NAME "api.good.test"

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

static struct credentials root, other_root, middle, server;
static struct tls_roots *roots;
static struct tls_session *session;
static struct peer peer;

static void begin(void)
{
    credentials_init(&root,
                     &(struct certificate_plan){.common_name = "root", .is_authority = true});
    credentials_init(&other_root,
                     &(struct certificate_plan){.common_name = "other", .is_authority = true});
    credentials_init(&middle, &(struct certificate_plan){
                                  .common_name = "middle", .issuer = &root, .is_authority = true});
    roots = roots_of(root.certificate);
}

static void end(void)
{
    credentials_done(&root);
    credentials_done(&other_root);
    credentials_done(&middle);
    tls_roots_free(roots);
}

static void shake_with(SSL_CTX *context, const char *name, unsigned min_version)
{
    session = tls_session_connect(roots, name, min_version, NOW_S);
    ASSERT_TRUE(session);
    peer_init(&peer, context, true, NULL);
    shake(session, &peer, WHOLE);
}

static void disconnect(void)
{
    tls_session_free(session);
    peer_done(&peer);
}

static void expect_open(void)
{
    EXPECT_EQ(tls_session_progress(session), TLS_OPEN);
    EXPECT_STR(tls_session_error(session), "");
    EXPECT_TRUE(!tls_session_is_untrusted(session));
    expect_said(session, &peer, "a request");
    expect_heard(&peer, session, "an answer", WHOLE);
}

static void expect_untrusted(const char *error, int alert)
{
    EXPECT_EQ(tls_session_progress(session), TLS_FAILED);
    EXPECT_TRUE(tls_session_is_untrusted(session));
    EXPECT_STR(tls_session_error(session), error);
    EXPECT_EQ(alert_received(), alert);
    EXPECT_EQ(tls_session_write(session, "secret", 6), 0);
}

/* Of the alert -1 is: none, the session is open. */
static void expect_verdict(const struct certificate_plan *plan, const char *name, const char *error,
                           int alert)
{
    credentials_init(&server, plan);
    for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
        SSL_CTX *context = server_context(versions[v], &server);
        if (plan->issuer)
            SSL_CTX_add1_chain_cert(context, plan->issuer->certificate);
        shake_with(context, name, TLS_VERSION_1_2);
        if (alert < 0)
            expect_open();
        else
            expect_untrusted(error, alert);
        disconnect();
        SSL_CTX_free(context);
    }
    credentials_done(&server);
}

#define PLAN(...)                        \
    &(struct certificate_plan)           \
    {                                    \
        .common_name = NAME, __VA_ARGS__ \
    }

#define OTHER_NAME "the certificate is for another name"

TEST(certificates_that_are_good)
{
    begin();
    expect_verdict(PLAN(.issuer = &root, .names = "DNS:" NAME), NAME, NULL, -1);
    expect_verdict(PLAN(.issuer = &middle, .names = "DNS:" NAME), NAME, NULL, -1);
    expect_verdict(PLAN(.issuer = &root, .names = "DNS:x.test,DNS:API.GOOD.test"), NAME, NULL, -1);
    expect_verdict(PLAN(.issuer = &root, .names = "DNS:*.good.test"), NAME, NULL, -1);
    expect_verdict(PLAN(.issuer = &root, .names = "IP:192.0.2.1"), "192.0.2.1", NULL, -1);
    expect_verdict(PLAN(.issuer = &root, .names = "IP:2001:db8::1"), "2001:db8:0::1", NULL, -1);
    expect_verdict(PLAN(.issuer = &root, .names = "DNS:" NAME, .usage = "serverAuth"), NAME, NULL,
                   -1);
    end();
}

TEST(certificates_for_another_name)
{
    begin();
    expect_verdict(PLAN(.issuer = &root, .names = "DNS:evil.test"), NAME, OTHER_NAME, 42);
    expect_verdict(PLAN(.issuer = &root, .names = "DNS:*.test"), NAME, OTHER_NAME, 42);
    expect_verdict(PLAN(.issuer = &root, .names = "DNS:a*.good.test"), NAME, OTHER_NAME, 42);
    expect_verdict(PLAN(.issuer = &root, .names = "DNS:good.test"), NAME, OTHER_NAME, 42);
    expect_verdict(PLAN(.issuer = &root, .names = "IP:192.0.2.2"), "192.0.2.1", OTHER_NAME, 42);
    expect_verdict(PLAN(.issuer = &root, .names = "DNS:192.0.2.1"), "192.0.2.1", OTHER_NAME, 42);
    /* The common name is no name. */
    expect_verdict(PLAN(.issuer = &root), NAME, OTHER_NAME, 42);
    end();
}

TEST(certificates_out_of_time)
{
    begin();
    expect_verdict(PLAN(.issuer = &root, .names = "DNS:" NAME, .end_s = NOW_S - 1), NAME,
                   "the certificate has expired", 45);
    expect_verdict(PLAN(.issuer = &root, .names = "DNS:" NAME, .begin_s = NOW_S + 60), NAME,
                   "the certificate is not valid yet", 42);
    end();
}

TEST(certificates_of_nobody_known)
{
    begin();
    expect_verdict(PLAN(.names = "DNS:" NAME), NAME,
                   "the certificate is self-signed, and not trusted here", 48);
    expect_verdict(PLAN(.issuer = &other_root, .names = "DNS:" NAME), NAME,
                   "the certificate is from a self-signed authority that is not trusted here", 48);
    end();
}

/* The certificate between is not sent. */
TEST(incomplete_chain)
{
    begin();
    credentials_init(&server, PLAN(.issuer = &middle, .names = "DNS:" NAME));
    SSL_CTX *context = server_context(TLS1_3_VERSION, &server);
    shake_with(context, NAME, TLS_VERSION_1_2);
    expect_untrusted("the certificate is not from an authority that is trusted here", 48);
    disconnect();
    SSL_CTX_free(context);
    credentials_done(&server);
    end();
}

TEST(certificates_for_something_else)
{
    struct credentials no_authority;
    begin();
    expect_verdict(PLAN(.issuer = &root, .names = "DNS:" NAME, .usage = "clientAuth"), NAME,
                   "the certificate is not accepted: unsuitable certificate purpose", 43);
    /* Signed by one that may not sign. */
    credentials_init(&no_authority,
                     &(struct certificate_plan){.common_name = "a server", .issuer = &root});
    expect_verdict(PLAN(.issuer = &no_authority, .names = "DNS:" NAME), NAME,
                   "the certificate is not accepted: invalid CA certificate", 48);
    credentials_done(&no_authority);
    end();
}

/* tls.extra_ca_pem: a server that signed for itself, an authority that is not at the top. */
TEST(certificates_trusted_by_themselves)
{
    const char *what;
    begin();
    struct credentials self, *const trusted[] = {&self, &middle};
    credentials_init(&self, PLAN(.names = "DNS:" NAME));
    credentials_init(&server, PLAN(.issuer = &middle, .names = "DNS:" NAME));
    tls_roots_free(roots);
    roots = roots_of(other_root.certificate);
    for (size_t i = 0; i < ARRAY_SIZE(trusted); i++) {
        SSL_CTX *context = server_context(TLS1_3_VERSION, i == 0 ? &self : &server);
        char *pem = pem_of(trusted[i]->certificate);
        tls_roots_free(roots);
        ASSERT_EQ(tls_roots_load("roots.pem", (const char *const[]){pem}, 1, &roots, &what), 0);
        shake_with(context, NAME, TLS_VERSION_1_2);
        expect_open();
        disconnect();
        free(pem);
        SSL_CTX_free(context);
    }
    credentials_done(&self);
    credentials_done(&server);
    end();
}

static const char *asked_name;

static int see_name(SSL *ssl, int *alert, void *unused)
{
    asked_name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    return SSL_TLSEXT_ERR_OK;
}

TEST(name_that_the_server_is_asked_for)
{
    begin();
    credentials_init(&server, PLAN(.issuer = &root, .names = "DNS:" NAME ",IP:192.0.2.1"));
    SSL_CTX *context = server_context(TLS1_3_VERSION, &server);
    SSL_CTX_set_tlsext_servername_callback(context, see_name);
    shake_with(context, NAME, TLS_VERSION_1_2);
    ASSERT_TRUE(asked_name);
    EXPECT_STR(asked_name, NAME);
    disconnect();
    /* RFC 6066, 3: no addresses */
    shake_with(context, "192.0.2.1", TLS_VERSION_1_2);
    EXPECT_TRUE(!asked_name);
    disconnect();
    SSL_CTX_free(context);
    credentials_done(&server);
    end();
}

TEST(versions_of_servers)
{
    static const struct {
        int version;
        unsigned minimum;
        bool is_open;
    } rows[] = {
        {TLS1_1_VERSION, TLS_VERSION_1_2, false},
        {TLS1_2_VERSION, TLS_VERSION_1_2, true},
        {TLS1_2_VERSION, TLS_VERSION_1_3, false},
        {TLS1_3_VERSION, TLS_VERSION_1_3, true},
    };
    begin();
    credentials_init(&server, PLAN(.issuer = &root, .names = "DNS:" NAME));
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        SSL_CTX *context = server_context(rows[i].version, &server);
        SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0");
        shake_with(context, NAME, rows[i].minimum);
        EXPECT_EQ(tls_session_progress(session), rows[i].is_open ? TLS_OPEN : TLS_FAILED);
        EXPECT_TRUE(!tls_session_is_untrusted(session));
        if (rows[i].is_open)
            EXPECT_EQ(tls_session_version(session), rows[i].version);
        else
            EXPECT_STR(tls_session_error(session),
                       "the server refuses: protocol version (alert 70)");
        disconnect();
        SSL_CTX_free(context);
    }
    credentials_done(&server);
    end();
}

static int answer_protocol(SSL *ssl, const uint8_t **ret, uint8_t *ret_size, const uint8_t *offered,
                           unsigned size, void *protocol)
{
    EXPECT_TRUE(size == 9 && !memcmp(offered, "\x08http/1.1", 9));
    *ret = protocol;
    *ret_size = (uint8_t)strlen(protocol);
    return SSL_TLSEXT_ERR_OK;
}

TEST(application_protocols)
{
    char one[] = "http/1.1", two[] = "h2", *const answers[] = {one, two, NULL};
    begin();
    credentials_init(&server, PLAN(.issuer = &root, .names = "DNS:" NAME));
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        SSL_CTX *context = server_context(TLS1_3_VERSION, &server);
        if (answers[i])
            SSL_CTX_set_alpn_select_cb(context, answer_protocol, answers[i]);
        shake_with(context, NAME, TLS_VERSION_1_2);
        if (answers[i] == two)
            EXPECT_STR(tls_session_error(session), "TLS with the server: bad extension");
        else
            EXPECT_STR(tls_session_protocol(session), answers[i] ? answers[i] : "");
        EXPECT_EQ(tls_session_progress(session), answers[i] == two ? TLS_FAILED : TLS_OPEN);
        disconnect();
        SSL_CTX_free(context);
    }
    credentials_done(&server);
    end();
}

/* C19: it says what is missing. */
TEST(server_that_wants_a_certificate)
{
    char c;
    begin();
    credentials_init(&server, PLAN(.issuer = &root, .names = "DNS:" NAME));
    for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
        SSL_CTX *context = server_context(versions[v], &server);
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        shake_with(context, NAME, TLS_VERSION_1_2);
        EXPECT_EQ(tls_session_read(session, &c, 1), 0);
        EXPECT_EQ(tls_session_progress(session), TLS_FAILED);
        EXPECT_TRUE(!tls_session_is_untrusted(session));
        EXPECT_STR(tls_session_error(session),
                   versions[v] == TLS1_3_VERSION
                       ? "the server refuses: certificate required (alert 116)"
                       : "the server refuses: handshake failure (alert 40)");
        disconnect();
        SSL_CTX_free(context);
    }
    credentials_done(&server);
    end();
}

/* C22: its wish for another handshake is declined, however often it has it. */
TEST(renegotiation_is_refused)
{
    char c;
    begin();
    credentials_init(&server, PLAN(.issuer = &root, .names = "DNS:" NAME));
    SSL_CTX *context = server_context(TLS1_2_VERSION, &server);
    shake_with(context, NAME, TLS_VERSION_1_2);
    ASSERT_TRUE(SSL_renegotiate(peer.ssl));
    SSL_do_handshake(peer.ssl);
    EXPECT_GT(carry_to_session(&peer, session, WHOLE), 0);
    EXPECT_EQ(tls_session_read(session, &c, 1), 0);
    EXPECT_EQ(tls_session_progress(session), TLS_OPEN);
    EXPECT_EQ(carry_to_peer(session, &peer), 31); /* an alert, sealed */
    disconnect();

    /* One that asks and asks, and reads no answer, is not listened to after a while. */
    shake_with(context, NAME, TLS_VERSION_1_2);
    for (int i = 0; i < 10000; i++) {
        ASSERT_TRUE(SSL_renegotiate(peer.ssl));
        SSL_do_handshake(peer.ssl);
    }
    while (carry_to_session(&peer, session, WHOLE) > 0)
        EXPECT_EQ(tls_session_read(session, &c, 1), 0);
    EXPECT_EQ(tls_session_progress(session), TLS_OPEN);
    EXPECT_EQ(tls_session_room(session), 0);
    size_t size = carry_to_peer(session, &peer);
    EXPECT_GT(size, TLS_SESSION_OUT_MAX_BYTES);
    EXPECT_LE(size, TLS_SESSION_OUT_MAX_BYTES + TLS_SESSION_IN_MAX_BYTES);
    EXPECT_GT(tls_session_room(session), 0);
    disconnect();
    SSL_CTX_free(context);
    credentials_done(&server);
    end();
}

TEST(what_is_not_tls)
{
    size_t taken;
    begin();
    session = tls_session_connect(roots, NAME, TLS_VERSION_1_2, NOW_S);
    EXPECT_EQ(tls_session_take(session, "HTTP/1.1 400 Bad Request\r\n", 26, &taken), TLS_FAILED);
    EXPECT_STR(tls_session_error(session), "TLS with the server: what came is not TLS");
    tls_session_free(session);
    session = tls_session_connect(roots, NAME, TLS_VERSION_1_2, NOW_S);
    tls_session_end(session);
    EXPECT_EQ(tls_session_progress(session), TLS_FAILED);
    EXPECT_STR(tls_session_error(session), "the server ended the connection during the handshake");
    tls_session_free(session);
    end();
}

/* Roots may go before the sessions that came from them. */
TEST(sessions_outlive_the_roots)
{
    begin();
    credentials_init(&server, PLAN(.issuer = &root, .names = "DNS:" NAME));
    SSL_CTX *context = server_context(TLS1_3_VERSION, &server);
    session = tls_session_connect(roots, NAME, TLS_VERSION_1_2, NOW_S);
    tls_roots_free(roots);
    roots = NULL;
    peer_init(&peer, context, true, NULL);
    EXPECT_TRUE(shake(session, &peer, WHOLE));
    expect_open();
    disconnect();
    SSL_CTX_free(context);
    credentials_done(&server);
    end();
}
