// SPDX-License-Identifier: Apache-2.0
/*
 * Where a message ends (RFC 9112, section 6). Two readers of the same bytes that answer this
 * differently are all it takes to smuggle a request past one of them, so whatever could be read
 * in two ways is refused, also where the RFC knows which way is right.
 */
#include "lib/http/head_parts.h"

#include "lib/http/syntax.h"

struct lengths {
    bool is_chunked;
    bool has_length;
    uint64_t length;
};

/* Content-Length and Transfer-Encoding, each by itself and both together. */
static enum http_error read_lengths(const struct http_field *fields, size_t count,
                                    enum http_version version, struct lengths *ret)
{
    struct lengths found = {0};
    for (size_t i = 0; i < count; i++) {
        const char *value = fields[i].value;
        if (http_words_equal(fields[i].name, "Content-Length")) {
            if (found.has_length)
                return HTTP_ERROR_LENGTH_REPEATED;
            if (!http_decimal(value, strlen(value), HTTP_LENGTH_DIGITS_MAX, INT64_MAX,
                              &found.length))
                return HTTP_ERROR_LENGTH;
            found.has_length = true;
        } else if (http_words_equal(fields[i].name, "Transfer-Encoding")) {
            if (found.is_chunked || !http_words_equal(value, "chunked"))
                return HTTP_ERROR_CODING;
            found.is_chunked = true;
        }
    }
    if (found.is_chunked && version == HTTP_1_0)
        return HTTP_ERROR_CODING_OLD;
    if (found.is_chunked && found.has_length)
        return HTTP_ERROR_LENGTH_AND_CODING;
    *ret = found;
    return HTTP_ERROR_NONE;
}

static struct http_framing framing_of(const struct lengths *l, enum http_body_kind otherwise)
{
    if (l->is_chunked)
        return (struct http_framing){.kind = HTTP_BODY_CHUNKED};
    if (l->has_length)
        return (struct http_framing){
            .kind = HTTP_BODY_LENGTH, .has_length = true, .length = l->length};
    return (struct http_framing){.kind = otherwise};
}

enum http_error http_frame_request(const struct http_request *r, struct http_framing *ret)
{
    struct lengths l;
    enum http_error e = read_lengths(r->fields, r->field_count, r->version, &l);
    if (e)
        return e;
    if (r->form == HTTP_TARGET_AUTHORITY) {
        /* RFC 9110, 9.3.6: what follows CONNECT is the tunnel's. */
        if (l.is_chunked || l.length > 0)
            return HTTP_ERROR_CONTENT;
        *ret = (struct http_framing){.kind = HTTP_BODY_OPAQUE};
        return HTTP_ERROR_NONE;
    }
    /* RFC 1945, 8.3 and 7.2.2: the content of these can't end otherwise. */
    if (r->version == HTTP_1_0 && !l.has_length &&
        (strcmp(r->method, "POST") == 0 || strcmp(r->method, "PUT") == 0))
        return HTTP_ERROR_LENGTH_MISSING;
    *ret = framing_of(&l, HTTP_BODY_NONE);
    return HTTP_ERROR_NONE;
}

enum http_error http_frame_response(const struct http_response_parser *p,
                                    const struct http_response *r, struct http_framing *ret)
{
    struct lengths l;
    struct http_framing f = {.kind = HTTP_BODY_NONE};
    enum http_error e = read_lengths(r->fields, r->field_count, r->version, &l);
    if (e)
        return e;
    if (p->is_connect && r->status >= 200 && r->status < 300) {
        /* RFC 9112, 6.3: both fields are ignored. */
        f.kind = HTTP_BODY_OPAQUE;
    } else if (r->status < 200 || r->status == 204) {
        /* RFC 9110, 8.6, and RFC 9112, 6.1: no server may send them. One that does would have its
         * content taken for the next response. */
        if (l.is_chunked || l.length > 0)
            return HTTP_ERROR_CONTENT;
        if (r->status == 101) {
            if (!p->asks_upgrade)
                return HTTP_ERROR_SWITCH;
            f.kind = HTTP_BODY_OPAQUE;
        }
    } else if (p->is_head || r->status == 304) {
        f.has_length = l.has_length;
        f.length = l.length;
    } else {
        f = framing_of(&l, HTTP_BODY_CLOSE);
    }
    *ret = f;
    return HTTP_ERROR_NONE;
}
