// SPDX-License-Identifier: Apache-2.0
#include "server/interpreter_events.h"

#include "lib/text/utf8.h"
#include "server/json.h"

#include <inttypes.h>

#define MESSAGE_DEPTH_MAX 64

/* ---- strings ---- */

/* Bytes at the start of text that need an escape, or 0: *ret is the code point. */
static size_t needs_escape(const char *text, size_t size, unsigned *ret)
{
    const unsigned char *t = (const unsigned char *)text;
    *ret = t[0];
    if (t[0] < 0x20 || t[0] == '"' || t[0] == '\\' || t[0] == 0x7f)
        return 1;
    if (size >= 2 && t[0] == 0xc2 && t[1] == 0x85) {
        *ret = 0x85;
        return 2;
    }
    if (size >= 3 && t[0] == 0xe2 && t[1] == 0x80 && (t[2] == 0xa8 || t[2] == 0xa9)) {
        *ret = 0x2000 | (t[2] & 0x3fu);
        return 3;
    }
    return 0;
}

static void add_escaped(struct buf *out, const char *text, size_t size)
{
    size_t from = 0, at = 0;
    while (at < size) {
        unsigned code;
        size_t taken = needs_escape(text + at, size - at, &code);
        if (!taken) {
            at++;
            continue;
        }
        buf_append(out, text + from, at - from);
        if (code == '\n')
            buf_append(out, "\\n", 2);
        else if (code == '"' || code == '\\')
            buf_printf(out, "\\%c", (char)code);
        else
            buf_printf(out, "\\u%04x", code);
        from = at += taken;
    }
    buf_append(out, text + from, at - from);
}

static void add_string(struct buf *out, const char *text, size_t size)
{
    struct buf valid = BUF_INIT(3 * size + 1);
    text_utf8_append_valid(&valid, text, size);
    buf_append(out, "\"", 1);
    if (valid.failed)
        out->failed = true;
    else
        add_escaped(out, valid.data ? valid.data : "", valid.size);
    buf_append(out, "\"", 1);
    buf_done(&valid);
}

/* ---- events of the server's own ---- */

void events_add_text(struct buf *out, bool is_err, const char *text, size_t size, int64_t wall_ns)
{
    buf_printf(out, "{\"type\":\"%s\",\"text\":", is_err ? "stderr" : "stdout");
    add_string(out, text, size);
    buf_printf(out, ",\"timestamp\":%" PRId64 "}\n", wall_ns);
}

void events_add_error(struct buf *out, const char *name, const char *value, const char *traceback)
{
    buf_append_str(out, "{\"type\":\"error\",\"name\":");
    add_string(out, name, strlen(name));
    buf_append_str(out, ",\"value\":");
    add_string(out, value, strlen(value));
    buf_append_str(out, ",\"traceback\":");
    add_string(out, traceback, strlen(traceback));
    buf_append_str(out, "}\n");
}

void events_add_count(struct buf *out, uint64_t count)
{
    buf_printf(out, "{\"type\":\"number_of_executions\",\"execution_count\":%" PRIu64 "}\n", count);
}

void events_add_end(struct buf *out)
{
    buf_append_str(out, "{\"type\":\"end_of_execution\"}\n");
}

void events_add_keepalive(struct buf *out)
{
    buf_append_str(out, "{\"type\":\"keepalive\"}\n");
}

/* ---- messages of a driver ---- */

struct member {
    const char *name;
    json_type type; /* JSON_NULL: any */
};

static const struct member result_members[] = {
    {"text", JSON_STRING},  {"html", JSON_STRING},       {"markdown", JSON_STRING},
    {"svg", JSON_STRING},   {"png", JSON_STRING},        {"jpeg", JSON_STRING},
    {"pdf", JSON_STRING},   {"latex", JSON_STRING},      {"json", JSON_NULL},
    {"data", JSON_OBJECT},  {"javascript", JSON_STRING}, {"chart", JSON_OBJECT},
    {"extra", JSON_OBJECT},
};

/* A new reference; NULL: no memory. */
static json_t *copy_members(const json_t *from, const struct member *members, size_t count)
{
    json_t *to = json_object();
    for (size_t i = 0; to && i < count; i++) {
        json_t *value = json_object_get(from, members[i].name);
        bool is_there = value && !json_is_null(value) &&
                        (members[i].type == JSON_NULL || json_typeof(value) == members[i].type);
        if (is_there && json_object_set(to, members[i].name, value) < 0) {
            json_decref(to);
            return NULL;
        }
    }
    return to;
}

static json_t *make_result(const json_t *said)
{
    json_t *made = copy_members(said, result_members, ARRAY_SIZE(result_members));
    bool is_main = json_is_true(json_object_get(said, "is_main_result"));
    if (made && (json_object_set_new(made, "type", json_string("result")) < 0 ||
                 json_object_set_new(made, "is_main_result", json_boolean(is_main)) < 0 ||
                 (!json_object_get(made, "extra") &&
                  json_object_set_new(made, "extra", json_object()) < 0))) {
        json_decref(made);
        return NULL;
    }
    return made;
}

static void add_value(struct buf *out, const json_t *value)
{
    struct buf text = BUF_INIT(INTERPRETER_LINE_MAX_BYTES);
    if (json_write(&text, value) < 0)
        out->failed = true;
    /* Of what needs an escape only what jansson leaves raw is in it, but the quotes and escapes. */
    for (size_t from = 0, at = 0; !out->failed && at <= text.size;) {
        unsigned code;
        size_t taken = at < text.size ? needs_escape(text.data + at, text.size - at, &code) : 0;
        if (at == text.size || taken > 1) {
            buf_append(out, text.data + from, at - from);
            if (taken > 1)
                buf_printf(out, "\\u%04x", code);
            from = at + taken;
        }
        at += taken ? taken : 1;
    }
    buf_append(out, "\n", 1);
    buf_done(&text);
}

static enum events_said add_result(struct buf *out, const json_t *said)
{
    json_t *made = make_result(said);
    if (made)
        add_value(out, made);
    else
        out->failed = true;
    json_decref(made);
    return EVENTS_RESULT;
}

static enum events_said add_error(struct buf *out, const json_t *said)
{
    const char *words[3];
    static const char *const names[] = {"name", "value", "traceback"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        words[i] = json_string_value(json_object_get(said, names[i]));
        if (!words[i])
            return EVENTS_NONE;
    }
    events_add_error(out, words[0], words[1], words[2]);
    return EVENTS_ERROR;
}

/* What a driver may say: anything. */
static uint32_t read_number(const json_t *said)
{
    json_int_t number = json_integer_value(json_object_get(said, "number"));
    return number > 0 && number < INT32_MAX ? (uint32_t)number : 0;
}

enum events_said events_add_message(struct buf *out, const char *text, size_t size,
                                    uint32_t *ret_number)
{
    json_t *said = text ? json_read_message(text, size, MESSAGE_DEPTH_MAX) : NULL;
    const char *type = json_string_value(json_object_get(said, "type"));
    enum events_said what = EVENTS_NONE;
    if (type && !strcmp(type, "end"))
        what = EVENTS_END;
    if (what == EVENTS_END)
        *ret_number = read_number(said);
    else if (type && !strcmp(type, "result"))
        what = add_result(out, said);
    else if (type && !strcmp(type, "error"))
        what = add_error(out, said);
    json_decref(said);
    return what;
}
