// SPDX-License-Identifier: Apache-2.0
/*
 * Requests on their way to the server. The order is what keeps a guest from undoing what is done
 * here: fields of its hop go out first, so that no Connection can name what is put in later; then
 * the request is judged as it will be sent; then secrets are filled in, and what the policy sets
 * replaces whatever has that name; the writer checks all of it anew.
 */
#include "gateway/exchange_parts.h"

#include "lib/http/syntax.h"
#include "lib/text/base64.h"

#include <stdio.h>

/* ---- the head ---- */

/*
 * Which change of protocol is handed on: to a WebSocket alone, and only of a request without
 * content. In another protocol there could be requests that nobody judges.
 */
static const char *asked_upgrade(const struct http_request *r)
{
    size_t size;
    const char *list = r->upgrade;
    if (!list || strcmp(r->method, "GET") != 0 || r->framing.kind != HTTP_BODY_NONE)
        return NULL;
    for (const char *one; (one = http_list_next(&list, &size));)
        if (http_is_word(one, size, "websocket"))
            return "websocket";
    return NULL;
}

/* A rule that lets a host be used as a proxy lets a CONNECT have what that asks for; there are no
 * other proxies on the way. */
static const char *proxy_credentials(const struct http_request *r)
{
    bool is_connect = r->form == HTTP_TARGET_AUTHORITY;
    return is_connect ? http_field_get(r->fields, r->field_count, "Proxy-Authorization") : NULL;
}

static void note_authority(struct exchange *x, const struct http_request *r)
{
    const struct http_authority *a = &r->authority;
    if (a->host && a->port)
        snprintf(x->authority, sizeof(x->authority), "%s:%u", a->host, (unsigned)a->port);
    else if (a->host)
        snprintf(x->authority, sizeof(x->authority), "%s", a->host);
}

static void note_decision(struct exchange *x, const struct decision *d)
{
    x->is_allowed = d->status == 0;
    x->would_deny = d->would_deny;
    memcpy(x->reason, d->reason, sizeof(x->reason));
    if (d->rule >= 0)
        snprintf(x->rule, sizeof(x->rule), "%s", gateway.document->rules[d->rule].id);
}

/* The Host that is sent: its canonical form, so that the server reads the name that was judged. */
static const char *host_of(const struct exchange *x, const struct http_request *r, char *text,
                           size_t size)
{
    struct policy_host host;
    char address[POLICY_ADDRESS_TEXT_BYTES];
    if (r->authority.host &&
        policy_host_parse(r->authority.host, strlen(r->authority.host), &host, NULL) == 0 &&
        host.kind == POLICY_HOST_NAME) {
        snprintf(text, size, "%s", host.name);
    } else if (r->authority.host || x->name[0]) {
        snprintf(text, size, "%s", r->authority.host ? r->authority.host : x->name);
    } else {
        const struct in6_addr *to = &x->setup.evidence->address;
        policy_address_print(to, address);
        snprintf(text, size, IN6_IS_ADDR_V4MAPPED(to) ? "%s" : "[%s]", address);
    }
    return text;
}

static uint16_t port_of(const struct exchange *x, const struct http_request *r)
{
    uint16_t port = x->setup.evidence->port;
    if (r->authority.host)
        return r->authority.port;
    return port == (x->setup.is_tls ? 443 : 80) ? 0 : port;
}

/* ---- what the policy changes ---- */

/* Appends value, with secrets in it. */
static int expand(struct exchange *x, const char *value, struct buf *out)
{
    if (x->has_secrets)
        return secrets_expand(&x->secrets, value, out);
    return gateway.document->secret_count > 0 ? -EACCES : buf_append_str(out, value);
}

/* In place of all fields of that name. value is empty then. */
static int replace_field(struct exchange_fields *fields, const char *name, struct buf *value)
{
    exchange_fields_remove(fields, name);
    int r = exchange_fields_add(fields, name, "");
    if (r == 0)
        exchange_fields_take(fields, fields->count - 1, value);
    return r;
}

static int set_field(struct exchange *x, struct exchange_fields *fields,
                     const struct policy_field *set)
{
    struct buf value = BUF_INIT(EXCHANGE_VALUE_MAX_BYTES);
    int r = expand(x, set->value, &value);
    if (r == 0)
        r = replace_field(fields, set->name, &value);
    secret_wipe_buf(&value);
    return r;
}

static int set_basic(struct exchange *x, struct exchange_fields *fields, const char *credentials)
{
    struct buf plain = BUF_INIT(EXCHANGE_VALUE_MAX_BYTES / 2);
    struct buf value = BUF_INIT(EXCHANGE_VALUE_MAX_BYTES);
    int r = expand(x, credentials, &plain);
    if (r == 0)
        r = buf_append_str(&value, "Basic ");
    if (r == 0) {
        text_base64_append(&value, plain.data, plain.size);
        r = value.failed ? -ENOMEM : replace_field(fields, "authorization", &value);
    }
    secret_wipe_buf(&plain);
    secret_wipe_buf(&value);
    return r;
}

static int append_percent(struct buf *out, const char *text, size_t size)
{
    int r = 0;
    for (size_t i = 0; i < size && r == 0; i++) {
        char escape[4];
        unsigned char c = (unsigned char)text[i];
        bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                        (c >= 'A' && c <= 'Z') || (c && strchr("-._~", c));
        snprintf(escape, sizeof(escape), is_plain ? "%c" : "%%%02X", c);
        r = buf_append_str(out, escape);
    }
    return r;
}

/* In place of all parameters that a server could take for it. query: without the '?'. */
static int set_parameter(struct exchange *x, struct buf *query, const struct policy_field *set)
{
    struct buf value = BUF_INIT(EXCHANGE_VALUE_MAX_BYTES);
    struct buf made = BUF_INIT(EXCHANGE_VALUE_MAX_BYTES);
    const char *piece = query->size > 0 ? query->data : NULL, *end;
    int r = expand(x, set->value, &value);
    for (; piece && r == 0; piece = *end ? end + 1 : NULL) {
        end = strchrnul(piece, '&');
        if (!policy_query_could_name(piece, (size_t)(end - piece), set->name))
            r = buf_append(&made, piece, (size_t)(end - piece)) ?: buf_append_str(&made, "&");
    }
    if (r == 0)
        r = buf_append_str(&made, set->name) ?: buf_append_str(&made, "=");
    if (r == 0)
        r = append_percent(&made, value.data, value.size);
    if (r == 0) {
        secret_wipe_buf(query);
        *query = made;
        made = BUF_INIT(EXCHANGE_VALUE_MAX_BYTES);
    }
    secret_wipe_buf(&value);
    secret_wipe_buf(&made);
    return r;
}

static int apply(struct exchange *x, struct exchange_fields *fields, struct buf *query,
                 const struct policy_transform *t)
{
    int r = 0;
    for (size_t i = 0; i < t->remove_count; i++)
        exchange_fields_remove(fields, t->remove[i]);
    for (size_t i = 0; i < t->set_count && r == 0; i++)
        r = set_field(x, fields, &t->set[i]);
    if (t->basic && r == 0)
        r = set_basic(x, fields, t->basic);
    for (size_t i = 0; i < t->parameter_count && r == 0; i++)
        r = set_parameter(x, query, &t->parameters[i]);
    if (x->has_secrets)
        x->scrub = MAX(x->scrub, t->scrub);
    return r;
}

/* match is of the request as the guest sent it. */
static int apply_all(struct exchange *x, struct exchange_fields *fields, struct buf *query,
                     const struct http_request *r, const struct policy_rule *rule)
{
    struct policy_field *seen = calloc(r->field_count + 2, sizeof(*seen));
    int e = seen ? 0 : -ENOMEM;
    if (seen) {
        struct policy_request request = exchange_policy_request(x, r, seen);
        for (size_t i = 0; i < rule->transform_count && e == 0; i++)
            if (policy_http_matches(rule->transforms[i].match, &request))
                e = apply(x, fields, query, &rule->transforms[i]);
    }
    free(seen);
    return e;
}

/* What is asked of the server so that its response can be scrubbed. */
static int ask_plainly(struct exchange *x, struct exchange_fields *fields)
{
    if (x->scrub == POLICY_SCRUB_OFF)
        return 0;
    exchange_fields_remove(fields, "Accept-Encoding");
    /* A value could be fetched in halves. */
    if (x->scrub == POLICY_SCRUB_STRICT)
        exchange_fields_remove(fields, "Range");
    return exchange_fields_add(fields, "Accept-Encoding", "identity");
}

/* Fields that may be added at most. */
static size_t count_added(const struct policy_rule *rule)
{
    size_t count = 1 + 3; /* Accept-Encoding; those of a signature */
    for (size_t i = 0; rule && i < rule->transform_count; i++)
        count += rule->transforms[i].set_count + (rule->transforms[i].basic != NULL);
    return count;
}

/* ---- writing it ---- */

static int write_head(struct exchange *x, const struct http_request *r,
                      struct exchange_fields *fields, const char *query)
{
    char host[HTTP_HOST_MAX_BYTES + 1];
    struct http_request_head head = http_request_head_of(r);
    head.fields = fields->list;
    head.field_count = fields->count;
    head.query = query;
    head.upgrade = x->upgrade;
    head.proxy_authorization = x->proxy_authorization;
    head.authority.host = host_of(x, r, host, sizeof(host));
    head.authority.port = port_of(x, r);
    exchange_secrets_fill_content(x, r, &head.framing);
    x->request_body =
        (struct exchange_body){.kind = exchange_content_framing(x, head.framing).kind};
    int e = exchange_sign(x, &head, fields);
    return e < 0 ? e : exchange_write_request(x, &head, fields, query != r->query);
}

static bool sets_parameters(const struct policy_rule *rule)
{
    for (size_t i = 0; rule && i < rule->transform_count; i++)
        if (rule->transforms[i].parameter_count > 0)
            return true;
    return false;
}

static int change_and_write(struct exchange *x, const struct http_request *r,
                            const struct policy_rule *rule, struct exchange_fields *fields)
{
    struct buf filled = BUF_INIT(EXCHANGE_VALUE_MAX_BYTES);
    struct buf set = BUF_INIT(EXCHANGE_VALUE_MAX_BYTES);
    const char *query = r->query;
    bool changes_query = sets_parameters(rule) && r->path && r->path[0] == '/';
    int e = exchange_secrets_fill(x, fields, query, &filled, &query);
    if (e == 0 && changes_query && query)
        e = buf_append_str(&set, query);
    if (e == 0 && rule)
        e = apply_all(x, fields, &set, r, rule);
    if (e == 0 && changes_query)
        query = set.data;
    /* What passes behind a 101 is not scrubbed. */
    if (x->scrub == POLICY_SCRUB_STRICT)
        x->upgrade = NULL;
    if (e == 0)
        e = ask_plainly(x, fields);
    if (e == 0)
        e = write_head(x, r, fields, query);
    secret_wipe_buf(&filled);
    secret_wipe_buf(&set);
    return e;
}

static void refuse_write(struct exchange *x, int e)
{
    if (e == -EACCES)
        exchange_secrets_refuse(x);
    else if (e == -EINVAL)
        exchange_refuse(x, 400, "malformed", "with what is to be filled in it is no valid request");
    else
        exchange_refuse_error(x, e == -ENOMEM ? HTTP_ERROR_MEMORY : HTTP_ERROR_HEAD_LONG);
}

static void content_failed(struct exchange *x, int e)
{
    if (e == -EACCES)
        refuse_write(x, e);
    else
        exchange_refuse_error(x, e == -ENOMEM ? HTTP_ERROR_MEMORY : HTTP_ERROR_BODY_LONG);
}

static bool forwards(const struct policy_rule *rule)
{
    for (size_t i = 0; rule && i < rule->transform_count; i++)
        if (rule->transforms[i].forward_url)
            return true;
    return false;
}

bool exchange_has_content(const struct http_request *r)
{
    return r->form != HTTP_TARGET_AUTHORITY &&
           (r->framing.kind == HTTP_BODY_CHUNKED || r->framing.length > 0);
}

static void expect_response(struct exchange *x, const struct http_request *r)
{
    http_response_expect(&x->response, r->method, x->upgrade != NULL);
    x->response_state = RESPONSE_HEAD;
    x->response_ns = 0;
    const struct http_framing framing = exchange_content_framing(x, r->framing);
    http_body_init(&x->request_content, &framing, HTTP_BODY_ANY_LENGTH);
    x->request_state = exchange_has_content(r) ? REQUEST_BODY : REQUEST_SENT;
}

/* Content comes before the head can be written. */
static void hold_content(struct exchange *x, const struct http_request *r)
{
    const struct http_framing framing = exchange_content_framing(x, r->framing);
    struct http_framing unused = r->framing;
    http_body_init(&x->request_content, &framing, HTTP_BODY_ANY_LENGTH);
    exchange_secrets_fill_content(x, r, &unused);
    x->request_state = REQUEST_BODY;
    int e = exchange_sign_hold(x, r);
    if (e < 0)
        content_failed(x, e);
}

static void send_request(struct exchange *x, struct http_request *r, const struct decision *d)
{
    const struct policy_rule *rule = d->rule >= 0 ? &gateway.document->rules[d->rule] : NULL;
    struct exchange_fields fields;
    const char *words = "";
    exchange_secrets_begin(x, r, d);
    if (!exchange_secrets_check(x, r)) {
        exchange_secrets_refuse(x);
        return;
    }
    if (forwards(rule)) {
        exchange_refuse(x, 403, "forward", "requests are not forwarded to other hosts");
        return;
    }
    x->drops_trailers = x->has_secrets || (rule && rule->transform_count > 0);
    int e = exchange_sign_begin(x, r, &words);
    if (e == -EPERM) {
        exchange_refuse(x, 403, "signature", words);
        return;
    }
    if (e == 0 && x->signing.holds) {
        hold_content(x, r);
        return;
    }
    if (e == 0)
        e = exchange_fields_init(&fields, r->fields, r->field_count, count_added(rule));
    if (e == 0) {
        e = change_and_write(x, r, rule, &fields);
        exchange_fields_done(&fields);
    }
    if (e < 0)
        refuse_write(x, e);
    else
        expect_response(x, r);
}

static void judge_and_send(struct exchange *x)
{
    struct http_request *r = &x->request.request;
    struct decision d;
    exchange_judge(x, r, &d);
    note_decision(x, &d);
    if (d.status != 0)
        exchange_refuse(x, d.status, d.reason, d.words);
    else if (x->is_lost)
        exchange_fail(x, 502, x->lost_reason, x->lost_words);
    else
        send_request(x, r, &d);
}

/* The head is complete. */
static void take_request(struct exchange *x)
{
    struct http_request *r = &x->request.request;
    x->request_ns = 0;
    note_authority(x, r);
    x->upgrade = asked_upgrade(r);
    x->proxy_authorization = proxy_credentials(r);
    r->field_count = http_fields_forward(r->fields, r->field_count);
    judge_and_send(x);
}

static size_t take_head(struct exchange *x, const char *data, size_t size)
{
    size_t taken;
    enum http_progress progress = http_request_take(&x->request, data, size, &taken);
    x->guest_tx += taken;
    if (x->request_ns == 0 && http_request_has_begun(&x->request))
        x->request_ns = gateway_now_ns();
    x->is_recording |= http_request_has_begun(&x->request) || progress == HTTP_FAILED;
    if (progress == HTTP_DONE)
        take_request(x);
    else if (progress == HTTP_FAILED)
        exchange_refuse_error(x, x->request.error);
    return taken;
}

/* ---- its content ---- */

/* The policy and the secrets may be others by now. */
static void send_held(struct exchange *x)
{
    http_body_done(&x->request_content);
    exchange_secrets_end(x);
    judge_and_send(x);
    if (exchange_is_over(x) || x->response_state != RESPONSE_HEAD)
        return;
    const struct buf *held = &x->signing.held;
    int e = exchange_body_write(&x->request_body, &x->to_server, held->data, held->size);
    if (e == 0)
        e = exchange_end_request(x, NULL, 0);
    if (e < 0)
        content_failed(x, e);
    else
        x->request_state = REQUEST_SENT;
}

static void content_done(struct exchange *x)
{
    size_t count = x->drops_trailers ? 0 : x->request_content.trailer_count;
    int e = x->fills ? exchange_secrets_request_end(x) : 0;
    if (e == 0 && x->signing.holds) {
        e = exchange_sign_release(x);
        if (e == 0) {
            send_held(x);
            return;
        }
    }
    if (e == 0)
        e = exchange_end_request(x, x->request_content.trailers, count);
    if (e < 0) {
        content_failed(x, e);
        return;
    }
    x->request_state = REQUEST_SENT;
    if (x->response_state == RESPONSE_DONE)
        exchange_finish(x);
}

static size_t take_content(struct exchange *x, const char *data, size_t size)
{
    struct http_slice slice;
    size_t taken;
    if (x->to_server.size >= EXCHANGE_OUT_BYTES)
        return 0;
    size = MIN(size, x->grows ? EXCHANGE_FILLED_BYTES : EXCHANGE_OUT_BYTES - x->to_server.size);
    enum http_progress progress = http_body_take(&x->request_content, data, size, &taken, &slice);
    x->guest_tx += taken;
    int e = x->fills ? exchange_secrets_request(x, &slice)
                     : exchange_body_pass(&x->request_body, &x->to_server, &slice,
                                          x->request_content.left_bytes);
    if (e < 0)
        content_failed(x, e);
    else if (progress == HTTP_DONE)
        content_done(x);
    else if (progress == HTTP_FAILED)
        exchange_refuse_error(x, x->request_content.error);
    return taken;
}

size_t exchange_request_take(struct exchange *x, const char *data, size_t size)
{
    switch (x->request_state) {
    case REQUEST_HEAD:
        return take_head(x, data, size);
    case REQUEST_BODY:
        return take_content(x, data, size);
    case REQUEST_SENT:
        break;
    }
    return 0;
}

void exchange_guest_trailer(struct exchange *x, const char *data, size_t size)
{
    if (exchange_is_over(x) || x->request_state != REQUEST_BODY)
        return;
    x->guest_tx += size;
    x->active_ns = gateway_now_ns();
    if (http_body_take_trailer(&x->request_content, data, size) == HTTP_DONE)
        content_done(x);
    else
        exchange_refuse_error(x, x->request_content.error);
}

void exchange_request_end(struct exchange *x)
{
    bool is_idle = x->request_state == REQUEST_HEAD && !http_request_has_begun(&x->request);
    if (is_idle)
        exchange_close(x, EXCHANGE_CLOSE, EXCHANGE_CLOSE);
    else if (x->request_state == REQUEST_BODY && http_body_end(&x->request_content) == HTTP_DONE)
        content_done(x);
    else if (x->request_state != REQUEST_SENT)
        exchange_refuse_error(x, HTTP_ERROR_TRUNCATED);
}
