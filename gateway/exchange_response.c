// SPDX-License-Identifier: Apache-2.0
/* Responses on their way to the guest. A server is a stranger, too: it is read as strictly. */
#include "gateway/exchange_parts.h"

#include "lib/http/syntax.h"

static void fail_error(struct exchange *x, enum http_error e)
{
    exchange_fail(x, 502, e == HTTP_ERROR_MEMORY ? "limit:memory" : "upstream",
                  http_error_words(e));
}

/* ---- the head ---- */

/* Whether content of these codings can be read by what scrubs it. */
static bool is_plain(const struct http_response *r)
{
    for (size_t i = 0; i < r->field_count; i++)
        if (http_words_equal(r->fields[i].name, "Content-Encoding") &&
            !http_words_equal(r->fields[i].value, "identity"))
            return false;
    return true;
}

/* reason is what head's may be in. */
static int scrub_reason(struct exchange *x, struct http_response_head *head, struct buf *reason)
{
    if (!x->has_secrets || x->scrub == POLICY_SCRUB_OFF)
        return 0;
    int e = secrets_scrub_text(&x->secrets, head->reason, reason);
    if (e > 0)
        head->reason = reason->data;
    return MIN(e, 0);
}

static int write_fields(struct exchange *x, const struct http_response *r,
                        struct http_response_head *head)
{
    struct exchange_fields fields;
    struct buf reason = BUF_INIT(EXCHANGE_VALUE_MAX_BYTES);
    int e = exchange_fields_init(&fields, r->fields, r->field_count, 0);
    if (e == 0) {
        /* It would lead clients to where requests can't be seen: HTTP/3, other ports. */
        if (x->setup.is_tls)
            exchange_fields_remove(&fields, "Alt-Svc");
        e = exchange_secrets_scrub(x, &fields);
    }
    if (e == 0)
        e = scrub_reason(x, head, &reason);
    head->fields = fields.list;
    head->field_count = fields.count;
    size_t before = x->to_guest.size;
    if (e == 0)
        e = exchange_write_response(x, head);
    x->guest_rx += x->to_guest.size - before;
    exchange_fields_done(&fields);
    buf_done(&reason);
    return e;
}

static void take_interim(struct exchange *x, struct http_response *r)
{
    struct http_response_head head = http_response_head_of(r);
    head.closes = false; /* the final one says it */
    if (x->request.request.version == HTTP_1_1 && write_fields(x, r, &head) < 0) {
        exchange_fail(x, 502, "upstream", "its response can't be written");
        return;
    }
    http_response_next(&x->response);
    if (x->response.progress == HTTP_FAILED)
        fail_error(x, x->response.error);
}

/* Nobody reads HTTP on this connection any more. */
static bool changes_protocol(struct exchange *x, const struct http_response *r)
{
    return r->framing.kind == HTTP_BODY_OPAQUE && x->request_state == REQUEST_SENT &&
           (r->status != 101 ||
            (x->upgrade && r->upgrade && http_words_equal(r->upgrade, x->upgrade)));
}

static void complete(struct exchange *x)
{
    bool is_last = x->closes || x->guest_has_ended;
    if (x->request_state != REQUEST_SENT && !is_last) {
        x->response_state = RESPONSE_DONE;
        return;
    }
    /* A server that has answered a request that it never had whole may not take the rest of it for
     * anything. */
    bool is_whole = x->request_state == REQUEST_SENT;
    exchange_finish(x);
    if (is_last)
        exchange_close(x, EXCHANGE_CLOSE, is_whole ? EXCHANGE_CLOSE : EXCHANGE_RESET);
}

static void write_final(struct exchange *x, const struct http_response *r,
                        const struct http_framing *framing)
{
    struct http_response_head head = http_response_head_of(r);
    x->closes = !r->persists || !x->request.request.persists || framing->kind == HTTP_BODY_CLOSE;
    head.framing = *framing;
    head.closes = x->closes && framing->kind != HTTP_BODY_OPAQUE;
    x->status = r->status;
    if (write_fields(x, r, &head) < 0) {
        x->status = 0;
        exchange_fail(x, 502, "upstream", "its response can't be written");
        return;
    }
    x->response_state = RESPONSE_BODY;
    const struct http_framing content = exchange_content_framing(x, r->framing);
    x->response_body = (struct exchange_body){.kind = exchange_content_framing(x, *framing).kind};
    http_body_init(&x->response_content, &content, HTTP_BODY_ANY_LENGTH);
    if (framing->kind == HTTP_BODY_OPAQUE) {
        x->is_opaque = true;
        if (r->status != 101 && !exchange_tunnel_begin(x))
            exchange_close(x, EXCHANGE_RESET, EXCHANGE_RESET);
    } else if (x->response_content.progress == HTTP_DONE) {
        complete(x);
    }
}

static void take_final(struct exchange *x, struct http_response *r)
{
    r->framing = exchange_announced_framing(x, r->framing);
    struct http_framing framing = http_framing_for(r->framing, x->request.request.version);
    bool is_opaque = r->framing.kind == HTTP_BODY_OPAQUE;
    if (is_opaque && !changes_protocol(x, r)) {
        fail_error(x, HTTP_ERROR_SWITCH);
        return;
    }
    if (x->scrub == POLICY_SCRUB_STRICT && !is_opaque && !is_plain(r)) {
        exchange_fail(x, 502, "scrub", "its response is encoded and can't be searched for secrets");
        return;
    }
    if (!is_opaque)
        exchange_secrets_scrub_content(x, &framing);
    write_final(x, r, &framing);
}

static size_t take_head(struct exchange *x, const char *data, size_t size)
{
    size_t taken;
    enum http_progress progress = http_response_take(&x->response, data, size, &taken);
    if (x->response_ns == 0)
        x->response_ns = gateway_now_ns();
    if (progress == HTTP_FAILED) {
        fail_error(x, x->response.error);
    } else if (progress == HTTP_DONE) {
        struct http_response *r = &x->response.response;
        x->response_ns = 0;
        r->field_count = http_fields_forward(r->fields, r->field_count);
        if (http_response_is_interim(r))
            take_interim(x, r);
        else
            take_final(x, r);
    }
    return taken;
}

/* ---- its content ---- */

static void content_done(struct exchange *x)
{
    struct exchange_fields trailers;
    size_t before = x->to_guest.size;
    int e = exchange_fields_init(&trailers, x->response_content.trailers,
                                 x->response_content.trailer_count, 0);
    if (e == 0)
        e = exchange_secrets_scrub(x, &trailers);
    if (e == 0 && x->scrubs)
        e = exchange_secrets_response_end(x);
    if (e == 0)
        e = exchange_end_response(x, trailers.list, trailers.count);
    exchange_fields_done(&trailers);
    x->guest_rx += x->to_guest.size - before;
    if (e < 0)
        exchange_fail(x, 502, "limit:memory", "no memory for its response");
    else
        complete(x);
}

static size_t take_content(struct exchange *x, const char *data, size_t size)
{
    struct http_slice slice;
    size_t taken, before = x->to_guest.size;
    size = MIN(size, x->scrubs ? EXCHANGE_SCRUBBED_BYTES : EXCHANGE_OUT_BYTES - before);
    enum http_progress progress = http_body_take(&x->response_content, data, size, &taken, &slice);
    int e = x->scrubs ? exchange_secrets_response(x, &slice)
                      : exchange_body_pass(&x->response_body, &x->to_guest, &slice,
                                           x->response_content.left_bytes);
    x->guest_rx += x->to_guest.size - before;
    if (e < 0)
        exchange_fail(x, 502, "limit:memory", "no memory for its response");
    else if (progress == HTTP_DONE)
        content_done(x);
    else if (progress == HTTP_FAILED)
        fail_error(x, x->response_content.error);
    return taken;
}

size_t exchange_response_take(struct exchange *x, const char *data, size_t size)
{
    if (x->to_guest.size >= EXCHANGE_OUT_BYTES)
        return 0;
    switch (x->response_state) {
    case RESPONSE_HEAD:
        return take_head(x, data, size);
    case RESPONSE_BODY:
        return take_content(x, data, size);
    case RESPONSE_NONE:
    case RESPONSE_DONE:
        break;
    }
    /* Bytes that answer nothing, often a 408 before it closes: nobody may take them for what
     * answers the next request. */
    exchange_close(x, EXCHANGE_CLOSE, EXCHANGE_CLOSE);
    return size;
}

void exchange_server_trailer(struct exchange *x, const char *data, size_t size)
{
    if (exchange_is_over(x) || x->response_state != RESPONSE_BODY)
        return;
    x->active_ns = gateway_now_ns();
    if (http_body_take_trailer(&x->response_content, data, size) == HTTP_DONE)
        content_done(x);
    else
        fail_error(x, x->response_content.error);
}

void exchange_response_end(struct exchange *x)
{
    switch (x->response_state) {
    case RESPONSE_BODY:
        if (http_body_end(&x->response_content) == HTTP_DONE)
            content_done(x);
        else
            fail_error(x, HTTP_ERROR_TRUNCATED);
        break;
    case RESPONSE_HEAD:
        /* It closed while the request was on its way. The guest sees what it would see without us,
         * and knows by itself what may be sent again (RFC 9112, 9.3.1): we never do. */
        if (x->is_used && !http_response_has_begun(&x->response))
            exchange_close(x, EXCHANGE_CLOSE, EXCHANGE_CLOSE);
        else
            exchange_fail(x, 502, "upstream", "it closed the connection without a response");
        break;
    case RESPONSE_NONE:
    case RESPONSE_DONE:
        exchange_close(x, EXCHANGE_CLOSE, EXCHANGE_CLOSE);
        break;
    }
}
