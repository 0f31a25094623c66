// SPDX-License-Identifier: Apache-2.0
/*
 * What the tests of TLS sessions share: certificates of any kind, and another end that is OpenSSL
 * itself with memory around it. What fails here ends the case.
 */
#pragma once

#include "lib/tls/session.h"
#include "tests/harness/harness.h"

#include <openssl/ssl.h>

#define NOW_S 1800000000LL /* whatever the machine's clock says */
#define DAY_S (24 * 3600LL)
#define WHOLE SIZE_MAX

struct credentials {
    X509 *certificate;
    EVP_PKEY *key;
};

struct certificate_plan {
    const char *common_name;
    const char *names;                /* "DNS:a.test,IP:192.0.2.1"; NULL: no subjectAltName */
    const char *usage;                /* extendedKeyUsage; NULL: none */
    const struct credentials *issuer; /* NULL: itself */
    bool is_authority;
    int64_t begin_s, end_s; /* 0: a day before, after NOW_S */
};

void credentials_init(struct credentials *c, const struct certificate_plan *plan);
void credentials_done(struct credentials *c);

/* PEM; free it. */
char *pem_of(const X509 *certificate);

/* Writes what is in texts into a file of the working directory, and loads it. */
struct tls_roots *roots_of(const X509 *certificate);

/* A context for the other end. version: TLS1_2_VERSION, or TLS1_3_VERSION, and no other. */
SSL_CTX *client_context(int version, struct tls_authority *trusted);
SSL_CTX *server_context(int version, const struct credentials *c);

struct peer {
    SSL *ssl;
    BIO *in, *out; /* of ssl */
};

void peer_init(struct peer *p, SSL_CTX *context, bool is_server, const char *name);
void peer_done(struct peer *p);

/* Carries what is pending, in pieces; returns how much. */
size_t carry_to_peer(struct tls_session *s, struct peer *p);
size_t carry_to_session(struct peer *p, struct tls_session *s, size_t piece);

/* Both shake hands until neither has anything to say. Returns whether the peer is done. */
bool shake(struct tls_session *s, struct peer *p, size_t piece);

/* The peer says it, and the session reads just that; and the other way. */
void expect_heard(struct peer *p, struct tls_session *s, const char *text, size_t piece);
void expect_said(struct tls_session *s, struct peer *p, const char *text);

/* The alert that the peer has received; -1 when its last error is another matter. */
int alert_received(void);
