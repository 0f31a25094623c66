// SPDX-License-Identifier: Apache-2.0
/*
 * Who trusts whom where TLS ends in the gateway: the authority that the sandbox trusts, and those
 * by which servers are trusted.
 */
#pragma once

#include "lib/tls/authority.h"
#include "lib/tls/roots.h"
#include "lib/tls/tickets.h"

/* Before the seal, once the policy is read: makes and reads what it needs. Says why, and ends. */
void trust_start(void);

struct tls_authority *trust_authority(void);
const struct tls_roots *trust_roots(void); /* NULL: this machine has none */

/* Of sessions with servers that were verified by the policy in force. */
struct tls_tickets *trust_tickets(void);

/* Another policy is in force: no session of before is continued. */
void trust_begin_anew(void);

/* Seconds since 1970, as certificates have it. */
int64_t trust_now_s(void);
