// SPDX-License-Identifier: Apache-2.0
/*
 * Making and removing names. The order in which the errors are looked for is that of Linux
 * (fs/namei.c of its sources: filename_create, do_unlinkat, do_rmdir, may_delete).
 */
#include "kernel/fs/change.h"
#include "kernel/fs/notify.h"

#include <linux/capability.h>

struct birth birth_in(const struct inode *dir, const struct cred *cred, mode_t mode)
{
    struct birth b = {mode, cred->fsuid, cred->fsgid};
    if (!(dir->mode & S_ISGID))
        return b;
    b.gid = dir->gid;
    if (S_ISDIR(mode))
        b.mode |= S_ISGID;
    else if ((mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
             !cred_in_group(cred, dir->gid) && !cred_has_cap(cred, CAP_FSETID))
        b.mode &= ~(mode_t)S_ISGID;
    return b;
}

int may_create(struct path dir, const struct cred *cred)
{
    if (dir.mount->read_only)
        return -EROFS;
    if (dir.dentry->unlinked)
        return -ENOENT;
    return inode_permission(dir.dentry->inode, cred, MAY_WRITE | MAY_EXEC);
}

/* The name that a removal or a renaming takes away: sticky directories, mode of the directory. */
int may_delete(struct inode *dir, const struct dentry *d, const struct cred *cred, bool is_dir)
{
    int r = inode_permission(dir, cred, MAY_WRITE | MAY_EXEC);
    if (r < 0)
        return r;
    const struct inode *victim = d->inode;
    if (dir->mode & S_ISVTX && victim->uid != cred->fsuid && dir->uid != cred->fsuid &&
        !cred_has_cap(cred, CAP_FOWNER))
        return -EPERM;
    if (is_dir)
        return S_ISDIR(victim->mode) ? 0 : -ENOTDIR;
    return S_ISDIR(victim->mode) ? -EISDIR : 0;
}

static void tell_created(struct path dir, const struct dentry *d)
{
    uint32_t is_dir = S_ISDIR(d->inode->mode) ? IN_ISDIR : 0;
    notify_name(dir.dentry->inode, IN_CREATE | is_dir, 0, d->name);
}

int create_node(struct path dir, struct dentry *d, const struct cred *cred, mode_t mode,
                uint64_t rdev)
{
    struct inode *parent = dir.dentry->inode;
    struct birth b = birth_in(parent, cred, mode);
    int r = parent->ops->mknod(parent, d, b.mode, rdev, b.uid, b.gid);
    if (r == 0)
        tell_created(dir, d);
    return r;
}

/* A place for a new name: its directory and its negative dentry. */
struct place {
    struct path dir;
    struct dentry *dentry;
};

static void place_done(struct place *p)
{
    dentry_put(p->dentry);
    path_put(&p->dir);
}

static int place_lookup(struct place *p, const struct walk_last *last, bool want_dir)
{
    if (last->kind != LAST_NORMAL)
        return -EEXIST;
    int r = walk_lookup_child(p->dir.dentry, last->name, last->length, &p->dentry);
    if (r < 0)
        return r;
    if (p->dentry->inode)
        return -EEXIST;
    return last->trailing_slash && !want_dir ? -ENOENT : 0;
}

/* On success end with place_done(). */
static int place_find(struct place *p, const struct walk_base *b, const char *name, bool want_dir)
{
    *p = (struct place){0};
    struct walk_last last;
    int r = walk_path(b, name, WALK_PARENT, &p->dir, &last);
    if (r < 0)
        return r;
    r = place_lookup(p, &last, want_dir);
    if (r == 0)
        r = may_create(p->dir, b->cred);
    if (r < 0)
        place_done(p);
    return r;
}

static int check_node_type(const struct cred *cred, mode_t mode, uint64_t rdev)
{
    /* A whiteout of overlay file systems leads to no device: anybody may make one. */
    if (S_ISCHR(mode) && rdev == 0)
        return 0;
    switch (mode & S_IFMT) {
    case S_IFREG:
    case S_IFIFO:
    case S_IFSOCK:
        return 0;
    case S_IFCHR:
    case S_IFBLK:
        return cred_has_cap(cred, CAP_MKNOD) ? 0 : -EPERM;
    case S_IFDIR:
        return -EPERM;
    default:
        return -EINVAL;
    }
}

int vfs_mknod(const struct walk_base *b, const char *name, mode_t mode, uint64_t rdev)
{
    if (!(mode & S_IFMT))
        mode |= S_IFREG;
    struct place p;
    int r = place_find(&p, b, name, false);
    if (r < 0)
        return r;
    r = check_node_type(b->cred, mode, rdev);
    if (r == 0 && !p.dir.dentry->inode->ops->mknod)
        r = -EPERM;
    if (r == 0)
        r = create_node(p.dir, p.dentry, b->cred, mode & (S_IFMT | 07777), rdev);
    place_done(&p);
    return r;
}

int vfs_mkdir(const struct walk_base *b, const char *name, mode_t mode)
{
    struct place p;
    int r = place_find(&p, b, name, true);
    if (r < 0)
        return r;
    struct inode *parent = p.dir.dentry->inode;
    struct birth birth = birth_in(parent, b->cred, S_IFDIR | (mode & 01777));
    r = -EPERM;
    if (parent->ops->mkdir)
        r = parent->ops->mkdir(parent, p.dentry, birth.mode, birth.uid, birth.gid);
    if (r == 0)
        tell_created(p.dir, p.dentry);
    place_done(&p);
    return r;
}

int vfs_symlink(const struct walk_base *b, const char *name, const char *target)
{
    if (*target == '\0')
        return -ENOENT;
    struct place p;
    int r = place_find(&p, b, name, false);
    if (r < 0)
        return r;
    struct inode *parent = p.dir.dentry->inode;
    struct birth birth = birth_in(parent, b->cred, S_IFLNK | 0777);
    r = -EPERM;
    if (parent->ops->symlink)
        r = parent->ops->symlink(parent, p.dentry, target, birth.uid, birth.gid);
    if (r == 0)
        tell_created(p.dir, p.dentry);
    place_done(&p);
    return r;
}

/*
 * A name of one's own would keep what another user's file holds, or lend that user's rights for
 * longer than it has names there: fs.protected_hardlinks of proc(5), may_linkat() of Linux.
 */
static int may_link(struct inode *target, const struct cred *cred)
{
    const mode_t group_rights = S_ISGID | S_IXGRP;
    if (inode_is_owner(target, cred))
        return 0;
    if (!S_ISREG(target->mode) || target->mode & S_ISUID ||
        (target->mode & group_rights) == group_rights ||
        inode_permission(target, cred, MAY_READ | MAY_WRITE) < 0)
        return -EPERM;
    return 0;
}

static int link_check(const struct inode *target, const struct place *p)
{
    if (target->super != p->dir.dentry->inode->super)
        return -EXDEV;
    if (!p->dir.dentry->inode->ops->link || S_ISDIR(target->mode))
        return -EPERM;
    if (target->nlink == 0 && !target->linkable)
        return -ENOENT;
    return 0;
}

int vfs_link(const struct path *target, const struct walk_base *b, const char *name)
{
    struct inode *i = target->dentry->inode;
    struct place p = {0};
    struct walk_last last;
    int r = walk_path(b, name, WALK_PARENT, &p.dir, &last);
    if (r < 0)
        return r;
    r = place_lookup(&p, &last, false);
    if (r == 0 && p.dir.mount->read_only)
        r = -EROFS;
    if (r == 0 && target->mount != p.dir.mount)
        r = -EXDEV;
    if (r == 0)
        r = may_link(i, b->cred);
    if (r == 0)
        r = may_create(p.dir, b->cred);
    if (r == 0)
        r = link_check(i, &p);
    struct inode *parent = p.dir.dentry->inode;
    if (r == 0)
        r = parent->ops->link(i, parent, p.dentry);
    if (r == 0) {
        i->linkable = false;
        notify_inode(i, IN_ATTRIB);
        notify_name(parent, IN_CREATE, 0, p.dentry->name);
    }
    place_done(&p);
    return r;
}

/*
 * Takes a removed name out of the tree, drops d, and tells: what nobody has open is gone
 * (IN_DELETE_SELF) before its directory hears of it, as in d_delete_notify() of Linux.
 */
static void removed(struct inode *dir, struct dentry *d, const char *name)
{
    uint32_t is_dir = S_ISDIR(d->inode->mode) ? IN_ISDIR : 0;
    if (!is_dir)
        notify_inode(d->inode, IN_ATTRIB);
    dentry_detach(d);
    dentry_put(d);
    notify_name(dir, IN_DELETE | is_dir, 0, name);
}

static int unlink_child(const struct walk_base *b, struct path dir, const struct walk_last *last)
{
    struct dentry *d;
    int r = walk_lookup_child(dir.dentry, last->name, last->length, &d);
    if (r < 0)
        return r;
    struct inode *parent = dir.dentry->inode;
    if (!d->inode)
        r = -ENOENT;
    else if (last->trailing_slash)
        r = S_ISDIR(d->inode->mode) ? -EISDIR : -ENOTDIR;
    else
        r = may_delete(parent, d, b->cred, false);
    if (r == 0 && !parent->ops->unlink)
        r = -EPERM;
    if (r == 0 && d->mounted)
        r = -EBUSY;
    if (r == 0)
        r = parent->ops->unlink(parent, d);
    if (r == 0)
        removed(parent, d, last->name);
    else
        dentry_put(d);
    return r;
}

int vfs_unlink(const struct walk_base *b, const char *name)
{
    struct path dir;
    struct walk_last last;
    int r = walk_path(b, name, WALK_PARENT, &dir, &last);
    if (r < 0)
        return r;
    if (last.kind != LAST_NORMAL)
        r = -EISDIR;
    else if (dir.mount->read_only)
        r = -EROFS;
    else
        r = unlink_child(b, dir, &last);
    path_put(&dir);
    return r;
}

static int rmdir_child(const struct walk_base *b, struct path dir, const struct walk_last *last)
{
    struct dentry *d;
    int r = walk_lookup_child(dir.dentry, last->name, last->length, &d);
    if (r < 0)
        return r;
    struct inode *parent = dir.dentry->inode;
    r = d->inode ? may_delete(parent, d, b->cred, true) : -ENOENT;
    if (r == 0 && !parent->ops->rmdir)
        r = -EPERM;
    if (r == 0 && d->mounted)
        r = -EBUSY;
    if (r == 0)
        r = parent->ops->rmdir(parent, d);
    if (r == 0)
        removed(parent, d, last->name);
    else
        dentry_put(d);
    return r;
}

int vfs_rmdir(const struct walk_base *b, const char *name)
{
    struct path dir;
    struct walk_last last;
    int r = walk_path(b, name, WALK_PARENT, &dir, &last);
    if (r < 0)
        return r;
    if (last.kind == LAST_DOTDOT)
        r = -ENOTEMPTY;
    else if (last.kind == LAST_DOT)
        r = -EINVAL;
    else if (last.kind == LAST_ROOT)
        r = -EBUSY;
    else if (dir.mount->read_only)
        r = -EROFS;
    else
        r = rmdir_child(b, dir, &last);
    path_put(&dir);
    return r;
}
