// SPDX-License-Identifier: Apache-2.0
/*
 * Questions to name servers, by way of c-ares: without waiting, in the loop of whoever asks. No
 * file is looked into for a name, and no name is completed or replaced: what is asked is what was
 * given. Replies are a stranger's and handed on as they came; lib/dns takes them apart.
 */
#pragma once

#include "lib/base/base.h"

#include <netinet/in.h>
#include <poll.h>

#define RESOLVER_SERVERS_MAX 8
#define RESOLVER_SOCKETS_MAX 16 /* ARES_GETSOCK_MAXNUM */

struct resolver;

/*
 * servers: NULL, or count (further ones than the maximum are left out) that are asked instead of
 * the machine's own, which are read from resolv.conf. tries: of each question at each server.
 * 0, or -errno with *ret_why, static.
 */
int resolver_new(struct resolver **ret, const struct in6_addr *servers, size_t count, int tries,
                 const char **ret_why);

/* Open questions end with nothing. NULL is fine. */
void resolver_free(struct resolver *r);

/*
 * A question that is open. It belongs to whoever asks and stays where it is until done was called,
 * which happens once, maybe in resolver_ask(). reply: a message of a server, borrowed; NULL: none
 * answered.
 */
struct resolver_question {
    void (*done)(struct resolver_question *q, const uint8_t *reply, size_t size);
};

/* Asks for records of a type and the class IN. */
void resolver_ask(struct resolver *r, const char *name, uint16_t type, struct resolver_question *q);

/* All open questions end with nothing. c-ares has no way to forget a single one. */
void resolver_cancel(struct resolver *r);

/* For the loop: what to wait for, how long at most (-1: for ever), and what to do then. */
size_t resolver_fill_poll(const struct resolver *r, struct pollfd p[RESOLVER_SOCKETS_MAX]);
int resolver_wait_ms(const struct resolver *r);
void resolver_step(struct resolver *r, const struct pollfd *p, size_t count);
