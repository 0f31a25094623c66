// SPDX-License-Identifier: Apache-2.0
/*
 * open(2): the order in which the errors are looked for is that of Linux (fs/namei.c of its
 * sources: open_last_lookups, do_open, may_open, then do_dentry_open of fs/open.c).
 */
#include "kernel/fs/change.h"
#include "kernel/fs/walk.h"

#include <linux/capability.h>
#include <stdio.h>

#define LINUX_O_LARGEFILE 0100000 /* the C library's is 0 where off_t has 64 bits */
#define O_PATH_FLAGS      (O_DIRECTORY | O_NOFOLLOW | O_PATH | O_CLOEXEC)

static bool opens_tmpfile(int flags)
{
    return (flags & O_TMPFILE) == O_TMPFILE;
}

static int access_mask(int flags)
{
    static const int masks[] = {MAY_READ, MAY_WRITE, MAY_READ | MAY_WRITE, MAY_READ | MAY_WRITE};
    return masks[flags & O_ACCMODE] | (flags & O_TRUNC ? MAY_WRITE : 0);
}

static int open_check_flags(int flags)
{
    if ((flags & (O_CREAT | O_DIRECTORY)) == (O_CREAT | O_DIRECTORY))
        return -EINVAL;
    if (flags & (O_TMPFILE & ~O_DIRECTORY) &&
        (!opens_tmpfile(flags) || !(access_mask(flags) & MAY_WRITE)))
        return -EINVAL;
    return 0;
}

static int open_object(struct path p, const struct cred *cred, int flags, struct file **ret)
{
    const struct inode *i = p.dentry->inode;
    const struct file_ops *ops = S_ISFIFO(i->mode) && !i->file_ops ? &file_half_open_ops : NULL;
    struct file *f;
    int r = file_new(p, p.dentry->inode, flags | LINUX_O_LARGEFILE, ops, &f);
    if (r < 0)
        return r;
    f->keeps_suid = cred_has_cap(cred, CAP_FSETID);
    *ret = f;
    return 0;
}

/* may_open() of Linux, and what the type of the object forbids. */
static int open_check_object(struct path p, const struct cred *cred, int flags, int mask)
{
    struct inode *i = p.dentry->inode;
    bool special = !S_ISREG(i->mode) && !S_ISDIR(i->mode);
    bool read_only = p.mount && p.mount->read_only;
    if (S_ISLNK(i->mode))
        return -ELOOP;
    if (S_ISDIR(i->mode) && mask & MAY_WRITE)
        return -EISDIR;
    if ((S_ISCHR(i->mode) || S_ISBLK(i->mode)) && p.mount && p.mount->nodev)
        return -EACCES;
    if (!special && mask & MAY_WRITE && i->super->read_only)
        return -EROFS;
    int r = inode_permission(i, cred, mask);
    if (r < 0)
        return r;
    if (flags & O_NOATIME && !inode_is_owner(i, cred))
        return -EPERM;
    if (S_ISSOCK(i->mode) || (!i->file_ops && (S_ISCHR(i->mode) || S_ISBLK(i->mode))))
        return -ENXIO;
    if (S_ISREG(i->mode) && mask & MAY_WRITE) {
        if (i->executing > 0)
            return -ETXTBSY;
        if (read_only)
            return -EROFS;
    }
    /* Linux: no directory has direct_IO. */
    return S_ISDIR(i->mode) && flags & O_DIRECT ? -EINVAL : 0;
}

/* Opens what was found; created: by this call, so that its own mode does not stand in the way. */
static int open_found(struct path p, const struct cred *cred, int flags, bool created,
                      struct file **ret)
{
    struct inode *i = p.dentry->inode;
    bool truncates = flags & O_TRUNC && S_ISREG(i->mode) && !created;
    if (truncates && p.mount && p.mount->read_only)
        return -EROFS;
    int r = open_check_object(p, cred, flags, created ? 0 : access_mask(flags));
    if (r < 0)
        return r;
    struct file *f;
    r = open_object(p, cred, flags, &f);
    if (r < 0)
        return r;
    if (truncates)
        r = change_size(i, p.dentry, cred, 0);
    if (r < 0)
        file_put(f);
    else
        *ret = f;
    return r;
}

static int open_create(struct walk *w, struct path p, mode_t mode)
{
    int r = may_create(w->at, w->cred);
    if (r < 0)
        return r;
    if (!w->at.dentry->inode->ops->mknod)
        return -EACCES;
    return create_node(w->at, p.dentry, w->cred, S_IFREG | (mode & 07777), 0);
}

/* The object that the walk leads to; made if it is missing and O_CREAT says so. */
static int open_walk(struct walk *w, const struct open_how_in *how, struct path *ret,
                     bool *ret_created)
{
    int flags = how->flags;
    bool exclusive = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
    bool follow = !(flags & O_NOFOLLOW) && !exclusive;
    for (;;) {
        int r = walk_to_last(w);
        if (r < 0)
            return r;
        bool named = w->last.kind == LAST_NORMAL && !w->jumped;
        if (named && flags & O_CREAT && w->directory)
            return -EISDIR;
        struct path p;
        r = walk_last_path(w, &p);
        if (r < 0)
            return r;
        const struct inode *i = p.dentry->inode;
        if (i && S_ISLNK(i->mode) && !w->jumped && (follow || w->directory)) {
            r = walk_push_link(w, p);
            path_put(&p);
            if (r < 0)
                return r;
            continue;
        }
        if (!i)
            r = flags & O_CREAT ? open_create(w, p, how->mode) : -ENOENT;
        if (r < 0) {
            path_put(&p);
            return r;
        }
        *ret = p;
        *ret_created = !i;
        return 0;
    }
}

static int open_named(const struct walk_base *b, const char *name, const struct open_how_in *how,
                      struct file **ret)
{
    int flags = how->flags;
    struct walk w;
    int r = walk_begin(&w, b, name, how->walk_flags);
    if (r < 0)
        return r;
    struct path p;
    bool created;
    r = open_walk(&w, how, &p, &created);
    bool directory = w.directory || flags & O_DIRECTORY;
    walk_end(&w);
    if (r < 0)
        return r;
    mode_t mode = p.dentry->inode->mode;
    if (flags & O_CREAT && flags & O_EXCL && !created)
        r = -EEXIST;
    else if (flags & O_CREAT && S_ISDIR(mode))
        r = -EISDIR;
    else if (directory && !S_ISDIR(mode))
        r = -ENOTDIR;
    else
        r = open_found(p, b->cred, flags, created, ret);
    path_put(&p);
    return r;
}

static int open_path_only(const struct walk_base *b, const char *name,
                          const struct open_how_in *how, struct file **ret)
{
    unsigned walk_flags = how->walk_flags;
    if (!(how->flags & O_NOFOLLOW))
        walk_flags |= WALK_FOLLOW;
    if (how->flags & O_DIRECTORY)
        walk_flags |= WALK_DIRECTORY;
    struct path p;
    int r = walk_path(b, name, walk_flags, &p, NULL);
    if (r < 0)
        return r;
    r = file_new(p, p.dentry->inode, how->flags & O_PATH_FLAGS, NULL, ret);
    path_put(&p);
    return r;
}

/* An inode without a name, under a dentry that is in no directory but knows where it was made. */
static int tmpfile_make(struct path dir, const struct cred *cred, mode_t mode, struct dentry **ret)
{
    struct inode *parent = dir.dentry->inode;
    struct birth birth = birth_in(parent, cred, S_IFREG | (mode & 07777));
    struct inode *i;
    int r = parent->ops->tmpfile(parent, birth.mode, birth.uid, birth.gid, &i);
    if (r < 0)
        return r;
    char name[32];
    int length = snprintf(name, sizeof(name), "#%llu", (unsigned long long)i->ino);
    struct dentry *d = dentry_new(dir.dentry, name, (size_t)length);
    if (!d) {
        inode_put(i);
        return -ENOMEM;
    }
    dentry_set_inode(d, i);
    dentry_detach(d);
    *ret = d;
    return 0;
}

static int open_tmpfile(const struct walk_base *b, const char *name, const struct open_how_in *how,
                        struct file **ret)
{
    unsigned walk_flags = how->walk_flags | WALK_DIRECTORY;
    if (!(how->flags & O_NOFOLLOW))
        walk_flags |= WALK_FOLLOW;
    struct path dir;
    int r = walk_path(b, name, walk_flags, &dir, NULL);
    if (r < 0)
        return r;
    struct dentry *d = NULL;
    r = may_create(dir, b->cred);
    if (r == 0 && !dir.dentry->inode->ops->tmpfile)
        r = -EOPNOTSUPP;
    if (r == 0)
        r = tmpfile_make(dir, b->cred, how->mode, &d);
    if (r == 0) {
        d->inode->linkable = !(how->flags & O_EXCL);
        r = open_object((struct path){dir.mount, d}, b->cred, how->flags & ~O_EXCL, ret);
    }
    dentry_put(d);
    path_put(&dir);
    return r;
}

int vfs_open(const struct walk_base *b, const char *name, const struct open_how_in *how,
             struct file **ret)
{
    if (how->flags & O_PATH)
        return open_path_only(b, name, how, ret);
    int r = open_check_flags(how->flags);
    if (r < 0)
        return r;
    if (opens_tmpfile(how->flags))
        return open_tmpfile(b, name, how, ret);
    return open_named(b, name, how, ret);
}

int vfs_open_path(struct path p, const struct cred *cred, int flags, struct file **ret)
{
    if (flags & O_PATH)
        return file_new(p, p.dentry->inode, flags & O_PATH_FLAGS, NULL, ret);
    if (flags & O_DIRECTORY && !S_ISDIR(p.dentry->inode->mode))
        return -ENOTDIR;
    return open_found(p, cred, flags, false, ret);
}
