// SPDX-License-Identifier: Apache-2.0
/*
 * The beginning of a connection to a PostgreSQL server whose password the program does not have:
 * both sides are brought so far that the server is ready for queries, then they are given up and
 * bytes pass.
 *
 *   guest                     gateway                        server
 *   [GSSENCRequest] --------> N
 *   [SSLRequest] -----------> S, TLS with the sandbox's authority
 *   StartupMessage ---------> user and database judged
 *                             SSLRequest ------------------> S, TLS, verified
 *                             StartupMessage --------------> asks for a password
 *                             ... is told it --------------> AuthenticationOk
 *   AuthenticationOk <-------
 *   CancelRequest ----------> likewise -------------------->
 *
 * Nothing is taken over from one step into the next: a byte that came before TLS began, or before
 * it was asked for, ends the connection (CVE-2021-23214, CVE-2021-23222).
 */
#pragma once

#include "gateway/exchange.h"
#include "lib/tls/session.h"

struct postgres;

/* name: by which the server is dialled and verified; copied. log as in struct exchange_setup. NULL:
 * no memory. */
struct postgres *postgres_new(const char *name, uint16_t port, void *context,
                              void (*log)(void *context, const struct exchange_record *r));
void postgres_free(struct postgres *p); /* p may be NULL */

/* How many bytes it would take from a side, and taking that many at most. */
size_t postgres_guest_room(const struct postgres *p);
size_t postgres_server_room(const struct postgres *p);
void postgres_from_guest(struct postgres *p, const void *data, size_t size);
void postgres_from_server(struct postgres *p, const void *data, size_t size);

/* No more will come from there. */
void postgres_guest_ended(struct postgres *p);
void postgres_server_ended(struct postgres *p);

/* The program has said what it wants, and there is no server yet. */
bool postgres_wants_server(const struct postgres *p);
void postgres_connected(struct postgres *p);
/* It can't be had, or is gone: reason for the log, words for the program. */
void postgres_failed(struct postgres *p, const char *reason, const char *words);

/* Goes on as far as it can, and appends what is to be sent. */
void postgres_run(struct postgres *p, struct buf *to_guest, struct buf *to_server);

enum postgres_progress {
    POSTGRES_GOES_ON,
    POSTGRES_IS_OPEN,   /* see postgres_take_side() */
    POSTGRES_IS_OVER,   /* the program was told why; to be closed */
    POSTGRES_IS_BROKEN, /* to be reset */
};
enum postgres_progress postgres_progress(const struct postgres *p);

/* Once it is open: the session (NULL: no TLS) and what was read and not looked at, both the
 * caller's now. Whether no more will come from there. */
bool postgres_take_guest(struct postgres *p, struct tls_session **ret_tls, struct buf *ret_plain);
bool postgres_take_server(struct postgres *p, struct tls_session **ret_tls, struct buf *ret_plain);

/* It is open for a CancelRequest, behind which a program has nothing to say: nobody is logged in.
 */
bool postgres_is_cancel(const struct postgres *p);

/* When to call postgres_expire(), by gateway_now_ns(). */
int64_t postgres_deadline_ns(const struct postgres *p);
void postgres_expire(struct postgres *p);
