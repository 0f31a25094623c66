// SPDX-License-Identifier: Apache-2.0
/*
 * What resolvers said of names that connections go to, for as long as they said that it holds, so
 * that not every connection to a name costs a question. Only what is dialled asks here, and judges
 * each address as if it had come this moment; what programs ask, resolvers are asked.
 *
 * Kept are addresses, not that there are none; not beyond KEPT_MAX_S; not after a connection to
 * them has failed, or another policy came into force.
 */
#pragma once

#include "gateway/gateway.h"
#include "lib/dns/dns.h"

#define KEPT_NAMES_MAX 64 /* the one that was kept first goes first */
#define KEPT_MAX_S     30

void kept_put(const char *name, const struct dns_addresses *found);

/* False: nothing that still holds. */
bool kept_find(const char *name, struct dns_addresses *ret);

void kept_forget(const char *name);
void kept_forget_all(void);
