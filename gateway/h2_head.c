// SPDX-License-Identifier: Apache-2.0
/*
 * Heads of HTTP/2 as lines of HTTP/1.1, for the one reader of heads that there is. nghttp2 has
 * checked fields (RFC 9113, 8.2.1, 8.3); every byte is checked here again, since a line end that
 * got through would be another field, or another request.
 */
#include "gateway/h2_parts.h"
#include "lib/http/syntax.h"

void h2_head_begin(struct h2_head *h)
{
    h2_head_done(h);
    for (size_t i = 0; i < H2_TEXTS; i++)
        h->texts[i] = BUF_INIT(gateway.document->limits.header_bytes);
}

void h2_head_done(struct h2_head *h)
{
    for (size_t i = 0; i < H2_TEXTS; i++)
        buf_done(&h->texts[i]);
    *h = (struct h2_head){0};
}

/* ---- in ---- */

static bool is(nghttp2_vec text, const char *word)
{
    return text.len == strlen(word) && !memcmp(text.base, word, text.len);
}

/* Where a field goes that is no line of its own; or H2_LINES. */
static enum h2_text place_of(nghttp2_vec name)
{
    static const struct {
        const char *name;
        enum h2_text place;
    } places[] = {
        {":method", H2_METHOD}, {":scheme", H2_SCHEME}, {":authority", H2_AUTHORITY},
        {":path", H2_PATH},     {":status", H2_STATUS}, {"host", H2_HOST},
        {"cookie", H2_COOKIE},
    };
    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        if (is(name, places[i].name))
            return places[i].place;
    return H2_LINES;
}

/* In lower case (RFC 9113, 8.2.1). */
static bool name_is_valid(nghttp2_vec name)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.base[i] >= 'A' && name.base[i] <= 'Z')
            return false;
    return http_token_is_valid((const char *)name.base, name.len);
}

static bool value_is_valid(nghttp2_vec value, bool is_visible)
{
    for (size_t i = 0; i < value.len; i++)
        if (is_visible ? !http_is_visible_byte(value.base[i]) : !http_is_value_byte(value.base[i]))
            return false;
    return true;
}

/* Of one connection alone (RFC 9113, 8.2.2). */
static bool is_of_connection(nghttp2_vec name)
{
    static const char *const names[] = {"connection",        "keep-alive", "proxy-connection",
                                        "transfer-encoding", "upgrade",    "http2-settings"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (is(name, names[i]))
            return true;
    return false;
}

static void add_line(struct h2_head *h, nghttp2_vec name, nghttp2_vec value)
{
    struct buf *lines = &h->texts[H2_LINES];
    h->is_bad |= !name_is_valid(name) || is_of_connection(name);
    h->has_length |= is(name, "content-length");
    buf_append(lines, name.base, name.len);
    buf_append_str(lines, ": ");
    buf_append(lines, value.base, value.len);
    buf_append_str(lines, "\r\n");
}

void h2_head_add(struct h2_head *h, nghttp2_vec name, nghttp2_vec value, bool is_hidden)
{
    enum h2_text place = place_of(name);
    struct buf *text = &h->texts[place];
    bool is_line = place == H2_LINES || place == H2_COOKIE;
    h->bytes += name.len + value.len;
    h->is_long |= h->bytes > gateway.document->limits.header_bytes;
    if (h->is_bad || h->is_long)
        return;
    h->is_hidden |= is_hidden;
    h->is_bad |= !value_is_valid(value, !is_line) || (!is_line && text->size > 0);
    if (is(name, "te")) {
        h->takes_trailers = is(value, "trailers");
        h->is_bad |= !h->takes_trailers;
    } else if (place == H2_LINES) {
        add_line(h, name, value);
    } else {
        if (place == H2_COOKIE && text->size > 0)
            buf_append_str(text, "; ");
        buf_append(text, value.base, value.len);
    }
    h->is_long |= text->failed;
}

/* ---- out ---- */

static const char *text_of(const struct h2_head *h, enum h2_text which)
{
    return h->texts[which].data ? h->texts[which].data : "";
}

static void refuse(struct h2_refusal *ret, enum http_error e)
{
    *ret = (struct h2_refusal){http_error_status(e), http_error_reason(e), http_error_words(e)};
}

/* False: *ret says why it is none that can be read. */
static bool is_request(const struct h2_head *h, struct h2_refusal *ret)
{
    const char *host = text_of(h, H2_HOST), *authority = text_of(h, H2_AUTHORITY);
    const char *path = text_of(h, H2_PATH);
    if (h->is_long)
        refuse(ret, HTTP_ERROR_HEAD_LONG);
    else if (h->is_bad)
        refuse(ret, HTTP_ERROR_FIELD);
    else if (!strcmp(text_of(h, H2_METHOD), "CONNECT"))
        *ret = (struct h2_refusal){501, "connect", "CONNECT is not carried in HTTP/2"};
    else if (strcmp(text_of(h, H2_SCHEME), "https") != 0)
        *ret = (struct h2_refusal){421, "name_conflict", "this connection is for https"};
    else if (path[0] != '/' && strcmp(path, "*") != 0)
        refuse(ret, HTTP_ERROR_TARGET);
    else if (!host[0] && !authority[0])
        refuse(ret, HTTP_ERROR_HOST_MISSING);
    else if (host[0] && authority[0] && !http_words_equal(host, authority))
        refuse(ret, HTTP_ERROR_HOST_OTHER);
    else
        return true;
    return false;
}

static void write_lines(const struct h2_head *h, struct buf *lines)
{
    const struct buf *cookie = &h->texts[H2_COOKIE];
    buf_append_str(lines, text_of(h, H2_LINES));
    if (cookie->size > 0)
        buf_printf(lines, "cookie: %s\r\n", cookie->data);
}

bool h2_head_write_request(const struct h2_head *h, bool ends, struct buf *lines,
                           struct h2_refusal *ret)
{
    if (!is_request(h, ret))
        return false;
    const char *host = text_of(h, h->texts[H2_AUTHORITY].size > 0 ? H2_AUTHORITY : H2_HOST);
    buf_printf(lines, "%s %s HTTP/1.1\r\nhost: %s\r\n", text_of(h, H2_METHOD), text_of(h, H2_PATH),
               host);
    write_lines(h, lines);
    buf_append_str(lines, ends || h->has_length ? "\r\n" : "transfer-encoding: chunked\r\n\r\n");
    if (!lines->failed)
        return true;
    refuse(ret, HTTP_ERROR_MEMORY);
    return false;
}

bool h2_head_write_response(const struct h2_head *h, bool ends, bool is_head, struct buf *lines)
{
    const char *status = text_of(h, H2_STATUS);
    bool has_none = ends || is_head || h->has_length || status[0] == '1' ||
                    !strcmp(status, "204") || !strcmp(status, "304");
    if (h->is_long || h->is_bad || !status[0])
        return false;
    buf_printf(lines, "HTTP/1.1 %s \r\n", status);
    write_lines(h, lines);
    buf_append_str(lines, has_none ? "\r\n" : "transfer-encoding: chunked\r\n\r\n");
    return !lines->failed;
}

bool h2_head_write_trailer(const struct h2_head *h, struct buf *lines)
{
    if (h->is_long || h->is_bad)
        return false;
    write_lines(h, lines);
    buf_append_str(lines, "\r\n");
    return !lines->failed;
}
