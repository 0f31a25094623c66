// SPDX-License-Identifier: Apache-2.0
/*
 * What a driver of the interpreter, or a cell instead of it, writes to a stream (server/frames.c),
 * and the lines that come of it (server/interpreter_events.c): what is text and what a message does
 * not depend on the pieces; every line is one JSON object, and nothing else that ends a line is in
 * it.
 */
#include "server/frames.h"
#include "server/interpreter_events.h"
#include "tests/fuzz/input.h"

#include <jansson.h>

#define LOG_MAX_BYTES (64u << 20)
#define TEXT          '\1'
#define MESSAGE       '\2'
#define TOO_LONG      '\3'

/* All that was told, in order; neighbouring texts are one. */
struct told {
    struct buf log;
    bool in_text;
    size_t text_bytes;
};

static void add(struct told *t, char kind, const char *data, size_t size)
{
    if (kind != TEXT || !t->in_text)
        buf_append(&t->log, &kind, 1);
    t->in_text = kind == TEXT;
    buf_append(&t->log, data, size);
}

static bool ends_line(const unsigned char *p, size_t left)
{
    return *p < 0x20 || (left >= 2 && p[0] == 0xc2 && p[1] == 0x85) ||
           (left >= 3 && p[0] == 0xe2 && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9));
}

/* The object of a line, a new reference. */
static json_t *check_line(const struct buf *line)
{
    CHECK(!line->failed && line->size > 1 && line->data[line->size - 1] == '\n');
    for (size_t i = 0; i < line->size - 1; i++)
        CHECK(!ends_line((const unsigned char *)line->data + i, line->size - 1 - i));
    json_t *value = json_loadb(line->data, line->size, JSON_ALLOW_NUL, NULL);
    CHECK(json_is_object(value));
    return value;
}

static void check_type(const struct buf *line, const char *type)
{
    json_t *value = check_line(line);
    CHECK(!strcmp(json_string_value(json_object_get(value, "type")), type));
    json_decref(value);
}

static void on_text(void *userdata, const char *data, size_t size)
{
    struct told *t = userdata;
    struct buf line = BUF_INIT(INTERPRETER_LINE_MAX_BYTES);
    CHECK(size > 0);
    add(t, TEXT, data, size);
    t->text_bytes += size;
    events_add_text(&line, false, data, size, 1);
    check_type(&line, "stdout");
    buf_done(&line);
}

static void on_said(void *userdata, const char *data, size_t size)
{
    struct buf line = BUF_INIT(INTERPRETER_LINE_MAX_BYTES);
    add(userdata, data ? MESSAGE : TOO_LONG, data, data ? size : 0);
    uint32_t number = 0;
    enum events_said what = events_add_message(&line, data, size, &number);
    CHECK(number == 0 || what == EVENTS_END);
    if (what == EVENTS_RESULT)
        check_type(&line, "result");
    else if (what == EVENTS_ERROR)
        check_type(&line, "error");
    else
        CHECK(line.size == 0);
    buf_done(&line);
}

static void take(struct told *t, const uint8_t *data, size_t size, size_t piece)
{
    static const char mark[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    struct frames f = {.text = on_text, .said = on_said, .userdata = t};
    *t = (struct told){.log = BUF_INIT(LOG_MAX_BYTES)};
    frames_begin(&f, mark);
    for (size_t at = 0; at < size; at += piece)
        frames_take(&f, (const char *)data + at, MIN(piece, size - at));
    frames_begin(&f, NULL);
    frames_done(&f);
    CHECK(t->text_bytes <= size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct told whole, pieces;
    size_t piece = (size_t)input_byte(&in) + 1;
    take(&whole, in.data, in.size, in.size + 1);
    take(&pieces, in.data, in.size, piece);
    CHECK(whole.log.size == pieces.log.size);
    CHECK(!whole.log.size || !memcmp(whole.log.data, pieces.log.data, whole.log.size));
    buf_done(&whole.log);
    buf_done(&pieces.log);
    return 0;
}
