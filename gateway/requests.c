// SPDX-License-Identifier: Apache-2.0
#include "gateway/requests.h"

#include "gateway/h2.h"

/* One of the two. */
struct requests {
    struct exchange *exchange;
    struct h2 *h2;
};

struct requests *requests_new(const struct exchange_setup *setup, bool is_http2)
{
    struct requests *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    if (is_http2)
        r->h2 = h2_new(setup);
    else
        r->exchange = exchange_new(setup);
    if (r->h2 || r->exchange)
        return r;
    free(r);
    return NULL;
}

void requests_free(struct requests *r)
{
    if (!r)
        return;
    exchange_free(r->exchange);
    h2_free(r->h2);
    free(r);
}

size_t requests_from_guest(struct requests *r, const char *data, size_t size)
{
    return r->h2 ? h2_from_guest(r->h2, data, size) : exchange_from_guest(r->exchange, data, size);
}

size_t requests_from_server(struct requests *r, const char *data, size_t size)
{
    return r->h2 ? h2_from_server(r->h2, data, size)
                 : exchange_from_server(r->exchange, data, size);
}

void requests_guest_ended(struct requests *r)
{
    if (r->h2)
        h2_guest_ended(r->h2);
    else
        exchange_guest_ended(r->exchange);
}

void requests_server_ended(struct requests *r)
{
    if (r->h2)
        h2_server_ended(r->h2);
    else
        exchange_server_ended(r->exchange);
}

void requests_server_failed(struct requests *r, const char *reason, const char *words)
{
    if (r->h2)
        h2_server_failed(r->h2, reason, words);
    else
        exchange_server_failed(r->exchange, reason, words);
}

struct buf *requests_to_guest(struct requests *r)
{
    return r->h2 ? h2_to_guest(r->h2) : exchange_to_guest(r->exchange);
}

struct buf *requests_to_server(struct requests *r)
{
    return r->h2 ? h2_to_server(r->h2) : exchange_to_server(r->exchange);
}

enum exchange_end requests_guest_end(const struct requests *r)
{
    return r->h2 ? h2_guest_end(r->h2) : exchange_guest_end(r->exchange);
}

enum exchange_end requests_server_end(const struct requests *r)
{
    return r->h2 ? h2_server_end(r->h2) : exchange_server_end(r->exchange);
}

size_t requests_held_bytes(const struct requests *r)
{
    return r->h2 ? h2_held_bytes(r->h2) : exchange_held_bytes(r->exchange);
}

void requests_let_go(struct requests *r)
{
    if (r->h2)
        h2_let_go(r->h2);
    else
        exchange_let_go(r->exchange);
}

int64_t requests_deadline_ns(const struct requests *r)
{
    return r->h2 ? h2_deadline_ns(r->h2) : exchange_deadline_ns(r->exchange);
}

void requests_expire(struct requests *r)
{
    if (r->h2)
        h2_expire(r->h2);
    else
        exchange_expire(r->exchange);
}

struct exchange *requests_exchange(struct requests *r)
{
    return r->exchange;
}
