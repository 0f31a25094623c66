// SPDX-License-Identifier: Apache-2.0
/*
 * The authorities that servers are trusted by: the machine's bundle, and what a policy adds. Read
 * once, before the process locks itself up; no file is opened afterwards.
 *
 * Held as DER with an index by subject. An authority is parsed when the first server's
 * certificate names it, and stays parsed, so memory follows the authorities in use.
 *
 * What is in a bundle and no certificate is skipped; a bundle without a single one is an error.
 */
#pragma once

#include "lib/base/base.h"

#define TLS_BUNDLE_MAX_BYTES (4u << 20) /* Debian's has 0.2 MB */
#define TLS_ROOTS_MAX        4096       /* certificates */

struct tls_roots;

/*
 * file: a PEM bundle, such as $SSL_CERT_FILE of whoever started the process; NULL for the first
 * that is there of this machine's:
 *   /etc/ssl/certs/ca-certificates.crt                       Debian, Ubuntu, Alpine, Arch
 *   /etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem        RHEL, Fedora
 *   /etc/pki/tls/certs/ca-bundle.crt                         the same, older
 *   /etc/ssl/ca-bundle.pem                                   SUSE
 *   /etc/ssl/cert.pem                                        others
 * extra: PEM texts, each of at least one certificate.
 *
 * 0; or -ENOENT (no bundle), -E2BIG, -EINVAL (no certificate in it), -ENOMEM, or what open(2) or
 * read(2) said. Then *ret_what names the matter, for a message "WHAT: strerror": file, or static
 * words ("the certificates in tls.extra_ca_pem").
 */
int tls_roots_load(const char *file, const char *const *extra, size_t extra_count,
                   struct tls_roots **ret, const char **ret_what);

/* r may be NULL. Sessions that came from it stay valid. */
void tls_roots_free(struct tls_roots *r);

/* How many certificates there are. */
size_t tls_roots_count(const struct tls_roots *r);
