// SPDX-License-Identifier: Apache-2.0
/* The authorities that servers are trusted by: what is read of a bundle, and what is found in it.
 */
#include "tests/unit/tls_support.h"

#include <openssl/pem.h>
#include <sys/stat.h>

#define NAME "api.good.test"

static struct credentials root;
static char *pem;

static void begin(void)
{
    credentials_init(&root,
                     &(struct certificate_plan){.common_name = "root", .is_authority = true});
    pem = pem_of(root.certificate);
}

static void end(void)
{
    free(pem);
    credentials_done(&root);
}

static FILE *bundle(void)
{
    FILE *f = fopen("bundle.pem", "w");
    ASSERT_TRUE(f);
    return f;
}

/* How many certificates there are, or what went wrong. */
static int load(const char *const *extra, size_t extra_count, const char *expected_what)
{
    struct tls_roots *roots = NULL;
    const char *what = "";
    int r = tls_roots_load("bundle.pem", extra, extra_count, &roots, &what);
    EXPECT_EQ(r < 0, roots == NULL);
    EXPECT_STR(what, r < 0 ? expected_what : "");
    if (r == 0)
        r = (int)tls_roots_count(roots);
    tls_roots_free(roots);
    return r;
}

TEST(bundle_with_other_things_in_it)
{
    static const char key[] = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    static const char broken[] = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    static const char worse[] = "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n";
    begin();
    FILE *f = bundle();
    fprintf(f, "# a text\n%s%s%s\nmore text\n%s%s%s", pem, key, broken, pem, worse, pem);
    fclose(f);
    EXPECT_EQ(load(NULL, 0, ""), 3);
    end();
}

TEST(bundles_that_are_none)
{
    begin();
    EXPECT_EQ(load(NULL, 0, "bundle.pem"), -ENOENT);
    fclose(bundle());
    EXPECT_EQ(load(NULL, 0, "bundle.pem"), -EINVAL);
    FILE *f = bundle();
    fprintf(f, "-----BEGIN CERTIFICATE-----\n");
    fclose(f);
    EXPECT_EQ(load(NULL, 0, "bundle.pem"), -EINVAL);
    ASSERT_EQ(truncate("bundle.pem", TLS_BUNDLE_MAX_BYTES + 1), 0);
    EXPECT_EQ(load(NULL, 0, "bundle.pem"), -E2BIG);
    unlink("bundle.pem");
    ASSERT_EQ(mkdir("bundle.pem", 0700), 0);
    EXPECT_EQ(load(NULL, 0, "bundle.pem"), -EISDIR);
    end();
}

TEST(more_certificates_than_there_may_be)
{
    begin();
    FILE *f = bundle();
    for (int i = 0; i < TLS_ROOTS_MAX; i++)
        fputs(pem, f);
    fclose(f);
    EXPECT_EQ(load(NULL, 0, ""), TLS_ROOTS_MAX);
    EXPECT_EQ(load((const char *const[]){pem}, 1, "the certificates in tls.extra_ca_pem"), -E2BIG);
    end();
}

TEST(extra_certificates)
{
    begin();
    char *two = NULL;
    ASSERT_GT(asprintf(&two, "%s%s", pem, pem), 0);
    FILE *f = bundle();
    fputs(pem, f);
    fclose(f);
    EXPECT_EQ(load((const char *const[]){pem, two}, 2, ""), 4);
    EXPECT_EQ(load((const char *const[]){pem, "x"}, 2, "the certificates in tls.extra_ca_pem"),
              -EINVAL);
    EXPECT_EQ(load((const char *const[]){""}, 1, "the certificates in tls.extra_ca_pem"), -EINVAL);
    free(two);
    end();
}

static bool is_trusted(const struct tls_roots *roots, const struct credentials *server)
{
    SSL_CTX *context = server_context(TLS1_3_VERSION, server);
    struct tls_session *session = tls_session_connect(roots, NAME, TLS_VERSION_1_2, NOW_S);
    struct peer peer;
    peer_init(&peer, context, true, NULL);
    bool is_done = shake(session, &peer, WHOLE);
    EXPECT_EQ(is_done, tls_session_progress(session) == TLS_OPEN);
    tls_session_free(session);
    peer_done(&peer);
    SSL_CTX_free(context);
    return is_done;
}

#define AUTHORITY(name, ...)                                   \
    &(struct certificate_plan)                                 \
    {                                                          \
        .common_name = name, .is_authority = true, __VA_ARGS__ \
    }

/* Of one subject: one that has expired, one with another key, and the right one, in any order. */
TEST(authorities_of_the_same_name)
{
    struct credentials same[3], server, none;
    struct tls_roots *roots;
    const char *what;
    begin();
    credentials_init(&same[0], AUTHORITY("same"));
    credentials_init(&same[1], AUTHORITY("same", .begin_s = NOW_S - 9, .end_s = NOW_S - 1));
    credentials_init(&same[2], AUTHORITY("same"));
    credentials_init(&server, &(struct certificate_plan){
                                  .common_name = "s", .names = "DNS:" NAME, .issuer = &same[2]});
    credentials_init(&none, &(struct certificate_plan){
                                .common_name = "s", .names = "DNS:" NAME, .issuer = &same[1]});
    for (size_t first = 0; first < 3; first++) {
        FILE *f = bundle();
        for (size_t i = 0; i < 3; i++) {
            char *text = pem_of(same[(first + i) % 3].certificate);
            fputs(text, f);
            free(text);
        }
        fclose(f);
        ASSERT_EQ(tls_roots_load("bundle.pem", NULL, 0, &roots, &what), 0);
        EXPECT_TRUE(is_trusted(roots, &server));
        EXPECT_TRUE(!is_trusted(roots, &none));
        EXPECT_TRUE(is_trusted(roots, &server));
        tls_roots_free(roots);
    }
    for (size_t i = 0; i < 3; i++)
        credentials_done(&same[i]);
    credentials_done(&server);
    credentials_done(&none);
    end();
}

/* Certificates that have a subject and nothing after it that could be read. */
TEST(certificate_that_can_not_be_parsed)
{
    struct tls_roots *roots;
    struct credentials server;
    const char *what;
    begin();
    credentials_init(&server, &(struct certificate_plan){
                                  .common_name = "s", .names = "DNS:" NAME, .issuer = &root});
    FILE *f = bundle();
    BIO *out = BIO_new(BIO_s_mem());
    uint8_t *der = NULL;
    char *text;
    int size = i2d_X509(root.certificate, &der);
    /* The tag of its signature: the last 72 bytes, or some less, are that. */
    for (int i = size - 80; i < size - 68; i++)
        if (der[i] == 3)
            der[i] = 4;
    PEM_write_bio(out, "CERTIFICATE", "", der, size);
    long text_size = BIO_get_mem_data(out, &text);
    fwrite(text, 1, (size_t)text_size, f);
    fclose(f);
    ASSERT_EQ(tls_roots_load("bundle.pem", NULL, 0, &roots, &what), 0);
    EXPECT_TRUE(!is_trusted(roots, &server));
    EXPECT_TRUE(!is_trusted(roots, &server));
    tls_roots_free(roots);
    BIO_free(out);
    OPENSSL_free(der);
    credentials_done(&server);
    end();
}
