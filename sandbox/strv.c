// SPDX-License-Identifier: Apache-2.0
#include "sandbox/strv.h"

#include <stdio.h>

#define CAPACITY_MIN ((size_t)16)

void strv_done(struct strv *v)
{
    for (size_t i = 0; i < v->count; i++)
        free(v->items[i]);
    free(v->items);
    *v = (struct strv){0};
}

/* Appends the item itself; takes it over on success. */
static int strv_append_taken(struct strv *v, char *item)
{
    if (v->count + 1 >= v->capacity) {
        size_t capacity = MAX(v->capacity * 2, CAPACITY_MIN);
        char **items = reallocarray(v->items, capacity, sizeof(*items));
        if (!items)
            return -ENOMEM;
        v->items = items;
        v->capacity = capacity;
    }
    v->items[v->count++] = item;
    v->items[v->count] = NULL;
    return 0;
}

int strv_append(struct strv *v, const char *item)
{
    _cleanup_free_ char *copy = strdup(item);
    if (!copy)
        return -ENOMEM;
    int r = strv_append_taken(v, copy);
    if (r == 0)
        copy = NULL; /* taken */
    return r;
}

int strv_append_all(struct strv *v, const struct strv *from)
{
    int r = 0;
    for (size_t i = 0; i < from->count && r == 0; i++)
        r = strv_append(v, from->items[i]);
    return r;
}

static ssize_t env_find(const struct strv *v, const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 0; i < v->count; i++)
        if (!strncmp(v->items[i], name, size) && v->items[i][size] == '=')
            return (ssize_t)i;
    return -1;
}

int strv_env_set(struct strv *v, const char *name, const char *value)
{
    ssize_t at = env_find(v, name);
    if (!value) {
        if (at >= 0) {
            free(v->items[at]);
            /* The NULL at the end moves with the rest. */
            memmove(v->items + at, v->items + at + 1, (v->count - (size_t)at) * sizeof(*v->items));
            v->count--;
        }
        return 0;
    }
    _cleanup_free_ char *entry = NULL;
    if (asprintf(&entry, "%s=%s", name, value) < 0) {
        entry = NULL;
        return -ENOMEM;
    }
    if (at >= 0) {
        free(v->items[at]);
        v->items[at] = TAKE_PTR(entry);
        return 0;
    }
    int r = strv_append_taken(v, entry);
    if (r == 0)
        entry = NULL; /* taken */
    return r;
}

const char *strv_env_get(const struct strv *v, const char *name)
{
    ssize_t at = env_find(v, name);
    return at < 0 ? NULL : v->items[at] + strlen(name) + 1;
}
