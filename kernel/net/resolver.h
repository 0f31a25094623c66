// SPDX-License-Identifier: Apache-2.0
/*
 * The name server of a sandbox, at 127.0.0.53 port 53: RFC 1035. It answers at once, and knows two
 * names: localhost (and what ends in .localhost, RFC 6761) and the sandbox's hostname, both with
 * the loopback addresses. Without a gateway all other names do not exist, so that a look-up fails
 * at once instead of hanging; with one they are its business (kernel/net/gateway.h).
 *
 * Queries are a guest's bytes. Only a plain query for one name, without compression, is answered;
 * other messages get the error that RFC 1035 has for them (from the gateway, which writes it down),
 * and what is no query is dropped.
 */
#pragma once

#include "kernel/net/message.h"

#define RESOLVER_QUERY_MAX  4096 /* larger ones are dropped */
#define RESOLVER_ANSWER_MAX 512  /* of our own */
#define RESOLVER_NAME_MAX   255  /* RFC 1035, 2.3.4: with its length bytes */

/*
 * The answer to a query: its size, or 0 when there is none to give. *ret_is_foreign: it asks for a
 * name that is not the sandbox's own, or is malformed, and the answer (NXDOMAIN, or the error) that
 * of a sandbox without a gateway.
 */
size_t resolver_answer(const uint8_t *query, size_t size, uint8_t answer[RESOLVER_ANSWER_MAX],
                       bool *ret_is_foreign);

/* The name that a query asks for, with dots and of any other bytes. False: it is malformed. */
bool resolver_get_name(const uint8_t *query, size_t size, char ret[RESOLVER_NAME_MAX + 1]);

/* Makes of the answer to a foreign query one that says SERVFAIL; its size stays. */
void resolver_fail(uint8_t *answer);

/* ---- resolver_ask.c ---- */

struct socket;

/* Who asked: the answer goes back from destination to source. */
struct resolver_ends {
    struct inet_endpoint source, destination;
};

typedef void (*resolver_give_fn)(struct socket *s, const struct resolver_ends *ends,
                                 const uint8_t *answer, size_t size);

/*
 * Answers a query that came by way of s: give is called at once, or later if s is not dead by then,
 * or never, when there is nothing to say. What the gateway can't be asked is SERVFAIL.
 */
void resolver_ask(struct socket *s, const struct resolver_ends *ends, const uint8_t *query,
                  size_t size, resolver_give_fn give);
