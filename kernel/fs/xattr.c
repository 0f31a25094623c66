// SPDX-License-Identifier: Apache-2.0
#include "kernel/fs/xattr.h"

#include "kernel/core/limits.h"
#include "lib/base/list.h"

#include <sys/xattr.h>

struct xattr {
    struct list link;
    size_t name_size; /* with the NUL */
    size_t value_size;
    char data[]; /* name, then value */
};

struct xattr_set {
    struct list entries;
    size_t total_bytes;
};

static size_t all_bytes; /* of all sets */

static struct xattr *find(const struct xattr_set *set, const char *name)
{
    struct xattr *x;
    if (!set)
        return NULL;
    list_for_each(x, &set->entries, link) if (strcmp(x->data, name) == 0) return x;
    return NULL;
}

ssize_t xattr_get(const struct xattr_set *set, const char *name, void *value, size_t size)
{
    const struct xattr *x = find(set, name);
    if (!x)
        return -ENODATA;
    if (size > 0) {
        if (size < x->value_size)
            return -ERANGE;
        memcpy(value, x->data + x->name_size, x->value_size);
    }
    return (ssize_t)x->value_size;
}

static void drop(struct xattr_set *set, struct xattr *x)
{
    set->total_bytes -= x->name_size + x->value_size;
    all_bytes -= x->name_size + x->value_size;
    list_remove(&x->link);
    free(x);
}

static int check(const struct xattr *old, const void *value, size_t size, int flags)
{
    if (!value)
        return old ? 0 : -ENODATA;
    if (flags & XATTR_CREATE && old)
        return -EEXIST;
    if (flags & XATTR_REPLACE && !old)
        return -ENODATA;
    return size > XATTR_VALUE_BYTES ? -E2BIG : 0;
}

static struct xattr *make(const char *name, const void *value, size_t size)
{
    size_t name_size = strlen(name) + 1;
    struct xattr *x = malloc(sizeof(*x) + name_size + size);
    if (!x)
        return NULL;
    x->name_size = name_size;
    x->value_size = size;
    memcpy(x->data, name, name_size);
    memcpy(x->data + name_size, value, size);
    return x;
}

int xattr_set(struct xattr_set **set, const char *name, const void *value, size_t size, int flags)
{
    struct xattr *old = find(*set, name);
    int r = check(old, value, size, flags);
    if (r < 0)
        return r;
    if (!value) {
        drop(*set, old);
        return 0;
    }
    if (!*set) {
        *set = calloc(1, sizeof(**set));
        if (!*set)
            return -ENOMEM;
        list_init(&(*set)->entries);
    }
    size_t freed = old ? old->name_size + old->value_size : 0;
    size_t added = strlen(name) + 1 + size;
    if ((*set)->total_bytes - freed + added > XATTR_SET_BYTES ||
        all_bytes - freed + added > LIMIT_XATTR_BYTES)
        return -ENOSPC;
    struct xattr *x = make(name, value, size);
    if (!x)
        return -ENOMEM;
    if (old)
        drop(*set, old);
    list_append(&(*set)->entries, &x->link);
    (*set)->total_bytes += x->name_size + x->value_size;
    all_bytes += x->name_size + x->value_size;
    return 0;
}

ssize_t xattr_list(const struct xattr_set *set, char *names, size_t size)
{
    const struct xattr *x;
    size_t total = 0;
    if (!set)
        return 0;
    list_for_each(x, &set->entries, link) total += x->name_size;
    if (size == 0)
        return (ssize_t)total;
    if (total > size)
        return -ERANGE;
    list_for_each(x, &set->entries, link)
    {
        memcpy(names, x->data, x->name_size);
        names += x->name_size;
    }
    return (ssize_t)total;
}

void xattr_free(struct xattr_set *set)
{
    if (!set)
        return;
    struct xattr *x, *tmp;
    list_for_each_safe(x, tmp, &set->entries, link) drop(set, x);
    free(set);
}
