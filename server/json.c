// SPDX-License-Identifier: Apache-2.0
#include "server/json.h"

#include "lib/text/utf8.h"
#include "server/limits.h"

static bool has_failed;

static void *watch_malloc(size_t size)
{
    void *data = malloc(size);
    has_failed |= !data;
    return data;
}

void json_start(void)
{
    json_set_alloc_funcs(watch_malloc, free);
}

/* jansson's own bound is 2048 deep. */
static bool is_too_deep(const char *text, size_t size, unsigned depth_max)
{
    unsigned depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        if (in_string && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            in_string = !in_string;
        else if (!in_string && (text[i] == '{' || text[i] == '[') && ++depth > depth_max)
            return true;
        else if (!in_string && (text[i] == '}' || text[i] == ']') && depth > 0)
            depth--;
    }
    return false;
}

json_t *json_read_object(const char *text, size_t size, const char **ret_why)
{
    json_error_t error;
    size_t blanks = 0;
    while (blanks < size && strchr(" \t\r\n", text[blanks]) && text[blanks])
        blanks++;
    has_failed = false;
    *ret_why = NULL;
    if (blanks == size)
        return json_object();
    if (is_too_deep(text, size, JSON_DEPTH_MAX)) {
        *ret_why = "the body is nested too deeply; send the documented object";
        return NULL;
    }
    json_t *value = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (has_failed) {
        json_decref(value);
        return NULL;
    }
    if (json_is_object(value))
        return value;
    json_decref(value);
    *ret_why = "the body is not a JSON object; send one, with Content-Type: application/json";
    return NULL;
}

json_t *json_read_message(const char *text, size_t size, unsigned depth_max)
{
    has_failed = false;
    if (is_too_deep(text, size, depth_max))
        return NULL;
    json_t *value = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    if (json_is_object(value) && !has_failed)
        return value;
    json_decref(value);
    return NULL;
}

int json_write(struct buf *out, const json_t *value)
{
    has_failed = false;
    char *text = json_dumps(value, JSON_COMPACT);
    if (!text || has_failed) {
        free(text);
        return -ENOMEM;
    }
    int r = buf_append_str(out, text);
    free(text);
    return r;
}

static void append_escaped(struct buf *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            buf_printf(out, "\\u%04x", c);
        else
            buf_append(out, &text[i], 1);
    }
}

void json_append_string(struct buf *out, const char *text)
{
    struct buf valid = BUF_INIT(3 * strlen(text) + 1);
    text_utf8_append_valid(&valid, text, strlen(text));
    buf_append_str(out, "\"");
    append_escaped(out, valid.data, valid.failed ? 0 : valid.size);
    buf_append_str(out, "\"");
    buf_done(&valid);
}

json_t *json_member(const json_t *object, const char *name, json_type type, const char **wrong)
{
    json_t *value = json_object_get(object, name);
    if (!value || json_is_null(value))
        return NULL;
    bool fits = type == JSON_TRUE ? json_is_boolean(value) : json_typeof(value) == type;
    if (fits)
        return value;
    *wrong = name;
    return NULL;
}

bool json_is_string_map(const json_t *object, size_t max_bytes)
{
    const char *key;
    json_t *value;
    size_t size = 0;
    json_object_foreach((json_t *)object, key, value)
    {
        if (!json_is_string(value))
            return false;
        size += strlen(key) + json_string_length(value);
    }
    return size <= max_bytes;
}
