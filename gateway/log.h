// SPDX-License-Identifier: Apache-2.0
/*
 * The decision log, one JSON object a line, on GATEWAY_LOG_FD when that is open, and to the starter
 * (control.h), who keeps the last ones; and one line for people about each thing that was denied,
 * on standard error.
 *
 * Text that comes from the guest is made safe to show and is cut. Fields: man glovebox-run.
 */
#pragma once

#include "gateway/exchange.h"
#include "lib/dns/dns.h"

#define LOG_NOTICES_MAX 32 /* lines for people; then one that says so */

/* Before the seal. */
void log_start(void);

/* Of an event "ssh". */
struct log_login {
    const char *secret, *user; /* user: a guest's bytes */
};

/* What a line is about; NULL, 0 and a negative error: not known, left out. */
struct log_entry {
    enum policy_protocol protocol; /* of a flow */
    const char *event;             /* "dns", "connect", "request", "close", "ssh" */
    uint64_t flow;
    const char *name; /* canonical, or a guest's bytes */
    const char *dns_type;
    const struct in6_addr *address; /* that the guest asked for */
    uint16_t port;
    int pid;
    const char *program;
    bool is_decision, is_allowed, would_deny;
    const char *reason;
    const char *words; /* of a denial: what the guest is told, if it can be */
    const struct in6_addr *dialled;
    const struct dns_addresses *resolved;
    int error; /* positive errno of the dial */
    bool has_counts;
    uint64_t guest_tx, guest_rx;
    const struct exchange_record *request;
    const struct log_login *login;
    int64_t since_ns; /* for "ms"; 0: none */
};

/*
 * One line. Denials beyond a hundred in a second are only counted, and a line of their own tells
 * how many were ("folded"). What GATEWAY_LOG_FD does not take ends the process, unless the policy
 * says "drop"; what the starter has no room for is told later as a number ("lost").
 */
void log_write(const struct log_entry *e);

/* A new policy was put in force, or, with the reason why not, refused. */
void log_update(const char *refusal);

/* Writes what was counted last. */
void log_end(void);

/* words: what the policy says to the guest. Each (what, port) is told once. */
void log_denial(const struct log_entry *e, const char *words);
