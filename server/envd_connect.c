// SPDX-License-Identifier: Apache-2.0
/*
 * The Connect protocol, with JSON only: https://connectrpc.com/docs/protocol. A message of a stream
 * has five bytes in front: flags, and its size, big-endian.
 */
#include "server/envd.h"

#include "lib/http/syntax.h"
#include "server/json.h"
#include "server/limits.h"

#include <endian.h>
#include <stdio.h>

#define ENVELOPE_BYTES 5
#define FLAG_LAST      2
#define SENTENCE_MAX   1024
#define STREAM_TYPE    "application/connect+json"

#define KEEPALIVE_S      90
#define KEEPALIVE_MOST_S 3600
#define TIMEOUT_DIGITS   10

static unsigned status_of(const char *code)
{
    static const struct {
        const char *code;
        unsigned status;
    } known[] = {
        {"canceled", 499},           {"invalid_argument", 400},  {"failed_precondition", 400},
        {"out_of_range", 400},       {"deadline_exceeded", 504}, {"not_found", 404},
        {"already_exists", 409},     {"aborted", 409},           {"permission_denied", 403},
        {"resource_exhausted", 429}, {"unimplemented", 501},     {"unavailable", 503},
        {"unauthenticated", 401},
    };
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (!strcmp(known[i].code, code))
            return known[i].status;
    return 500;
}

static void append_error(struct buf *out, const char *code, const char *format, va_list args)
{
    char sentence[SENTENCE_MAX];
    vsnprintf(sentence, sizeof(sentence), format, args);
    buf_append_str(out, "{\"code\":");
    json_append_string(out, code);
    buf_append_str(out, ",\"message\":");
    json_append_string(out, sentence);
    buf_append_str(out, "}");
}

void envd_fail_unary(struct request *r, const char *code, const char *format, ...)
{
    struct buf text = BUF_INIT(8 * SENTENCE_MAX);
    va_list args;
    va_start(args, format);
    append_error(&text, code, format, args);
    va_end(args);
    if (text.failed)
        request_cut(r);
    else
        request_answer(r, status_of(code), "application/json", text.data, text.size);
    buf_done(&text);
}

void envd_answer_unary(struct request *r, json_t *value)
{
    struct buf text = BUF_INIT(OUTPUT_MAX / 2);
    if (!value || json_write(&text, value) < 0)
        envd_fail_unary(r, "resource_exhausted", "the answer is too large; ask for less");
    else
        request_answer(r, 200, "application/json", text.data, text.size);
    buf_done(&text);
    json_decref(value);
}

void envd_begin_stream(struct request *r)
{
    request_begin(r, 200, STREAM_TYPE, REQUEST_STREAM);
}

static bool send_frame(struct request *r, uint8_t flags, const char *text, size_t size)
{
    uint32_t wire_size = htobe32((uint32_t)size);
    struct buf frame = BUF_INIT(OUTPUT_MAX);
    buf_append(&frame, &flags, sizeof(flags));
    buf_append(&frame, &wire_size, sizeof(wire_size));
    buf_append(&frame, text, size);
    bool has_room = false;
    if (frame.failed)
        request_cut(r);
    else
        has_room = request_send(r, frame.data, frame.size);
    buf_done(&frame);
    return has_room;
}

bool envd_send_message(struct request *r, const char *text, size_t size)
{
    return send_frame(r, 0, text, size);
}

void envd_end_stream(struct request *r, const char *code, const char *format, ...)
{
    struct buf text = BUF_INIT(8 * SENTENCE_MAX);
    buf_append_str(&text, code ? "{\"error\":" : "{");
    if (code) {
        va_list args;
        va_start(args, format);
        append_error(&text, code, format, args);
        va_end(args);
    }
    buf_append_str(&text, "}");
    if (!request_is_answered(r))
        envd_begin_stream(r);
    if (text.failed) {
        request_cut(r);
    } else {
        send_frame(r, FLAG_LAST, text.data, text.size);
        request_end(r);
    }
    buf_done(&text);
}

json_t *envd_read_message(const struct request *r, bool is_stream, const char **ret_why)
{
    const struct buf *body = &r->body;
    if (!is_stream)
        return json_read_object(body->data, body->size, ret_why);
    uint32_t size;
    *ret_why = "the body is not one message in its envelope; send five bytes and JSON";
    if (body->size < ENVELOPE_BYTES)
        return NULL;
    memcpy(&size, body->data + 1, sizeof(size));
    if (body->data[0] != 0)
        *ret_why = "the message is compressed; send it as it is";
    if (body->data[0] != 0 || be32toh(size) != body->size - ENVELOPE_BYTES)
        return NULL;
    return json_read_object(body->data + ENVELOPE_BYTES, body->size - ENVELOPE_BYTES, ret_why);
}

/* Whole milliseconds is what it must be; E2B's Python SDK 2.7 sends "500.0", too. */
static bool fraction_is_good(const char *text)
{
    size_t size = strlen(text);
    return size == 0 || (text[0] == '.' && size > 1 && strspn(text + 1, "0123456789") == size - 1);
}

bool envd_read_timeout(const struct request *r, int64_t *ret_ns)
{
    const char *text = request_field(r, "connect-timeout-ms");
    uint64_t ms;
    *ret_ns = 0;
    if (!text)
        return true;
    size_t whole = strcspn(text, ".");
    if (!http_decimal(text, whole, TIMEOUT_DIGITS, UINT64_MAX, &ms) ||
        !fraction_is_good(text + whole))
        return false;
    /* 0 is a time that is up already. */
    *ret_ns = MAX((int64_t)ms * NSEC_PER_MSEC, INT64_C(1));
    return true;
}

int64_t envd_read_keepalive(const struct request *r)
{
    const char *text = request_field(r, "keepalive-ping-interval");
    uint64_t seconds = 0;
    if (!text || !http_decimal(text, strlen(text), 4, KEEPALIVE_MOST_S, &seconds) || !seconds)
        seconds = KEEPALIVE_S;
    return (int64_t)seconds * NSEC_PER_SEC;
}
