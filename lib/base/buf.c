// SPDX-License-Identifier: Apache-2.0
#include "lib/base/buf.h"

#include <stdio.h>

#define BUF_SMALLEST 128

/* Where its memory begins. b->data is not NULL. */
static char *front(const struct buf *b)
{
    return b->data - b->consumed_bytes;
}

void buf_done(struct buf *b)
{
    if (b->data)
        free(front(b));
    *b = BUF_INIT(b->max_bytes);
}

void buf_wipe(struct buf *b)
{
    if (b->data)
        explicit_bzero(front(b), b->capacity);
    buf_done(b);
}

/* Nothing is in it, and all of its memory is room. */
static void buf_clear(struct buf *b)
{
    if (b->data) {
        b->data = front(b);
        b->data[0] = '\0';
    }
    b->size = b->consumed_bytes = 0;
}

/* So that all room is behind. b->data is not NULL. */
static void move_to_front(struct buf *b)
{
    if (b->consumed_bytes > 0)
        b->data = memmove(front(b), b->data, b->size + 1);
    b->consumed_bytes = 0;
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
    if (b->data && b->consumed_bytes + wanted < b->capacity)
        return 0;
    if (b->data)
        move_to_front(b);
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

char *buf_room(struct buf *b, size_t size)
{
    return buf_reserve(b, size) < 0 ? NULL : b->data + b->size;
}

void buf_extend(struct buf *b, size_t size)
{
    b->size += size;
    b->data[b->size] = '\0';
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

int buf_move(struct buf *b, struct buf *from)
{
    int r = 0;
    if (b->size > 0 || b->failed || from->size > b->max_bytes) {
        r = buf_append(b, from->data, from->size);
        if (r == 0)
            buf_reset(from);
        return r;
    }
    struct buf all = *from;
    from->data = b->data;
    from->size = 0;
    from->capacity = b->capacity;
    from->consumed_bytes = b->consumed_bytes;
    all.max_bytes = b->max_bytes;
    all.failed = false;
    *b = all;
    return 0;
}

void buf_consume(struct buf *b, size_t size)
{
    size = MIN(size, b->size);
    if (size == b->size) {
        buf_clear(b);
        return;
    }
    b->data += size;
    b->size -= size;
    b->consumed_bytes += size;
}

void buf_reset(struct buf *b)
{
    buf_clear(b);
    b->failed = false;
}
