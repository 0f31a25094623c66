// SPDX-License-Identifier: Apache-2.0
/*
 * What lets a connection to a server continue the session of an earlier one (RFC 8446, 2.2; RFC
 * 5077), without certificates and their verification: by holding the keys the server shows that it
 * is who was verified then. So each ticket carries how long that verification may count: at most
 * TLS_TICKET_MAX_S from the handshake in which it was made, whatever number of resumptions lies
 * between, and not beyond the end of a certificate in its chain.
 *
 * A ticket is for the name and the port that it came from. One of TLS 1.3 is used once (RFC 8446,
 * C.4). After a handshake with one has failed there are none for that place any more.
 *
 * Not kept: sessions of TLS 1.2 without an extended master secret (RFC 7627), and tickets that are
 * longer than any that servers are known to give.
 */
#pragma once

#include "lib/base/base.h"

#define TLS_TICKETS_MAX      32 /* the one that came first goes first */
#define TLS_TICKETS_HERE_MAX 4  /* of one name and port */
#define TLS_TICKET_MAX_S     600
#define TLS_TICKET_MAX_BYTES 4096

struct tls_tickets;

/* NULL: no memory. */
struct tls_tickets *tls_tickets_new(void);

/* t may be NULL. No session refers to it any more. */
void tls_tickets_free(struct tls_tickets *t);

/* There are none any more, and those that sessions of before are still given are not kept. */
void tls_tickets_forget_all(struct tls_tickets *t);
