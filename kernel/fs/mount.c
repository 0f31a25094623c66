// SPDX-License-Identifier: Apache-2.0
#include "kernel/fs/vfs.h"

struct list vfs_mounts = {&vfs_mounts, &vfs_mounts};
struct mount *vfs_root_mount;

struct path path_get(struct path p)
{
    if (p.mount)
        p.mount->refs++;
    if (p.dentry)
        dentry_get(p.dentry);
    return p;
}

void path_put(struct path *p)
{
    struct path old = *p;
    *p = (struct path){0};
    dentry_put(old.dentry);
    if (!old.mount || --old.mount->refs > 0)
        return;
    struct path at = old.mount->at;
    list_remove(&old.mount->link);
    dentry_put(old.mount->root);
    free(old.mount->source);
    free(old.mount);
    path_put(&at);
}

int mount_add(struct super *s, struct path at, const char *source, struct mount **ret)
{
    static int next_id = 1;
    struct mount *m = calloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    m->source = strdup(source ? source : s->type_name);
    if (!m->source) {
        free(m);
        return -ENOMEM;
    }
    m->refs = 1;
    m->id = next_id++;
    m->super = s;
    m->root = dentry_get(s->root);
    m->at = path_get(at);
    m->read_only = s->read_only;
    m->noexec = s->noexec;
    m->nodev = s->nodev;
    list_append(&vfs_mounts, &m->link);
    if (at.dentry)
        at.dentry->mounted = m;
    else
        vfs_root_mount = m;
    if (ret)
        *ret = m;
    return 0;
}

/* A text that is written from its end. */
struct reverse_text {
    char *buffer;
    size_t start;
};

static bool prepend(struct reverse_text *t, const char *s, size_t length)
{
    if (length > t->start)
        return false;
    t->start -= length;
    memcpy(t->buffer + t->start, s, length);
    return true;
}

ssize_t path_text(struct path p, struct path root, char *buffer, size_t size)
{
    struct dentry *d = p.dentry;
    if (!p.mount) {
        if (d->name_length >= size)
            return -ENAMETOOLONG;
        memcpy(buffer, d->name, d->name_length + 1U);
        return d->name_length;
    }

    struct reverse_text t = {buffer, size};
    bool fits = prepend(&t, "", 1);
    if (d->unlinked)
        fits = fits && prepend(&t, " (deleted)", strlen(" (deleted)"));
    bool reachable = true, empty = true;
    while (fits && !path_is_same(p, root)) {
        if (p.dentry == p.mount->root && p.mount->at.mount) {
            p = p.mount->at;
            continue;
        }
        if (p.dentry == p.mount->root || !p.dentry->parent) {
            reachable = false;
            break;
        }
        fits = prepend(&t, p.dentry->name, p.dentry->name_length) && prepend(&t, "/", 1);
        empty = false;
        p.dentry = p.dentry->parent;
    }
    if (empty)
        fits = fits && prepend(&t, "/", 1);
    if (!reachable)
        fits = fits && prepend(&t, "(unreachable)", strlen("(unreachable)"));
    if (!fits)
        return -ENAMETOOLONG;
    size_t length = size - t.start;
    memmove(buffer, buffer + t.start, length);
    return (ssize_t)length - 1;
}
