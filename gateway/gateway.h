// SPDX-License-Identifier: Apache-2.0
/*
 * The gateway of one sandbox: the only way out of it. A process with one thread and one loop, that
 * the sandbox's kernel asks over the channel of lib/base/gateway.h.
 *
 *   channel.c    messages in and out                    seal.c   what this process gives up
 *   questions.c  a DNS query: judged, looked up, answered
 *   flows.c      a connect(2): judged, counted, closed; flow.h says how one goes
 *   dial.c       to the addresses of a name, each of them judged
 *   between*.c   what passes, until it is known to whom it goes; flight.c: its first bytes
 *   relay.c      what is looked into; postgres.c: who is logged in to a database first
 *   watch.c      what the loop waits for
 *   route.c      whether IPv6 leads anywhere
 *   names.c      look-ups; which names this sandbox was given for which address
 *   ssh_agent.c  signatures by keys that programs don't have
 *   log.c        the decision log, and lines for people
 *   control.c    decisions out to the starter, a new policy in
 *
 * What was allowed by name is dialled where our own look-up of that name leads, what was allowed by
 * address goes to exactly that address; every address is judged just before it is dialled. Judging
 * is lib/policy.
 */
#pragma once

#include "lib/base/gateway.h"
#include "lib/policy/document.h"
#include "lib/policy/policy.h"

struct secrets;

struct gateway {
    struct policy *policy; /* replaced by control.c */
    uint64_t generation;   /* of it, from 1 */
    const struct policy_document *document;
    struct secrets *secrets; /* NULL: there are none */
    struct policy_operator operator;
    const char *sandbox; /* its name, for the log */
};

extern struct gateway gateway;

int64_t gateway_now_ns(void); /* CLOCK_MONOTONIC */

/* So many in a period: of what a guest can do as often as it likes. */
struct rate {
    int64_t since_ns;
    uint64_t count;
};

/* Counts one more; false when it is over most in this second. */
bool rate_take(struct rate *r, uint64_t most);

/* One line to the person who started the sandbox: "egress: ...". */
void gateway_say(const char *format, ...) _printf_(1, 2);

/* Says why and ends the process, and with it every flow. */
_noreturn_ void gateway_fail(const char *format, ...) _printf_(1, 2);
