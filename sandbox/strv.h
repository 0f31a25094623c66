// SPDX-License-Identifier: Apache-2.0
/*
 * A list of strings of its own: arguments, environments. The items end with a NULL as for exec(3).
 */
#pragma once

#include "lib/base/base.h"

struct strv {
    char **items; /* NULL while empty */
    size_t count, capacity;
};

void strv_done(struct strv *v);

/* Appends a copy. 0 or -ENOMEM. */
int strv_append(struct strv *v, const char *item);

/* Appends copies of all of from. 0 or -ENOMEM, v may have some of them then. */
int strv_append_all(struct strv *v, const struct strv *from);

/* Sets NAME=value (value NULL: takes NAME out) in a list of environment entries. 0 or -ENOMEM. */
int strv_env_set(struct strv *v, const char *name, const char *value);

/* The value of NAME in a list of environment entries, borrowed, or NULL. */
const char *strv_env_get(const struct strv *v, const char *name);
