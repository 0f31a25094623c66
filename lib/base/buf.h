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
    size_t capacity;       /* of what is allocated, which begins at data - consumed_bytes */
    size_t consumed_bytes; /* in front of data: room for later, when there is none behind it */
    size_t max_bytes;
    bool failed;
};

#define BUF_INIT(max) ((struct buf){.max_bytes = (max)})

void buf_done(struct buf *b);

/* The same for what nobody may find in freed memory: all that it has held, as long as it did not
 * grow. */
void buf_wipe(struct buf *b);

/* Each returns 0, or -ENOMEM or -E2BIG and marks the buffer failed. */
int buf_append(struct buf *b, const void *data, size_t size);
int buf_append_str(struct buf *b, const char *s);
int buf_printf(struct buf *b, const char *format, ...) _printf_(2, 3);
int buf_vprintf(struct buf *b, const char *format, va_list args);

/*
 * Room for size bytes at its end, for somebody else to write to; then buf_extend() by as many as
 * were written, before anything else is done with b. NULL as the others fail.
 */
char *buf_room(struct buf *b, size_t size);
void buf_extend(struct buf *b, size_t size);

/* Appends all of from, and empties it. When b is empty the memory changes hands and no byte is
 * copied. As the others fail; then from stays as it is. */
int buf_move(struct buf *b, struct buf *from);

/* Drops the first size bytes (at most all of them). Nothing is moved. */
void buf_consume(struct buf *b, size_t size);

/* Empties the buffer and clears `failed`; keeps the memory. */
void buf_reset(struct buf *b);
