// SPDX-License-Identifier: Apache-2.0
#include "sandbox/files_listing.h"

#include <sys/stat.h>

struct files_listing {
    struct files_listed *entries;
    size_t count, capacity, max;
    bool has_root;
    char root[FILES_PATH_MAX_BYTES + 1];
    size_t passed; /* level of a directory whose content is left out, having no path; 0: none */
    size_t depth;  /* directories that what comes next can be in, below the root */
    char path[FILES_PATH_MAX_BYTES + 1];    /* of the last of them */
    size_t sizes[FILES_LIST_DEPTH_MAX + 1]; /* of path, at each level */
};

struct files_listing *files_listing_new(size_t entries_max)
{
    struct files_listing *l = calloc(1, sizeof(*l));
    if (l)
        l->max = entries_max;
    return l;
}

void files_listing_free(struct files_listing *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->count; i++)
        free(l->entries[i].path); /* the others stand behind it */
    free(l->entries);
    free(l);
}

static char *append(char **at, const void *data, size_t size)
{
    char *copy = *at;
    memcpy(copy, data, size);
    *at += size;
    return copy;
}

static int keep(struct files_listing *l, const struct files_info *i, const char *path)
{
    size_t sizes[] = {strlen(path) + 1, strlen(i->target) + 1, strlen(i->owner) + 1,
                      strlen(i->group) + 1};
    size_t total = i->metadata_size;
    for (size_t n = 0; n < ARRAY_SIZE(sizes); n++)
        total += sizes[n];
    char *at = malloc(total);
    if (!at)
        return -ENOMEM;
    l->entries[l->count++] = (struct files_listed){
        .path = append(&at, path, sizes[0]),
        .target = append(&at, i->target, sizes[1]),
        .owner = append(&at, i->owner, sizes[2]),
        .group = append(&at, i->group, sizes[3]),
        .metadata = append(&at, i->metadata, i->metadata_size),
        .metadata_size = i->metadata_size,
        .mode = i->mode,
        .target_mode = i->target_mode,
        .uid = i->uid,
        .gid = i->gid,
        .size = i->size,
        .mtime_s = i->mtime_s,
        .mtime_ns = i->mtime_ns,
    };
    return 0;
}

static int reserve(struct files_listing *l)
{
    if (l->count < l->capacity)
        return 0;
    if (l->count >= l->max)
        return -E2BIG;
    size_t capacity = MIN(MAX(2 * l->capacity, (size_t)64), l->max);
    struct files_listed *entries = realloc(l->entries, capacity * sizeof(*entries));
    if (!entries)
        return -ENOMEM;
    l->entries = entries;
    l->capacity = capacity;
    return 0;
}

static int take_root(struct files_listing *l, const struct files_info *i)
{
    if (l->has_root || i->level != 0)
        return -EPROTO;
    memcpy(l->root, i->name, sizeof(l->root));
    l->has_root = true;
    size_t size = strlen(l->root);
    if (size == 1) /* "/" */
        size = 0;
    memcpy(l->path, l->root, size);
    l->sizes[0] = size;
    return 0;
}

/* Its path is that of the directory that it is in, which came before it, and its name. */
static int take(struct files_listing *l, const struct files_info *i)
{
    if (!l->has_root || i->level == 0)
        return take_root(l, i);
    if (l->passed && i->level > l->passed)
        return 0;
    if (i->level > l->depth + 1 || i->level > FILES_LIST_DEPTH_MAX)
        return -EPROTO;
    size_t size = l->sizes[i->level - 1], length = strlen(i->name);
    l->depth = i->level - 1;
    l->passed = 0;
    if (size + 1 + length > FILES_PATH_MAX_BYTES) {
        l->passed = i->level;
        return 0;
    }
    l->path[size] = '/';
    memcpy(l->path + size + 1, i->name, length + 1);
    if (S_ISDIR(i->mode) && !i->error) {
        l->depth = i->level;
        l->sizes[i->level] = size + 1 + length;
    }
    int r = reserve(l);
    return r < 0 ? r : keep(l, i, l->path);
}

int files_listing_take(struct files_listing *l, struct files_records records)
{
    struct files_info *i = malloc(sizeof(*i));
    int r = i ? 1 : -ENOMEM;
    while (r > 0) {
        r = files_read_info(&records, i);
        int error = r > 0 ? take(l, i) : 0;
        if (error < 0)
            r = error;
    }
    free(i);
    return r;
}

/* As if '/' came before all bytes. */
static int compare(const void *a, const void *b)
{
    const unsigned char *x = (const unsigned char *)((const struct files_listed *)a)->path;
    const unsigned char *y = (const unsigned char *)((const struct files_listed *)b)->path;
    while (*x && *x == *y)
        x++, y++;
    unsigned left = *x == '/' ? 1 : *x ? *x + 1U : 0;
    unsigned right = *y == '/' ? 1 : *y ? *y + 1U : 0;
    return left < right ? -1 : left > right;
}

const struct files_listed *files_listing_end(struct files_listing *l, size_t *ret_count,
                                             const char **ret_path)
{
    if (l->count > 0)
        qsort(l->entries, l->count, sizeof(l->entries[0]), compare);
    *ret_count = l->count;
    *ret_path = l->root;
    return l->entries;
}
