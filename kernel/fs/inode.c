// SPDX-License-Identifier: Apache-2.0
/* host calls: clock_gettime */
#include "kernel/fs/locks.h"
#include "kernel/fs/notify.h"
#include "kernel/fs/vfs.h"

#include <linux/capability.h>
#include <sys/sysmacros.h>

/* Minor numbers of anonymous devices; the first ones are left to nobody, as on most machines. */
#define FIRST_DEV_MINOR 20

#define RELATIME_SECONDS (24 * 3600)

static const struct inode_ops no_ops;

struct super *super_new(const char *type_name, long magic)
{
    static unsigned next_minor = FIRST_DEV_MINOR;
    struct super *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->type_name = type_name;
    s->magic = magic;
    s->dev = makedev(0, next_minor++);
    s->next_ino = 1;
    return s;
}

static struct timespec time_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now;
}

struct inode *inode_new(struct super *s, mode_t mode)
{
    struct inode *i = calloc(1, sizeof(*i));
    if (!i)
        return NULL;
    i->refs = 1;
    i->super = s;
    i->ops = &no_ops;
    i->ino = s->next_ino++;
    i->mode = mode;
    i->nlink = 1;
    i->atime = i->mtime = i->ctime = i->btime = time_now();
    list_init(&i->watches);
    return i;
}

struct inode *inode_get(struct inode *i)
{
    i->refs++;
    return i;
}

void inode_put(struct inode *i)
{
    if (!i || --i->refs > 0)
        return;
    if (!list_is_empty(&i->watches))
        notify_inode_gone(i);
    if (i->locks)
        lock_set_free(i->locks);
    if (i->ops->release)
        i->ops->release(i);
    free(i);
}

void inode_set_attr_generic(struct inode *i, const struct inode_attr *attr)
{
    if (attr->valid & ATTR_MODE)
        i->mode = (i->mode & S_IFMT) | (attr->mode & 07777);
    if (attr->valid & ATTR_UID)
        i->uid = attr->uid;
    if (attr->valid & ATTR_GID)
        i->gid = attr->gid;
    if (attr->valid & ATTR_ATIME)
        i->atime = attr->atime;
    if (attr->valid & ATTR_MTIME)
        i->mtime = attr->mtime;
    if (attr->valid & ATTR_CTIME)
        i->ctime = attr->ctime;
}

void inode_touch_modified(struct inode *i)
{
    i->mtime = i->ctime = time_now();
}

void inode_touch_changed(struct inode *i)
{
    i->ctime = time_now();
}

int inode_permission(struct inode *i, const struct cred *cred, int mask)
{
    mode_t mode = i->mode;
    mask &= MAY_READ | MAY_WRITE | MAY_EXEC;
    unsigned granted;
    if (i->uid == cred->fsuid)
        granted = mode >> 6;
    else if (cred_in_group(cred, i->gid))
        granted = mode >> 3;
    else
        granted = mode;
    if (((unsigned)mask & ~granted) == 0)
        return 0;

    bool read_search = cred_has_cap(cred, CAP_DAC_READ_SEARCH);
    bool override = cred_has_cap(cred, CAP_DAC_OVERRIDE);
    if (S_ISDIR(mode))
        return override || (read_search && !(mask & MAY_WRITE)) ? 0 : -EACCES;
    if (mask == MAY_READ && read_search)
        return 0;
    /* No capability makes a file executable that nobody may execute. */
    if (override && (!(mask & MAY_EXEC) || (mode & 0111)))
        return 0;
    return -EACCES;
}

bool inode_is_owner(const struct inode *i, const struct cred *cred)
{
    return i->uid == cred->fsuid || cred_has_cap(cred, CAP_FOWNER);
}

void file_modified(struct file *f)
{
    struct inode *i = f->inode;
    inode_touch_modified(i);
    if (!S_ISREG(i->mode) || f->keeps_suid)
        return;
    i->mode &= ~(mode_t)S_ISUID;
    if (i->mode & S_IXGRP)
        i->mode &= ~(mode_t)S_ISGID;
}

/* Times of files are whatever a program has set: their seconds fill 64 bits. */
static bool is_before(struct timespec a, struct timespec b)
{
    return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec < b.tv_nsec);
}

void inode_accessed(struct inode *i, const struct mount *mount)
{
    if (mount && mount->read_only)
        return;
    struct timespec now = time_now();
    struct timespec stale = {now.tv_sec - RELATIME_SECONDS, now.tv_nsec};
    if (!is_before(i->mtime, i->atime) || !is_before(i->ctime, i->atime) ||
        !is_before(stale, i->atime))
        i->atime = now;
}

void file_accessed(struct file *f)
{
    if (!(f->flags & O_NOATIME))
        inode_accessed(f->inode, f->path.mount);
}

int vfs_stat(struct inode *i, struct stat *ret)
{
    if (i->ops->refresh) {
        int r = i->ops->refresh(i);
        if (r < 0)
            return r;
    }
    *ret = (struct stat){
        .st_dev = i->super->dev,
        .st_ino = i->ino,
        .st_nlink = i->nlink,
        .st_mode = i->mode,
        .st_uid = i->uid,
        .st_gid = i->gid,
        .st_rdev = i->rdev,
        .st_size = i->size,
        .st_blksize = 4096,
        .st_blocks = (blkcnt_t)i->blocks,
        .st_atim = i->atime,
        .st_mtim = i->mtime,
        .st_ctim = i->ctime,
    };
    return 0;
}
