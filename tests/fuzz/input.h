// SPDX-License-Identifier: Apache-2.0
/*
 * A fuzzer's bytes, taken from the front: an input that is too short goes on with zeros. And what
 * must hold.
 */
#pragma once

#include "lib/base/base.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x)                                                              \
    do {                                                                      \
        if (!(x)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x); \
            abort();                                                          \
        }                                                                     \
    } while (0)

struct input {
    const uint8_t *data;
    size_t size;
};

static inline uint8_t input_byte(struct input *in)
{
    if (in->size == 0)
        return 0;
    in->size--;
    return *in->data++;
}

static inline uint64_t input_word(struct input *in, unsigned bytes)
{
    uint64_t word = 0;
    for (unsigned i = 0; i < bytes; i++)
        word |= (uint64_t)input_byte(in) << (8 * i);
    return word;
}

/* The next bytes where they are: *ret_size is size, or less at the end. */
static inline const uint8_t *input_bytes(struct input *in, size_t size, size_t *ret_size)
{
    const uint8_t *data = in->data;
    *ret_size = MIN(size, in->size);
    in->data += *ret_size;
    in->size -= *ret_size;
    return data;
}

/* The next bytes as a string, without NULs; on the heap, so that ASan sees its end. */
static inline char *input_string(struct input *in, size_t most)
{
    size_t size;
    const uint8_t *data = input_bytes(in, most, &size);
    char *text = malloc(size + 1);
    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}
