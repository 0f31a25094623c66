// SPDX-License-Identifier: Apache-2.0
#include "kernel/fs/fdtable.h"

#include "kernel/fs/locks.h"

#define CAPACITY_MIN 32

struct fdtable *fdtable_new(void)
{
    struct fdtable *t = calloc(1, sizeof(*t));
    if (t)
        t->refs = 1;
    return t;
}

struct fdtable *fdtable_copy(const struct fdtable *t)
{
    struct fdtable *copy = fdtable_new();
    if (!copy)
        return NULL;
    size_t used = t->capacity;
    while (used > 0 && !t->entries[used - 1].file && !t->entries[used - 1].host_slot)
        used--;
    copy->capacity = MAX(used, (size_t)CAPACITY_MIN);
    copy->entries = calloc(copy->capacity, sizeof(*copy->entries));
    if (!copy->entries) {
        free(copy);
        return NULL;
    }
    /*
     * The host copies its own table a moment later, and until then other threads of t may put
     * something else at a number:
     *
     *   A: fork, notified            B: close(5), 5 = open(other), mmap(5)
     *   A: the host forks            the child's 5 is the old file here, and `other` there
     */
    bool may_change = t->refs > 1;
    for (size_t i = 0; i < used; i++) {
        copy->entries[i] = t->entries[i];
        if (may_change && copy->entries[i].host_slot != HOST_SLOT_NONE)
            copy->entries[i].host_slot = HOST_SLOT_UNKNOWN;
        if (t->entries[i].file)
            file_get(t->entries[i].file);
    }
    copy->first_free = MIN(t->first_free, used);
    return copy;
}

struct fdtable *fdtable_get(struct fdtable *t)
{
    t->refs++;
    return t;
}

static void close_file(struct file *f, const void *owner)
{
    if (f->ops->flush)
        f->ops->flush(f);
    if (!(f->flags & O_PATH))
        lock_close(f, owner);
    file_put(f);
}

void fdtable_put(struct fdtable *t)
{
    if (!t || --t->refs > 0)
        return;
    for (size_t i = 0; i < t->capacity; i++) {
        struct file *f = t->entries[i].file;
        t->entries[i].file = NULL;
        if (f)
            close_file(f, t);
    }
    free(t->entries);
    free(t);
}

struct fd_entry *fdtable_entry(const struct fdtable *t, int fd)
{
    if (fd < 0 || (size_t)fd >= t->capacity || !t->entries[fd].file)
        return NULL;
    return &t->entries[fd];
}

struct file *fdtable_file(const struct fdtable *t, int fd)
{
    const struct fd_entry *e = fdtable_entry(t, fd);
    return e ? e->file : NULL;
}

/* Makes room for number fd. */
static int fdtable_reserve(struct fdtable *t, size_t fd)
{
    if (fd < t->capacity)
        return 0;
    size_t capacity = MAX(t->capacity * 2, (size_t)CAPACITY_MIN);
    while (capacity <= fd)
        capacity *= 2;
    struct fd_entry *entries = realloc(t->entries, capacity * sizeof(*entries));
    if (!entries)
        return -ENOMEM;
    memset(entries + t->capacity, 0, (capacity - t->capacity) * sizeof(*entries));
    t->entries = entries;
    t->capacity = capacity;
    return 0;
}

int fdtable_install(struct fdtable *t, struct file *f, int from, size_t limit, bool cloexec)
{
    limit = MIN(limit, (size_t)FD_LIMIT);
    if (from < 0 || ((size_t)from >= limit && from > 0))
        return -EINVAL;
    size_t fd = MAX((size_t)from, t->first_free);
    while (fd < t->capacity && t->entries[fd].file)
        fd++;
    if (fd >= limit)
        return -EMFILE;
    int r = fdtable_reserve(t, fd);
    if (r < 0)
        return r;
    t->entries[fd].file = f;
    t->entries[fd].cloexec = cloexec;
    if ((size_t)from <= t->first_free)
        t->first_free = fd + 1;
    return (int)fd;
}

int fdtable_install_at(struct fdtable *t, struct file *f, int fd, size_t limit, bool cloexec)
{
    if (fd < 0 || (size_t)fd >= MIN(limit, (size_t)FD_LIMIT))
        return -EBADF;
    int r = fdtable_reserve(t, (size_t)fd);
    if (r < 0)
        return r;
    struct fd_entry *e = &t->entries[fd];
    struct file *old = e->file;
    e->file = f;
    e->cloexec = cloexec;
    if ((size_t)fd == t->first_free)
        t->first_free++;
    if (old)
        close_file(old, t);
    return fd;
}

int fdtable_close(struct fdtable *t, int fd, const void *owner)
{
    struct fd_entry *e = fdtable_entry(t, fd);
    if (!e)
        return -EBADF;
    struct file *f = e->file;
    e->file = NULL;
    e->cloexec = false;
    t->first_free = MIN(t->first_free, (size_t)fd);
    close_file(f, owner);
    return 0;
}

void fdtable_exec(struct fdtable *t, const void *owner)
{
    for (size_t i = 0; i < t->capacity; i++) {
        t->entries[i].host_slot = 0;
        if (t->entries[i].file && t->entries[i].cloexec)
            fdtable_close(t, (int)i, owner);
    }
}
