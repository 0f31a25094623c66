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
