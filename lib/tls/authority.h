// SPDX-License-Identifier: Apache-2.0
/*
 * The certificate authority of one sandbox, for connections whose TLS ends in the gateway: it signs
 * for whatever name is asked of it. Its key is made with it, never leaves the process, and is wiped
 * with it, so that nobody but this sandbox has a reason to trust its certificate.
 *
 * Certificates for servers (leaves) are made when tls_session_accept() asks for one, never before
 * and never because of bytes from a peer: judge first, then accept. All leaves share one key. The
 * last TLS_AUTHORITY_LEAVES_MAX are kept, and made anew after half of their life.
 *
 * Profile, as the strictest of the usual clients want it (RFC 5280):
 *
 *   authority  P-256, SHA-256, CN with the sandbox's name, two years, from 48 h before now;
 *              basicConstraints critical CA:TRUE pathlen:0, keyUsage critical keyCertSign cRLSign,
 *              subject key identifier
 *   leaf       P-256, random serial of 128 bits, 30 days, from 24 h before now; subjectAltName
 *              exactly the name (dNSName, or iPAddress for an address), basicConstraints CA:FALSE,
 *              keyUsage critical digitalSignature, extendedKeyUsage serverAuth, subject and
 *              authority key identifier
 *
 * They begin in the past since a sandbox may be thawed with a clock that is behind.
 *
 * What OpenSSL asks of the system: see session.h.
 */
#pragma once

#include "lib/base/base.h"

#define TLS_CERTIFICATE_MAX_BYTES  1024 /* of the authority's certificate, DER */
#define TLS_AUTHORITY_LEAVES_MAX   256
#define TLS_AUTHORITY_SESSIONS_MAX 256 /* that can be resumed: the oldest goes first */
#define TLS_AUTHORITY_SESSION_S    3600
#define TLS_AUTHORITY_DAYS         730
#define TLS_AUTHORITY_BACKDATED_S  (48 * 3600)
#define TLS_LEAF_DAYS              30
#define TLS_LEAF_BACKDATED_S       (24 * 3600)
#define TLS_LEAF_REFRESHED_AFTER_S (TLS_LEAF_DAYS * 24 * 3600 / 2)

struct tls_authority;

/*
 * sandbox_name goes into its certificate's common name, cut to what fits. now_s: seconds since
 * 1970. NULL when there is no memory, or no random numbers.
 */
struct tls_authority *tls_authority_new(const char *sandbox_name, int64_t now_s);

/* a may be NULL. Sessions that came from it stay valid. */
void tls_authority_free(struct tls_authority *a);

/* Copies its certificate in DER. Returns the size, or -ENOSPC when max is less than that. */
int tls_authority_certificate(const struct tls_authority *a, uint8_t *ret, size_t max);

/* X509_subject_name_hash(3) of it: the name of its link in a folder of certificates. */
uint32_t tls_authority_subject_hash(const struct tls_authority *a);

/* How many leaves were made so far. */
uint64_t tls_authority_minted(const struct tls_authority *a);
