// SPDX-License-Identifier: Apache-2.0
/*
 * Names: look-ups by way of lib/resolver, which asks the policy's resolvers or the machine's own,
 * and the memory of which names this sandbox was told for which address.
 */
#pragma once

#include "gateway/gateway.h"
#include "lib/dns/dns.h"
#include "lib/resolver/resolver.h"

#define NAMES_REMEMBERED_MAX 4096 /* pairs of name and address: the one not used longest goes */

/* Before the seal: reads resolv.conf. 0, or -errno with *ret_why. */
int names_start(const char **ret_why);

/* Look-ups under way are done, and find nothing. */
void names_end(void);

struct lookup;

/* found: NULL when no resolver answered. Borrowed. */
typedef void (*lookup_done_fn)(void *context, const struct dns_addresses *found);

#define NAMES_V4   1u
#define NAMES_V6   2u
#define NAMES_KEEP 4u

/*
 * Looks up addresses of a canonical name: of the families wanted. NAMES_KEEP among them: for kept.h
 * too, when all of them were answered. When those of `first` have come,
 * it is waited no longer than a moment for the others. done is called once, maybe at once, unless
 * the look-up is cancelled. NULL: it was called already.
 */
struct lookup *names_look_up(const char *name, unsigned wanted, unsigned first, lookup_done_fn done,
                             void *context);
void names_cancel(struct lookup *l);

/* Whether the policy gives the name its addresses (dns.hosts): then nobody is asked about it. */
bool names_is_pinned(const char *name);

/* reply: an upstream's message, borrowed; NULL: no resolver answered. */
typedef void (*names_reply_fn)(void *context, const uint8_t *reply, size_t size);

/* Asks for records of any type of a canonical name. done is called once, maybe at once. */
void names_ask(const char *name, uint16_t type, names_reply_fn done, void *context);

/* The sandbox was told that name has this address. */
void names_remember(const char *name, const struct in6_addr *address);

/* The names it was told for an address, the latest last. The strings are valid until the next
 * names_remember(). The count. */
size_t names_of(const struct in6_addr *address, const char *ret[POLICY_RESOLVED_MAX]);

/* For the loop: what to wait for, how long at most (-1: for ever), and what to do then. */
size_t names_fill_poll(struct pollfd p[RESOLVER_SOCKETS_MAX]);
int names_wait_ms(void);
void names_step(const struct pollfd *p, size_t count);
