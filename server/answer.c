// SPDX-License-Identifier: Apache-2.0
#include "server/connection_parts.h"
#include "server/json.h"
#include "server/metrics.h"
#include "server/server.h"

#include <stdio.h>
#include <sys/socket.h>

static const char *reason_of(unsigned status)
{
    static const struct {
        unsigned status;
        const char *reason;
    } known[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {206, "Partial Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {409, "Conflict"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {416, "Range Not Satisfiable"},
        {421, "Misdirected Request"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
        {507, "Insufficient Storage"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (known[i].status == status)
            return known[i].reason;
    return "Status";
}

void answer_forget(struct connection *c)
{
    for (size_t i = 0; i < c->field_count; i++)
        free((char *)c->fields[i].value);
    c->field_count = 0;
    c->has_begun = c->has_ended = c->is_head_only = c->is_chunked = c->is_stream = false;
    c->rests = c->is_paused = c->is_broken = false;
    c->length_left = c->sent_bytes = c->number = 0;
    c->status = 0;
    buf_done(&c->request.body);
    c->request = (struct request){.body = BUF_INIT(0)};
}

void request_add_field(struct request *r, const char *name, const char *value)
{
    struct connection *c = connection_of(r);
    char *copy = c->field_count < ANSWER_FIELDS_MAX ? strdup(value) : NULL;
    if (!copy)
        c->is_gone = true; /* an answer without a field that it needs would say something else */
    else
        c->fields[c->field_count++] = (struct http_field){name, copy};
}

/*
 * Pages of any origin may read what is answered: what they need to ask is a key or a token, which a
 * browser adds to nothing by itself.
 */
static void add_origin(struct connection *c)
{
    struct request *r = &c->request;
    if (!c->has_request || !request_field(r, "origin"))
        return;
    request_add_field(r, "Access-Control-Allow-Origin", "*");
    request_add_field(r, "Access-Control-Expose-Headers", "*");
}

static struct http_framing choose_framing(struct connection *c, unsigned status, uint64_t length)
{
    bool is_old = c->has_request && c->request.head->version == HTTP_1_0;
    if (status == 204)
        return (struct http_framing){.kind = HTTP_BODY_NONE};
    if (c->is_head_only)
        return (struct http_framing){.kind = HTTP_BODY_NONE,
                                     .has_length = length != REQUEST_STREAM,
                                     .length = length != REQUEST_STREAM ? length : 0};
    if (length != REQUEST_STREAM)
        return (struct http_framing){.kind = HTTP_BODY_LENGTH, .length = length};
    return (struct http_framing){.kind = is_old ? HTTP_BODY_CLOSE : HTTP_BODY_CHUNKED};
}

void request_begin(struct request *r, unsigned status, const char *type, uint64_t length)
{
    struct connection *c = connection_of(r);
    if (c->has_begun || c->is_gone)
        return;
    if (c->phase == PHASE_BODY)
        c->closes = true; /* there is more of the request, which nobody will read */
    char id[REQUEST_ID_SIZE];
    connection_name_request(c, id);
    request_add_field(r, "X-Request-Id", id);
    if (type)
        request_add_field(r, "Content-Type", type);
    add_origin(c);
    c->has_begun = true;
    c->status = status;
    struct http_response_head head = {
        .status = status,
        .reason = reason_of(status),
        .fields = c->fields,
        .field_count = c->field_count,
        .framing = choose_framing(c, status, length),
        .closes = c->closes,
    };
    c->is_chunked = head.framing.kind == HTTP_BODY_CHUNKED;
    c->is_stream = length == REQUEST_STREAM;
    c->length_left = head.framing.kind == HTTP_BODY_LENGTH ? length : 0;
    c->closes |= head.framing.kind == HTTP_BODY_CLOSE;
    if (http_response_write(&c->out, &head) < 0)
        c->is_gone = true;
    if (c->is_stream)
        metrics_count_stream(1);
    connection_changed(c);
}

bool request_has_room(const struct request *r)
{
    const struct connection *c = container_of(r, struct connection, request);
    return !c->is_gone && connection_waiting(c) < OUTPUT_HIGH;
}

static void append_piece(struct connection *c, const void *data, size_t size)
{
    char mark[HTTP_CHUNK_HEAD_MAX_BYTES + 1];
    if (c->is_chunked)
        buf_append(&c->out, mark, http_chunk_head(mark, size));
    buf_append(&c->out, data, size);
    if (c->is_chunked)
        buf_append(&c->out, "\r\n", 2);
    if (c->out.failed)
        c->is_gone = true;
}

bool request_send(struct request *r, const void *data, size_t size)
{
    struct connection *c = connection_of(r);
    if (c->is_gone || c->has_ended)
        return false;
    if (!c->is_stream) {
        size = (size_t)MIN((uint64_t)size, c->length_left);
        c->length_left -= size;
    }
    if (size > 0 && !c->is_head_only)
        append_piece(c, data, size);
    connection_changed(c);
    c->rests = !request_has_room(r);
    return !c->rests;
}

void request_end(struct request *r)
{
    struct connection *c = connection_of(r);
    if (c->has_ended)
        return;
    c->has_ended = true;
    if (c->is_chunked && http_chunks_end(&c->out, NULL, 0) < 0)
        c->is_gone = true;
    if (c->length_left > 0)
        c->is_gone = true; /* less than was announced: only a cut says so */
    connection_changed(c);
}

/* A reset, which cannot be taken for an end: clients ask then whether the sandbox still is. */
void request_cut(struct request *r)
{
    static const struct linger at_once = {.l_onoff = 1};
    struct connection *c = connection_of(r);
    setsockopt(c->watch.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    c->is_gone = true;
    connection_changed(c);
}

void request_answer(struct request *r, unsigned status, const char *type, const void *data,
                    size_t size)
{
    request_begin(r, status, type, size);
    request_send(r, data, size);
    request_end(r);
}

static void append_error(struct buf *text, unsigned status, const char *words)
{
    buf_printf(text, "{\"code\":%u,\"message\":", status);
    json_append_string(text, words);
    buf_append_str(text, "}");
}

static void answer_error(struct request *r, unsigned status, const char *words)
{
    struct buf text = BUF_INIT(16384);
    append_error(&text, status, words);
    if (text.failed)
        request_answer(r, 503, NULL, NULL, 0);
    else
        request_answer(r, status, "application/json", text.data, text.size);
    buf_done(&text);
}

void request_fail(struct request *r, unsigned status, const char *format, ...)
{
    char words[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    answer_error(r, status, words);
}

void answer_refuse(struct connection *c, unsigned status, const char *words)
{
    c->closes = true;
    answer_error(&c->request, status, words);
}

bool request_is_answered(const struct request *r)
{
    const struct connection *c = container_of(r, struct connection, request);
    return c->has_begun || c->is_gone;
}

const char *request_field(const struct request *r, const char *name)
{
    return http_field_get(r->head->fields, r->head->field_count, name);
}

void request_pause(struct request *r)
{
    connection_of(r)->is_paused = true;
}

void request_resume(struct request *r)
{
    struct connection *c = connection_of(r);
    c->is_paused = false;
    connection_changed(c);
}
