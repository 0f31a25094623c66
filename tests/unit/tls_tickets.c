// SPDX-License-Identifier: Apache-2.0
/* Sessions with servers that are continued: for whom, how long, and that it vouches for nobody. */
#include "tests/unit/tls_support.h"

#include <stdio.h>

#define NAME "api.good.test"
#define PORT 443

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

static struct credentials root, other_root, server, impostor;
static struct tls_roots *roots;
static struct tls_tickets *tickets;

static void begin(void)
{
    credentials_init(&root,
                     &(struct certificate_plan){.common_name = "root", .is_authority = true});
    credentials_init(&other_root,
                     &(struct certificate_plan){.common_name = "other", .is_authority = true});
    credentials_init(&server, &(struct certificate_plan){
                                  .common_name = "s", .names = "DNS:*.good.test", .issuer = &root});
    credentials_init(&impostor, &(struct certificate_plan){.common_name = "s",
                                                           .names = "DNS:*.good.test",
                                                           .issuer = &other_root});
    roots = roots_of(root.certificate);
    tickets = tls_tickets_new();
    ASSERT_TRUE(tickets);
}

static void end(void)
{
    tls_tickets_free(tickets);
    tls_roots_free(roots);
    credentials_done(&root);
    credentials_done(&other_root);
    credentials_done(&server);
    credentials_done(&impostor);
}

enum verdict { FULL, RESUMED, UNTRUSTED };

/* One connection, over which something is said both ways. */
static enum verdict connect_to(SSL_CTX *context, const char *name, uint16_t port, int64_t now_s)
{
    struct peer peer;
    enum verdict verdict = UNTRUSTED;
    struct tls_session *s = tls_session_resume(
        roots, tickets,
        &(struct tls_server){.name = name, .port = port, .min_version = TLS_VERSION_1_2}, now_s);
    ASSERT_TRUE(s);
    peer_init(&peer, context, true, NULL);
    shake(s, &peer, WHOLE);
    if (tls_session_progress(s) == TLS_OPEN) {
        expect_said(s, &peer, "a request");
        expect_heard(&peer, s, "an answer", WHOLE);
        verdict = tls_session_was_resumed(s) ? RESUMED : FULL;
    } else {
        EXPECT_TRUE(tls_session_is_untrusted(s));
    }
    tls_session_free(s);
    peer_done(&peer);
    return verdict;
}

TEST(continues_with_the_same_name_and_port)
{
    begin();
    for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
        SSL_CTX *context = server_context(versions[v], &server);
        tls_tickets_forget_all(tickets);
        EXPECT_EQ(connect_to(context, NAME, PORT, NOW_S), FULL);
        EXPECT_EQ(connect_to(context, "other.good.test", PORT, NOW_S), FULL);
        EXPECT_EQ(connect_to(context, NAME, PORT + 1, NOW_S), FULL);
        EXPECT_EQ(connect_to(context, NAME, PORT, NOW_S), RESUMED);
        EXPECT_EQ(connect_to(context, NAME, PORT, NOW_S + 1), RESUMED);
        SSL_CTX_free(context);
    }
    end();
}

TEST(not_with_another_policy)
{
    begin();
    SSL_CTX *context = server_context(TLS1_3_VERSION, &server);
    EXPECT_EQ(connect_to(context, NAME, PORT, NOW_S), FULL);
    tls_tickets_forget_all(tickets);
    EXPECT_EQ(connect_to(context, NAME, PORT, NOW_S), FULL);
    SSL_CTX_free(context);
    end();
}

/* However often it was continued. */
TEST(not_for_longer_than_the_verification_counts)
{
    begin();
    for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
        SSL_CTX *context = server_context(versions[v], &server);
        tls_tickets_forget_all(tickets);
        EXPECT_EQ(connect_to(context, NAME, PORT, NOW_S), FULL);
        EXPECT_EQ(connect_to(context, NAME, PORT, NOW_S + TLS_TICKET_MAX_S / 2), RESUMED);
        EXPECT_EQ(connect_to(context, NAME, PORT, NOW_S + TLS_TICKET_MAX_S - 1), RESUMED);
        EXPECT_EQ(connect_to(context, NAME, PORT, NOW_S + TLS_TICKET_MAX_S), FULL);
        SSL_CTX_free(context);
    }
    end();
}

TEST(not_beyond_the_certificate)
{
    begin();
    struct credentials brief;
    credentials_init(&brief, &(struct certificate_plan){.common_name = "s",
                                                        .names = "DNS:" NAME,
                                                        .issuer = &root,
                                                        .end_s = NOW_S + TLS_TICKET_MAX_S / 2});
    SSL_CTX *context = server_context(TLS1_3_VERSION, &brief);
    EXPECT_EQ(connect_to(context, NAME, PORT, NOW_S), FULL);
    EXPECT_EQ(connect_to(context, NAME, PORT, NOW_S + 1), FULL);
    SSL_CTX_free(context);
    credentials_done(&brief);
    end();
}

/* A ticket that was kept does not make a server trusted that can't open it. */
TEST(an_impostor_stays_one)
{
    begin();
    for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
        SSL_CTX *context = server_context(versions[v], &server);
        SSL_CTX *other = server_context(versions[v], &impostor);
        tls_tickets_forget_all(tickets);
        EXPECT_EQ(connect_to(context, NAME, PORT, NOW_S), FULL);
        EXPECT_EQ(connect_to(other, NAME, PORT, NOW_S), UNTRUSTED);
        /* And what had been kept is gone with it. */
        EXPECT_EQ(connect_to(context, NAME, PORT, NOW_S), FULL);
        SSL_CTX_free(context);
        SSL_CTX_free(other);
    }
    end();
}

TEST(what_is_kept_is_bounded)
{
    begin();
    SSL_CTX *context = server_context(TLS1_3_VERSION, &server);
    char name[64];
    for (int i = 0; i < 3 * TLS_TICKETS_MAX; i++) {
        snprintf(name, sizeof(name), "n%d.good.test", i);
        EXPECT_EQ(connect_to(context, name, PORT, NOW_S), FULL);
    }
    EXPECT_EQ(connect_to(context, name, PORT, NOW_S), RESUMED);
    EXPECT_EQ(connect_to(context, "n0.good.test", PORT, NOW_S), FULL);
    SSL_CTX_free(context);
    end();
}
