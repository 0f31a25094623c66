// SPDX-License-Identifier: Apache-2.0
/*
 * The ports of a sandbox on which its programs listen, for clients outside: HTTP, and whatever it
 * changes to (WebSocket), to and fro in pieces. Each request has a connection of its own to the
 * program, which ends with it, with the sandbox, and with the key that made the sandbox.
 *
 *   ports.c       who may ask, and what is answered when nobody can
 *   port_relay.c  one request and its answer
 *   port_link.c   connections
 *   port_head.c   what is handed on of a head
 *
 * The program is a stranger to the client, and the client one to the program. Who may ask: of a
 * sandbox whose ports are public, whoever knows its id; of others, who has its traffic token.
 */
#pragma once

#include "server/boxes.h"
#include "server/request.h"
#include "server/route.h"

/* The handler of a request to a port of b; or NULL: it is answered. */
const struct handler *ports_find(struct request *r, struct box *b, const struct route *route);

/* Whether who asks may reach ports of b; else it is answered with 403. */
bool ports_let_in(struct request *r, const struct box *b);

/* {"sandboxId":...,"message":...,"port":...,"code":STATUS}, as E2B's gateway has it; port 0: none.
 */
void ports_fail(struct request *r, unsigned status, const char *id, uint16_t port,
                const char *message);

/* port_relay.c: begins to hand r on. NULL: it is answered. */
const struct handler *port_relay_begin(struct request *r, struct box *b, const struct route *route);
