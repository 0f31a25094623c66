// SPDX-License-Identifier: Apache-2.0
/*
 * What is said to a proxy before it passes bytes on: SOCKS5 (RFC 1928, RFC 1929), or CONNECT of
 * HTTP/1.1 (RFC 9110, 9.3.6). Nothing is read or written here. No byte is taken that comes behind
 * the proxy's answer: a server may speak first.
 */
#pragma once

#include "lib/policy/document.h"

enum tunnel_progress { TUNNEL_MORE, TUNNEL_DONE, TUNNEL_FAILED };

struct tunnel;

#define TUNNEL_PASSWORD_MAX_BYTES 255 /* RFC 1929, 2 */

/*
 * To an address and port by way of a proxy that is connected. password: text of size bytes, no
 * more than TUNNEL_PASSWORD_MAX_BYTES, copied; NULL: none. NULL: no memory.
 */
struct tunnel *tunnel_new(const struct policy_upstream *proxy, const char *password, size_t size,
                          const struct in6_addr *to, uint16_t port);

/* t may be NULL. Wipes what it holds. */
void tunnel_free(struct tunnel *t);

/* What is to be sent now; size 0: nothing. And that so much of it was. */
void tunnel_pending(const struct tunnel *t, const char **ret_data, size_t *ret_size);
void tunnel_sent(struct tunnel *t, size_t size);

/* How many bytes may be read now, at most; 0 once it is over. */
size_t tunnel_room(const struct tunnel *t);
enum tunnel_progress tunnel_take(struct tunnel *t, const char *data, size_t size);

/*
 * Why it failed. error: what connect(2) is to say, when the proxy was asked and could not connect;
 * 0: it is the proxy that is not as it should be, and words say how.
 */
int tunnel_error(const struct tunnel *t, const char **ret_words);
