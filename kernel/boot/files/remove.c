// SPDX-License-Identifier: Apache-2.0
/*
 * Removes a tree, a piece at a time. It goes down into directories that it holds, and comes up only
 * to the one that it went down from: a program that moves a directory away meanwhile does not lead
 * it there.
 */
#include "kernel/boot/files/client.h"

#define STEPS_MAX    256
#define RESTARTS_MAX 16 /* of one directory, in which names keep coming */
#define STACK_MIN    16

struct level {
    struct cursor cursor;
    unsigned restarts;
};

struct files_remove {
    struct files_identity identity;
    char path[FILES_PATH_MAX_BYTES + 1];
    struct level *levels;
    size_t depth, capacity;
};

void files_remove_free(struct files_remove *r)
{
    if (!r)
        return;
    while (r->depth > 0)
        file_put(r->levels[--r->depth].cursor.dir);
    free(r->levels);
    files_identity_done(&r->identity);
    free(r);
}

static int reserve_level(struct files_remove *r)
{
    if (r->depth < r->capacity)
        return 0;
    if (r->depth >= FILES_REMOVE_DEPTH_MAX)
        return -ENAMETOOLONG;
    size_t capacity = MAX(2 * r->capacity, (size_t)STACK_MIN);
    struct level *levels = realloc(r->levels, capacity * sizeof(*levels));
    if (!levels)
        return -ENOMEM;
    r->levels = levels;
    r->capacity = capacity;
    return 0;
}

static int go_down(struct files_remove *r, struct path p)
{
    struct level level = {0};
    int error = reserve_level(r);
    if (error == 0)
        error = vfs_open_path(p, r->identity.cred, O_RDONLY | O_DIRECTORY, &level.cursor.dir);
    if (error == 0)
        r->levels[r->depth++] = level;
    return error;
}

/* Removes what has that name in base; a directory with something in it is gone down into. */
static int remove_name(struct files_remove *r, const struct walk_base *base, const char *name)
{
    struct path p;
    int error = walk_path(base, name, 0, &p, NULL);
    if (error < 0)
        return error;
    bool is_mount = p.dentry == p.mount->root;
    if (is_mount)
        error = -EBUSY;
    else if (S_ISDIR(p.dentry->inode->mode))
        error = vfs_rmdir(base, name);
    else
        error = vfs_unlink(base, name);
    if (error == -ENOTEMPTY)
        error = go_down(r, p);
    path_put(&p);
    return error;
}

/* All that was in the last directory is gone, and it goes too. */
static int come_up(struct files_remove *r)
{
    struct level *l = &r->levels[r->depth - 1];
    const struct dentry *d = l->cursor.dir->path.dentry;
    struct walk_base base = files_root(&r->identity);
    const char *name = r->path;
    if (r->depth > 1) {
        struct path above = r->levels[r->depth - 2].cursor.dir->path;
        if (!d->unlinked && d->parent != above.dentry)
            return -ESTALE;
        base = files_base(&r->identity, above);
        name = d->name;
    }
    int error = d->unlinked ? 0 : vfs_rmdir(&base, name);
    if (error == -ENOTEMPTY && l->restarts++ < RESTARTS_MAX) {
        cursor_rewind(&l->cursor);
        return 0;
    }
    file_put(l->cursor.dir);
    r->depth--;
    return error;
}

static int step(struct files_remove *r)
{
    struct level *l = &r->levels[r->depth - 1];
    struct cursor_name name;
    int error;
    if (cursor_next(&l->cursor, &name)) {
        const struct walk_base base = files_base(&r->identity, l->cursor.dir->path);
        error = remove_name(r, &base, name.text);
    } else {
        error = l->cursor.error < 0 ? l->cursor.error : come_up(r);
    }
    return error == -ENOENT ? 0 : error; /* a program was quicker */
}

static void work(struct files_client *c)
{
    struct files_remove *r = c->remove;
    int error = 0;
    for (int i = 0; i < STEPS_MAX && r->depth > 0 && error == 0; i++)
        error = step(r);
    if (error == 0 && r->depth > 0)
        error = files_work_soon(c, work);
    if (error == 0 && r->depth > 0)
        return;
    files_activity_end(c);
    files_answer(c, error, 0);
}

static int begin(struct files_remove *r, const struct files_asked *a)
{
    int error = files_identity_find(a, &r->identity);
    if (error == 0)
        error = files_path_resolve(&r->identity, a->path, r->path);
    if (error < 0)
        return error;
    const struct walk_base base = files_root(&r->identity);
    error = remove_name(r, &base, r->path);
    return error == -ENOENT ? 0 : error;
}

void files_ask_remove(struct files_client *c, const struct files_asked *a)
{
    files_activity_end(c);
    c->remove = calloc(1, sizeof(*c->remove));
    int error = c->remove ? begin(c->remove, a) : -ENOMEM;
    if (error == 0) {
        work(c);
        return;
    }
    files_activity_end(c);
    files_answer(c, error, 0);
}
