// SPDX-License-Identifier: Apache-2.0
#include "lib/http/write.h"

#include "lib/http/syntax.h"

#include <inttypes.h>
#include <stdio.h>

static bool field_is_valid(const struct http_field *f)
{
    return http_token_is_valid(f->name, strlen(f->name)) && http_value_is_valid(f->value);
}

static bool fields_are_valid(const struct http_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!field_is_valid(&fields[i]) || http_field_is_hop(fields[i].name))
            return false;
    }
    return true;
}

/* Of visible bytes, without the one that no target has. */
static bool target_is_valid(const char *text)
{
    for (; *text; text++) {
        if (!http_is_visible_byte((unsigned char)*text) || *text == '#')
            return false;
    }
    return true;
}

static bool host_is_valid(const char *host)
{
    size_t size;
    uint16_t port;
    return host && http_authority_parse(host, strlen(host), &size, &port) && size == strlen(host);
}

/* Unlike a field's value, it may have blanks at its ends. */
static bool reason_is_valid(const char *reason)
{
    for (; *reason; reason++) {
        if (!http_is_value_byte((unsigned char)*reason))
            return false;
    }
    return true;
}

/* The protocols' names have a version behind a slash: "websocket", "TLS/1.2, HTTP/1.1". */
static bool upgrade_is_valid(const char *upgrade)
{
    return !upgrade || (upgrade[0] && http_value_is_valid(upgrade));
}

static bool request_target_is_valid(const struct http_request_head *h)
{
    bool is_connect = strcmp(h->method, "CONNECT") == 0;
    bool is_star = h->form != HTTP_TARGET_AUTHORITY && strcmp(h->path, "*") == 0;
    if (is_connect != (h->form == HTTP_TARGET_AUTHORITY) ||
        is_star != (h->form == HTTP_TARGET_ASTERISK))
        return false;
    if (is_connect)
        return h->authority.port != 0 && h->framing.kind == HTTP_BODY_OPAQUE;
    if (is_star)
        return strcmp(h->method, "OPTIONS") == 0 && !h->query;
    if (h->form == HTTP_TARGET_ABSOLUTE &&
        (!h->scheme || (strcmp(h->scheme, "http") != 0 && strcmp(h->scheme, "https") != 0)))
        return false;
    /* A '?' in the path would begin a query. */
    return h->path[0] == '/' && target_is_valid(h->path) && !strchr(h->path, '?') &&
           (!h->query || target_is_valid(h->query));
}

static bool credentials_are_valid(const struct http_request_head *h)
{
    return !h->proxy_authorization ||
           (h->form == HTTP_TARGET_AUTHORITY && http_value_is_valid(h->proxy_authorization));
}

bool http_request_is_valid(const struct http_request_head *h)
{
    return http_token_is_valid(h->method, strlen(h->method)) && host_is_valid(h->authority.host) &&
           request_target_is_valid(h) && h->framing.kind != HTTP_BODY_CLOSE &&
           (h->framing.kind == HTTP_BODY_OPAQUE) == (h->form == HTTP_TARGET_AUTHORITY) &&
           h->framing.length <= INT64_MAX && upgrade_is_valid(h->upgrade) &&
           credentials_are_valid(h) && fields_are_valid(h->fields, h->field_count);
}

static void write_authority(struct buf *out, const struct http_authority *a)
{
    buf_append_str(out, a->host);
    if (a->port)
        buf_printf(out, ":%u", (unsigned)a->port);
}

static void write_target(struct buf *out, const struct http_request_head *h)
{
    if (h->form == HTTP_TARGET_AUTHORITY) {
        write_authority(out, &h->authority);
        return;
    }
    if (h->form == HTTP_TARGET_ABSOLUTE) {
        buf_printf(out, "%s://", h->scheme);
        write_authority(out, &h->authority);
    }
    buf_append_str(out, h->path);
    if (h->query)
        buf_printf(out, "?%s", h->query);
}

static void write_fields(struct buf *out, const struct http_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "%s: %s\r\n", fields[i].name, fields[i].value);
}

static void write_framing(struct buf *out, const struct http_framing *f)
{
    if (f->kind == HTTP_BODY_CHUNKED)
        buf_append_str(out, "Transfer-Encoding: chunked\r\n");
    else if (f->kind == HTTP_BODY_LENGTH || (f->kind == HTTP_BODY_NONE && f->has_length))
        buf_printf(out, "Content-Length: %" PRIu64 "\r\n", f->length);
}

static void write_connection(struct buf *out, const char *upgrade, bool closes)
{
    if (upgrade)
        buf_printf(out, "Connection: %supgrade\r\nUpgrade: %s\r\n", closes ? "close, " : "",
                   upgrade);
    else if (closes)
        buf_append_str(out, "Connection: close\r\n");
}

/* What was appended stays only when all of it was. */
static int finish(struct buf *out, size_t start)
{
    int r = buf_append_str(out, "\r\n");
    if (r < 0 && out->data) {
        out->size = start;
        out->data[start] = '\0';
    }
    return r;
}

int http_request_write(struct buf *out, const struct http_request_head *h)
{
    size_t start = out->size;
    if (!http_request_is_valid(h))
        return -EINVAL;
    buf_printf(out, "%s ", h->method);
    write_target(out, h);
    buf_append_str(out, " HTTP/1.1\r\nHost: ");
    write_authority(out, &h->authority);
    buf_append_str(out, "\r\n");
    write_fields(out, h->fields, h->field_count);
    if (h->proxy_authorization)
        buf_printf(out, "Proxy-Authorization: %s\r\n", h->proxy_authorization);
    write_framing(out, &h->framing);
    write_connection(out, h->upgrade, h->closes);
    return finish(out, start);
}

/* Whether a response of this status can have content that ends so (RFC 9112, section 6.3). */
static bool response_framing_is_valid(unsigned status, const struct http_framing *f)
{
    if (f->length > INT64_MAX)
        return false;
    /* Only 101, and what a CONNECT that succeeded is answered, end HTTP. */
    if (f->kind == HTTP_BODY_OPAQUE)
        return status == 101 || (status >= 200 && status < 300);
    if (status < 200 || status == 204)
        return status != 101 && f->kind == HTTP_BODY_NONE && !f->has_length;
    return status != 304 || f->kind == HTTP_BODY_NONE;
}

bool http_response_is_valid(const struct http_response_head *h)
{
    return h->status >= 100 && h->status <= 999 && (h->status == 101) == (h->upgrade != NULL) &&
           response_framing_is_valid(h->status, &h->framing) && reason_is_valid(h->reason) &&
           upgrade_is_valid(h->upgrade) && fields_are_valid(h->fields, h->field_count);
}

int http_response_write(struct buf *out, const struct http_response_head *h)
{
    size_t start = out->size;
    if (!http_response_is_valid(h))
        return -EINVAL;
    buf_printf(out, "HTTP/1.1 %u %s\r\n", h->status, h->reason);
    write_fields(out, h->fields, h->field_count);
    write_framing(out, &h->framing);
    write_connection(out, h->upgrade, h->closes || h->framing.kind == HTTP_BODY_CLOSE);
    return finish(out, start);
}

struct http_request_head http_request_head_of(const struct http_request *r)
{
    enum http_target_form form = r->form == HTTP_TARGET_AUTHORITY ? HTTP_TARGET_AUTHORITY
                                 : strcmp(r->path, "*") == 0      ? HTTP_TARGET_ASTERISK
                                                                  : HTTP_TARGET_ORIGIN;
    return (struct http_request_head){
        .method = r->method,
        .form = form,
        .scheme = r->scheme,
        .authority = r->authority,
        .path = r->path,
        .query = r->query,
        .fields = r->fields,
        .field_count = r->field_count,
        .framing = r->framing,
        .upgrade = r->upgrade,
        .closes = !r->persists && form != HTTP_TARGET_AUTHORITY,
    };
}

struct http_response_head http_response_head_of(const struct http_response *r)
{
    return (struct http_response_head){
        .status = r->status,
        .reason = r->reason,
        .fields = r->fields,
        .field_count = r->field_count,
        .framing = r->framing,
        .upgrade = r->upgrade,
        .closes = !r->persists && r->framing.kind != HTTP_BODY_OPAQUE,
    };
}

struct http_framing http_framing_for(struct http_framing framing, enum http_version client)
{
    if (client == HTTP_1_0 && framing.kind == HTTP_BODY_CHUNKED)
        framing.kind = HTTP_BODY_CLOSE;
    return framing;
}

size_t http_chunk_head(char out[HTTP_CHUNK_HEAD_MAX_BYTES + 1], uint64_t size)
{
    return (size_t)snprintf(out, HTTP_CHUNK_HEAD_MAX_BYTES + 1, "%" PRIx64 "\r\n", size);
}

int http_chunks_end(struct buf *out, const struct http_field *trailers, size_t count)
{
    size_t start = out->size;
    for (size_t i = 0; i < count; i++) {
        if (!field_is_valid(&trailers[i]) || http_field_is_no_trailer(trailers[i].name))
            return -EINVAL;
    }
    buf_append_str(out, "0\r\n");
    write_fields(out, trailers, count);
    return finish(out, start);
}
