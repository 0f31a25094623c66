// SPDX-License-Identifier: Apache-2.0
/*
 * A byte buffer that grows up to a ceiling it is born with. Once an append did not fit (or memory
 * ran out) the buffer is `failed` and takes no more, so that a builder may append freely and look
 * at the end, once.
 */
#pragma once

#include "lib/base/base.h"

#include <stdarg.h>

struct buf {
    char *data; /* NUL-terminated whenever not NULL; the NUL is not counted */
    size_t size;
    size_t capacity;
    size_t max_bytes;
    bool failed;
};

#define BUF_INIT(max) ((struct buf){.max_bytes = (max)})

void buf_done(struct buf *b);

/* Each returns 0, or -ENOMEM or -E2BIG and marks the buffer failed. */
int buf_append(struct buf *b, const void *data, size_t size);
int buf_append_str(struct buf *b, const char *s);
int buf_printf(struct buf *b, const char *format, ...) _printf_(2, 3);
int buf_vprintf(struct buf *b, const char *format, va_list args);

/* Drops the first size bytes (at most all of them). */
void buf_consume(struct buf *b, size_t size);

/* Empties the buffer and clears `failed`; keeps the memory. */
void buf_reset(struct buf *b);
