// SPDX-License-Identifier: Apache-2.0
/*
 * One name of an open directory after another, whatever programs do to it meanwhile: for who can't
 * stay until all were told.
 */
#pragma once

#include "kernel/fs/vfs.h"

struct cursor {
    struct file *dir; /* counted by the caller */
    uint64_t after;   /* the name that was given out last */
    uint64_t end;     /* names from here on came after it began; 0: nobody knows */
    int error;        /* negative errno: it could not be read to its end, though it is there */
};

struct cursor_name {
    struct dir_emit emit;
    char text[NAME_LENGTH_MAX + 1];
    size_t length; /* 0: none */
    uint64_t cookie, end;
};

/* The next one but "." and ".."; false: there is none any more, or c->error. */
bool cursor_next(struct cursor *c, struct cursor_name *ret);

/* From the beginning again. */
static inline void cursor_rewind(struct cursor *c)
{
    c->after = c->end = 0;
    c->error = 0;
}
