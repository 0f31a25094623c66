// SPDX-License-Identifier: Apache-2.0
/*
 * Heads of responses (RFC 9112, section 4). The lines' text is the reason, and then name and value
 * of each field, all ended by a NUL.
 */
#include "lib/http/head_parts.h"

#include "lib/http/syntax.h"

void http_response_init(struct http_response_parser *p, const struct http_limits *limits)
{
    *p = (struct http_response_parser){.limits = limits ? *limits : HTTP_LIMITS_DEFAULT};
    http_lines_init(&p->lines, p->limits.line_bytes, p->limits.head_bytes, 16);
}

void http_response_done(struct http_response_parser *p)
{
    free(p->response.fields);
    http_lines_done(&p->lines);
    *p = (struct http_response_parser){.error = HTTP_ERROR_TRUNCATED, .progress = HTTP_FAILED};
}

static void forget(struct http_response_parser *p)
{
    free(p->response.fields);
    p->response = (struct http_response){0};
    http_lines_reset(&p->lines);
    p->error = HTTP_ERROR_NONE;
    p->progress = HTTP_MORE;
    p->has_start_line = false;
    p->field_count = 0;
}

void http_response_expect(struct http_response_parser *p, const char *method, bool asks_upgrade)
{
    forget(p);
    p->is_head = strcmp(method, "HEAD") == 0;
    p->is_connect = strcmp(method, "CONNECT") == 0;
    p->asks_upgrade = asks_upgrade;
    p->interim = 0;
}

bool http_response_is_interim(const struct http_response *r)
{
    return r->status < 200 && r->status != 101;
}

void http_response_next(struct http_response_parser *p)
{
    forget(p);
    if (++p->interim > HTTP_INTERIM_MAX) {
        p->error = HTTP_ERROR_INTERIM_MANY;
        p->progress = HTTP_FAILED;
    }
}

bool http_response_has_begun(const struct http_response_parser *p)
{
    return p->lines.total_bytes > 0;
}

/* version SP status [SP reason]: many servers leave out the second space with the reason. */
static enum http_error take_start_line(struct http_response_parser *p)
{
    const char *line = p->lines.text.data;
    size_t size = p->lines.text.size;
    uint64_t status;
    if (size < 12 || line[8] != ' ' || (size > 12 && line[12] != ' '))
        return HTTP_ERROR_START_LINE;
    enum http_error e = http_version_parse(line, 8, &p->response.version);
    if (e)
        return e;
    if (!http_decimal(line + 9, 3, 3, 999, &status) || status < 100)
        return HTTP_ERROR_START_LINE;
    p->response.status = (unsigned)status;
    p->has_start_line = true;
    buf_consume(&p->lines.text, MIN(size, (size_t)13));
    if (buf_append(&p->lines.text, "", 1) < 0)
        return HTTP_ERROR_MEMORY;
    http_lines_keep(&p->lines);
    return HTTP_ERROR_NONE;
}

static enum http_error take_end(struct http_response_parser *p)
{
    struct http_response *r = &p->response;
    struct http_options options;
    r->reason = p->lines.text.data;
    r->field_count = p->field_count;
    r->fields = http_field_table(r->reason + strlen(r->reason) + 1, r->field_count);
    if (!r->fields)
        return HTTP_ERROR_MEMORY;
    enum http_error e = http_options_read(r->fields, r->field_count, &options);
    if (!e)
        e = http_frame_response(p, r, &r->framing);
    if (e)
        return e;
    if (r->status == 101) {
        r->upgrade = http_field_get(r->fields, r->field_count, "Upgrade");
        if (!r->upgrade || !r->upgrade[0])
            return HTTP_ERROR_SWITCH;
    }
    r->persists = r->version == HTTP_1_1 && !options.closes && r->framing.kind != HTTP_BODY_CLOSE &&
                  r->framing.kind != HTTP_BODY_OPAQUE;
    return HTTP_ERROR_NONE;
}

/* A line is complete. HTTP_DONE: it was the empty one at the end. */
static enum http_progress take_line(struct http_response_parser *p)
{
    bool is_empty = p->lines.text.size == p->lines.line_at;
    if (!p->has_start_line) {
        p->error = is_empty ? HTTP_ERROR_START_LINE : take_start_line(p);
    } else if (is_empty) {
        p->error = take_end(p);
        return p->error ? HTTP_FAILED : HTTP_DONE;
    } else {
        p->error = http_field_next(&p->lines, &p->field_count, p->limits.fields);
    }
    return p->error ? HTTP_FAILED : HTTP_MORE;
}

enum http_progress http_response_take(struct http_response_parser *p, const char *data, size_t size,
                                      size_t *ret_taken)
{
    *ret_taken = 0;
    while (p->progress == HTTP_MORE && *ret_taken < size) {
        size_t taken;
        enum http_progress line =
            http_lines_take(&p->lines, data + *ret_taken, size - *ret_taken, &taken, &p->error);
        *ret_taken += taken;
        p->progress = line == HTTP_DONE ? take_line(p) : line;
    }
    return p->progress;
}
