// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/tls_support.h"

#include "lib/tls/internal.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#define REPLY_MAX_BYTES 65536

static void add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context = {0};
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    ASSERT_TRUE(e && X509_add_ext(certificate, e, -1));
    X509_EXTENSION_free(e);
}

void credentials_init(struct credentials *c, const struct certificate_plan *plan)
{
    static long serial;
    ASSERT_EQ(tls_openssl_start(), 0);
    c->key = EVP_EC_gen("P-256");
    X509 *x = c->certificate = X509_new();
    ASSERT_TRUE(c->key && x);
    X509 *issuer = plan->issuer ? plan->issuer->certificate : x;
    X509_NAME *subject = X509_get_subject_name(x);
    X509_set_version(x, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial);
    ASN1_TIME_set(X509_getm_notBefore(x), plan->begin_s ? plan->begin_s : NOW_S - DAY_S);
    ASN1_TIME_set(X509_getm_notAfter(x), plan->end_s ? plan->end_s : NOW_S + DAY_S);
    X509_set_pubkey(x, c->key);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const uint8_t *)plan->common_name, -1,
                               -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(issuer));
    add_extension(x, issuer, NID_basic_constraints,
                  plan->is_authority ? "critical,CA:TRUE" : "CA:FALSE");
    add_extension(x, issuer, NID_subject_key_identifier, "hash");
    if (plan->issuer)
        add_extension(x, issuer, NID_authority_key_identifier, "keyid:always");
    if (plan->names)
        add_extension(x, issuer, NID_subject_alt_name, plan->names);
    if (plan->usage)
        add_extension(x, issuer, NID_ext_key_usage, plan->usage);
    ASSERT_GT(X509_sign(x, plan->issuer ? plan->issuer->key : c->key, EVP_sha256()), 0);
}

void credentials_done(struct credentials *c)
{
    X509_free(c->certificate);
    EVP_PKEY_free(c->key);
}

char *pem_of(const X509 *certificate)
{
    BIO *out = BIO_new(BIO_s_mem());
    char *data;
    ASSERT_TRUE(PEM_write_bio_X509(out, (X509 *)certificate));
    long size = BIO_get_mem_data(out, &data);
    char *text = strndup(data, (size_t)size);
    BIO_free(out);
    return text;
}

struct tls_roots *roots_of(const X509 *certificate)
{
    struct tls_roots *roots = NULL;
    const char *what;
    char *text = pem_of(certificate);
    FILE *f = fopen("roots.pem", "w");
    ASSERT_TRUE(f && fputs(text, f) >= 0 && fclose(f) == 0);
    free(text);
    ASSERT_EQ(tls_roots_load("roots.pem", NULL, 0, &roots, &what), 0);
    return roots;
}

static SSL_CTX *new_context(const SSL_METHOD *method, int version)
{
    ASSERT_EQ(tls_openssl_start(), 0);
    SSL_CTX *context = SSL_CTX_new(method);
    ASSERT_TRUE(context && SSL_CTX_set_min_proto_version(context, version) &&
                SSL_CTX_set_max_proto_version(context, version));
    X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(context), NOW_S);
    return context;
}

SSL_CTX *client_context(int version, struct tls_authority *trusted)
{
    SSL_CTX *context = new_context(TLS_client_method(), version);
    uint8_t der[TLS_CERTIFICATE_MAX_BYTES];
    const uint8_t *at = der;
    int size = tls_authority_certificate(trusted, der, sizeof(der));
    X509 *root = d2i_X509(NULL, &at, size);
    ASSERT_TRUE(root && X509_STORE_add_cert(SSL_CTX_get_cert_store(context), root));
    X509_free(root);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    return context;
}

SSL_CTX *server_context(int version, const struct credentials *c)
{
    SSL_CTX *context = new_context(TLS_server_method(), version);
    ASSERT_TRUE(SSL_CTX_use_certificate(context, c->certificate) &&
                SSL_CTX_use_PrivateKey(context, c->key));
    return context;
}

void peer_init(struct peer *p, SSL_CTX *context, bool is_server, const char *name)
{
    *p = (struct peer){SSL_new(context), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem())};
    ASSERT_TRUE(p->ssl && p->in && p->out);
    BIO_set_mem_eof_return(p->in, -1);
    SSL_set_bio(p->ssl, p->in, p->out);
    if (is_server)
        SSL_set_accept_state(p->ssl);
    else
        SSL_set_connect_state(p->ssl);
    if (name)
        ASSERT_TRUE(SSL_set_tlsext_host_name(p->ssl, name) && SSL_set1_host(p->ssl, name));
}

void peer_done(struct peer *p)
{
    /* Else its session counts as broken, and can't be resumed. */
    SSL_set_shutdown(p->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(p->ssl);
}

size_t carry_to_peer(struct tls_session *s, struct peer *p)
{
    const uint8_t *data;
    size_t size;
    tls_session_pending(s, &data, &size);
    if (size > 0)
        ASSERT_EQ(BIO_write(p->in, data, (int)size), size);
    tls_session_sent(s, size);
    return size;
}

size_t carry_to_session(struct peer *p, struct tls_session *s, size_t piece)
{
    char *data;
    size_t size = (size_t)BIO_get_mem_data(p->out, &data), at = 0, taken = 1;
    while (at < size && taken > 0) {
        tls_session_take(s, data + at, MIN(piece, size - at), &taken);
        at += taken;
    }
    /* What it did not take stays. */
    char *rest = at < size ? malloc(size - at) : NULL;
    if (rest)
        memcpy(rest, data + at, size - at);
    (void)BIO_reset(p->out);
    if (rest)
        BIO_write(p->out, rest, (int)(size - at));
    free(rest);
    return at;
}

bool shake(struct tls_session *s, struct peer *p, size_t piece)
{
    size_t moved;
    int r;
    ERR_clear_error();
    do {
        r = SSL_do_handshake(p->ssl);
        moved = carry_to_session(p, s, piece) + carry_to_peer(s, p);
    } while (moved > 0);
    return r == 1;
}

void expect_heard(struct peer *p, struct tls_session *s, const char *text, size_t piece)
{
    char got[REPLY_MAX_BYTES];
    size_t size = 0, n;
    ASSERT_EQ(SSL_write(p->ssl, text, (int)strlen(text)), strlen(text));
    carry_to_session(p, s, piece);
    while ((n = tls_session_read(s, got + size, sizeof(got) - 1 - size)) > 0)
        size += n;
    got[size] = '\0';
    EXPECT_STR(got, text);
}

void expect_said(struct tls_session *s, struct peer *p, const char *text)
{
    char got[REPLY_MAX_BYTES];
    EXPECT_EQ(tls_session_write(s, text, strlen(text)), strlen(text));
    carry_to_peer(s, p);
    int n = SSL_read(p->ssl, got, sizeof(got) - 1);
    got[MAX(n, 0)] = '\0';
    EXPECT_STR(got, text);
}

int alert_received(void)
{
    int reason = ERR_GET_REASON(ERR_peek_last_error());
    return reason >= SSL_AD_REASON_OFFSET ? reason - SSL_AD_REASON_OFFSET : -1;
}
