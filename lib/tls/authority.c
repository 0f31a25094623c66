// SPDX-License-Identifier: Apache-2.0
#include "lib/tls/authority.h"

#include "lib/base/list.h"
#include "lib/tls/internal.h"

#include <openssl/evp.h>

struct leaf {
    struct list in_use; /* in leaves, the last used first */
    X509 *certificate;
    int64_t made_s;
    char name[];
};

struct tls_authority {
    EVP_PKEY *key, *leaf_key;
    X509 *certificate;
    SSL_CTX *context;
    struct list leaves;
    size_t leaf_count;
    uint64_t minted;
};

static void leaf_free(struct tls_authority *a, struct leaf *l)
{
    list_remove(&l->in_use);
    a->leaf_count--;
    X509_free(l->certificate);
    free(l);
}

/*
 * Sessions are kept here and go with the context; what a program gets is a number to find one by,
 * the same for TLS 1.2 (its session id) and 1.3 (what its ticket holds). There is nothing to open,
 * and no key that would open it.
 */
static SSL_CTX *new_context(void)
{
    SSL_CTX *context = tls_openssl_new_context(TLS_server_method());
    if (!context)
        return NULL;
    SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
                                     SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_SERVER);
    SSL_CTX_sess_set_cache_size(context, TLS_AUTHORITY_SESSIONS_MAX);
    SSL_CTX_set_timeout(context, TLS_AUTHORITY_SESSION_S);
    SSL_CTX_set_num_tickets(context, 1);
    SSL_CTX_set_alpn_select_cb(context, tls_openssl_choose_protocol, NULL);
    return context;
}

struct tls_authority *tls_authority_new(const char *sandbox_name, int64_t now_s)
{
    if (tls_openssl_start() < 0)
        return NULL;
    struct tls_authority *a = calloc(1, sizeof(*a));
    if (!a)
        return NULL;
    list_init(&a->leaves);
    a->key = EVP_EC_gen("P-256");
    a->leaf_key = EVP_EC_gen("P-256");
    a->context = new_context();
    if (a->key && a->leaf_key && a->context)
        a->certificate = tls_certificate_new_authority(a->key, sandbox_name, now_s);
    if (a->certificate && i2d_X509(a->certificate, NULL) <= TLS_CERTIFICATE_MAX_BYTES)
        return a;
    tls_authority_free(a);
    return NULL;
}

void tls_authority_free(struct tls_authority *a)
{
    if (!a)
        return;
    while (!list_is_empty(&a->leaves))
        leaf_free(a, list_first(&a->leaves, struct leaf, in_use));
    X509_free(a->certificate);
    EVP_PKEY_free(a->leaf_key);
    EVP_PKEY_free(a->key);
    SSL_CTX_free(a->context);
    free(a);
}

int tls_authority_certificate(const struct tls_authority *a, uint8_t *ret, size_t max)
{
    int size = i2d_X509(a->certificate, NULL);
    if (size <= 0)
        return -ENOMEM;
    if ((size_t)size > max)
        return -ENOSPC;
    return i2d_X509(a->certificate, &ret);
}

uint64_t tls_authority_minted(const struct tls_authority *a)
{
    return a->minted;
}

static struct leaf *mint(struct tls_authority *a, const struct tls_identity *identity,
                         int64_t now_s)
{
    size_t size = strlen(identity->name) + 1;
    struct leaf *l = malloc(sizeof(*l) + size);
    if (!l)
        return NULL;
    l->certificate = tls_certificate_new_leaf(a->leaf_key, identity, a->certificate, a->key, now_s);
    if (!l->certificate) {
        free(l);
        return NULL;
    }
    l->made_s = now_s;
    memcpy(l->name, identity->name, size);
    a->minted++;
    return l;
}

/* Some hundred comparisons are nothing beside the handshake that follows. */
static struct leaf *find(struct tls_authority *a, const char *name)
{
    struct leaf *l;
    list_for_each(l, &a->leaves, in_use) if (!strcmp(l->name, name)) return l;
    return NULL;
}

/* A clock that went back is no reason to show what isn't valid yet. */
static bool is_fresh(const struct leaf *l, int64_t now_s)
{
    return now_s - l->made_s < TLS_LEAF_REFRESHED_AFTER_S &&
           l->made_s - now_s < TLS_LEAF_BACKDATED_S / 2;
}

static X509 *borrow_leaf(struct tls_authority *a, const struct tls_identity *identity,
                         int64_t now_s)
{
    struct leaf *l = find(a, identity->name);
    if (l && is_fresh(l, now_s)) {
        list_remove(&l->in_use);
        list_prepend(&a->leaves, &l->in_use);
        return l->certificate;
    }
    if (l)
        leaf_free(a, l);
    if (a->leaf_count == TLS_AUTHORITY_LEAVES_MAX)
        leaf_free(a, list_entry(a->leaves.prev, struct leaf, in_use));
    l = mint(a, identity, now_s);
    if (!l)
        return NULL;
    list_prepend(&a->leaves, &l->in_use);
    a->leaf_count++;
    return l->certificate;
}

/* Sessions are resumed in their own context only: a ticket is for the name it was given for. */
static bool set_session_context(SSL *ssl, const char *name)
{
    uint8_t digest[SSL_MAX_SID_CTX_LENGTH];
    unsigned size;
    return EVP_Digest(name, strlen(name), digest, &size, EVP_sha256(), NULL) &&
           SSL_set_session_id_context(ssl, digest, size);
}

SSL *tls_authority_new_server(struct tls_authority *a, const struct tls_identity *identity,
                              int64_t now_s)
{
    X509 *leaf = borrow_leaf(a, identity, now_s);
    SSL *ssl = leaf ? SSL_new(a->context) : NULL;
    if (ssl && SSL_use_certificate(ssl, leaf) == 1 && SSL_use_PrivateKey(ssl, a->leaf_key) == 1 &&
        set_session_context(ssl, identity->name)) {
        SSL_set_accept_state(ssl);
        return ssl;
    }
    SSL_free(ssl);
    return NULL;
}

uint32_t tls_authority_subject_hash(const struct tls_authority *a)
{
    return (uint32_t)X509_subject_name_hash(a->certificate);
}
