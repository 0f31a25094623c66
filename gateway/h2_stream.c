// SPDX-License-Identifier: Apache-2.0
/*
 * A stream: of the program's, and from when its request was allowed also one of the server's. It
 * lives until both are over. What came and can't go on yet waits in `in`, then in the exchange; as
 * a window is opened again only for what the other side has taken, both together are bounded by it.
 */
#include "gateway/h2_parts.h"
#include "lib/http/body.h"

#include <stdio.h>

#define LINES_MORE_BYTES 1024 /* of a head as lines, besides its fields */

struct h2_stream *h2_stream_new(struct h2 *h, int32_t id)
{
    /* Those that were reset may still have to be reset on the other side. */
    if (h->stream_count >= (size_t)2 * H2_STREAMS_MAX)
        return NULL;
    struct h2_stream *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->h2 = h;
    s->guest.id = id;
    s->unread = "malformed";
    s->guest.is_open = true;
    s->guest.in = BUF_INIT(H2_GUEST_WINDOW);
    s->server.in = BUF_INIT(H2_SERVER_WINDOW);
    s->guest.trailer = s->server.trailer = BUF_INIT(HTTP_TRAILER_MAX_BYTES + LINES_MORE_BYTES);
    s->guest.out_trailer = s->server.out_trailer =
        BUF_INIT(HTTP_TRAILER_MAX_BYTES + LINES_MORE_BYTES);
    list_append(&h->streams, &s->link);
    h->stream_count++;
    h->active_ns = gateway_now_ns();
    return s;
}

static void half_done(struct h2_half *half)
{
    buf_done(&half->trailer);
    buf_done(&half->out_trailer);
}

/* A request whose head was refused before it was one is in the log, too. */
static void note_unread(struct h2_stream *s)
{
    const struct exchange_record r = {.reason = s->unread};
    if (!s->exchange && s->h2->setup.log)
        s->h2->setup.log(s->h2->setup.context, &r);
}

static void forgo(struct h2_stream *s, struct h2_side *side);

void h2_stream_free(struct h2_stream *s)
{
    struct h2 *h = s->h2;
    note_unread(s);
    forgo(s, &h->guest);
    forgo(s, &h->server);
    list_remove(&s->link);
    h->stream_count--;
    h->request_bytes -= s->request_bytes;
    h->response_bytes -= s->response_bytes;
    h->active_ns = gateway_now_ns();
    exchange_free(s->exchange);
    half_done(&s->guest);
    half_done(&s->server);
    free(s);
}

bool h2_stream_is_over(const struct h2_stream *s)
{
    return !s->guest.is_open && !s->server.is_open;
}

static struct buf *out_of(struct h2_stream *s, const struct h2_side *side)
{
    return side->is_guest ? exchange_to_guest(s->exchange) : exchange_to_server(s->exchange);
}

/* False: it was before, or there is nothing to reset. */
static bool reset(struct h2_stream *s, struct h2_side *side, uint32_t code)
{
    struct h2_half *half = h2_half_of(s, side);
    if (!half->is_open || half->is_reset)
        return false;
    half->is_reset = true;
    nghttp2_submit_rst_stream(side->session, NGHTTP2_FLAG_NONE, half->id, code);
    return true;
}

/* So much is off our hands: as much may be sent. */
static void consume(struct h2_side *side, const struct h2_half *half, size_t size)
{
    if (size == 0 || !side->session)
        return;
    nghttp2_session_consume_connection(side->session, size);
    if (half->is_open)
        nghttp2_session_consume_stream(side->session, half->id, size);
}

/* What was taken from side and does not wait in the exchange any more is paid back. */
static void pay(struct h2_stream *s, struct h2_side *side)
{
    struct h2_half *half = h2_half_of(s, side);
    const struct h2_side *other = side->is_guest ? &s->h2->server : &s->h2->guest;
    size_t left = s->exchange ? MIN(half->owed_bytes, out_of(s, other)->size) : 0;
    consume(side, half, half->owed_bytes - left);
    half->owed_bytes = left;
}

/* Nobody will take what came from side: the connection's window is for its other streams. */
static void forgo(struct h2_stream *s, struct h2_side *side)
{
    struct h2_half *half = h2_half_of(s, side);
    consume(side, half, half->in.size + half->owed_bytes);
    half->owed_bytes = 0;
    buf_done(&half->in);
}

/* ---- heads ---- */

static bool begin_exchange(struct h2_stream *s)
{
    struct h2 *h = s->h2;
    struct exchange_setup setup = h->setup;
    setup.wire = &h2_wire;
    setup.stream = s;
    s->exchange = exchange_new(&setup);
    if (s->exchange && h->is_lost)
        exchange_server_failed(s->exchange, h->lost_reason, h->lost_words);
    return s->exchange;
}

static struct buf lines_buf(void)
{
    return BUF_INIT(2 * gateway.document->limits.header_bytes + LINES_MORE_BYTES);
}

/* Counts the head that a stream keeps, in the place of the one before. False: they are too many. */
static bool count_head(const struct h2_head *head, size_t *of_stream, size_t *of_all)
{
    size_t most = MAX(H2_HEADS_BYTES, 2 * gateway.document->limits.header_bytes);
    size_t others = *of_all - *of_stream;
    if (head->bytes > most - MIN(others, most))
        return false;
    *of_stream = head->bytes;
    *of_all = others + head->bytes;
    return true;
}

void h2_stream_request(struct h2_stream *s, const struct h2_head *head, bool ends)
{
    struct buf lines = lines_buf();
    struct h2_refusal refusal;
    const struct buf *method = &head->texts[H2_METHOD];
    if (!head->is_long && !count_head(head, &s->request_bytes, &s->h2->request_bytes)) {
        s->unread = "limit:http2_heads";
        reset(s, &s->h2->guest, NGHTTP2_REFUSED_STREAM);
        return;
    }
    if (!begin_exchange(s)) {
        s->unread = "limit:memory";
        reset(s, &s->h2->guest, NGHTTP2_INTERNAL_ERROR);
        return;
    }
    s->is_head = method->size > 0 && !strcmp(method->data, "HEAD");
    s->takes_trailers = head->takes_trailers;
    s->is_hidden = head->is_hidden;
    s->guest.has_ended = ends;
    if (h2_head_write_request(head, ends, &lines, &refusal))
        exchange_from_guest(s->exchange, lines.data, lines.size);
    else
        exchange_refuse_head(s->exchange, refusal.status, refusal.reason, refusal.words);
    buf_done(&lines);
}

void h2_stream_response(struct h2_stream *s, const struct h2_head *head, bool ends)
{
    struct buf lines = lines_buf();
    s->hides_response = head->is_hidden;
    s->server.has_ended = ends;
    if (!count_head(head, &s->response_bytes, &s->h2->response_bytes))
        exchange_server_failed(s->exchange, "limit:http2_heads",
                               "the heads of its responses are too much together");
    else if (h2_head_write_response(head, ends, s->is_head, &lines))
        exchange_from_server(s->exchange, lines.data, lines.size);
    else
        exchange_server_failed(s->exchange, "upstream", "its response's head is none, or too long");
    buf_done(&lines);
}

void h2_stream_trailer(struct h2_stream *s, struct h2_side *side, const struct h2_head *head)
{
    struct h2_half *half = h2_half_of(s, side);
    half->has_ended = true;
    if (!h2_head_write_trailer(head, &half->trailer) && s->exchange) {
        /* One that can't be read: an empty line less is none that is whole. */
        buf_reset(&half->trailer);
        buf_append_str(&half->trailer, "\r");
    }
}

/* ---- content in ---- */

static size_t give(struct h2_stream *s, const struct h2_side *side, const char *data, size_t size)
{
    return side->is_guest ? exchange_from_guest(s->exchange, data, size)
                          : exchange_from_server(s->exchange, data, size);
}

void h2_stream_content(struct h2_stream *s, struct h2_side *side, const char *data, size_t size)
{
    struct h2_half *half = h2_half_of(s, side);
    size_t taken = half->in.size == 0 && s->exchange ? give(s, side, data, size) : 0;
    half->owed_bytes += taken;
    pay(s, side);
    if (taken < size && buf_append(&half->in, data + taken, size - taken) < 0)
        reset(s, side, NGHTTP2_INTERNAL_ERROR);
}

static void tell_end(struct h2_stream *s, const struct h2_side *side)
{
    struct h2_half *half = h2_half_of(s, side);
    half->told_end = true;
    if (half->trailer.size > 0 && side->is_guest)
        exchange_guest_trailer(s->exchange, half->trailer.data, half->trailer.size);
    else if (half->trailer.size > 0)
        exchange_server_trailer(s->exchange, half->trailer.data, half->trailer.size);
    if (side->is_guest)
        exchange_guest_ended(s->exchange);
    /* A response may be whole before its request is. */
    else if (!s->guest.out_has_ended)
        exchange_server_ended(s->exchange);
}

static void give_on(struct h2_stream *s, struct h2_side *side)
{
    struct h2_half *half = h2_half_of(s, side);
    if (half->in.size > 0) {
        size_t taken = give(s, side, half->in.data, half->in.size);
        buf_consume(&half->in, taken);
        half->owed_bytes += taken;
    }
    pay(s, side);
    if (half->in.size == 0)
        buf_done(&half->in);
    if (half->in.size == 0 && half->has_ended && !half->told_end)
        tell_end(s, side);
}

/* ---- content out ---- */

ssize_t h2_stream_read(struct h2_stream *s, struct h2_side *side, uint8_t *to, size_t size,
                       uint32_t *flags)
{
    struct h2_half *half = h2_half_of(s, side);
    struct buf *out = out_of(s, side);
    size_t n = MIN(size, out->size);
    if (n > 0)
        memcpy(to, out->data, n);
    buf_consume(out, n);
    pay(s, side->is_guest ? &s->h2->server : &s->h2->guest);
    if (out->size > 0 || !half->out_has_ended) {
        half->is_deferred = n == 0;
        return n > 0 ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
    }
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (half->out_trailer_count > 0) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        if (h2_write_trailer(s, side) < 0)
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    return (ssize_t)n;
}

static void resume(struct h2_stream *s, struct h2_side *side)
{
    struct h2_half *half = h2_half_of(s, side);
    if (!half->is_open || !half->is_deferred ||
        (out_of(s, side)->size == 0 && !half->out_has_ended))
        return;
    half->is_deferred = false;
    nghttp2_session_resume_data(side->session, half->id);
}

/* ---- ends ---- */

/* The program is not answered any more: it sees what the server did. */
static void cut(struct h2_stream *s, uint32_t code)
{
    if (s->is_cut)
        return;
    s->is_cut = true;
    s->cut_code = code;
}

void h2_stream_lose(struct h2_stream *s, const char *reason, const char *words)
{
    struct h2_half *half = &s->server;
    half->is_open = false;
    if (!s->exchange || !half->id || half->has_ended)
        return;
    forgo(s, &s->h2->server);
    exchange_server_failed(s->exchange, reason, words);
}

/* How the server's stream ended says whether the response is whole. */
static void lose_server(struct h2_stream *s, uint32_t code)
{
    struct h2_half *half = &s->server;
    if (half->has_ended)
        return;
    if (half->was_reset || code == NGHTTP2_REFUSED_STREAM)
        cut(s, code);
    forgo(s, &s->h2->server);
    exchange_server_failed(s->exchange, "upstream", "it did not end its response");
}

void h2_stream_cancel(struct h2_stream *s)
{
    reset(s, &s->h2->guest, NGHTTP2_CANCEL);
}

void h2_stream_closed(struct h2_stream *s, struct h2_side *side, uint32_t code)
{
    struct h2_half *half = h2_half_of(s, side);
    half->is_open = false;
    if (side->is_guest) {
        forgo(s, side);
        if (!half->has_ended || !half->out_has_ended)
            cut(s, code);
    } else if (s->exchange) {
        lose_server(s, code);
    }
}

static bool is_whole(const struct h2_half *half)
{
    return half->has_ended && half->out_has_ended;
}

/* The exchange is over: what is left to be said to both. */
static void settle_last(struct h2_stream *s)
{
    struct h2 *h = s->h2;
    if (s->over_ns == 0)
        s->over_ns = gateway_now_ns();
    if (!is_whole(&s->server))
        reset(s, &h->server, NGHTTP2_CANCEL);
    if (exchange_guest_end(s->exchange) == EXCHANGE_RESET || !s->guest.out_has_ended)
        reset(s, &h->guest, s->is_cut ? s->cut_code : NGHTTP2_INTERNAL_ERROR);
    /* Who was answered need not say the rest (RFC 9113, 8.1). */
    else if (!s->guest.has_ended && s->guest.is_open &&
             nghttp2_session_get_stream_local_close(h->guest.session, s->guest.id) == 1)
        reset(s, &h->guest, NGHTTP2_NO_ERROR);
}

/* What the exchange has decided of its sides. */
static void settle_ends(struct h2_stream *s)
{
    bool is_answered = s->guest.out_has_ended;
    /* A server that takes no more of a request has answered it. */
    if (is_answered && s->server.id && !s->server.is_open && s->server.told_end)
        exchange_server_ended(s->exchange);
    if (!s->guest.is_open && !is_whole(&s->guest))
        reset(s, &s->h2->server, NGHTTP2_CANCEL);
    if (exchange_is_over(s->exchange))
        settle_last(s);
}

void h2_stream_settle(struct h2_stream *s)
{
    struct h2 *h = s->h2;
    if (!s->exchange)
        return;
    if (s->guest.is_open)
        give_on(s, &h->guest);
    if (s->server.id)
        give_on(s, &h->server);
    settle_ends(s);
    resume(s, &h->guest);
    resume(s, &h->server);
}

size_t h2_stream_held_bytes(const struct h2_stream *s)
{
    size_t of_exchange = s->exchange ? exchange_held_bytes(s->exchange) : 0;
    return of_exchange + s->guest.in.capacity + s->server.in.capacity;
}

int64_t h2_stream_deadline_ns(const struct h2_stream *s)
{
    if (!s->exchange)
        return INT64_MAX;
    if (s->over_ns)
        return s->over_ns + (int64_t)gateway.document->limits.idle_http_s * NSEC_PER_SEC;
    return exchange_deadline_ns(s->exchange);
}

bool h2_stream_expire(struct h2_stream *s)
{
    bool was_over = s->over_ns != 0;
    if (!was_over)
        exchange_expire(s->exchange);
    else
        s->over_ns = gateway_now_ns();
    bool is_new = reset(s, &s->h2->server, NGHTTP2_CANCEL);
    if (was_over)
        is_new |= reset(s, &s->h2->guest, NGHTTP2_CANCEL);
    return is_new || !was_over;
}
