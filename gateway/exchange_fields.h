// SPDX-License-Identifier: Apache-2.0
/*
 * The fields of a message on their way: those that came, without what was taken out, and with what
 * was put in. Values that were put in may hold a secret; they are wiped at the end.
 */
#pragma once

#include "lib/base/buf.h"
#include "lib/http/fields.h"

struct exchange_fields {
    struct http_field *list; /* what is written */
    size_t count;
    size_t capacity;
    struct buf *values; /* the i-th is that of list[i] when it was put in, else empty */
};

#define EXCHANGE_VALUE_MAX_BYTES (16 * 1024) /* of one that is put in */

/* Borrows name and value of each, and has room for more_count others. 0 or -ENOMEM. */
int exchange_fields_init(struct exchange_fields *f, const struct http_field *fields, size_t count,
                         size_t more_count);
void exchange_fields_done(struct exchange_fields *f);

/* Takes out all fields of that name, and those that a server could take for it
 * (http_names_alike()). */
void exchange_fields_remove(struct exchange_fields *f, const char *name);

/* One more, whose value is borrowed. -ENOMEM: there is no room. */
int exchange_fields_add(struct exchange_fields *f, const char *name, const char *value);

/* Moves value into field i. value is empty then. */
void exchange_fields_take(struct exchange_fields *f, size_t i, struct buf *value);
