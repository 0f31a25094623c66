// SPDX-License-Identifier: Apache-2.0
/*
 * What is in a directory: a packet's worth at each question. Between two a list is an array of open
 * directories, each with the name that was told last.
 */
#include "kernel/boot/files/client.h"

#define STEPS_MAX 256 /* names looked at for one answer */

struct files_list {
    struct files_identity identity;
    struct files_names names;
    size_t depth;  /* to be told */
    size_t opened; /* directories */
    struct cursor levels[FILES_LIST_DEPTH_MAX];
};

void files_list_free(struct files_list *l)
{
    if (!l)
        return;
    while (l->opened > 0)
        file_put(l->levels[--l->opened].dir);
    files_names_done(&l->names);
    files_identity_done(&l->identity);
    free(l);
}

/* ---- the walk ---- */

static int open_directory(struct files_list *l, struct path p)
{
    struct cursor level = {0}, look;
    struct cursor_name name;
    int r = vfs_open_path(p, l->identity.cred, O_RDONLY | O_DIRECTORY, &level.dir);
    if (r < 0)
        return r;
    /* What may be opened here, the host may still refuse to list. */
    look = level;
    cursor_next(&look, &name);
    if (look.error < 0)
        file_put(level.dir);
    else
        l->levels[l->opened++] = level;
    return look.error;
}

/* What can't be looked at any more is left out: a program was quicker. */
static void step(struct files_list *l)
{
    struct cursor *level = &l->levels[l->opened - 1];
    struct cursor_name name;
    struct path p;
    if (!cursor_next(level, &name)) {
        file_put(level->dir);
        l->opened--;
        return;
    }
    const struct walk_base base = files_base(&l->identity, level->dir->path);
    if (files_name_is_hidden(name.text) || walk_path(&base, name.text, 0, &p, NULL) < 0)
        return;
    size_t at = l->opened;
    int error = 0;
    if (S_ISDIR(p.dentry->inode->mode) && l->opened < l->depth)
        error = open_directory(l, p);
    files_append_entry(&l->names, &l->identity, p, name.text, (unsigned)at, error);
    path_put(&p);
}

static void go_on(struct files_client *c)
{
    struct files_list *l = c->list;
    for (int i = 0; i < STEPS_MAX && l->opened > 0; i++) {
        if (files_reply_room() < FILES_ENTRY_MAX_BYTES)
            break;
        step(l);
    }
    bool is_over = l->opened == 0;
    /* The files may change until the next question, and so may those that name their owners. */
    files_names_done(&l->names);
    if (is_over)
        files_activity_end(c);
    files_answer(c, 0, is_over);
}

static int begin(struct files_list *l, const struct files_asked *a)
{
    char path[FILES_PATH_MAX_BYTES + 1];
    struct path p;
    int r = files_identity_find(a, &l->identity);
    if (r == 0)
        r = files_path_resolve(&l->identity, a->path, path);
    if (r < 0)
        return r;
    const struct walk_base base = files_root(&l->identity);
    l->depth = MAX(MIN(a->q.depth, (uint32_t)FILES_LIST_DEPTH_MAX), 1U);
    r = walk_path(&base, path, WALK_FOLLOW | WALK_DIRECTORY | WALK_NO_MAGICLINKS, &p, NULL);
    if (r < 0)
        return r;
    r = open_directory(l, p);
    if (r == 0)
        r = files_append_entry(&l->names, &l->identity, p, path, 0, 0);
    path_put(&p);
    return r;
}

void files_ask_list(struct files_client *c, const struct files_asked *a)
{
    files_activity_end(c);
    c->list = calloc(1, sizeof(*c->list));
    int r = c->list ? begin(c->list, a) : -ENOMEM;
    if (r == 0) {
        go_on(c);
        return;
    }
    files_activity_end(c);
    files_answer(c, r, 0);
}

void files_ask_list_next(struct files_client *c, const struct files_asked *a _unused_)
{
    if (c->list)
        go_on(c);
    else
        files_answer(c, -EBADF, 0);
}
