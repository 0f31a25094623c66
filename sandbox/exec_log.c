// SPDX-License-Identifier: Apache-2.0
#include "sandbox/exec_log.h"

#include "sandbox/exec_messages.h"

/* A program that writes a byte at a time is not to cost a piece of memory for each. */
#define CHUNK_MIN_BYTES 512
/* Pieces are half empty where streams take turns. One more than there is room for is kept. */
#define MEMORY_MAX_BYTES   (2 * (size_t)EXEC_KEPT_BYTES)
#define MEMORY_SLACK_BYTES (128 * 1024)
/*
 * Behind what is needed more is kept: what was sent to somebody and not received. When he is killed
 * he can come again for it. The oldest goes in whole pieces.
 */
#define ROOM_BYTES   (EXEC_KEPT_BYTES - EXEC_IN_FLIGHT_BYTES - 2 * EXEC_TEXT_MAX_BYTES)
#define MEMORY_BYTES (MEMORY_MAX_BYTES / 4 * 3)

void exec_log_init(struct exec_log *l)
{
    *l = (struct exec_log){0};
    list_init(&l->chunks);
}

static void drop_first(struct exec_log *l)
{
    struct exec_chunk *c = list_first(&l->chunks, struct exec_chunk, link);
    l->start += c->size;
    l->memory -= sizeof(*c) + c->capacity;
    list_remove(&c->link);
    free(c);
}

void exec_log_done(struct exec_log *l)
{
    while (!list_is_empty(&l->chunks))
        drop_first(l);
}

/* That of the pieces in which something from byte `needed` on lies. */
static size_t memory_from(const struct exec_log *l, uint64_t needed)
{
    const struct list *at = l->chunks.prev;
    size_t memory = 0;
    for (; at != &l->chunks; at = at->prev) {
        const struct exec_chunk *c = container_of(at, struct exec_chunk, link);
        if (c->offset + c->size <= needed)
            break;
        memory += sizeof(*c) + c->capacity;
    }
    return memory;
}

size_t exec_log_room(const struct exec_log *l, uint64_t needed)
{
    uint64_t held = l->end - MIN(MAX(needed, l->start), l->end);
    if (held >= ROOM_BYTES || (l->memory >= MEMORY_BYTES && memory_from(l, needed) >= MEMORY_BYTES))
        return 0;
    return ROOM_BYTES - (size_t)held;
}

static struct exec_chunk *last_of(const struct exec_log *l, uint32_t stream)
{
    if (list_is_empty(&l->chunks))
        return NULL;
    struct exec_chunk *c = container_of(l->chunks.prev, struct exec_chunk, link);
    return c->stream == stream && c->size < c->capacity ? c : NULL;
}

static struct exec_chunk *add_chunk(struct exec_log *l, uint32_t stream, size_t size)
{
    size_t capacity = MAX(size, (size_t)CHUNK_MIN_BYTES);
    struct exec_chunk *c = malloc(sizeof(*c) + capacity);
    if (!c)
        return NULL;
    *c = (struct exec_chunk){.offset = l->end, .capacity = capacity, .stream = stream};
    list_append(&l->chunks, &c->link);
    l->memory += sizeof(*c) + capacity;
    return c;
}

bool exec_log_append(struct exec_log *l, uint32_t stream, const char *data, size_t size)
{
    struct exec_chunk *last = last_of(l, stream);
    size_t part = last ? MIN(size, last->capacity - last->size) : 0;
    struct exec_chunk *next = part < size ? add_chunk(l, stream, size - part) : NULL;
    if (part < size && !next)
        return false;
    if (part > 0)
        memcpy(last->data + last->size, data, part);
    if (last)
        last->size += part;
    if (next) {
        next->offset += part;
        memcpy(next->data, data + part, size - part);
        next->size = size - part;
    }
    l->end += size;
    while (l->end - l->start > EXEC_KEPT_BYTES || l->memory > MEMORY_MAX_BYTES + MEMORY_SLACK_BYTES)
        drop_first(l);
    return true;
}

const char *exec_log_at(const struct exec_log *l, uint64_t *offset, size_t *ret_size,
                        uint32_t *ret_stream)
{
    struct exec_chunk *c;
    *ret_size = 0;
    *offset = MAX(*offset, l->start);
    list_for_each(c, &l->chunks, link)
    {
        if (*offset < c->offset + c->size) {
            *ret_size = (size_t)(c->offset + c->size - *offset);
            *ret_stream = c->stream;
            return c->data + (*offset - c->offset);
        }
    }
    return NULL;
}
