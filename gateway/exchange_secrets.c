// SPDX-License-Identifier: Apache-2.0
/* Secrets into requests, and out of responses: lib/secret, step by step. */
#include "gateway/exchange_parts.h"

void exchange_secrets_begin(struct exchange *x, const struct http_request *r,
                            const struct decision *d)
{
    x->has_secrets = gateway.secrets != NULL;
    x->scrub = POLICY_SCRUB_OFF;
    if (!x->has_secrets)
        return;
    /* Where the guest chose the address, or names another host, nobody knows who reads it. */
    const struct secrets_request request = {
        .host = x->name[0] && !d->is_elsewhere ? x->name : NULL,
        .port = x->setup.evidence->port,
        .method = r->method,
        .path = r->path,
        .is_verified_tls = x->setup.is_tls,
    };
    x->document = gateway.document;
    x->made = BUF_INIT(EXCHANGE_OUT_MAX_BYTES);
    secrets_begin(&x->secrets, gateway.secrets, &request);
    x->scrub = x->secrets.scrub;
}

void exchange_secrets_end(struct exchange *x)
{
    if (x->has_secrets)
        secrets_end(&x->secrets);
    secret_wipe_buf(&x->made);
    x->has_secrets = x->fills = x->grows = x->scrubs = x->drops_trailers = false;
    x->scrub = POLICY_SCRUB_OFF;
}

bool exchange_secrets_check(struct exchange *x, const struct http_request *r)
{
    struct secrets_violation v;
    if (!x->has_secrets)
        return true;
    secrets_check(&x->secrets, r->method, strlen(r->method));
    secrets_check(&x->secrets, r->target, strlen(r->target));
    for (size_t i = 0; i < r->field_count; i++) {
        secrets_check(&x->secrets, r->fields[i].name, strlen(r->fields[i].name));
        secrets_check_field(&x->secrets, r->fields[i].name, r->fields[i].value);
    }
    /* By that name credentials are decoded. */
    if (x->proxy_authorization)
        secrets_check_field(&x->secrets, "Authorization", x->proxy_authorization);
    return !secrets_get_violation(&x->secrets, &v);
}

void exchange_secrets_refuse(struct exchange *x)
{
    struct secrets_violation v;
    if (x->has_secrets && secrets_get_violation(&x->secrets, &v)) {
        x->violation = v.name;
        x->violation_action = v.action;
    }
    /* Not with the record, which waits until the program has read its answer. */
    if (x->violation && x->violation_action == POLICY_VIOLATION_TERMINATE && x->setup.terminate)
        x->setup.terminate(x->setup.context, x->violation);
    exchange_refuse(
        x, 403, "secret_violation",
        "a placeholder in this request is of a secret that is not for this host, method and "
        "path; leave it out");
}

int exchange_secrets_fill(struct exchange *x, struct exchange_fields *fields, const char *query,
                          struct buf *filled, const char **ret_query)
{
    int e = 0;
    for (size_t i = 0; x->has_secrets && i < fields->count && e >= 0; i++) {
        struct buf value = BUF_INIT(EXCHANGE_VALUE_MAX_BYTES);
        const struct http_field *f = &fields->list[i];
        e = secrets_fill_field(&x->secrets, f->name, f->value, &value);
        if (e > 0)
            exchange_fields_take(fields, i, &value);
        secret_wipe_buf(&value);
    }
    if (x->has_secrets && query && e >= 0)
        e = secrets_fill_query(&x->secrets, query, filled) ?: 2;
    if (e == 1)
        *ret_query = filled->data;
    return MIN(e, 0);
}

void exchange_secrets_fill_content(struct exchange *x, const struct http_request *r,
                                   struct http_framing *framing)
{
    x->fills = x->has_secrets && !x->signing.has_held && framing->kind != HTTP_BODY_OPAQUE &&
               (framing->kind == HTTP_BODY_CHUNKED || framing->length > 0);
    if (!x->fills)
        return;
    const char *type = http_field_get(r->fields, r->field_count, "Content-Type");
    const char *coding = http_field_get(r->fields, r->field_count, "Content-Encoding");
    /* What is signed of it is signed as it came. */
    bool is_fixed = coding || x->signing.is_on;
    x->grows = secrets_body_begin(&x->filled, &x->secrets, type, is_fixed);
    if (x->grows)
        *framing = (struct http_framing){.kind = HTTP_BODY_CHUNKED};
}

void exchange_secrets_scrub_content(struct exchange *x, struct http_framing *framing)
{
    bool has_content = framing->kind != HTTP_BODY_NONE &&
                       (framing->kind != HTTP_BODY_LENGTH || framing->length > 0);
    x->scrubs = x->has_secrets && x->scrub != POLICY_SCRUB_OFF && has_content;
    if (x->has_secrets && x->scrub != POLICY_SCRUB_OFF && framing->kind == HTTP_BODY_NONE)
        framing->has_length = false; /* a HEAD's, of what its GET would be */
    if (!x->scrubs)
        return;
    secrets_scrub_begin(&x->scrubbed, &x->secrets);
    if (framing->kind == HTTP_BODY_LENGTH)
        *framing = http_framing_for((struct http_framing){.kind = HTTP_BODY_CHUNKED},
                                    x->request.request.version);
}

static int write_made(struct exchange *x, int e, struct exchange_body *body, struct buf *out)
{
    if (e == 0)
        e = exchange_body_write(body, out, x->made.data, x->made.size);
    buf_reset(&x->made);
    return e;
}

static int write_request_made(struct exchange *x, int e)
{
    if (!x->signing.holds)
        return write_made(x, e, &x->request_body, &x->to_server);
    if (e == 0)
        e = exchange_sign_keep(x, x->made.data, x->made.size);
    buf_reset(&x->made);
    return e;
}

int exchange_secrets_request(struct exchange *x, const struct http_slice *slice)
{
    int e = slice->size > 0 ? secrets_body_take(&x->filled, slice->data, slice->size, &x->made) : 0;
    return write_request_made(x, e);
}

int exchange_secrets_request_end(struct exchange *x)
{
    return write_request_made(x, secrets_body_end(&x->filled, &x->made));
}

int exchange_secrets_response(struct exchange *x, const struct http_slice *slice)
{
    int e =
        slice->size > 0 ? secrets_scrub_take(&x->scrubbed, slice->data, slice->size, &x->made) : 0;
    return write_made(x, e, &x->response_body, &x->to_guest);
}

int exchange_secrets_response_end(struct exchange *x)
{
    return write_made(x, secrets_scrub_end(&x->scrubbed, &x->made), &x->response_body,
                      &x->to_guest);
}

/* A field whose name has a value in it says nothing that could be kept. */
static int scrub_name(struct exchange *x, struct exchange_fields *fields, size_t i)
{
    struct buf name = BUF_INIT(EXCHANGE_VALUE_MAX_BYTES);
    int e = secrets_scrub_text(&x->secrets, fields->list[i].name, &name);
    if (e > 0)
        exchange_fields_remove(fields, fields->list[i].name);
    buf_done(&name);
    return e;
}

static int scrub_value(struct exchange *x, struct exchange_fields *fields, size_t i)
{
    struct buf value = BUF_INIT(EXCHANGE_VALUE_MAX_BYTES);
    int e = secrets_scrub_text(&x->secrets, fields->list[i].value, &value);
    if (e > 0)
        exchange_fields_take(fields, i, &value);
    buf_done(&value);
    return e;
}

int exchange_secrets_scrub(struct exchange *x, struct exchange_fields *fields)
{
    int e = 0;
    if (!x->has_secrets || x->scrub == POLICY_SCRUB_OFF)
        return 0;
    for (size_t i = 0; i < fields->count && e >= 0;) {
        e = scrub_name(x, fields, i);
        if (e == 0)
            e = scrub_value(x, fields, i++);
    }
    return MIN(e, 0);
}
