// SPDX-License-Identifier: Apache-2.0
#include "gateway/h2.h"

#include "gateway/h2_parts.h"
#include "lib/secret/secrets.h"

#include <stdio.h>

#define OUT_MAX_BYTES (EXCHANGE_OUT_BYTES + 64 * 1024) /* one frame may go past it */

static bool side_start(struct h2 *h, struct h2_side *side, bool is_guest)
{
    *side = (struct h2_side){.h2 = h, .is_guest = is_guest, .out = BUF_INIT(OUT_MAX_BYTES)};
    return h2_session_start(side) == 0;
}

static void side_done(struct h2_side *side)
{
    nghttp2_session_del(side->session);
    h2_head_done(&side->head);
    secret_wipe_buf(&side->out);
}

static bool is_over(const struct h2 *h)
{
    return h->guest_end >= EXCHANGE_CLOSE;
}

static void go_on(struct h2 *h);

struct h2 *h2_new(const struct exchange_setup *setup)
{
    struct h2 *h = calloc(1, sizeof(*h));
    if (!h)
        return NULL;
    h->setup = *setup;
    h->active_ns = gateway_now_ns();
    list_init(&h->streams);
    if (!side_start(h, &h->guest, true) || !side_start(h, &h->server, false)) {
        h2_free(h);
        return NULL;
    }
    go_on(h);
    return h;
}

static void free_streams(struct h2 *h)
{
    struct h2_stream *s;
    while ((s = list_first(&h->streams, struct h2_stream, link)))
        h2_stream_free(s);
}

void h2_free(struct h2 *h)
{
    if (!h)
        return;
    free_streams(h);
    side_done(&h->guest);
    side_done(&h->server);
    free(h);
}

void h2_note(struct h2 *h, const char *reason)
{
    const struct exchange_record r = {.reason = reason};
    if (h->setup.log)
        h->setup.log(h->setup.context, &r);
}

/* ---- going on ---- */

static void reap(struct h2 *h)
{
    struct list *next;
    for (struct list *at = h->streams.next; at != &h->streams; at = next) {
        struct h2_stream *s = list_entry(at, struct h2_stream, link);
        next = at->next;
        if (h2_stream_is_over(s))
            h2_stream_free(s);
    }
}

/* Until nothing moves any more: what was sent makes room for what waits. */
static void move(struct h2 *h)
{
    struct h2_stream *s;
    bool has_moved = true;
    while (has_moved) {
        list_for_each(s, &h->streams, link) h2_stream_settle(s);
        has_moved = !h->server.has_ended && h2_session_send(&h->server, EXCHANGE_OUT_BYTES);
        has_moved |= h2_session_send(&h->guest, EXCHANGE_OUT_BYTES);
        reap(h);
    }
}

static bool is_done(const struct h2_side *side)
{
    return !nghttp2_session_want_read(side->session) && !nghttp2_session_want_write(side->session);
}

static void close_all(struct h2 *h, enum exchange_end guest, enum exchange_end server)
{
    h->guest_end = MAX(h->guest_end, guest);
    h->server_end = MAX(h->server_end, server);
    free_streams(h);
}

/* The connection to the program is over: the server is told so, too. */
static void end(struct h2 *h)
{
    if (h->guest.out.failed || h->server.out.failed) {
        close_all(h, EXCHANGE_RESET, EXCHANGE_RESET);
        return;
    }
    if (!h->server.is_ending && !h->server.has_ended)
        h2_session_refuse(&h->server, NGHTTP2_NO_ERROR);
    if (!h->server.has_ended)
        h2_session_send(&h->server, EXCHANGE_OUT_BYTES);
    close_all(h, EXCHANGE_CLOSE, EXCHANGE_CLOSE);
}

/* No request is taken any more on this connection; those under way go on. */
static void say_goaway(struct h2 *h)
{
    if (h->guest.is_ending)
        return;
    h->guest.is_ending = true;
    nghttp2_submit_goaway(h->guest.session, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(h->guest.session),
                          NGHTTP2_NO_ERROR, NULL, 0);
}

static void lose_server(struct h2 *h, const char *reason, const char *words)
{
    struct h2_stream *s;
    h->server.has_ended = true;
    h->server_end = h->server_end == EXCHANGE_RESET ? EXCHANGE_RESET : EXCHANGE_CLOSE;
    list_for_each(s, &h->streams, link) h2_stream_lose(s, reason, words);
    say_goaway(h);
}

static void go_on(struct h2 *h)
{
    if (is_over(h))
        return;
    move(h);
    bool is_broken = h->guest.out.failed || h->server.out.failed;
    if (!is_broken && !h->server.has_ended && h->has_heard &&
        !nghttp2_session_check_request_allowed(h->server.session)) {
        say_goaway(h);
        if (is_done(&h->server))
            lose_server(h, "upstream", "it ended the connection");
        move(h);
    }
    if (is_broken || is_done(&h->guest) || (h->guest.has_ended && list_is_empty(&h->streams)))
        end(h);
}

/* ---- bytes ---- */

/* What nghttp2 can't go on after is told as what it is most often. */
static void session_failed(struct h2 *h, struct h2_side *side, ssize_t error)
{
    if (side->is_guest) {
        h2_note(h, error == NGHTTP2_ERR_FLOODED ? "limit:http2_flood" : "malformed");
        h2_session_refuse(side, error == NGHTTP2_ERR_FLOODED ? NGHTTP2_ENHANCE_YOUR_CALM
                                                             : NGHTTP2_PROTOCOL_ERROR);
    } else {
        lose_server(h, "upstream", "what it says is no HTTP/2");
    }
}

/* Who does not read what is said is not read either; nor is a server, for a guest that does not. */
static bool is_heard(const struct h2 *h, const struct h2_side *side)
{
    return side->out.size < EXCHANGE_OUT_BYTES &&
           (side->is_guest || h->guest.out.size < EXCHANGE_OUT_BYTES);
}

static size_t take(struct h2 *h, struct h2_side *side, const char *data, size_t size)
{
    size_t taken = 0;
    while (!is_over(h) && !side->has_ended && is_heard(h, side) &&
           (taken < size || side->is_paused)) {
        const char *from = taken < size ? data + taken : "";
        side->is_paused = false;
        ssize_t n = nghttp2_session_mem_recv(side->session, (const uint8_t *)from, size - taken);
        if (n < 0)
            session_failed(h, side, n);
        taken = n >= 0 && side->is_paused ? taken + (size_t)n : size;
        go_on(h);
    }
    go_on(h);
    return is_over(h) || side->has_ended ? size : taken;
}

size_t h2_from_guest(struct h2 *h, const char *data, size_t size)
{
    return take(h, &h->guest, data, size);
}

size_t h2_from_server(struct h2 *h, const char *data, size_t size)
{
    h->has_heard |= size > 0;
    return take(h, &h->server, data, size);
}

struct buf *h2_to_guest(struct h2 *h)
{
    return &h->guest.out;
}

struct buf *h2_to_server(struct h2 *h)
{
    return &h->server.out;
}

/* ---- memory ---- */

size_t h2_held_bytes(const struct h2 *h)
{
    const struct h2_stream *s;
    size_t bytes = h->guest.out.capacity + h->server.out.capacity + h->guest.unsent_bytes +
                   h->server.unsent_bytes + h->request_bytes + h->response_bytes;
    list_for_each(s, &h->streams, link) bytes += h2_stream_held_bytes(s);
    return bytes;
}

void h2_let_go(struct h2 *h)
{
    struct h2_stream *s;
    list_for_each(s, &h->streams, link) if (s->exchange) exchange_let_go(s->exchange);
    if (h->guest.out.size == 0)
        buf_done(&h->guest.out);
    if (h->server.out.size == 0)
        secret_wipe_buf(&h->server.out);
}

/* ---- ends ---- */

/* What was asked for whole may still be answered. */
void h2_guest_ended(struct h2 *h)
{
    struct h2_stream *s;
    if (is_over(h))
        return;
    h->guest.has_ended = true;
    list_for_each(s, &h->streams, link) if (!s->guest.has_ended) h2_stream_cancel(s);
    go_on(h);
}

void h2_server_ended(struct h2 *h)
{
    /* The head at which its reading was paused may be the last. */
    if (h->server.is_paused && !h->server.has_ended && !is_over(h)) {
        h->server.is_paused = false;
        nghttp2_session_mem_recv(h->server.session, (const uint8_t *)"", 0);
    }
    h2_server_failed(h, "upstream", "it closed the connection");
}

void h2_server_failed(struct h2 *h, const char *reason, const char *words)
{
    if (is_over(h) || h->server.has_ended)
        return;
    if (h->has_heard) {
        lose_server(h, reason, words);
    } else {
        h->is_lost = h->server.has_ended = true;
        snprintf(h->lost_reason, sizeof(h->lost_reason), "%s", reason);
        snprintf(h->lost_words, sizeof(h->lost_words), "%s", words);
        struct h2_stream *s;
        list_for_each(s, &h->streams, link) h2_stream_lose(s, reason, words);
    }
    go_on(h);
}

enum exchange_end h2_guest_end(const struct h2 *h)
{
    return h->guest_end;
}

enum exchange_end h2_server_end(const struct h2 *h)
{
    return h->server_end;
}

/* ---- time ---- */

/* Of a head that has begun. */
static int64_t head_deadline_ns(const struct h2_side *side)
{
    int64_t timeout_ns = (int64_t)gateway.document->limits.header_timeout_ms * NSEC_PER_MSEC;
    return side->head_since_ns && !side->is_paused && !side->has_ended
               ? side->head_since_ns + timeout_ns
               : INT64_MAX;
}

/* Of a connection without streams. */
static int64_t idle_deadline_ns(const struct h2 *h)
{
    int64_t timeout_ns = (int64_t)gateway.document->limits.idle_http_s * NSEC_PER_SEC;
    return list_is_empty(&h->streams) ? h->active_ns + timeout_ns : INT64_MAX;
}

int64_t h2_deadline_ns(const struct h2 *h)
{
    const struct h2_stream *s;
    if (is_over(h))
        return INT64_MAX;
    int64_t at = MIN(head_deadline_ns(&h->guest), head_deadline_ns(&h->server));
    at = MIN(at, idle_deadline_ns(h));
    list_for_each(s, &h->streams, link) at = MIN(at, h2_stream_deadline_ns(s));
    return at;
}

void h2_expire(struct h2 *h)
{
    int64_t now = gateway_now_ns();
    struct h2_stream *s;
    bool gets_on = true;
    if (is_over(h))
        return;
    list_for_each(s, &h->streams, link) if (h2_stream_deadline_ns(s) <= now) gets_on &=
        h2_stream_expire(s);
    if (!gets_on) {
        h2_note(h, "limit:idle_http");
        close_all(h, EXCHANGE_RESET, EXCHANGE_RESET);
        return;
    }
    if (head_deadline_ns(&h->server) <= now)
        lose_server(h, "limit:header_timeout", "the head of its response did not come in time");
    /* Said once, however long that takes to be read. */
    if (head_deadline_ns(&h->guest) <= now) {
        h2_note(h, "limit:header_timeout");
        h2_session_refuse(&h->guest, NGHTTP2_ENHANCE_YOUR_CALM);
        h->guest.head_since_ns = 0;
    } else if (idle_deadline_ns(h) <= now) {
        h2_session_refuse(&h->guest, NGHTTP2_NO_ERROR);
        h->active_ns = now;
    }
    go_on(h);
}
