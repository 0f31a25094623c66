// SPDX-License-Identifier: Apache-2.0
/*
 * What is looked into on its way between a program and its peer: TLS that ends here on both sides,
 * requests (exchange.h), or both; or who is logged in to a database (postgres.h). Bytes in, bytes
 * out; sockets are between.c's.
 *
 *   program  -- TLS --  requests, judged and changed  -- TLS --  peer
 *
 * With TLS the peer comes first: it has to be who the flow's name says before the program is shown
 * a certificate for that name. When it isn't, or can't be reached, the program gets a certificate
 * all the same, and under it an answer (502) that says why.
 */
#pragma once

#include "gateway/exchange.h"
#include "gateway/postgres.h"

struct relay_setup {
    const struct policy_flow *evidence; /* borrowed */
    const char *name;                   /* canonical; "": not known yet, or by address. Copied */
    bool is_tls;
    bool is_raw;                    /* of TLS: what is inside is not HTTP, and passes as it is */
    struct postgres *postgres;      /* NULL; or who logs in first. Its owner is the relay */
    const struct in6_addr *dialled; /* NULL: not yet */
    void *context;
    void (*log)(void *context, const struct exchange_record *r);
    void (*terminate)(void *context, const char *secret); /* as in exchange.h */
};

struct relay;

/* NULL: no memory. first: what the program has said so far; all of it is taken. */
struct relay *relay_new(const struct relay_setup *setup, const void *first, size_t size);
void relay_free(struct relay *r); /* r may be NULL */

/* How many bytes it would take from a side, and taking that many at most. */
size_t relay_guest_room(const struct relay *r);
size_t relay_peer_room(const struct relay *r);
void relay_from_guest(struct relay *r, const void *data, size_t size);
void relay_from_peer(struct relay *r, const void *data, size_t size);

/* No more will come from there. */
void relay_guest_ended(struct relay *r);
void relay_peer_ended(struct relay *r);

/* A peer is wanted: EXCHANGE_DIAL_* and relay_name(), as exchange.h has it. */
enum exchange_dial relay_wants_peer(const struct relay *r);
const char *relay_name(const struct relay *r);

/* It is there; or it can't be had: reason for the log, words for the program. */
void relay_connected(struct relay *r, const struct in6_addr *address);
void relay_failed(struct relay *r, const char *reason, const char *words);

/*
 * Goes on as far as it can. What is to be sent is appended, as long as less than limit bytes wait
 * there.
 */
void relay_run(struct relay *r, struct buf *to_guest, struct buf *to_peer, size_t limit);

/* The memory of what waits in it, but of a login, which is not for long. */
size_t relay_held_bytes(const struct relay *r);

/* What is to become of a side, once all is sent. */
enum exchange_end relay_guest_end(const struct relay *r);
enum exchange_end relay_peer_end(const struct relay *r);

/* When to call relay_expire(), by gateway_now_ns(); INT64_MAX: never. */
int64_t relay_deadline_ns(const struct relay *r);
void relay_expire(struct relay *r);

/* What went wrong with the peer's TLS, for the log; "": nothing. */
const char *relay_trouble(const struct relay *r);
