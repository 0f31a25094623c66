// SPDX-License-Identifier: Apache-2.0
/*
 * Changing owners, modes, times and sizes: the rules of chmod(2), chown(2), utimensat(2) and
 * truncate(2), as Linux has them in setattr_prepare and notify_change (fs/attr.c of its sources).
 *
 * host calls: clock_gettime
 */
#include "kernel/fs/change.h"
#include "kernel/fs/notify.h"

#include <linux/capability.h>

#define TIMES (ATTR_ATIME | ATTR_MTIME)

static int check_owner_change(const struct inode *i, const struct cred *cred,
                              const struct inode_attr *attr)
{
    if (cred_has_cap(cred, CAP_CHOWN))
        return 0;
    bool owns = i->uid == cred->fsuid;
    if (attr->valid & ATTR_UID && !(owns && attr->uid == i->uid))
        return -EPERM;
    if (attr->valid & ATTR_GID &&
        !(owns && (attr->gid == i->gid || cred_in_group(cred, attr->gid))))
        return -EPERM;
    return 0;
}

static int check_times_change(struct inode *i, const struct cred *cred,
                              const struct inode_attr *attr)
{
    if (!(attr->valid & TIMES) || attr->valid & ATTR_SIZE || inode_is_owner(i, cred))
        return 0;
    return attr->valid & ATTR_TOUCH ? inode_permission(i, cred, MAY_WRITE) : -EPERM;
}

/* An eventfd, an epoll set: since Linux 6.16 nobody's to change, whoever asks. */
static int check_is_file(struct inode *i, const struct cred *cred, const struct inode_attr *attr)
{
    if (i->mode & S_IFMT)
        return 0;
    int r = attr->valid & ATTR_TOUCH ? check_times_change(i, cred, attr) : 0;
    return r < 0 ? r : -EOPNOTSUPP;
}

/* What a change of owner leaves of the mode: set-user-ID goes, set-group-ID where it is one. */
static mode_t mode_without_privileges(mode_t mode)
{
    mode &= ~(mode_t)S_ISUID;
    return mode & S_IXGRP ? mode & ~(mode_t)S_ISGID : mode;
}

static mode_t mode_for(const struct inode *i, const struct cred *cred,
                       const struct inode_attr *attr)
{
    mode_t mode = attr->mode & 07777;
    gid_t gid = attr->valid & ATTR_GID ? attr->gid : i->gid;
    if (!cred_in_group(cred, gid) && !cred_has_cap(cred, CAP_FSETID))
        mode &= ~(mode_t)S_ISGID;
    return mode;
}

static uint32_t change_events(uint32_t valid)
{
    uint32_t mask = 0;
    if (valid & (ATTR_UID | ATTR_GID | ATTR_MODE))
        mask |= IN_ATTRIB;
    if (valid & ATTR_SIZE)
        mask |= IN_MODIFY;
    if ((valid & TIMES) == TIMES)
        mask |= IN_ATTRIB;
    else if (valid & ATTR_ATIME)
        mask |= IN_ACCESS;
    else if (valid & ATTR_MTIME)
        mask |= IN_MODIFY;
    return mask;
}

static int change_apply(struct inode *i, struct dentry *d, const struct inode_attr *attr)
{
    int r = 0;
    if (i->ops->setattr)
        r = i->ops->setattr(i, attr);
    else if (attr->valid & ATTR_SIZE)
        r = -EINVAL;
    else
        inode_set_attr_generic(i, attr);
    if (r == 0 && d)
        notify_dentry(d, change_events(attr->valid));
    return r;
}

int vfs_setattr(const struct path *p, const struct cred *cred, const struct inode_attr *attr)
{
    struct inode *i = p->dentry->inode;
    struct inode_attr a = *attr;
    if (p->mount && p->mount->read_only)
        return -EROFS;
    if (i->ops->refresh) {
        int r = i->ops->refresh(i);
        if (r < 0)
            return r;
    }
    /* Whoever asks: no symbolic link has a mode of its own. */
    if (a.valid & ATTR_MODE && S_ISLNK(i->mode))
        return -EOPNOTSUPP;
    int r = check_is_file(i, cred, &a);
    if (r == 0)
        r = check_owner_change(i, cred, &a);
    if (r == 0 && a.valid & ATTR_MODE && !inode_is_owner(i, cred))
        r = -EPERM;
    if (r == 0)
        r = check_times_change(i, cred, &a);
    if (r < 0)
        return r;
    if (a.valid & ATTR_MODE)
        a.mode = mode_for(i, cred, &a);
    mode_t without = mode_without_privileges(i->mode);
    if (a.valid & ATTR_CHOWN && !S_ISDIR(i->mode) && without != i->mode) {
        if (!inode_is_owner(i, cred))
            return -EPERM;
        a.valid |= ATTR_MODE;
        a.mode = without & 07777;
    }
    clock_gettime(CLOCK_REALTIME, &a.ctime);
    a.valid |= ATTR_CTIME;
    return change_apply(i, p->dentry, &a);
}

int change_size(struct inode *i, struct dentry *d, const struct cred *cred, off_t size)
{
    struct inode_attr a = {.valid = ATTR_SIZE | ATTR_MTIME | ATTR_CTIME, .size = size};
    clock_gettime(CLOCK_REALTIME, &a.mtime);
    a.ctime = a.mtime;
    mode_t without = mode_without_privileges(i->mode);
    if (without != i->mode && !cred_has_cap(cred, CAP_FSETID)) {
        a.valid |= ATTR_MODE;
        a.mode = without & 07777;
    }
    return change_apply(i, d, &a);
}

int vfs_truncate(const struct path *p, struct file *f, const struct cred *cred, off_t size)
{
    struct inode *i = f ? f->inode : p->dentry->inode;
    struct dentry *d = f ? f->path.dentry : p->dentry;
    const struct mount *m = f ? f->path.mount : p->mount;
    if (size < 0)
        return -EINVAL;
    if (f)
        return S_ISREG(i->mode) && f->can_write ? change_size(i, d, cred, size) : -EINVAL;
    if (S_ISDIR(i->mode))
        return -EISDIR;
    if (!S_ISREG(i->mode))
        return -EINVAL;
    if (m && m->read_only)
        return -EROFS;
    int r = inode_permission(i, cred, MAY_WRITE);
    if (r < 0)
        return r;
    return i->executing > 0 ? -ETXTBSY : change_size(i, d, cred, size);
}
