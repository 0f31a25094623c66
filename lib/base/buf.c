// SPDX-License-Identifier: Apache-2.0
#include "lib/base/buf.h"

#include <stdio.h>

#define BUF_SMALLEST 128

void buf_done(struct buf *b)
{
    free(b->data);
    *b = BUF_INIT(b->max_bytes);
}

/* Makes room for size more bytes and the NUL. */
static int buf_reserve(struct buf *b, size_t size)
{
    size_t wanted;
    if (b->failed)
        return -E2BIG;
    if (!size_add(b->size, size, &wanted) || wanted > b->max_bytes) {
        b->failed = true;
        return -E2BIG;
    }
    if (b->data && wanted < b->capacity)
        return 0;
    size_t capacity = MAX(b->capacity, (size_t)BUF_SMALLEST);
    while (capacity <= wanted)
        capacity *= 2;
    char *data = realloc(b->data, capacity);
    if (!data) {
        b->failed = true;
        return -ENOMEM;
    }
    b->data = data;
    b->capacity = capacity;
    return 0;
}

int buf_append(struct buf *b, const void *data, size_t size)
{
    int r = buf_reserve(b, size);
    if (r < 0)
        return r;
    if (size)
        memcpy(b->data + b->size, data, size);
    b->size += size;
    b->data[b->size] = '\0';
    return 0;
}

int buf_append_str(struct buf *b, const char *s)
{
    return buf_append(b, s, strlen(s));
}

int buf_vprintf(struct buf *b, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (size < 0) {
        b->failed = true;
        return -EINVAL;
    }
    int r = buf_reserve(b, (size_t)size);
    if (r < 0)
        return r;
    vsnprintf(b->data + b->size, (size_t)size + 1, format, args);
    b->size += (size_t)size;
    return 0;
}

int buf_printf(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int r = buf_vprintf(b, format, args);
    va_end(args);
    return r;
}

void buf_consume(struct buf *b, size_t size)
{
    size = MIN(size, b->size);
    b->size -= size;
    if (b->data) {
        memmove(b->data, b->data + size, b->size);
        b->data[b->size] = '\0';
    }
}

void buf_reset(struct buf *b)
{
    b->size = 0;
    b->failed = false;
    if (b->data)
        b->data[0] = '\0';
}
