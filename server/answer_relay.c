// SPDX-License-Identifier: Apache-2.0
#include "server/connection_parts.h"
#include "server/metrics.h"
#include "server/relay.h"
#include "server/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

void relay_interim(struct request *r, const struct http_response_head *h)
{
    struct connection *c = connection_of(r);
    if (c->has_begun || c->is_gone)
        return;
    http_response_write(&c->out, h);
    c->is_gone |= c->out.failed;
    connection_changed(c);
}

static bool begin(struct connection *c, const struct http_response_head *h)
{
    if (c->has_begun || c->is_gone)
        return false;
    if (http_response_write(&c->out, h) < 0) {
        c->is_gone |= c->out.failed;
        return false;
    }
    c->has_begun = true;
    c->status = h->status;
    connection_changed(c);
    return true;
}

bool relay_begin(struct request *r, const struct http_response_head *head)
{
    struct connection *c = connection_of(r);
    struct http_response_head h = *head;
    h.closes = c->closes;
    if (!begin(c, &h))
        return false;
    c->is_chunked = h.framing.kind == HTTP_BODY_CHUNKED;
    c->is_stream = h.framing.kind != HTTP_BODY_LENGTH;
    if (c->is_stream)
        metrics_count_stream(1);
    c->length_left = c->is_stream ? 0 : h.framing.length;
    c->closes |= h.framing.kind == HTTP_BODY_CLOSE;
    return true;
}

bool relay_tunnel(struct request *r, const struct http_response_head *h)
{
    const int on = 1, idle_s = KEEPALIVE_IDLE_S;
    struct connection *c = connection_of(r);
    if (!begin(c, h))
        return false;
    c->phase = PHASE_TUNNEL;
    c->is_stream = true;
    metrics_count_stream(1);
    /* Of a client that has vanished nothing else would tell. */
    setsockopt(c->watch.fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(c->watch.fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    return true;
}

bool relay_send(struct request *r, const void *data, size_t size)
{
    connection_of(r)->since_ns = server_now_ns();
    return request_send(r, data, size);
}

void relay_end(struct request *r, const struct http_field *trailers, size_t count)
{
    struct connection *c = connection_of(r);
    if (c->has_ended)
        return;
    c->has_ended = true;
    if (c->phase == PHASE_BODY)
        c->closes = true; /* nobody takes the rest of the request */
    if ((c->is_chunked && http_chunks_end(&c->out, trailers, count) < 0) || c->length_left > 0)
        c->is_gone = true;
    connection_changed(c);
}

void relay_close(struct request *r)
{
    struct connection *c = connection_of(r);
    c->closes = true;
    relay_end(r, NULL, 0);
    connection_changed(c);
}

void relay_break(struct request *r)
{
    struct connection *c = connection_of(r);
    const struct linger reset = {.l_onoff = 1};
    if (!c->is_chunked && c->length_left == 0) {
        /* Of content that ends with the connection only a reset says so. */
        setsockopt(c->watch.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        c->is_gone = true;
    }
    c->has_ended = c->closes = c->is_broken = true;
    connection_changed(c);
}

const struct http_field *relay_trailers(const struct request *r, size_t *ret_count)
{
    const struct connection *c = container_of(r, struct connection, request);
    *ret_count = c->body.trailer_count;
    return c->body.trailers;
}

bool relay_is_secure(const struct request *r)
{
    const struct connection *c = container_of(r, struct connection, request);
    return c->tls != NULL;
}

void relay_client(const struct request *r, char out[RELAY_ADDRESS_MAX])
{
    const struct connection *c = container_of(r, struct connection, request);
    const struct in6_addr *v6 = &c->client.v6.sin6_addr;
    bool is_v6 = c->client.any.sa_family == AF_INET6, is_mapped = is_v6 && IN6_IS_ADDR_V4MAPPED(v6);
    const void *address = is_mapped ? (const void *)(v6->s6_addr + 12)
                          : is_v6   ? (const void *)v6
                                    : &c->client.v4.sin_addr;
    if (!inet_ntop(is_v6 && !is_mapped ? AF_INET6 : AF_INET, address, out, RELAY_ADDRESS_MAX))
        out[0] = '\0';
}
