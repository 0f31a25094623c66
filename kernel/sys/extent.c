// SPDX-License-Identifier: Apache-2.0
/* Size and storage of files: truncate, fallocate, syncing, advice. */
#include "kernel/fs/notify.h"
#include "kernel/proc/process.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"
#include "kernel/sys/rw.h"

#include <linux/falloc.h>

#define FALLOCATE_KNOWN                                                      \
    (FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_COLLAPSE_RANGE | \
     FALLOC_FL_ZERO_RANGE | FALLOC_FL_INSERT_RANGE | FALLOC_FL_UNSHARE_RANGE)

static bool is_regular_or_block(const struct inode *i)
{
    return S_ISREG(i->mode) || S_ISBLK(i->mode);
}

static long sync_file(struct call *c)
{
    struct file *f = args_file(c, call_int(c, 0));
    if (!f)
        return -EBADF;
    if (f->ops->fsync)
        return f->ops->fsync(f);
    return is_regular_or_block(f->inode) || S_ISDIR(f->inode->mode) ? 0 : -EINVAL;
}

long sys_fsync(struct call *c)
{
    return sync_file(c);
}

long sys_fdatasync(struct call *c)
{
    return sync_file(c);
}

long sys_sync(struct call *c)
{
    return 0;
}

long sys_syncfs(struct call *c)
{
    return args_file(c, call_int(c, 0)) ? 0 : -EBADF;
}

long sys_sync_file_range(struct call *c)
{
    const struct file *f = args_file(c, call_int(c, 0));
    off_t offset = (off_t)c->arg[1], size = (off_t)c->arg[2], end;
    unsigned known =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    if (!f)
        return -EBADF;
    if (call_uint(c, 3) & ~known)
        return -EINVAL;
    if (offset < 0 || size < 0 || __builtin_add_overflow(offset, size, &end))
        return -EINVAL;
    mode_t mode = f->inode->mode;
    if (!is_regular_or_block(f->inode) && !S_ISDIR(mode) && !S_ISLNK(mode))
        return -ESPIPE;
    return 0;
}

long sys_readahead(struct call *c)
{
    const struct file *f = args_file(c, call_int(c, 0));
    if (!f || !f->can_read)
        return -EBADF;
    return is_regular_or_block(f->inode) ? 0 : -EINVAL;
}

long sys_fadvise64(struct call *c)
{
    const struct file *f = args_file(c, call_int(c, 0));
    if (!f)
        return -EBADF;
    if (S_ISFIFO(f->inode->mode))
        return -ESPIPE;
    if ((off_t)c->arg[2] < 0 || call_uint(c, 3) > POSIX_FADV_NOREUSE)
        return -EINVAL;
    return 0;
}

/* Which combinations of bits Linux has (vfs_fallocate() of its sources). */
static int check_fallocate_mode(int mode)
{
    if (mode & ~FALLOCATE_KNOWN)
        return -EOPNOTSUPP;
    if ((mode & FALLOC_FL_PUNCH_HOLE) && (mode & FALLOC_FL_ZERO_RANGE))
        return -EOPNOTSUPP;
    if ((mode & FALLOC_FL_PUNCH_HOLE) && !(mode & FALLOC_FL_KEEP_SIZE))
        return -EOPNOTSUPP;
    if ((mode & FALLOC_FL_COLLAPSE_RANGE) && mode != FALLOC_FL_COLLAPSE_RANGE)
        return -EINVAL;
    if ((mode & FALLOC_FL_INSERT_RANGE) && mode != FALLOC_FL_INSERT_RANGE)
        return -EINVAL;
    if ((mode & FALLOC_FL_UNSHARE_RANGE) &&
        (mode & ~(FALLOC_FL_UNSHARE_RANGE | FALLOC_FL_KEEP_SIZE)))
        return -EINVAL;
    return 0;
}

static int check_fallocate_file(const struct file *f)
{
    if (!f->can_write)
        return -EBADF;
    if (S_ISFIFO(f->inode->mode))
        return -ESPIPE;
    if (S_ISDIR(f->inode->mode))
        return -EISDIR;
    return is_regular_or_block(f->inode) ? 0 : -ENODEV;
}

long sys_fallocate(struct call *c)
{
    struct file *f = args_file(c, call_int(c, 0));
    int mode = call_int(c, 1);
    off_t offset = (off_t)c->arg[2], size = (off_t)c->arg[3], end;
    if (!f)
        return -EBADF;
    if (offset < 0 || size <= 0)
        return -EINVAL;
    int r = check_fallocate_mode(mode);
    if (r < 0)
        return r;
    r = check_fallocate_file(f);
    if (r < 0)
        return r;
    if (__builtin_add_overflow(offset, size, &end))
        return -EFBIG;
    if (!f->ops->fallocate || (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)))
        return -EOPNOTSUPP;
    if (!(mode & FALLOC_FL_KEEP_SIZE)) {
        r = rw_check_growth(c, f->inode, end);
        if (r < 0)
            return r;
    }
    r = f->ops->fallocate(f, mode, offset, size);
    if (r == 0)
        notify_file(f, IN_MODIFY);
    return r;
}

long sys_ftruncate(struct call *c)
{
    off_t size = (off_t)c->arg[1];
    if (size < 0)
        return -EINVAL;
    struct file *f = args_file(c, call_int(c, 0));
    if (!f)
        return -EBADF;
    if (!S_ISREG(f->inode->mode) || !f->can_write)
        return -EINVAL;
    int r = rw_check_growth(c, f->inode, size);
    if (r < 0)
        return r;
    return vfs_truncate(&f->path, f, c->thread->cred, size);
}

long sys_truncate(struct call *c)
{
    char name[GUEST_PATH_MAX];
    _cleanup_path_ struct path path = {0};
    off_t size = (off_t)c->arg[1];
    if (size < 0)
        return -EINVAL;
    int r = args_path(c, call_addr(c, 0), name);
    if (r == 0)
        r = args_walk(c, AT_FDCWD, name, WALK_FOLLOW, NULL, &path);
    if (r < 0)
        return r;
    struct inode *i = path.dentry->inode;
    /* What may not be written is not told about the limit by a signal either. */
    if (S_ISREG(i->mode) && inode_permission(i, c->thread->cred, MAY_WRITE) == 0) {
        r = rw_check_growth(c, i, size);
        if (r < 0)
            return r;
    }
    return vfs_truncate(&path, NULL, c->thread->cred, size);
}
