// SPDX-License-Identifier: Apache-2.0
/*
 * Requests that a guest has signed with placeholders of AWS keys: signed anew (lib/secret/sigv4.h),
 * as they are sent. The head has a hash of the content in it. Where the guest says one it is taken
 * as it is, since a server that finds another one refuses; else the content is held back until all
 * of it is there.
 */
#include "gateway/exchange_parts.h"
#include "gateway/trust.h"

#include "lib/http/syntax.h"

#include <stdio.h>

#define CONTENT_FIELD    "X-Amz-Content-SHA256"
#define DATE_FIELD       "X-Amz-Date"
#define TOKEN_FIELD      "X-Amz-Security-Token"
#define HELD_MAX_BYTES   (16 * 1024 * 1024) /* of all requests together */
#define HOST_FIELD_BYTES (HTTP_HOST_MAX_BYTES + 8)

static const char no_content_hash[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static size_t held_bytes;

/* ---- what the guest has signed ---- */

/* The one field of that name; NULL: none, or *ret_count. */
static const char *find_field(const struct http_request *r, const char *name, size_t *ret_count)
{
    const char *value = NULL;
    *ret_count = 0;
    for (size_t i = 0; i < r->field_count; i++)
        if (http_words_equal(r->fields[i].name, name)) {
            value = r->fields[i].value;
            ++*ret_count;
        }
    return value;
}

static int refuse(const char **ret_words, const char *words)
{
    *ret_words = words;
    return -EPERM;
}

/* Whether its keys are there; the words if it must not go out. */
static int read_query(struct exchange *x, const struct http_request *r, const char **ret_words)
{
    const char *id;
    size_t size;
    if (!sigv4_parse_query(r->query, &id, &size))
        return 0;
    int e = secrets_find_keys(&x->secrets, id, size, &x->signing.keys);
    return e > 0 ? refuse(ret_words, "a presigned URL is not signed anew; sign the request in its "
                                     "field Authorization")
                 : e;
}

static int read_fields(struct exchange *x, const struct http_request *r, const char **ret_words)
{
    size_t count;
    const char *value = find_field(r, "Authorization", &count);
    enum sigv4_kind kind = value ? sigv4_parse(value, &x->signing.scope) : SIGV4_NONE;
    if (kind == SIGV4_NONE)
        return 0;
    if (kind == SIGV4_SIGNATURE && count == 1) {
        const struct sigv4_scope *s = &x->signing.scope;
        int e = secrets_find_keys(&x->secrets, s->id, s->id_size, &x->signing.keys);
        x->signing.is_on = e > 0;
        return MIN(e, 0);
    }
    if (x->secrets.signs == 0)
        return 0;
    return refuse(ret_words,
                  kind == SIGV4_OTHER
                      ? "of the signatures of AWS only AWS4-HMAC-SHA256 is made anew; "
                        "sign with that"
                      : "its signature can't be read; send one field Authorization, with "
                        "Credential, SignedHeaders and Signature");
}

/* What is signed of the content, or that it has to be held. */
static int read_content(struct exchange *x, const struct http_request *r, const char **ret_words)
{
    struct exchange_signing *s = &x->signing;
    size_t count;
    const char *value = find_field(r, CONTENT_FIELD, &count);
    if (count > 1)
        return refuse(ret_words, "it has more than one " CONTENT_FIELD "; send one");
    if (value && sigv4_content_of(value) == SIGV4_CONTENT_HASHED) {
        s->content = value;
        return 0;
    }
    if (value)
        return refuse(ret_words,
                      sigv4_content_of(value) == SIGV4_CONTENT_SIGNED
                          ? "content with signatures of its own is not signed anew; send its hash, "
                            "UNSIGNED-PAYLOAD or STREAMING-UNSIGNED-PAYLOAD-TRAILER"
                          : CONTENT_FIELD " is no hash; send one, or UNSIGNED-PAYLOAD");
    s->content = exchange_has_content(r) ? s->hash : no_content_hash;
    s->holds = exchange_has_content(r) && !s->has_held;
    return 0;
}

int exchange_sign_begin(struct exchange *x, const struct http_request *r, const char **ret_words)
{
    struct exchange_signing *s = &x->signing;
    const uint64_t used = x->secrets.used;
    s->is_on = s->holds = false;
    if (!x->has_secrets)
        return 0;
    int e = read_query(x, r, ret_words);
    if (e == 0)
        e = read_fields(x, r, ret_words);
    if (e == 0 && s->is_on)
        e = read_content(x, r, ret_words);
    /* What is not sent has not been used. */
    if (e < 0)
        x->secrets.used = used;
    return e;
}

/* ---- content that is held ---- */

int exchange_sign_hold(struct exchange *x, const struct http_request *r)
{
    struct exchange_signing *s = &x->signing;
    static const struct http_response_head go_on = {.status = 100, .reason = "Continue"};
    if (r->framing.kind == HTTP_BODY_LENGTH && r->framing.length > SIGV4_CONTENT_MAX_BYTES)
        return -E2BIG;
    s->held = BUF_INIT(SIGV4_CONTENT_MAX_BYTES);
    x->request_body = (struct exchange_body){.kind = HTTP_BODY_LENGTH};
    return r->expects_continue ? exchange_write_response(x, &go_on) : 0;
}

int exchange_sign_keep(struct exchange *x, const void *data, size_t size)
{
    struct exchange_signing *s = &x->signing;
    if (size == 0)
        return 0;
    if (size > HELD_MAX_BYTES - held_bytes)
        return -ENOMEM;
    int e = buf_append(&s->held, data, size);
    if (e == 0)
        held_bytes += size;
    return e;
}

int exchange_sign_release(struct exchange *x)
{
    struct exchange_signing *s = &x->signing;
    s->holds = false;
    s->has_held = true;
    return sigv4_hash(s->held.data ?: "", s->held.size, s->hash) ? 0 : -ENOMEM;
}

void exchange_sign_end(struct exchange *x)
{
    held_bytes -= x->signing.held.size;
    buf_done(&x->signing.held);
    x->signing = (struct exchange_signing){0};
}

/* ---- the signature ---- */

static int put(struct exchange_fields *fields, const char *name, const void *data, size_t size)
{
    struct buf value = BUF_INIT(EXCHANGE_VALUE_MAX_BYTES);
    int e = buf_append(&value, data, size);
    if (e == 0)
        e = exchange_fields_add(fields, name, "");
    if (e == 0)
        exchange_fields_take(fields, fields->count - 1, &value);
    secret_wipe_buf(&value);
    return e;
}

static int append_signature(struct exchange *x, const struct http_request_head *h,
                            const struct exchange_fields *fields, const char *date, struct buf *out)
{
    char host[HOST_FIELD_BYTES];
    struct policy_field *list = calloc(fields->count + 1, sizeof(*list));
    if (!list)
        return -ENOMEM;
    if (h->authority.port)
        snprintf(host, sizeof(host), "%s:%u", h->authority.host, (unsigned)h->authority.port);
    else
        snprintf(host, sizeof(host), "%s", h->authority.host);
    list[0] = (struct policy_field){"Host", host};
    for (size_t i = 0; i < fields->count; i++)
        list[i + 1] = (struct policy_field){fields->list[i].name, fields->list[i].value};
    const struct sigv4_request r = {.method = h->method,
                                    .path = h->path,
                                    .query = h->query,
                                    .fields = list,
                                    .field_count = fields->count + 1,
                                    .date = date,
                                    .content = x->signing.content};
    int e = sigv4_sign(&r, &x->signing.scope, &x->signing.keys, out);
    free(list);
    return e;
}

int exchange_sign(struct exchange *x, struct http_request_head *h, struct exchange_fields *fields)
{
    const struct sigv4_keys *keys = &x->signing.keys;
    struct buf signature = BUF_INIT(EXCHANGE_VALUE_MAX_BYTES);
    char date[SIGV4_DATE_BYTES + 1];
    if (!x->signing.is_on)
        return 0;
    sigv4_date(trust_now_s(), date);
    exchange_fields_remove(fields, "Authorization");
    exchange_fields_remove(fields, DATE_FIELD);
    exchange_fields_remove(fields, TOKEN_FIELD);
    if (x->signing.has_held)
        exchange_fields_remove(fields, "Expect");
    int e = put(fields, DATE_FIELD, date, SIGV4_DATE_BYTES);
    if (e == 0 && keys->token)
        e = put(fields, TOKEN_FIELD, keys->token, keys->token_size);
    if (e == 0)
        e = append_signature(x, h, fields, date, &signature);
    if (e == 0)
        e = put(fields, "Authorization", signature.data, signature.size);
    secret_wipe_buf(&signature);
    h->fields = fields->list;
    h->field_count = fields->count;
    return e;
}
