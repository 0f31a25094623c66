// SPDX-License-Identifier: Apache-2.0
#include "lib/tls/credentials.h"

#include "lib/tls/internal.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>

#define SECURITY_LEVEL 2  /* SSL_CTX_set_security_level(3): 112 bits */
#define CHAIN_MAX      10 /* certificates */

struct tls_credentials {
    SSL_CTX *context;
    int64_t end_s;
};

int tls_credentials_start(void)
{
    return tls_openssl_start();
}

void tls_credentials_free(struct tls_credentials *c)
{
    if (!c)
        return;
    SSL_CTX_free(c->context);
    free(c);
}

int64_t tls_credentials_end_s(const struct tls_credentials *c)
{
    return c->end_s;
}

SSL *tls_credentials_new_server(const struct tls_credentials *c)
{
    SSL *ssl = SSL_new(c->context);
    if (ssl)
        SSL_set_accept_state(ssl);
    return ssl;
}

/* There is nobody to ask for one. */
static int no_passphrase(char *to _unused_, int size _unused_, int writes _unused_,
                         void *userdata _unused_)
{
    return -1;
}

static SSL_CTX *new_context(void)
{
    SSL_CTX *context = tls_openssl_new_context(TLS_server_method());
    if (!context)
        return NULL;
    SSL_CTX_set_security_level(context, SECURITY_LEVEL);
    SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
                                     SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_alpn_select_cb(context, tls_openssl_choose_protocol, NULL);
    return context;
}

static bool take_end(struct tls_credentials *c, X509 *certificate)
{
    struct tm tm;
    if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm) != 1)
        return false;
    c->end_s = timegm(&tm);
    return true;
}

/* The first of a text is the server's own. A sentence, or NULL. */
static const char *take_chain(struct tls_credentials *c, BIO *text)
{
    X509 *certificate = PEM_read_bio_X509(text, NULL, no_passphrase, NULL);
    if (!certificate)
        return "there is no certificate in it; give one in PEM";
    bool is_good =
        take_end(c, certificate) && SSL_CTX_use_certificate(c->context, certificate) == 1;
    X509_free(certificate);
    for (int i = 0; is_good && i < CHAIN_MAX; i++) {
        certificate = PEM_read_bio_X509(text, NULL, no_passphrase, NULL);
        if (!certificate)
            return NULL;
        is_good = SSL_CTX_add0_chain_cert(c->context, certificate) == 1;
        if (!is_good)
            X509_free(certificate);
    }
    return "its certificates are too weak, or too many; give a chain with RSA of 2048 bits or "
           "more, "
           "or ECDSA";
}

static const char *take_key(struct tls_credentials *c, BIO *text)
{
    EVP_PKEY *key = PEM_read_bio_PrivateKey(text, NULL, no_passphrase, NULL);
    if (!key)
        return "there is no key in it that can be read; give one in PEM, without a passphrase";
    bool fits =
        SSL_CTX_use_PrivateKey(c->context, key) == 1 && SSL_CTX_check_private_key(c->context) == 1;
    EVP_PKEY_free(key);
    return fits ? NULL : "it is not the certificate's; give the two that belong together";
}

static const char *take_both(struct tls_credentials *c, BIO *chain, BIO *key)
{
    const char *why = take_chain(c, chain);
    return why ? why : take_key(c, key);
}

int tls_credentials_read(const char *chain, size_t chain_size, const char *key, size_t key_size,
                         struct tls_credentials **ret, char why[static TLS_CREDENTIALS_WHY_MAX])
{
    const char *wrong = "no memory";
    if (chain_size > TLS_CREDENTIALS_MAX_BYTES || key_size > TLS_CREDENTIALS_MAX_BYTES) {
        snprintf(why, TLS_CREDENTIALS_WHY_MAX, "the text is longer than %d bytes",
                 TLS_CREDENTIALS_MAX_BYTES);
        return -EINVAL;
    }
    ERR_clear_error();
    struct tls_credentials *c = calloc(1, sizeof(*c));
    BIO *chain_text = BIO_new_mem_buf(chain, (int)chain_size);
    BIO *key_text = BIO_new_mem_buf(key, (int)key_size);
    bool has_memory = c && chain_text && key_text && (c->context = new_context());
    if (has_memory)
        wrong = take_both(c, chain_text, key_text);
    ERR_clear_error();
    BIO_free(chain_text);
    BIO_free(key_text);
    if (!wrong) {
        *ret = c;
        return 0;
    }
    tls_credentials_free(c);
    snprintf(why, TLS_CREDENTIALS_WHY_MAX, "%s", wrong);
    return has_memory ? -EINVAL : -ENOMEM;
}
