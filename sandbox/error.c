// SPDX-License-Identifier: Apache-2.0
#include "sandbox/error.h"

#include <stdarg.h>
#include <stdio.h>

int sandbox_error_set(struct sandbox_error *e, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(e->text, sizeof(e->text), format, args);
    va_end(args);
    return code;
}

int sandbox_error_prefix(struct sandbox_error *e, int code, const char *format, ...)
{
    char prefix[SANDBOX_ERROR_MAX_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(prefix, sizeof(prefix), format, args);
    va_end(args);

    /* The end of the sentence says what to do: a long prefix is cut before it. */
    size_t tail_size = strlen(e->text) + 1;
    size_t prefix_size = strlen(prefix);
    size_t room = sizeof(e->text) - MIN(sizeof(e->text), tail_size + 2);
    prefix_size = MIN(prefix_size, room);
    if (prefix_size == 0)
        return code;
    memmove(e->text + prefix_size + 2, e->text, tail_size);
    memcpy(e->text, prefix, prefix_size);
    memcpy(e->text + prefix_size, ": ", 2);
    return code;
}

size_t sandbox_text_escape(const char *text, size_t size, char *ret, size_t capacity,
                           size_t *ret_size)
{
    static const char digits[] = "0123456789abcdef";
    size_t used = 0, written = 0;
    for (; used < size; used++) {
        unsigned char c = (unsigned char)text[used];
        bool plain = (c >= ' ' && c < 0x7f) || c == '\t' || c == '\n';
        if (written + (plain ? 1 : 4) >= capacity)
            break;
        if (plain) {
            ret[written++] = (char)c;
            continue;
        }
        ret[written++] = '\\';
        ret[written++] = 'x';
        ret[written++] = digits[c >> 4];
        ret[written++] = digits[c & 15];
    }
    ret[written] = '\0';
    *ret_size = written;
    return used;
}
