// SPDX-License-Identifier: Apache-2.0
#include "gateway/exchange.h"

#include "gateway/exchange_parts.h"

#include <stdio.h>

struct exchange *exchange_new(const struct exchange_setup *setup)
{
    const struct policy_limits *l = &gateway.document->limits;
    const struct http_limits requests = {l->line_bytes, l->header_bytes, l->header_count};
    /* One field of a response may be as long as all of them: many servers send such, and it is not
     * what the limit on lines is against. */
    const struct http_limits responses = {l->header_bytes, l->header_bytes, l->header_count};
    struct exchange *x = calloc(1, sizeof(*x));
    if (!x)
        return NULL;
    x->setup = *setup;
    if (setup->dialled || setup->is_tls)
        snprintf(x->name, sizeof(x->name), "%s", setup->name);
    if (setup->dialled)
        exchange_dialled(x, setup->dialled);
    x->to_guest = BUF_INIT(EXCHANGE_OUT_MAX_BYTES);
    x->to_server = BUF_INIT(EXCHANGE_OUT_MAX_BYTES);
    http_request_init(&x->request, &requests);
    http_response_init(&x->response, &responses);
    x->active_ns = gateway_now_ns();
    return x;
}

void exchange_free(struct exchange *x)
{
    if (!x)
        return;
    exchange_finish(x);
    exchange_tunnel_free(x);
    http_request_done(&x->request);
    http_response_done(&x->response);
    buf_done(&x->to_guest);
    secret_wipe_buf(&x->to_server);
    free(x);
}

/* ---- bytes ---- */

/* What passes after a change of protocol. */
static size_t relay(struct exchange *x, struct buf *out, uint64_t *count, const char *data,
                    size_t size)
{
    if (out->size >= EXCHANGE_OUT_BYTES)
        return 0;
    size = MIN(size, EXCHANGE_OUT_BYTES - out->size);
    if (buf_append(out, data, size) < 0)
        exchange_close(x, EXCHANGE_RESET, EXCHANGE_RESET);
    *count += size;
    return size;
}

static size_t take_from_guest(struct exchange *x, const char *data, size_t size)
{
    if (x->flight)
        return exchange_tunnel_take(x, data, size);
    if (!x->is_opaque)
        return exchange_request_take(x, data, size);
    size_t taken = relay(x, &x->to_server, &x->guest_tx, data, size);
    if (x->has_open_line)
        exchange_tunnel_watch(x, data, taken);
    return taken;
}

static size_t take_from_server(struct exchange *x, const char *data, size_t size)
{
    return x->is_opaque ? relay(x, &x->to_guest, &x->guest_rx, data, size)
                        : exchange_response_take(x, data, size);
}

static size_t take_all(struct exchange *x, const char *data, size_t size,
                       size_t (*take)(struct exchange *, const char *, size_t))
{
    size_t at = 0;
    while (at < size && !exchange_is_over(x)) {
        size_t taken = take(x, data + at, size - at);
        if (taken == 0 && !exchange_is_over(x))
            break;
        at += taken;
    }
    if (at > 0)
        x->active_ns = gateway_now_ns();
    return exchange_is_over(x) ? size : at;
}

size_t exchange_from_guest(struct exchange *x, const char *data, size_t size)
{
    return take_all(x, data, size, take_from_guest);
}

size_t exchange_from_server(struct exchange *x, const char *data, size_t size)
{
    return take_all(x, data, size, take_from_server);
}

struct buf *exchange_to_guest(struct exchange *x)
{
    return &x->to_guest;
}

struct buf *exchange_to_server(struct exchange *x)
{
    return &x->to_server;
}

/* ---- memory ---- */

/* Of a wire they are its own to count. */
static size_t held_by_heads(const struct exchange *x)
{
    return x->setup.wire ? 0 : x->request.lines.text.capacity + x->response.lines.text.capacity;
}

size_t exchange_held_bytes(const struct exchange *x)
{
    return x->to_guest.capacity + x->to_server.capacity + x->signing.held.capacity +
           held_by_heads(x) + (x->flight ? flight_held_bytes(x->flight) : 0);
}

static void let_go_of_lines(struct http_lines *l)
{
    if (l->text.size == 0 && !l->text.failed)
        buf_done(&l->text);
}

void exchange_let_go(struct exchange *x)
{
    if (x->to_guest.size == 0)
        buf_done(&x->to_guest);
    if (x->to_server.size == 0)
        secret_wipe_buf(&x->to_server);
    let_go_of_lines(&x->request.lines);
    let_go_of_lines(&x->response.lines);
}

/* ---- ends ---- */

/* One side of a changed protocol has ended: the other is told, and may still send. */
static void end_opaque(struct exchange *x)
{
    if (x->guest_has_ended && x->server_has_ended)
        exchange_close(x, EXCHANGE_CLOSE, EXCHANGE_CLOSE);
    else if (x->guest_has_ended)
        exchange_close(x, EXCHANGE_OPEN, EXCHANGE_SHUT);
    else
        exchange_close(x, EXCHANGE_SHUT, EXCHANGE_OPEN);
}

void exchange_guest_ended(struct exchange *x)
{
    if (exchange_is_over(x))
        return;
    x->guest_has_ended = true;
    if (x->flight)
        exchange_tunnel_end(x);
    if (x->is_opaque)
        end_opaque(x);
    else
        exchange_request_end(x);
}

void exchange_server_ended(struct exchange *x)
{
    if (exchange_is_over(x))
        return;
    x->server_has_ended = true;
    if (x->is_opaque)
        end_opaque(x);
    else
        exchange_response_end(x);
}

enum exchange_end exchange_guest_end(const struct exchange *x)
{
    return x->guest_end;
}

enum exchange_end exchange_server_end(const struct exchange *x)
{
    return x->server_end;
}

bool exchange_is_over(const struct exchange *x)
{
    return x->guest_end >= EXCHANGE_CLOSE;
}

/* ---- the server ---- */

enum exchange_dial exchange_wants_server(const struct exchange *x)
{
    return exchange_is_over(x) ? EXCHANGE_DIAL_NOTHING : x->dial;
}

const char *exchange_name(const struct exchange *x)
{
    return x->name;
}

void exchange_dialled(struct exchange *x, const struct in6_addr *address)
{
    x->is_dialled = true;
    x->address = *address;
    x->dial = EXCHANGE_DIAL_NOTHING;
}

void exchange_server_failed(struct exchange *x, const char *reason, const char *words)
{
    if (exchange_is_over(x))
        return;
    x->dial = EXCHANGE_DIAL_NOTHING;
    if (x->is_opaque) {
        exchange_close(x, EXCHANGE_RESET, EXCHANGE_RESET);
    } else if (x->response_state == RESPONSE_HEAD || x->response_state == RESPONSE_BODY) {
        exchange_fail(x, 502, reason, words);
    } else if (x->is_used) {
        exchange_close(x, EXCHANGE_CLOSE, EXCHANGE_CLOSE);
    } else {
        x->is_lost = true;
        snprintf(x->lost_reason, sizeof(x->lost_reason), "%s", reason);
        snprintf(x->lost_words, sizeof(x->lost_words), "%s", words);
    }
}

bool exchange_is_opaque(const struct exchange *x)
{
    return x->is_opaque;
}

/* ---- time ---- */

int64_t exchange_deadline_ns(const struct exchange *x)
{
    const struct policy_limits *l = &gateway.document->limits;
    int64_t head_ns = (int64_t)l->header_timeout_ms * NSEC_PER_MSEC;
    if (exchange_is_over(x) || (x->is_opaque && x->request_ns == 0))
        return INT64_MAX;
    if (x->is_opaque)
        return x->request_ns + (int64_t)l->first_flight_ms * NSEC_PER_MSEC;
    if (x->request_ns != 0)
        return x->request_ns + head_ns;
    if (x->response_ns != 0)
        return x->response_ns + head_ns;
    /* A server may think for long about an answer; that is no idle connection. */
    bool thinks = x->request_state == REQUEST_SENT && x->response_state == RESPONSE_HEAD;
    return x->active_ns + (int64_t)(thinks ? l->idle_tcp_s : l->idle_http_s) * NSEC_PER_SEC;
}

static const char *limit_of_response(const struct exchange *x)
{
    if (x->response_ns != 0)
        return "limit:header_timeout";
    return x->response_state == RESPONSE_HEAD ? "limit:idle_tcp" : "limit:idle_http";
}

void exchange_expire(struct exchange *x)
{
    if (exchange_is_over(x))
        return;
    if (x->flight)
        exchange_tunnel_expire(x);
    else if (x->request_ns != 0)
        exchange_refuse(x, 408, "limit:header_timeout", "the head did not come in time");
    else if (x->is_opaque || (x->response_state == RESPONSE_NONE && !x->signing.holds))
        exchange_close(x, EXCHANGE_CLOSE, EXCHANGE_CLOSE);
    else if (x->request_state == REQUEST_BODY)
        exchange_refuse(x, 408, "limit:idle_http", "the content did not come in time");
    else
        exchange_fail(x, 504, limit_of_response(x), "it did not respond in time");
}
