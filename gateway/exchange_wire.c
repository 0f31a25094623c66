// SPDX-License-Identifier: Apache-2.0
#include "gateway/exchange_parts.h"

/* As it counts: name and value of each field, with what HTTP/1.1 has around them. */
static uint64_t count_fields(const struct http_field *fields, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += strlen(fields[i].name) + strlen(fields[i].value) + strlen(": \r\n");
    return bytes;
}

int exchange_write_request(struct exchange *x, const struct http_request_head *h,
                           const struct exchange_fields *fields, bool hides_query)
{
    const struct exchange_wire *wire = x->setup.wire;
    if (wire)
        return http_request_is_valid(h) ? wire->request(x->setup.stream, h, fields, hides_query)
                                        : -EINVAL;
    int e = http_request_write(&x->to_server, h);
    if (e < 0)
        x->to_server.failed = false; /* what it held before stays */
    return e;
}

int exchange_write_response(struct exchange *x, const struct http_response_head *h)
{
    const struct exchange_wire *wire = x->setup.wire;
    if (!wire) {
        int e = http_response_write(&x->to_guest, h);
        x->to_guest.failed = false; /* what it held before stays */
        return e;
    }
    int e = http_response_is_valid(h) ? wire->response(x->setup.stream, h) : -EINVAL;
    if (e == 0)
        x->guest_rx += count_fields(h->fields, h->field_count);
    return e;
}

int exchange_end_request(struct exchange *x, const struct http_field *trailers, size_t count)
{
    if (x->setup.wire)
        return x->setup.wire->request_end(x->setup.stream, trailers, count);
    return exchange_body_finish(&x->request_body, &x->to_server, trailers, count);
}

int exchange_end_response(struct exchange *x, const struct http_field *trailers, size_t count)
{
    if (x->setup.wire) {
        x->guest_rx += count_fields(trailers, count);
        return x->setup.wire->response_end(x->setup.stream, trailers, count);
    }
    return exchange_body_finish(&x->response_body, &x->to_guest, trailers, count);
}

struct http_framing exchange_content_framing(const struct exchange *x, struct http_framing f)
{
    if (!x->setup.wire || f.kind == HTTP_BODY_NONE)
        return f;
    return (struct http_framing){.kind = HTTP_BODY_CLOSE};
}

struct http_framing exchange_announced_framing(const struct exchange *x, struct http_framing f)
{
    bool has_none = f.kind == HTTP_BODY_CLOSE || (f.kind == HTTP_BODY_LENGTH && f.length == 0);
    if (x->setup.wire && has_none)
        f.kind = HTTP_BODY_NONE;
    return f;
}
