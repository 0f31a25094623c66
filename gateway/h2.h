// SPDX-License-Identifier: Apache-2.0
/*
 * HTTP/2 (RFC 9113) through the gateway, where TLS ends: a program's connection on one side, one to
 * the server on the other, and each stream is an exchange (exchange.h). Bytes in, bytes out.
 *
 *   program --+-- stream: head as lines of HTTP/1.1 --> exchange --> head --+-- stream --> server
 *             +-- stream ...      content, trailer -->           --> content, trailer
 *
 * Frames, tables and windows are nghttp2's. What is here is the way between the two connections:
 *   - A head becomes lines of HTTP/1.1 first and is read by the reader of those, so that there is
 *     one judge and one set of limits for both versions. What goes out is made from what was read.
 *   - A window is opened again for what was sent on, not for what was taken: a reader that is slow
 *     holds back who writes, over both connections, and what waits of content in here is no more
 *     than the windows of one connection, whatever number of streams it has.
 *   - A stream ends for itself: one that is refused or reset leaves the others alone. What can't be
 *     laid to a stream (a flood, a frame that is none) ends the connection, with GOAWAY.
 *
 * Both sides speak HTTP/2, or this is not used: nothing is translated. No push, no CONNECT, no
 * change of protocol (RFC 8441), no priorities. Fields that were put in here are never indexed
 * (RFC 7541, 6.2.3), nor is any field of a head that has one which came so.
 */
#pragma once

#include "gateway/exchange.h"

#define H2_STREAMS_MAX       100 /* at once */
#define H2_GUEST_WINDOW      (64 * 1024)
#define H2_GUEST_WINDOW_ALL  (256 * 1024)
#define H2_SERVER_WINDOW     (256 * 1024)
#define H2_SERVER_WINDOW_ALL (1024 * 1024)

/* In a second, of either side: frames that bring nothing on (PING, SETTINGS, PRIORITY, empty DATA,
 * WINDOW_UPDATE beyond H2_UPDATES_PER_DATA, ...), and streams that are reset by who opened them, or
 * for what that did. */
#define H2_IDLE_FRAMES_MAX  500
#define H2_RESETS_MAX       100
#define H2_UPDATES_PER_DATA 4 /* for each frame DATA that was sent */

#define H2_CONTINUATIONS_MAX 8    /* of one head */
#define H2_TABLE_BYTES       4096 /* of each HPACK table (RFC 7541, 4.2) */

/*
 * Of heads, which tables make out of a few bytes: those of all requests under way, and as much of
 * the responses to them (or two of the longest, where limits.header_bytes allows such); of what
 * answers, what the guest has not read yet; and one that is sent, with what was filled in.
 */
#define H2_HEADS_BYTES        ((size_t)1024 * 1024)
#define H2_HEADS_UNREAD_BYTES ((size_t)64 * 1024)
#define H2_HEAD_SENT_BYTES    ((size_t)4 * 1024 * 1024)

struct h2;

/* setup: as of an exchange, for a server that was dialled and verified; wire and stream are not
 * looked at. NULL: no memory. */
struct h2 *h2_new(const struct exchange_setup *setup);
/* h may be NULL. Requests that have not ended are logged. */
void h2_free(struct h2 *h);

/* As those of an exchange. */
size_t h2_from_guest(struct h2 *h, const char *data, size_t size);
size_t h2_from_server(struct h2 *h, const char *data, size_t size);
void h2_guest_ended(struct h2 *h);
void h2_server_ended(struct h2 *h);
struct buf *h2_to_guest(struct h2 *h);
struct buf *h2_to_server(struct h2 *h);
enum exchange_end h2_guest_end(const struct h2 *h);
enum exchange_end h2_server_end(const struct h2 *h);
void h2_server_failed(struct h2 *h, const char *reason, const char *words);
size_t h2_held_bytes(const struct h2 *h);
void h2_let_go(struct h2 *h);
int64_t h2_deadline_ns(const struct h2 *h);
void h2_expire(struct h2 *h);
