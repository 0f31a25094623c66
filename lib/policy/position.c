// SPDX-License-Identifier: Apache-2.0
#include "lib/policy/position.h"

/* What is left of the text; a look at its end is a NUL. */
struct rest {
    const char *at, *end;
};

static char peek(const struct rest *r)
{
    return r->at < r->end ? *r->at : '\0';
}

static void skip_blanks(struct rest *r)
{
    while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at)
        r->at++;
}

static void skip_string(struct rest *r)
{
    for (r->at++; r->at < r->end && *r->at != '"'; r->at++)
        r->at += *r->at == '\\';
    r->at = MIN(r->at + 1, r->end);
}

/* Past one value, however deep it is. */
static void skip_value(struct rest *r)
{
    size_t depth = 0;
    skip_blanks(r);
    for (; r->at < r->end; r->at++) {
        if (*r->at == '"') {
            skip_string(r);
            if (depth == 0)
                return;
            r->at--;
        } else if (*r->at == '{' || *r->at == '[') {
            depth++;
        } else if (*r->at == '}' || *r->at == ']') {
            if (depth == 0)
                return;
            if (--depth == 0) {
                r->at++;
                return;
            }
        } else if (depth == 0 && strchr(", \t\r\n", *r->at)) {
            return;
        }
    }
}

/* The next part of a pointer, unescaped; false when it is too long for out. */
static bool take_part(const char **pointer, char *out, size_t capacity)
{
    size_t size = 0;
    for ((*pointer)++; **pointer && **pointer != '/'; (*pointer)++) {
        if (size + 1 == capacity)
            return false;
        out[size] = **pointer;
        if (**pointer == '~' && (*pointer)[1]) {
            (*pointer)++;
            out[size] = **pointer == '1' ? '/' : '~';
        }
        size++;
    }
    out[size] = '\0';
    return true;
}

/* To the value of a member, or of an element, of what begins here. */
static bool enter(struct rest *r, const char *part)
{
    bool is_object = peek(r) == '{';
    if (!is_object && peek(r) != '[')
        return false;
    r->at++;
    for (size_t i = 0;; i++) {
        skip_blanks(r);
        bool is_wanted = !is_object && i == strtoul(part, NULL, 10);
        if (is_object) {
            const char *name = r->at + 1;
            if (peek(r) != '"')
                return false;
            skip_string(r);
            size_t size = (size_t)(r->at - 1 - name);
            is_wanted = size == strlen(part) && !memcmp(name, part, size);
            skip_blanks(r);
            r->at++; /* the colon */
            skip_blanks(r);
        }
        if (is_wanted)
            return r->at < r->end;
        skip_value(r);
        skip_blanks(r);
        if (peek(r) != ',')
            return false;
        r->at++;
    }
}

bool policy_position_of(const char *json, size_t size, const char *pointer, unsigned *ret_line,
                        unsigned *ret_column)
{
    char part[256];
    struct rest r = {json, json + size};
    skip_blanks(&r);
    while (*pointer)
        if (!take_part(&pointer, part, sizeof(part)) || !enter(&r, part))
            return false;
    unsigned line = 1, column = 1;
    for (const char *c = json; c < r.at; c++) {
        if (*c == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)*c & 0xc0) != 0x80) {
            column++;
        }
    }
    *ret_line = line;
    *ret_column = column;
    return true;
}
