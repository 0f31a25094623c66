// SPDX-License-Identifier: Apache-2.0
/*
 * The requests of one connection, in either version of HTTP: an exchange (exchange.h), or HTTP/2
 * (h2.h) with an exchange for each stream. What the functions do is said in exchange.h.
 */
#pragma once

#include "gateway/exchange.h"

struct requests;

/* NULL: no memory. */
struct requests *requests_new(const struct exchange_setup *setup, bool is_http2);
/* r may be NULL. */
void requests_free(struct requests *r);

size_t requests_from_guest(struct requests *r, const char *data, size_t size);
size_t requests_from_server(struct requests *r, const char *data, size_t size);
void requests_guest_ended(struct requests *r);
void requests_server_ended(struct requests *r);
void requests_server_failed(struct requests *r, const char *reason, const char *words);
struct buf *requests_to_guest(struct requests *r);
struct buf *requests_to_server(struct requests *r);
enum exchange_end requests_guest_end(const struct requests *r);
enum exchange_end requests_server_end(const struct requests *r);
size_t requests_held_bytes(const struct requests *r);
void requests_let_go(struct requests *r);
int64_t requests_deadline_ns(const struct requests *r);
void requests_expire(struct requests *r);

/* Of HTTP/1.1 in the clear, whose server is chosen by the first request. */
struct exchange *requests_exchange(struct requests *r);
