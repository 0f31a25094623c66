// SPDX-License-Identifier: Apache-2.0
/* What the files of this folder that stand on OpenSSL share. */
#pragma once

#include "lib/base/base.h"
#include "lib/tls/authority.h"
#include "lib/tls/credentials.h"
#include "lib/tls/roots.h"
#include "lib/tls/tickets.h"

#include <openssl/ssl.h>

/*
 * Makes OpenSSL ready, once in a process: without its configuration file, and with an allocator
 * that wipes what is freed. 0 or -ENOMEM. Before anything else that calls OpenSSL.
 */
int tls_openssl_start(void);

/* What both directions have in common. NULL: no memory. */
SSL_CTX *tls_openssl_new_context(const SSL_METHOD *method);

/* Of a session for another protocol than HTTP (ALPN): the name is borrowed. False: no memory. */
bool tls_openssl_set_protocol(SSL *ssl, const char *protocol);
const char *tls_openssl_protocol(const SSL *ssl); /* NULL: HTTP */

/*
 * For SSL_CTX_set_alpn_select_cb(3): what the session reads, or nothing. The list has been checked
 * by OpenSSL to consist of names with their lengths in front.
 */
int tls_openssl_choose_protocol(SSL *ssl, const uint8_t **ret, uint8_t *ret_size,
                                const uint8_t *list, unsigned size, void *unused);

/* Who a certificate is for. */
struct tls_identity {
    const char *name; /* borrowed */
    uint8_t address[16];
    size_t address_size; /* 0: it is a host name; 4 or 16 */
};

/* False when name is neither an address nor [A-Za-z0-9._-], of at most 253 bytes. */
bool tls_identity_parse(const char *name, struct tls_identity *ret);

/* Certificates as authority.h describes them; NULL when there is no memory. */
X509 *tls_certificate_new_authority(EVP_PKEY *key, const char *sandbox_name, int64_t now_s);
X509 *tls_certificate_new_leaf(EVP_PKEY *key, const struct tls_identity *identity, X509 *authority,
                               EVP_PKEY *authority_key, int64_t now_s);

/* A server that shows a leaf for identity; a client that trusts the roots. NULL: no memory. */
SSL *tls_authority_new_server(struct tls_authority *a, const struct tls_identity *identity,
                              int64_t now_s);
SSL *tls_credentials_new_server(const struct tls_credentials *c);
SSL *tls_roots_new_client(const struct tls_roots *r);

/* Called by OpenSSL when a server has given a ticket; whether session is ours now. */
int tls_session_take_ticket(SSL *ssl, SSL_SESSION *session);

/* Grows with tls_tickets_forget_all(). */
uint64_t tls_tickets_generation(const struct tls_tickets *t);

/* Takes session, unless it returns false: no memory. until_s: see tickets.h. */
bool tls_tickets_put(struct tls_tickets *t, const char *name, uint16_t port, SSL_SESSION *session,
                     int64_t until_s);

/* The latest for that place, a reference; NULL: none that counts at now_s. */
SSL_SESSION *tls_tickets_take(struct tls_tickets *t, const char *name, uint16_t port, int64_t now_s,
                              int64_t *ret_until_s);

void tls_tickets_forget(struct tls_tickets *t, const char *name, uint16_t port);
