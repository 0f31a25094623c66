// SPDX-License-Identifier: Apache-2.0
/* What happens in a session after its handshake: data, its end, limits, what peers may ask for. */
#include "tests/unit/tls_support.h"

#include <openssl/err.h>

#define NAME      "api.good.test"
#define BIG_BYTES (1u << 20)

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

static struct tls_authority *authority;
static struct tls_session *session;
static SSL_CTX *context;
static struct peer peer;

static void begin(int version)
{
    authority = tls_authority_new("box", NOW_S);
    ASSERT_TRUE(authority);
    context = client_context(version, authority);
    session = tls_session_accept(authority, NAME, NOW_S);
    peer_init(&peer, context, false, NAME);
    ASSERT_TRUE(session && shake(session, &peer, WHOLE));
    /* The tickets. */
    carry_to_peer(session, &peer);
    EXPECT_EQ(SSL_read(peer.ssl, &(char){0}, 1), -1);
}

static void end(void)
{
    tls_session_free(session);
    peer_done(&peer);
    SSL_CTX_free(context);
    tls_authority_free(authority);
}

static size_t pending(void)
{
    const uint8_t *data;
    size_t size;
    tls_session_pending(session, &data, &size);
    return size;
}

static char byte_at(size_t i)
{
    return (char)(i * 7 + i / 251);
}

/* A megabyte to the peer, which reads when the session takes no more. */
static void write_all(size_t piece)
{
    static char data[BIG_BYTES], got[BIG_BYTES];
    size_t written = 0, heard = 0;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = byte_at(i);
    while (heard < sizeof(data)) {
        size_t n = tls_session_write(session, data + written, MIN(piece, sizeof(data) - written));
        int r;
        written += n;
        EXPECT_LE(pending(), TLS_SESSION_OUT_MAX_BYTES);
        if (n > 0)
            continue;
        carry_to_peer(session, &peer);
        while (heard < sizeof(got) &&
               (r = SSL_read(peer.ssl, got + heard, (int)(sizeof(got) - heard))) > 0)
            heard += (size_t)r;
    }
    EXPECT_TRUE(!memcmp(data, got, sizeof(data)));
}

TEST(back_pressure_of_what_is_written)
{
    static const size_t pieces[] = {1021, 16384, BIG_BYTES};
    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
        begin(versions[i % 2]);
        write_all(pieces[i]);
        end();
    }
}

/* What is not read is held back, up to the limit, and no byte of it is lost. */
TEST(back_pressure_of_what_is_taken)
{
    char got[3000];
    size_t written = 0, heard = 0, n, held = 0;
    begin(TLS1_3_VERSION);
    while (written < BIG_BYTES) {
        char data[5000];
        for (size_t i = 0; i < sizeof(data); i++)
            data[i] = byte_at(written + i);
        ASSERT_EQ(SSL_write(peer.ssl, data, sizeof(data)), sizeof(data));
        written += sizeof(data);
    }
    while ((n = carry_to_session(&peer, session, 999)) > 0)
        held += n;
    EXPECT_EQ(held, TLS_SESSION_IN_MAX_BYTES);
    EXPECT_EQ(tls_session_room(session), 0);
    do {
        while ((n = tls_session_read(session, got, sizeof(got))) > 0)
            for (size_t i = 0; i < n; i++, heard++)
                ASSERT_EQ(got[i], byte_at(heard));
        EXPECT_EQ(tls_session_room(session) > 0, true);
    } while (carry_to_session(&peer, session, 999) > 0);
    EXPECT_EQ(heard, written);
    end();
}

TEST(data_in_pieces_of_any_size)
{
    for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
        begin(versions[v]);
        for (size_t piece = 1; piece < 200; piece += 2)
            expect_heard(&peer, session, "some words that take a record of their own", piece);
        end();
    }
}

TEST(nothing_to_read_or_write)
{
    char c;
    begin(TLS1_3_VERSION);
    EXPECT_EQ(tls_session_read(session, &c, 1), 0);
    EXPECT_EQ(tls_session_read(session, &c, 0), 0);
    EXPECT_EQ(tls_session_write(session, "", 0), 0);
    EXPECT_EQ(pending(), 0);
    EXPECT_EQ(tls_session_progress(session), TLS_OPEN);
    end();

    authority = tls_authority_new("box", NOW_S);
    session = tls_session_accept(authority, NAME, NOW_S);
    EXPECT_EQ(tls_session_write(session, "early", 5), 0);
    EXPECT_EQ(tls_session_read(session, &c, 1), 0);
    tls_session_close(session);
    EXPECT_EQ(pending(), 0);
    EXPECT_EQ(tls_session_progress(session), TLS_HANDSHAKE);
    tls_session_free(session);
    tls_authority_free(authority);
}

TEST(close_of_the_peer)
{
    for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
        char got[10];
        size_t taken;
        begin(versions[v]);
        SSL_write(peer.ssl, "last", 4);
        SSL_shutdown(peer.ssl);
        carry_to_session(&peer, session, WHOLE);
        tls_session_end(session);
        EXPECT_EQ(tls_session_progress(session), TLS_OPEN);
        EXPECT_EQ(tls_session_read(session, got, sizeof(got)), 4);
        EXPECT_EQ(tls_session_read(session, got, sizeof(got)), 0);
        EXPECT_EQ(tls_session_progress(session), TLS_CLOSED);
        EXPECT_EQ(tls_session_take(session, "more", 4, &taken), TLS_CLOSED);
        /* The other direction is open still. */
        expect_said(session, &peer, "goodbye");
        tls_session_close(session);
        carry_to_peer(session, &peer);
        EXPECT_EQ(SSL_read(peer.ssl, got, sizeof(got)), 0);
        EXPECT_EQ(SSL_get_shutdown(peer.ssl), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        EXPECT_STR(tls_session_error(session), "");
        end();
    }
}

TEST(close_and_read_on)
{
    for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
        char c;
        begin(versions[v]);
        tls_session_close(session);
        size_t size = pending();
        EXPECT_GT(size, 0);
        tls_session_close(session);
        EXPECT_EQ(pending(), size);
        EXPECT_EQ(tls_session_write(session, "x", 1), 0);
        carry_to_peer(session, &peer);
        EXPECT_EQ(SSL_read(peer.ssl, &c, 1), 0);
        EXPECT_EQ(SSL_get_error(peer.ssl, 0), SSL_ERROR_ZERO_RETURN);
        expect_heard(&peer, session, "what it had to say", WHOLE);
        EXPECT_EQ(tls_session_progress(session), TLS_OPEN);
        end();
    }
}

/* An attacker who cuts a connection must not look like a peer that had no more to say. */
TEST(truncation)
{
    for (size_t most = 0; most < 26; most += 5) {
        char got[10], *data;
        size_t taken;
        begin(TLS1_3_VERSION);
        expect_heard(&peer, session, "words", WHOLE);
        SSL_write(peer.ssl, "lost", 4);
        ASSERT_EQ(BIO_get_mem_data(peer.out, &data), 26);
        tls_session_take(session, data, most, &taken);
        tls_session_end(session);
        EXPECT_EQ(tls_session_read(session, got, sizeof(got)), 0);
        EXPECT_EQ(tls_session_progress(session), TLS_TRUNCATED);
        EXPECT_EQ(tls_session_room(session), 0);
        end();
    }
}

/* C22: it is answered that there is none, and the connection stays as it was. */
TEST(renegotiation_is_refused)
{
    char c;
    begin(TLS1_2_VERSION);
    ASSERT_TRUE(SSL_renegotiate(peer.ssl));
    EXPECT_EQ(SSL_do_handshake(peer.ssl), -1);
    carry_to_session(&peer, session, WHOLE);
    EXPECT_EQ(tls_session_read(session, &c, 1), 0);
    EXPECT_EQ(tls_session_progress(session), TLS_OPEN);
    EXPECT_EQ(pending(), 31); /* an alert, sealed */
    carry_to_peer(session, &peer);
    ERR_clear_error();
    EXPECT_EQ(SSL_do_handshake(peer.ssl), -1);
    EXPECT_EQ(ERR_GET_REASON(ERR_peek_last_error()), SSL_R_NO_RENEGOTIATION);
    EXPECT_EQ(tls_session_write(session, "x", 1), 1);
    end();
}

/* C22: keys are changed as often as the peer likes. */
TEST(key_updates)
{
    begin(TLS1_3_VERSION);
    for (int i = 0; i < 100; i++) {
        ASSERT_TRUE(SSL_key_update(peer.ssl, i % 2 ? SSL_KEY_UPDATE_REQUESTED
                                                   : SSL_KEY_UPDATE_NOT_REQUESTED));
        expect_heard(&peer, session, "under new keys", 5);
        expect_said(session, &peer, "likewise");
        EXPECT_EQ(tls_session_progress(session), TLS_OPEN);
    }
    end();
}

TEST(changed_bytes)
{
    for (size_t at = 0; at < 24; at++) {
        char got[10], *data;
        size_t taken;
        begin(versions[at % 2]);
        SSL_write(peer.ssl, "words", 5);
        size_t size = (size_t)BIO_get_mem_data(peer.out, &data);
        data[at] ^= 0x40;
        tls_session_take(session, data, size, &taken);
        EXPECT_EQ(tls_session_read(session, got, sizeof(got)), 0);
        tls_session_end(session);
        EXPECT_EQ(tls_session_read(session, got, sizeof(got)), 0);
        /* A longer record than there is one waits for. */
        EXPECT_TRUE(tls_session_progress(session) == TLS_FAILED ||
                    ((at == 3 || at == 4) && tls_session_progress(session) == TLS_TRUNCATED));
        EXPECT_EQ(*tls_session_error(session) != '\0', tls_session_progress(session) == TLS_FAILED);
        end();
    }
}

TEST(fatal_alert_of_the_peer)
{
    char got[10], *data;
    begin(TLS1_3_VERSION);
    SSL_write(peer.ssl, "words", 5);
    size_t size = (size_t)BIO_get_mem_data(peer.out, &data), taken;
    data[size - 1] ^= 1;
    tls_session_take(session, data, size, &taken);
    EXPECT_EQ(tls_session_read(session, got, sizeof(got)), 0);
    EXPECT_STR(tls_session_error(session),
               "TLS with the program: decryption failed or bad record mac");
    /* And the peer hears of it. */
    carry_to_peer(session, &peer);
    ERR_clear_error();
    EXPECT_LE(SSL_read(peer.ssl, got, sizeof(got)), 0);
    EXPECT_EQ(alert_received(), SSL_AD_BAD_RECORD_MAC);
    end();
}
