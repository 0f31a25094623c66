// SPDX-License-Identifier: Apache-2.0
/*
 * The certificate of a server, given by whoever runs it, and its key: for connections from clients
 * that are nobody's sandbox. No session is resumed: there is no key that would open one later.
 */
#pragma once

#include "lib/base/base.h"

#define TLS_CREDENTIALS_MAX_BYTES 65536 /* of each of the two texts */
#define TLS_CREDENTIALS_WHY_MAX   160

struct tls_credentials;
struct tls_session;

/* Before anything else of this process calls OpenSSL. 0 or -ENOMEM. */
int tls_credentials_start(void);

/*
 * chain: PEM, the server's certificate first, then those of the authorities between it and one that
 * clients trust. key: PEM, without a passphrase. Both may have other text around. Keys that are too
 * short to be trusted by clients (RSA below 2048 bits) are refused.
 *
 * 0 and *ret; or -EINVAL or -ENOMEM with why, in words.
 */
int tls_credentials_read(const char *chain, size_t chain_size, const char *key, size_t key_size,
                         struct tls_credentials **ret, char why[static TLS_CREDENTIALS_WHY_MAX]);

/* c may be NULL. Sessions that came from it stay valid. */
void tls_credentials_free(struct tls_credentials *c);

/* When the certificate ends, in seconds since 1970. */
int64_t tls_credentials_end_s(const struct tls_credentials *c);

/* A connection's server (session.h) with them. ALPN is "http/1.1". NULL: no memory. */
struct tls_session *tls_session_accept_with(struct tls_credentials *c);
