// SPDX-License-Identifier: Apache-2.0
/* The sandbox's own authority: what its certificates say, and when leaves are made. */
#include "tests/unit/tls_support.h"

#include <openssl/x509v3.h>

#define NAME "api.good.test"

static struct tls_authority *authority;
static X509 *root;

static X509 *certificate_of(struct tls_authority *a)
{
    uint8_t der[TLS_CERTIFICATE_MAX_BYTES];
    const uint8_t *at = der;
    int size = tls_authority_certificate(a, der, sizeof(der));
    ASSERT_GT(size, 0);
    X509 *x = d2i_X509(NULL, &at, size);
    ASSERT_TRUE(x && at == der + size);
    return x;
}

static void begin(const char *sandbox_name)
{
    authority = tls_authority_new(sandbox_name, NOW_S);
    ASSERT_TRUE(authority);
    root = certificate_of(authority);
}

static void end(void)
{
    X509_free(root);
    tls_authority_free(authority);
}

/* What a session shows, as the other end sees it. */
static X509 *leaf_of(const char *name, int64_t now_s)
{
    SSL_CTX *context = client_context(TLS1_3_VERSION, authority);
    struct tls_session *session = tls_session_accept(authority, name, now_s);
    struct peer peer;
    ASSERT_TRUE(session);
    X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(context), now_s);
    peer_init(&peer, context, false, NULL);
    EXPECT_TRUE(shake(session, &peer, WHOLE));
    X509 *leaf = SSL_get1_peer_certificate(peer.ssl);
    ASSERT_TRUE(leaf);
    EXPECT_EQ(sk_X509_num(SSL_get_peer_cert_chain(peer.ssl)), 1);
    peer_done(&peer);
    tls_session_free(session);
    SSL_CTX_free(context);
    return leaf;
}

static void expect_time(const ASN1_TIME *time, int64_t expected_s)
{
    ASN1_TIME *expected = ASN1_TIME_set(NULL, expected_s);
    EXPECT_EQ(ASN1_TIME_compare(time, expected), 0);
    ASN1_STRING_free(expected);
}

static int is_critical(const X509 *x, int nid)
{
    int at = X509_get_ext_by_NID(x, nid, -1);
    ASSERT_GE(at, 0);
    return X509_EXTENSION_get_critical(X509_get_ext(x, at));
}

static void expect_p256(X509 *x)
{
    char group[50];
    EVP_PKEY *key = X509_get0_pubkey(x);
    EXPECT_EQ(EVP_PKEY_get_group_name(key, group, sizeof(group), NULL), 1);
    EXPECT_STR(group, "prime256v1");
    EXPECT_EQ(X509_get_signature_nid(x), NID_ecdsa_with_SHA256);
    EXPECT_EQ(X509_get_version(x), X509_VERSION_3);
}

static void expect_key_usage(X509 *x, uint32_t expected)
{
    EXPECT_EQ(X509_get_key_usage(x), expected);
    EXPECT_EQ(is_critical(x, NID_key_usage), 1);
}

static const char *common_name(const X509 *x)
{
    static char text[200];
    text[0] = '\0';
    X509_NAME_get_text_by_NID(X509_get_subject_name(x), NID_commonName, text, sizeof(text));
    return text;
}

TEST(profile_of_the_authority)
{
    begin("box-1");
    expect_p256(root);
    EXPECT_STR(common_name(root), "Glovebox sandbox box-1");
    EXPECT_EQ(X509_check_ca(root), 1);
    EXPECT_EQ(is_critical(root, NID_basic_constraints), 1);
    EXPECT_EQ(X509_get_pathlen(root), 0);
    expect_key_usage(root, KU_KEY_CERT_SIGN | KU_CRL_SIGN);
    EXPECT_TRUE(X509_get0_subject_key_id(root));
    expect_time(X509_get0_notBefore(root), NOW_S - 48 * 3600);
    expect_time(X509_get0_notAfter(root), NOW_S + 730 * DAY_S);
    EXPECT_EQ(X509_verify(root, X509_get0_pubkey(root)), 1);
    EXPECT_EQ(X509_get_ext_count(root), 3);
    end();
}

TEST(profile_of_a_leaf)
{
    begin("box-1");
    X509 *leaf = leaf_of(NAME, NOW_S);
    expect_p256(leaf);
    EXPECT_EQ(X509_check_ca(leaf), 0);
    expect_key_usage(leaf, KU_DIGITAL_SIGNATURE);
    EXPECT_EQ(X509_get_extended_key_usage(leaf), XKU_SSL_SERVER);
    EXPECT_TRUE(X509_get0_subject_key_id(leaf));
    EXPECT_EQ(
        ASN1_OCTET_STRING_cmp(X509_get0_authority_key_id(leaf), X509_get0_subject_key_id(root)), 0);
    expect_time(X509_get0_notBefore(leaf), NOW_S - 24 * 3600);
    expect_time(X509_get0_notAfter(leaf), NOW_S + 30 * DAY_S);
    EXPECT_EQ(X509_verify(leaf, X509_get0_pubkey(root)), 1);
    EXPECT_EQ(X509_check_issued(root, leaf), X509_V_OK);
    BIGNUM *serial = ASN1_INTEGER_to_BN(X509_get0_serialNumber(leaf), NULL);
    EXPECT_GT(BN_num_bits(serial), 64);
    EXPECT_LE(BN_num_bits(serial), 128);
    EXPECT_TRUE(!BN_is_negative(serial));
    BN_free(serial);
    EXPECT_EQ(X509_get_ext_count(leaf), 6);
    X509_free(leaf);
    end();
}

/* Just the name that was asked for, whatever else could be read into it. */
TEST(alternative_names_of_leaves)
{
    static const struct {
        const char *name;
        int kind;
        size_t size;
        const char *data;
    } rows[] = {
        {NAME, GEN_DNS, 13, NAME},
        {"xn--mnchen-3ya.test", GEN_DNS, 19, "xn--mnchen-3ya.test"},
        {"_x.good.test", GEN_DNS, 12, "_x.good.test"},
        {"192.0.2.1", GEN_IPADD, 4, "\xc0\x00\x02\x01"},
        {"2001:db8::1", GEN_IPADD, 16, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01"},
    };
    begin("box-1");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        X509 *leaf = leaf_of(rows[i].name, NOW_S);
        GENERAL_NAMES *names = X509_get_ext_d2i(leaf, NID_subject_alt_name, NULL, NULL);
        ASSERT_EQ(sk_GENERAL_NAME_num(names), 1);
        int kind;
        const ASN1_STRING *text = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, 0), &kind);
        EXPECT_EQ(kind, rows[i].kind);
        ASSERT_EQ(ASN1_STRING_length(text), rows[i].size);
        EXPECT_TRUE(!memcmp(ASN1_STRING_get0_data(text), rows[i].data, rows[i].size));
        GENERAL_NAMES_free(names);
        X509_free(leaf);
    }
    end();
}

/* Names may be longer than a common name may (RFC 5280: 64). */
TEST(long_names)
{
    char name[] = "a23456789.b23456789.c23456789.d23456789.e23456789.f23456789.g23456789.test";
    begin("a sandbox whose name is a good deal longer than what a certificate has room for");
    EXPECT_STR(common_name(root),
               "Glovebox sandbox a sandbox whose name is a good deal longer than");
    X509 *leaf = leaf_of(name, NOW_S);
    EXPECT_STR(common_name(leaf), "");
    EXPECT_EQ(X509_check_host(leaf, name, 0, 0, NULL), 1);
    X509_free(leaf);
    end();
    begin("b\xc3\xbc\nx");
    EXPECT_STR(common_name(root), "Glovebox sandbox b???x");
    end();
}

TEST(certificate_that_does_not_fit)
{
    uint8_t der[TLS_CERTIFICATE_MAX_BYTES];
    begin("box-1");
    int size = tls_authority_certificate(authority, der, sizeof(der));
    EXPECT_EQ(tls_authority_certificate(authority, der, (size_t)size - 1), -ENOSPC);
    EXPECT_EQ(tls_authority_certificate(authority, der, (size_t)size), size);
    end();
}

/* Keys are each authority's own; all of its leaves have one. */
TEST(keys)
{
    begin("box-1");
    X509 *a = leaf_of("a.test", NOW_S), *b = leaf_of("b.test", NOW_S);
    EXPECT_EQ(EVP_PKEY_eq(X509_get0_pubkey(a), X509_get0_pubkey(b)), 1);
    EXPECT_EQ(EVP_PKEY_eq(X509_get0_pubkey(a), X509_get0_pubkey(root)), 0);
    EXPECT_NE(ASN1_INTEGER_cmp(X509_get0_serialNumber(a), X509_get0_serialNumber(b)), 0);
    X509_free(a);
    X509_free(b);
    struct tls_authority *other = tls_authority_new("box-1", NOW_S);
    X509 *other_root = certificate_of(other);
    EXPECT_EQ(EVP_PKEY_eq(X509_get0_pubkey(root), X509_get0_pubkey(other_root)), 0);
    X509_free(other_root);
    tls_authority_free(other);
    end();
}

static void accept_only(const char *name, int64_t now_s)
{
    struct tls_session *s = tls_session_accept(authority, name, now_s);
    EXPECT_TRUE(s);
    tls_session_free(s);
}

/* H5: none for what isn't accepted, one for what is accepted often, and no more than that are kept.
 */
TEST(leaves_are_made_when_asked_for_and_kept)
{
    char name[50];
    begin("box-1");
    EXPECT_EQ(tls_authority_minted(authority), 0);
    for (int i = 0; i < 10; i++)
        accept_only(NAME, NOW_S + i);
    EXPECT_EQ(tls_authority_minted(authority), 1);
    for (int i = 1; i < TLS_AUTHORITY_LEAVES_MAX; i++) {
        snprintf(name, sizeof(name), "%d.test", i);
        accept_only(name, NOW_S);
    }
    EXPECT_EQ(tls_authority_minted(authority), TLS_AUTHORITY_LEAVES_MAX);
    /* Full, and the first is the oldest; used again it is the youngest. */
    accept_only(NAME, NOW_S);
    accept_only("more.test", NOW_S);
    EXPECT_EQ(tls_authority_minted(authority), TLS_AUTHORITY_LEAVES_MAX + 1);
    accept_only(NAME, NOW_S);
    EXPECT_EQ(tls_authority_minted(authority), TLS_AUTHORITY_LEAVES_MAX + 1);
    accept_only("1.test", NOW_S);
    EXPECT_EQ(tls_authority_minted(authority), TLS_AUTHORITY_LEAVES_MAX + 2);
    end();
}

/* I11 */
TEST(leaves_are_made_anew_at_half_their_life)
{
    begin("box-1");
    accept_only(NAME, NOW_S);
    accept_only(NAME, NOW_S + 15 * DAY_S - 1);
    EXPECT_EQ(tls_authority_minted(authority), 1);
    X509 *leaf = leaf_of(NAME, NOW_S + 15 * DAY_S);
    EXPECT_EQ(tls_authority_minted(authority), 2);
    expect_time(X509_get0_notAfter(leaf), NOW_S + 45 * DAY_S);
    X509_free(leaf);
    end();
}

/* I10: a clock that goes back finds certificates that are valid. */
TEST(clock_that_goes_back)
{
    begin("box-1");
    accept_only(NAME, NOW_S);
    X509_free(leaf_of(NAME, NOW_S - 11 * 3600));
    EXPECT_EQ(tls_authority_minted(authority), 1);
    X509_free(leaf_of(NAME, NOW_S - 47 * 3600));
    EXPECT_EQ(tls_authority_minted(authority), 2);
    end();
}

TEST(leaf_at_the_end_of_the_authority)
{
    begin("box-1");
    X509 *leaf = leaf_of(NAME, NOW_S + 725 * DAY_S);
    EXPECT_EQ(ASN1_TIME_compare(X509_get0_notAfter(leaf), X509_get0_notAfter(root)), 0);
    X509_free(leaf);
    end();
}

/* A program's connection outlives the authority only while a process ends; it must not crash. */
TEST(sessions_outlive_the_authority)
{
    struct peer peer;
    begin("box-1");
    SSL_CTX *context = client_context(TLS1_3_VERSION, authority);
    struct tls_session *session = tls_session_accept(authority, NAME, NOW_S);
    end();
    peer_init(&peer, context, false, NAME);
    EXPECT_TRUE(shake(session, &peer, WHOLE));
    expect_said(session, &peer, "words");
    tls_session_free(session);
    peer_done(&peer);
    SSL_CTX_free(context);
}
