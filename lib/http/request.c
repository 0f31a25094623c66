// SPDX-License-Identifier: Apache-2.0
/*
 * Heads of requests (RFC 9112, section 3). The lines' text is, each ended by a NUL:
 *
 *   method, target, path, query      from the request line; "" for what it does not have
 *   name, value, name, value, ...    a pair for each field
 */
#include "lib/http/head_parts.h"

#include "lib/http/syntax.h"

/* The request line's parts, as places in the line; of size 0 when it has none. */
struct span {
    const char *text;
    size_t size;
};

struct target {
    enum http_target_form form;
    const char *scheme;
    struct span host, path, query;
    uint16_t port;
    bool has_query;
};

void http_request_init(struct http_request_parser *p, const struct http_limits *limits)
{
    *p = (struct http_request_parser){.limits = limits ? *limits : HTTP_LIMITS_DEFAULT};
    http_lines_init(&p->lines, p->limits.line_bytes, p->limits.head_bytes,
                    p->limits.line_bytes + 16);
    http_request_reset(p);
}

void http_request_done(struct http_request_parser *p)
{
    free(p->request.fields);
    http_lines_done(&p->lines);
    *p = (struct http_request_parser){.error = HTTP_ERROR_TRUNCATED, .progress = HTTP_FAILED};
}

void http_request_reset(struct http_request_parser *p)
{
    free(p->request.fields);
    p->request = (struct http_request){0};
    http_lines_reset(&p->lines);
    p->lines.is_visible_only = true;
    p->error = HTTP_ERROR_NONE;
    p->progress = HTTP_MORE;
    p->empty_lines = 0;
    p->has_start_line = false;
    p->field_count = 0;
}

bool http_request_has_begun(const struct http_request_parser *p)
{
    return p->has_start_line || p->lines.text.size > 0;
}

/* "scheme://host:port/path?query", with what the other forms have not before the path. */
static enum http_error parse_absolute(const char *text, size_t size, struct target *t)
{
    size_t scheme_size = 0;
    if (http_is_word(text, MIN(size, (size_t)7), "http://"))
        t->scheme = "http", scheme_size = 7;
    else if (http_is_word(text, MIN(size, (size_t)8), "https://"))
        t->scheme = "https", scheme_size = 8;
    else
        return HTTP_ERROR_TARGET;
    text += scheme_size;
    size -= scheme_size;
    size_t authority_size = 0;
    while (authority_size < size && text[authority_size] != '/' && text[authority_size] != '?')
        authority_size++;
    t->host.text = text;
    if (!http_authority_parse(text, authority_size, &t->host.size, &t->port))
        return HTTP_ERROR_TARGET;
    t->form = HTTP_TARGET_ABSOLUTE;
    t->path = (struct span){text + authority_size, size - authority_size};
    return HTTP_ERROR_NONE;
}

static void split_query(struct target *t)
{
    const char *mark = memchr(t->path.text, '?', t->path.size);
    if (!mark)
        return;
    t->has_query = true;
    t->query.text = mark + 1;
    t->query.size = t->path.size - (size_t)(mark + 1 - t->path.text);
    t->path.size = (size_t)(mark - t->path.text);
}

static enum http_error parse_target(struct span method, const char *text, size_t size,
                                    struct target *t)
{
    *t = (struct target){.path = {text, size}};
    /* No target has a fragment: who takes one for part of the path sees another path. */
    if (memchr(text, '#', size))
        return HTTP_ERROR_TARGET;
    if (method.size == 7 && memcmp(method.text, "CONNECT", 7) == 0) {
        t->form = HTTP_TARGET_AUTHORITY;
        t->host.text = text;
        t->path.size = 0;
        return http_authority_parse(text, size, &t->host.size, &t->port) && t->port
                   ? HTTP_ERROR_NONE
                   : HTTP_ERROR_TARGET;
    }
    bool is_options = method.size == 7 && memcmp(method.text, "OPTIONS", 7) == 0;
    if (text[0] == '*') {
        t->form = HTTP_TARGET_ASTERISK;
        return size == 1 && is_options ? HTTP_ERROR_NONE : HTTP_ERROR_TARGET;
    }
    if (text[0] != '/') {
        enum http_error e = parse_absolute(text, size, t);
        if (e)
            return e;
    }
    split_query(t);
    /* RFC 9112, 3.2.4: OPTIONS http://host means "*" to that host. */
    if (t->path.size == 0)
        t->path = is_options && !t->has_query ? (struct span){"*", 1} : (struct span){"/", 1};
    return HTTP_ERROR_NONE;
}

static void append_string(struct buf *b, struct span s)
{
    buf_append(b, s.text, s.size);
    buf_append(b, "", 1);
}

static const char *take_string(const char **text)
{
    const char *string = *text;
    *text += strlen(string) + 1;
    return string;
}

/* Puts the parts of the request line in its place; all of them lie in it until then. */
static enum http_error keep_start_line(struct http_request_parser *p, struct span method,
                                       struct span target, const struct target *t)
{
    struct buf parts = BUF_INIT(p->lines.text.max_bytes);
    if (t->host.size > 0) {
        memcpy(p->host, t->host.text, t->host.size);
        p->host[t->host.size] = '\0';
        p->request.authority = (struct http_authority){p->host, t->port};
    }
    append_string(&parts, method);
    append_string(&parts, target);
    append_string(&parts, t->path);
    append_string(&parts, t->query);
    buf_reset(&p->lines.text);
    if (!parts.failed)
        buf_append(&p->lines.text, parts.data, parts.size);
    bool is_failed = parts.failed || p->lines.text.failed;
    buf_done(&parts);
    if (is_failed)
        return HTTP_ERROR_MEMORY;
    p->request.form = t->form;
    p->request.scheme = t->scheme;
    p->request.query = t->has_query ? "" : NULL; /* its place is known at the end */
    p->has_start_line = true;
    p->lines.is_visible_only = false;
    http_lines_keep(&p->lines);
    return HTTP_ERROR_NONE;
}

/* method SP target SP version, and nothing else: one space each, none at the ends. */
static enum http_error take_start_line(struct http_request_parser *p)
{
    const char *line = p->lines.text.data, *end = line + p->lines.text.size;
    const char *first = memchr(line, ' ', (size_t)(end - line));
    const char *second = first ? memchr(first + 1, ' ', (size_t)(end - first - 1)) : NULL;
    if (!second || second == first + 1)
        return HTTP_ERROR_START_LINE;
    struct span method = {line, (size_t)(first - line)};
    struct span text = {first + 1, (size_t)(second - first - 1)};
    struct target target;
    if (!http_token_is_valid(method.text, method.size))
        return HTTP_ERROR_START_LINE;
    enum http_error e =
        http_version_parse(second + 1, (size_t)(end - second - 1), &p->request.version);
    if (!e && method.size > HTTP_METHOD_MAX_BYTES)
        e = HTTP_ERROR_METHOD_LONG;
    if (!e)
        e = parse_target(method, text.text, text.size, &target);
    return e ? e : keep_start_line(p, method, text, &target);
}

/* The text is complete and stays where it is: what borrows from it. */
static enum http_error point_into_text(struct http_request_parser *p)
{
    struct http_request *r = &p->request;
    const char *text = p->lines.text.data;
    r->method = take_string(&text);
    r->target = take_string(&text);
    r->path = take_string(&text);
    const char *query = take_string(&text);
    if (r->query)
        r->query = query;
    r->field_count = p->field_count;
    r->fields = http_field_table(text, p->field_count);
    return r->fields ? HTTP_ERROR_NONE : HTTP_ERROR_MEMORY;
}

/* The field Host: must be there, once, be a host, and agree with the target's, if that has one. */
static enum http_error take_host(struct http_request_parser *p)
{
    struct http_request *r = &p->request;
    const char *value = NULL;
    for (size_t i = 0; i < r->field_count; i++) {
        if (!http_words_equal(r->fields[i].name, "Host"))
            continue;
        if (value)
            return HTTP_ERROR_HOST_REPEATED;
        value = r->fields[i].value;
    }
    if (!value)
        return r->version == HTTP_1_0 ? HTTP_ERROR_NONE : HTTP_ERROR_HOST_MISSING;
    char text[HTTP_HOST_MAX_BYTES + 1];
    struct http_authority host = {.host = text};
    size_t size;
    if (!http_authority_parse(value, strlen(value), &size, &host.port))
        return HTTP_ERROR_HOST;
    memcpy(text, value, size);
    text[size] = '\0';
    if (!r->authority.host) {
        memcpy(p->host, text, size + 1);
        r->authority = (struct http_authority){p->host, host.port};
        return HTTP_ERROR_NONE;
    }
    /* A CONNECT's Host often has no port, and then means the target's. */
    uint16_t default_port = r->scheme ? http_scheme_port(r->scheme) : r->authority.port;
    return http_authority_equal(&r->authority, &host, default_port) ? HTTP_ERROR_NONE
                                                                    : HTTP_ERROR_HOST_OTHER;
}

static enum http_error take_end(struct http_request_parser *p)
{
    struct http_request *r = &p->request;
    struct http_options options;
    enum http_error e = point_into_text(p);
    if (!e)
        e = take_host(p);
    if (!e)
        e = http_options_read(r->fields, r->field_count, &options);
    if (!e)
        e = http_frame_request(r, &r->framing);
    if (e)
        return e;
    bool is_new = r->version == HTTP_1_1;
    r->persists = is_new && !options.closes && r->form != HTTP_TARGET_AUTHORITY;
    r->expects_continue =
        is_new && http_field_lists(r->fields, r->field_count, "Expect", "100-continue");
    if (is_new && options.upgrades &&
        !http_field_lists(r->fields, r->field_count, "Upgrade", "h2c"))
        r->upgrade = http_field_get(r->fields, r->field_count, "Upgrade");
    if (r->upgrade && !r->upgrade[0])
        r->upgrade = NULL;
    return HTTP_ERROR_NONE;
}

/* A line is complete. HTTP_DONE: it was the empty one at the end. */
static enum http_progress take_line(struct http_request_parser *p)
{
    bool is_empty = p->lines.text.size == p->lines.line_at;
    if (is_empty && !p->has_start_line) {
        if (++p->empty_lines > HTTP_EMPTY_LINES_MAX)
            p->error = HTTP_ERROR_EMPTY_LINES;
    } else if (!p->has_start_line) {
        p->error = take_start_line(p);
    } else if (is_empty) {
        p->error = take_end(p);
        return p->error ? HTTP_FAILED : HTTP_DONE;
    } else {
        p->error = http_field_next(&p->lines, &p->field_count, p->limits.fields);
    }
    return p->error ? HTTP_FAILED : HTTP_MORE;
}

enum http_progress http_request_take(struct http_request_parser *p, const char *data, size_t size,
                                     size_t *ret_taken)
{
    *ret_taken = 0;
    while (p->progress == HTTP_MORE && *ret_taken < size) {
        size_t taken;
        enum http_progress line =
            http_lines_take(&p->lines, data + *ret_taken, size - *ret_taken, &taken, &p->error);
        *ret_taken += taken;
        if (line == HTTP_FAILED) {
            if (p->error == HTTP_ERROR_FIELD_LONG && !p->has_start_line)
                p->error = HTTP_ERROR_TARGET_LONG;
            p->progress = HTTP_FAILED;
        } else if (line == HTTP_DONE) {
            p->progress = take_line(p);
        }
    }
    return p->progress;
}
