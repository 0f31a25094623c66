// SPDX-License-Identifier: Apache-2.0
#include "lib/policy/arena.h"

#define PIECE_BYTES 8192
#define ALIGNMENT   16

void arena_done(struct arena *a)
{
    struct arena_piece *next;
    for (struct arena_piece *piece = a->pieces; piece; piece = next) {
        next = piece->next;
        explicit_bzero(piece->data, piece->used); /* secrets may be among it */
        free(piece);
    }
    a->pieces = NULL;
}

static struct arena_piece *add_piece(struct arena *a, size_t least)
{
    size_t capacity = MAX(least, (size_t)PIECE_BYTES), bytes;
    if (!size_add(capacity, sizeof(struct arena_piece), &bytes))
        return NULL;
    struct arena_piece *piece = calloc(1, bytes);
    if (!piece)
        return NULL;
    piece->capacity = capacity;
    piece->next = a->pieces;
    a->pieces = piece;
    return piece;
}

void *arena_new(struct arena *a, size_t count, size_t size)
{
    size_t bytes;
    if (!size_mul(MAX(count, (size_t)1), size, &bytes) || !size_add(bytes, ALIGNMENT - 1, &bytes))
        return NULL;
    bytes &= ~(size_t)(ALIGNMENT - 1);
    struct arena_piece *piece = a->pieces;
    if (!piece || piece->capacity - piece->used < bytes)
        piece = add_piece(a, bytes);
    if (!piece)
        return NULL;
    void *data = piece->data + piece->used;
    piece->used += bytes;
    return data;
}

char *arena_copy(struct arena *a, const char *text, size_t size)
{
    size_t bytes;
    if (!size_add(size, 1, &bytes))
        return NULL;
    char *copy = arena_new(a, bytes, 1);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}
