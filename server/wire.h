// SPDX-License-Identifier: Apache-2.0
/*
 * Bytes between a connection and its client, with TLS or without. Parts of connection.c: nothing
 * here knows of requests.
 */
#pragma once

#include "server/connection_parts.h"

/*
 * HTTP that has come, at most size bytes, of which there are WIRE_READ_MIN or more. 0: the client
 * sends no more; -EAGAIN: nothing yet; or negative errno: nothing comes or goes any more.
 */
#define WIRE_READ_MIN 65536
ssize_t wire_read(struct connection *c, char *to, size_t size);

/* Sends what waits in c->out, as far as it goes. 0, -EAGAIN, or negative errno as above. */
int wire_flush(struct connection *c);

/* Tells the client that nothing more is sent. */
void wire_end(struct connection *c);

/* Whether the client has said, within TLS, that it sends no more; to be asked after a wire_read().
 */
bool wire_has_ended(const struct connection *c);

/* Whether TLS with it has broken off. */
bool wire_has_failed(const struct connection *c);

/* Whether it is not yet known who they are to each other. */
bool wire_is_shaking_hands(const struct connection *c);
