// SPDX-License-Identifier: Apache-2.0
/*
 * What a handler with is_relay has besides request.h: it hands a request on to another server, and
 * that one's answer back, while both may still be under way.
 *
 *   find -> take()... -> ready()                     the body, to its end, with trailers
 *           relay_interim()...                       heads 1xx, as they come
 *           relay_begin(), relay_send()..., relay_end()
 *           relay_tunnel(), then take() and relay_send() each way, until
 *               ended()                              the client has ended its way
 *               relay_end()                          the other server has ended its own
 *               relay_close()                        it takes nothing either
 *
 * A request that is answered otherwise meanwhile (request_is_answered(), as after a body that is
 * wrong) takes none of this.
 */
#pragma once

#include "lib/http/write.h"
#include "server/request.h"

/* A head before the answer's. */
void relay_interim(struct request *r, const struct http_response_head *h);

/* The answer's, whose framing holds for what is sent. False: it can't be written, and nothing was.
 */
bool relay_begin(struct request *r, const struct http_response_head *h);

/* 101: there is no HTTP any more, and no limit of time. Likewise. */
bool relay_tunnel(struct request *r, const struct http_response_head *h);

/* As request_send(). */
bool relay_send(struct request *r, const void *data, size_t size);

void relay_end(struct request *r, const struct http_field *trailers, size_t count);
void relay_close(struct request *r);

/* What was sent is not all, and that is to be seen: the connection ends before the answer does. */
void relay_break(struct request *r);

/* Of the body, in ready(). */
const struct http_field *relay_trailers(const struct request *r, size_t *ret_count);

/* Whether TLS ends here. */
bool relay_is_secure(const struct request *r);

/* The address of who asks; "" when it isn't known any more. */
#define RELAY_ADDRESS_MAX 64
void relay_client(const struct request *r, char out[RELAY_ADDRESS_MAX]);
