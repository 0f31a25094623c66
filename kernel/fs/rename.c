// SPDX-License-Identifier: Apache-2.0
/*
 * rename(2). The order in which the errors are looked for is that of Linux (fs/namei.c of its
 * sources: do_renameat2, then vfs_rename).
 */
#include "kernel/fs/change.h"
#include "kernel/fs/notify.h"

#include <stdio.h>

struct side {
    struct path dir; /* counted */
    struct walk_last last;
    struct dentry *dentry; /* counted */
};

static void side_done(struct side *s)
{
    dentry_put(s->dentry);
    path_put(&s->dir);
}

static bool is_dir(const struct dentry *d)
{
    return d->inode && S_ISDIR(d->inode->mode);
}

static bool is_ancestor(const struct dentry *ancestor, const struct dentry *d)
{
    for (; d; d = d->parent)
        if (d == ancestor)
            return true;
    return false;
}

static int rename_check_places(const struct side *old, const struct side *new, unsigned flags)
{
    if (old->dir.mount != new->dir.mount)
        return -EXDEV;
    if (old->last.kind != LAST_NORMAL)
        return -EBUSY;
    if (new->last.kind != LAST_NORMAL)
        return flags & RENAME_NOREPLACE ? -EEXIST : -EBUSY;
    return old->dir.mount->read_only ? -EROFS : 0;
}

static int rename_check_slashes(const struct side *old, const struct side *new, unsigned flags)
{
    if (flags & RENAME_EXCHANGE) {
        if (!new->dentry->inode)
            return -ENOENT;
        if (!is_dir(new->dentry) && new->last.trailing_slash)
            return -ENOTDIR;
    }
    if (is_dir(old->dentry))
        return 0;
    if (old->last.trailing_slash)
        return -ENOTDIR;
    return !(flags & RENAME_EXCHANGE) && new->last.trailing_slash ? -ENOTDIR : 0;
}

static int rename_lookup(struct side *old, struct side *new, unsigned flags)
{
    int r = walk_lookup_child(old->dir.dentry, old->last.name, old->last.length, &old->dentry);
    if (r < 0)
        return r;
    if (!old->dentry->inode)
        return -ENOENT;
    r = walk_lookup_child(new->dir.dentry, new->last.name, new->last.length, &new->dentry);
    if (r < 0)
        return r;
    if (flags & RENAME_NOREPLACE && new->dentry->inode)
        return -EEXIST;
    r = rename_check_slashes(old, new, flags);
    if (r < 0)
        return r;
    if (is_ancestor(old->dentry, new->dir.dentry))
        return -EINVAL;
    if (is_ancestor(new->dentry, old->dir.dentry))
        return flags & RENAME_EXCHANGE ? -EINVAL : -ENOTEMPTY;
    return 0;
}

static int rename_check_rights(const struct side *old, const struct side *new,
                               const struct cred *cred, unsigned flags)
{
    struct inode *old_dir = old->dir.dentry->inode, *new_dir = new->dir.dentry->inode;
    bool moves_dir = is_dir(old->dentry), exchange = flags & RENAME_EXCHANGE;
    int r = may_delete(old_dir, old->dentry, cred, moves_dir);
    if (r < 0)
        return r;
    if (!new->dentry->inode)
        r = may_create(new->dir, cred);
    else
        r = may_delete(new_dir, new->dentry, cred, exchange ? is_dir(new->dentry) : moves_dir);
    if (r < 0)
        return r;
    if (!old_dir->ops->rename)
        return -EPERM;
    if (old_dir == new_dir)
        return 0;
    /* A directory that gets another parent has its ".." changed. */
    if (moves_dir)
        r = inode_permission(old->dentry->inode, cred, MAY_WRITE);
    if (r == 0 && exchange && is_dir(new->dentry))
        r = inode_permission(new->dentry->inode, cred, MAY_WRITE);
    return r;
}

/* Room for the new names, so that nothing fails once the file system has done its part. */
static int rename_reserve(const struct side *old, const struct side *new, unsigned flags)
{
    int r = dentry_reserve_name(old->dentry, new->last.length);
    if (r == 0 && flags & RENAME_EXCHANGE)
        r = dentry_reserve_name(new->dentry, old->last.length);
    return r;
}

/* The dentries follow what the file system did. */
static void rename_move(struct side *old, struct side *new, unsigned flags)
{
    if (!(flags & RENAME_EXCHANGE))
        dentry_detach(new->dentry);
    dentry_move(old->dentry, new->dir.dentry, new->last.name, new->last.length);
    if (flags & RENAME_EXCHANGE)
        dentry_move(new->dentry, old->dir.dentry, old->last.name, old->last.length);
}

static void rename_tell(const struct side *old, const struct side *new, struct inode *replaced)
{
    struct inode *old_dir = old->dir.dentry->inode, *new_dir = new->dir.dentry->inode;
    uint32_t dir_bit = is_dir(old->dentry) ? IN_ISDIR : 0;
    uint32_t cookie = notify_next_cookie();
    notify_name(old_dir, IN_MOVED_FROM | dir_bit, cookie, old->last.name);
    notify_name(new_dir, IN_MOVED_TO | dir_bit, cookie, new->last.name);
    if (replaced)
        notify_inode(replaced, IN_ATTRIB);
    notify_inode(old->dentry->inode, IN_MOVE_SELF);
}

static int rename_run(struct side *old, struct side *new, const struct cred *cred, unsigned flags)
{
    struct inode *source = old->dentry->inode, *target = new->dentry->inode;
    if (source == target)
        return 0;
    int r = rename_check_rights(old, new, cred, flags);
    if (r < 0)
        return r;
    if (old->dentry->mounted || new->dentry->mounted)
        return -EBUSY;
    struct inode *old_dir = old->dir.dentry->inode, *new_dir = new->dir.dentry->inode;
    unsigned fs_flags = flags & RENAME_EXCHANGE;
    r = rename_reserve(old, new, fs_flags);
    if (r == 0)
        r = old_dir->ops->rename(old_dir, old->dentry, new_dir, new->dentry, fs_flags);
    if (r < 0)
        return r;
    rename_move(old, new, fs_flags);
    rename_tell(old, new, fs_flags ? NULL : target);
    if (fs_flags)
        rename_tell(new, old, NULL);
    return 0;
}

int vfs_find_parent(const struct walk_base *b, const char *name)
{
    struct path dir;
    int r = walk_path(b, name, WALK_PARENT, &dir, NULL);
    if (r == 0)
        path_put(&dir);
    return r;
}

int vfs_rename(const struct walk_base *old_base, const char *old_name,
               const struct walk_base *new_base, const char *new_name, unsigned flags)
{
    if (flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE) ||
        flags == (RENAME_NOREPLACE | RENAME_EXCHANGE))
        return -EINVAL;
    struct side old = {0}, new = {0};
    int r = walk_path(old_base, old_name, WALK_PARENT, &old.dir, &old.last);
    if (r < 0)
        return r;
    r = walk_path(new_base, new_name, WALK_PARENT, &new.dir, &new.last);
    if (r == 0)
        r = rename_check_places(&old, &new, flags);
    if (r == 0)
        r = rename_lookup(&old, &new, flags);
    if (r == 0)
        r = rename_run(&old, &new, old_base->cred, flags);
    side_done(&new);
    side_done(&old);
    return r;
}
