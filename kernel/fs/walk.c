// SPDX-License-Identifier: Apache-2.0
#include "kernel/fs/walk.h"

#include "kernel/core/limits.h"

#define TEXTS_MAX (SYMLINK_DEPTH_MAX + 1)

/* Takes next over as the place the walk is at. */
static void walk_move(struct walk *w, struct path next)
{
    struct path old = w->at;
    w->at = next;
    path_put(&old);
}

int walk_begin(struct walk *w, const struct walk_base *base, const char *name, unsigned flags)
{
    if (*name == '\0' && !(flags & WALK_EMPTY_OK))
        return -ENOENT;
    if (*name == '/' && flags & WALK_BENEATH)
        return -EXDEV;
    bool scoped = flags & (WALK_BENEATH | WALK_IN_ROOT);
    *w = (struct walk){
        .root = scoped ? base->base : base->root,
        .cred = base->cred,
        .flags = flags,
        .depth = 1,
        .first = {NULL, name},
        .jumped = *name == '\0',
    };
    w->texts = &w->first;
    w->at = path_get(*name == '/' ? w->root : base->base);
    return 0;
}

void walk_end(struct walk *w)
{
    while (w->depth > 0)
        free(w->texts[--w->depth].buffer);
    if (w->texts != &w->first)
        free(w->texts);
    w->texts = NULL;
    path_put(&w->at);
}

/* What is mounted on p, topmost. p is counted and replaced. */
static int walk_cross_mounts(const struct walk *w, struct path *p)
{
    while (p->dentry->mounted && p->dentry->mounted->at.mount == p->mount) {
        if (w->flags & WALK_NO_XDEV)
            return -EXDEV;
        struct mount *m = p->dentry->mounted;
        struct path top = path_get((struct path){m, m->root});
        path_put(p);
        *p = top;
    }
    return 0;
}

static int walk_dotdot(struct walk *w)
{
    struct path p = w->at;
    for (;;) {
        if (path_is_same(p, w->root)) {
            if (w->flags & WALK_BENEATH)
                return -EXDEV;
            break;
        }
        if (p.dentry != p.mount->root) {
            if (p.dentry->parent)
                p.dentry = p.dentry->parent;
            break;
        }
        if (!p.mount->at.mount)
            break;
        if (w->flags & WALK_NO_XDEV)
            return -EXDEV;
        p = p.mount->at;
    }
    walk_move(w, path_get(p));
    return walk_cross_mounts(w, &w->at);
}

static int walk_load(struct dentry *dir, struct dentry *d)
{
    const struct inode_ops *ops = dir->inode->ops;
    int r = ops->lookup ? ops->lookup(dir->inode, d) : -ENOTDIR;
    if (r == 0)
        d->unloaded = false;
    return r;
}

int walk_lookup_child(struct dentry *dir, const char *name, size_t length, struct dentry **ret)
{
    if (length > NAME_LENGTH_MAX)
        return -ENAMETOOLONG;
    const struct inode_ops *ops = dir->inode->ops;
    struct dentry *d = dentry_find(dir, name, length);
    if (d) {
        dentry_get(d);
        if (!d->super->cached && !d->mounted && ops->revalidate && !ops->revalidate(d)) {
            dentry_detach(d);
            dentry_put(d);
            d = NULL;
        }
    }
    if (d) {
        int r = d->unloaded && !d->inode ? walk_load(dir, d) : 0;
        if (r < 0)
            dentry_put(d);
        else
            *ret = d;
        return r;
    }

    if (dir->unlinked)
        return -ENOENT;
    d = dentry_new(dir, name, length);
    if (!d)
        return -ENOMEM;
    int r = dir->populated ? 0 : walk_load(dir, d);
    if (r < 0) {
        dentry_detach(d);
        dentry_put(d);
        return r;
    }
    *ret = d;
    return 0;
}

static int walk_child(struct walk *w, const char *name, size_t length, struct path *ret)
{
    struct dentry *d;
    int r = walk_lookup_child(w->at.dentry, name, length, &d);
    if (r < 0)
        return r;
    struct path p = path_get((struct path){w->at.mount, d});
    dentry_put(d);
    r = walk_cross_mounts(w, &p);
    if (r < 0)
        path_put(&p);
    else
        *ret = p;
    return r;
}

/* A link of /proc that leads to an object, not to a text. */
static int walk_jump(struct walk *w, struct path link)
{
    if (w->flags & WALK_NO_MAGICLINKS)
        return -ELOOP;
    struct path target;
    int r = link.dentry->inode->ops->follow(link.dentry, &target);
    if (r < 0)
        return r;
    if ((w->flags & WALK_NO_XDEV && target.mount != w->at.mount) ||
        w->flags & (WALK_BENEATH | WALK_IN_ROOT)) {
        path_put(&target);
        return -EXDEV;
    }
    walk_move(w, target);
    w->jumped = true;
    return 0;
}

static int walk_push_text(struct walk *w, char *text)
{
    if (w->texts == &w->first) {
        struct walk_text *texts = calloc(TEXTS_MAX, sizeof(*texts));
        if (!texts)
            return -ENOMEM;
        texts[0] = w->first;
        w->texts = texts;
    }
    w->texts[w->depth++] = (struct walk_text){text, text};
    return 0;
}

int walk_push_link(struct walk *w, struct path link)
{
    struct inode *i = link.dentry->inode;
    if (w->flags & WALK_NO_SYMLINKS || ++w->links > SYMLINK_DEPTH_MAX)
        return -ELOOP;
    if (i->ops->follow)
        return walk_jump(w, link);
    if (!i->ops->readlink)
        return -EINVAL;

    _cleanup_free_ char *text = malloc(GUEST_PATH_MAX);
    if (!text)
        return -ENOMEM;
    ssize_t length = i->ops->readlink(i, text, GUEST_PATH_MAX);
    if (length <= 0)
        return length < 0 ? (int)length : -ENOENT;
    inode_accessed(i, link.mount);
    if (*text == '/') {
        if (w->flags & WALK_BENEATH)
            return -EXDEV;
        if (w->flags & WALK_NO_XDEV && w->at.mount != w->root.mount)
            return -EXDEV;
        walk_move(w, path_get(w->root));
    }
    int r = walk_push_text(w, text);
    if (r == 0)
        text = NULL; /* in w->texts */
    return r;
}

/* True when no text has a component left but the current one's, which is used up to `rest`. */
static bool walk_is_last(const struct walk *w, const char *rest)
{
    if (*rest)
        return false;
    for (size_t i = 0; i + 1 < w->depth; i++)
        if (w->texts[i].rest[strspn(w->texts[i].rest, "/")])
            return false;
    return true;
}

static void walk_set_last(struct walk *w, const char *name, size_t length, bool slash)
{
    struct walk_last *last = &w->last;
    memcpy(last->name, name, length);
    last->name[length] = '\0';
    last->length = length;
    w->directory = w->directory || slash;
    last->trailing_slash = w->directory;
    if (length == 1 && name[0] == '.')
        last->kind = LAST_DOT;
    else if (length == 2 && name[0] == '.' && name[1] == '.')
        last->kind = LAST_DOTDOT;
    else
        last->kind = LAST_NORMAL;
}

/* One component that is not the last. */
static int walk_step(struct walk *w, const char *name, size_t length)
{
    if (length == 1 && name[0] == '.')
        return 0;
    if (length == 2 && name[0] == '.' && name[1] == '.')
        return walk_dotdot(w);
    struct path child;
    int r = walk_child(w, name, length, &child);
    if (r < 0)
        return r;
    const struct inode *i = child.dentry->inode;
    if (!i)
        r = -ENOENT;
    else if (S_ISLNK(i->mode))
        r = walk_push_link(w, child);
    else if (!S_ISDIR(i->mode))
        r = -ENOTDIR;
    else {
        walk_move(w, child);
        return 0;
    }
    path_put(&child);
    return r;
}

/* The place that a name is looked up in: a directory that may be searched. */
static int walk_check_directory(struct walk *w)
{
    struct inode *i = w->at.dentry->inode;
    return S_ISDIR(i->mode) ? inode_permission(i, w->cred, MAY_EXEC) : -ENOTDIR;
}

int walk_to_last(struct walk *w)
{
    for (;;) {
        struct walk_text *text = &w->texts[w->depth - 1];
        const char *name = text->rest + strspn(text->rest, "/");
        if (*name == '\0' && w->depth > 1) {
            free(text->buffer);
            w->depth--;
            continue;
        }
        if (*name == '\0') {
            text->rest = name;
            w->last = (struct walk_last){.kind = LAST_ROOT, .trailing_slash = w->directory};
            return 0;
        }
        /* Forty links of 2,047 components each would hold the kernel for 80,000 look-ups. */
        if (++w->steps > LIMIT_WALK_STEPS)
            return -ELOOP;
        int r = walk_check_directory(w);
        if (r < 0)
            return r;
        w->jumped = false;
        size_t length = strcspn(name, "/");
        const char *rest = name + length + strspn(name + length, "/");
        if (length > NAME_LENGTH_MAX)
            return -ENAMETOOLONG;
        text->rest = rest;
        if (walk_is_last(w, rest)) {
            walk_set_last(w, name, length, name[length] == '/');
            return 0;
        }
        r = walk_step(w, name, length);
        if (r < 0)
            return r;
    }
}

int walk_last_path(struct walk *w, struct path *ret)
{
    if (w->last.kind == LAST_NORMAL && !w->jumped)
        return walk_child(w, w->last.name, w->last.length, ret);
    if (w->last.kind == LAST_DOTDOT && !w->jumped) {
        int r = walk_dotdot(w);
        if (r < 0)
            return r;
    }
    *ret = path_get(w->at);
    return 0;
}

/* The object at the end of the walk. */
static int walk_resolve(struct walk *w, struct path *ret)
{
    for (;;) {
        struct path p;
        int r = walk_last_path(w, &p);
        if (r < 0)
            return r;
        const struct inode *i = p.dentry->inode;
        if (!i) {
            path_put(&p);
            return -ENOENT;
        }
        if (!S_ISLNK(i->mode) || w->jumped || !(w->flags & WALK_FOLLOW || w->directory)) {
            if ((w->flags & WALK_DIRECTORY || w->directory) && !S_ISDIR(i->mode)) {
                path_put(&p);
                return -ENOTDIR;
            }
            *ret = p;
            return 0;
        }
        r = walk_push_link(w, p);
        path_put(&p);
        if (r == 0)
            r = walk_to_last(w);
        if (r < 0)
            return r;
    }
}

int walk_path(const struct walk_base *base, const char *name, unsigned flags, struct path *ret,
              struct walk_last *ret_last)
{
    struct walk w;
    int r = walk_begin(&w, base, name, flags);
    if (r < 0)
        return r;
    struct path found;
    r = walk_to_last(&w);
    if (r == 0 && flags & WALK_PARENT)
        found = path_get(w.at);
    else if (r == 0)
        r = walk_resolve(&w, &found);
    if (r == 0) {
        *ret = found;
        if (ret_last)
            *ret_last = w.last;
    }
    walk_end(&w);
    return r;
}
