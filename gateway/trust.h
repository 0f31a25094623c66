// SPDX-License-Identifier: Apache-2.0
/*
 * Who trusts whom where TLS ends in the gateway: the authority that the sandbox trusts, and those
 * by which servers are trusted.
 */
#pragma once

#include "lib/tls/authority.h"
#include "lib/tls/roots.h"

/* Before the seal, once the policy is read: makes and reads what it needs. Says why, and ends. */
void trust_start(void);

struct tls_authority *trust_authority(void);
const struct tls_roots *trust_roots(void); /* NULL: this machine has none */

/* Seconds since 1970, as certificates have it. */
int64_t trust_now_s(void);
