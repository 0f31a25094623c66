// SPDX-License-Identifier: Apache-2.0
/*
 * A tunnel was allowed for the place that CONNECT named; the proxy leads it there, or to whom else
 * the first bytes name. So those are read before they go out: the name in a TLS hello has to be the
 * tunnel's, and there are no requests in the clear, as nobody would judge them.
 */
#include "gateway/exchange_parts.h"

#include <stdio.h>

/* What is looked at at once: a flight has a limit, which more of another protocol must not meet. */
#define PIECE_BYTES ((size_t)1024)

bool exchange_tunnel_begin(struct exchange *x)
{
    x->flight = calloc(1, sizeof(*x->flight));
    if (x->flight)
        flight_init(x->flight);
    return x->flight;
}

void exchange_tunnel_free(struct exchange *x)
{
    if (x->flight)
        flight_done(x->flight);
    free(x->flight);
    x->flight = NULL;
}

static void cut(struct exchange *x, const char *reason)
{
    x->is_allowed = false;
    snprintf(x->reason, sizeof(x->reason), "%s", reason);
    exchange_tunnel_free(x);
    exchange_close(x, EXCHANGE_RESET, EXCHANGE_RESET);
}

/* The name that a hello shows; host is what it may point to. */
static struct policy_name name_of(const struct flight *f, struct policy_host *host)
{
    const struct tls_hello *h = &f->hello.hello;
    if (f->kind == FLIGHT_TLS_BROKEN)
        return (struct policy_name){.state = POLICY_NAME_UNREADABLE};
    if (f->kind != FLIGHT_TLS || h->name_kind == TLS_NAME_NONE)
        return (struct policy_name){.state = POLICY_NAME_ABSENT};
    if (policy_host_parse(h->server_name, strlen(h->server_name), host, NULL) < 0)
        return (struct policy_name){.state = POLICY_NAME_UNREADABLE};
    if (host->kind != POLICY_HOST_NAME)
        return (struct policy_name){.state = POLICY_NAME_LITERAL};
    return (struct policy_name){POLICY_NAME_GIVEN, host->name};
}

static void judge(struct exchange *x)
{
    struct policy_host host;
    struct decision d = {.rule = -1};
    struct policy_name name = name_of(x->flight, &host);
    x->request_ns = 0;
    bool is_request = x->flight->kind == FLIGHT_HTTP || x->flight->kind == FLIGHT_HTTP2;
    if (is_request && !gateway.document->is_audit) {
        cut(x, "connect");
        return;
    }
    if (name.state == POLICY_NAME_UNREADABLE && x->tunnel_to.kind == POLICY_HOST_NAME &&
        !gateway.document->is_audit) {
        cut(x, "malformed");
        return;
    }
    exchange_judge_tunnel(x, &name, &d);
    if (d.status != 0) {
        cut(x, d.reason);
        return;
    }
    const struct buf *first = &x->flight->bytes;
    x->has_open_line = !gateway.document->is_audit && x->flight->kind == FLIGHT_OTHER &&
                       x->flight->is_open &&
                       flight_line_take(&x->line, first->data, first->size) == FLIGHT_MORE;
    if (buf_append(&x->to_server, first->data, first->size) < 0)
        cut(x, "limit:memory");
    else
        exchange_tunnel_free(x);
}

size_t exchange_tunnel_take(struct exchange *x, const char *data, size_t size)
{
    size = MIN(size, PIECE_BYTES);
    if (x->request_ns == 0)
        x->request_ns = gateway_now_ns();
    x->guest_tx += size;
    if (flight_take(x->flight, data, size) != FLIGHT_MORE)
        judge(x);
    return size;
}

void exchange_tunnel_watch(struct exchange *x, const char *data, size_t size)
{
    enum flight_kind kind = flight_line_take(&x->line, data, size);
    x->has_open_line = kind == FLIGHT_MORE;
    if (kind != FLIGHT_HTTP)
        return;
    buf_reset(&x->to_server);
    cut(x, "connect");
}

void exchange_tunnel_end(struct exchange *x)
{
    flight_end(x->flight);
    judge(x);
}

void exchange_tunnel_expire(struct exchange *x)
{
    cut(x, "limit:first_flight");
}
