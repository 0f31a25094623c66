// SPDX-License-Identifier: Apache-2.0
/*
 * What files are: stat(2), statx(2), access(2), readlink(2), statfs(2). dirents.c lists
 * directories.
 */
#include "kernel/proc/process.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"

#include <linux/securebits.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

/* f_flags of statfs(2) beside those of statvfs: "this field is valid". */
#define ST_VALID_KERNEL 0x0020

static unsigned follow_unless(int at_flags)
{
    return at_flags & AT_SYMLINK_NOFOLLOW ? 0 : WALK_FOLLOW;
}

static unsigned empty_if(int at_flags)
{
    return at_flags & AT_EMPTY_PATH ? WALK_EMPTY_OK : 0;
}

/* ---- stat ---- */

static long write_stat(struct call *c, struct inode *i, struct gaddr buffer)
{
    struct stat st;
    int r = vfs_stat(i, &st);
    return r < 0 ? r : call_write(c, buffer, &st, sizeof(st));
}

static long stat_at(struct call *c, int dirfd, struct gaddr address, struct gaddr buffer,
                    int at_flags)
{
    char name[GUEST_PATH_MAX];
    _cleanup_path_ struct path path = {0};
    if (at_flags & ~(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH))
        return -EINVAL;
    int r = args_path_at(c, address, at_flags, name);
    if (r == 0)
        r = args_walk(c, dirfd, name, follow_unless(at_flags) | empty_if(at_flags), NULL, &path);
    return r < 0 ? r : write_stat(c, path.dentry->inode, buffer);
}

long sys_stat(struct call *c)
{
    return stat_at(c, AT_FDCWD, call_addr(c, 0), call_addr(c, 1), 0);
}

long sys_lstat(struct call *c)
{
    return stat_at(c, AT_FDCWD, call_addr(c, 0), call_addr(c, 1), AT_SYMLINK_NOFOLLOW);
}

long sys_newfstatat(struct call *c)
{
    return stat_at(c, call_int(c, 0), call_addr(c, 1), call_addr(c, 2), call_int(c, 3));
}

long sys_fstat(struct call *c)
{
    const struct file *f = args_any_file(c, call_int(c, 0));
    return f ? write_stat(c, f->inode, call_addr(c, 1)) : -EBADF;
}

static struct statx_timestamp statx_time(struct timespec t)
{
    return (struct statx_timestamp){.tv_sec = t.tv_sec, .tv_nsec = (uint32_t)t.tv_nsec};
}

/* All basic fields are given whatever the mask asks for, as statx(2) lets file systems do. */
static void fill_statx(const struct inode *i, const struct stat *st, const struct mount *mount,
                       struct statx *ret)
{
    *ret = (struct statx){
        .stx_mask = STATX_BASIC_STATS | STATX_BTIME,
        .stx_blksize = (uint32_t)st->st_blksize,
        .stx_nlink = (uint32_t)st->st_nlink,
        .stx_uid = st->st_uid,
        .stx_gid = st->st_gid,
        .stx_mode = (uint16_t)st->st_mode,
        .stx_ino = st->st_ino,
        .stx_size = (uint64_t)st->st_size,
        .stx_blocks = (uint64_t)st->st_blocks,
        .stx_atime = statx_time(st->st_atim),
        .stx_btime = statx_time(i->btime),
        .stx_ctime = statx_time(st->st_ctim),
        .stx_mtime = statx_time(st->st_mtim),
        .stx_rdev_major = major(st->st_rdev),
        .stx_rdev_minor = minor(st->st_rdev),
        .stx_dev_major = major(st->st_dev),
        .stx_dev_minor = minor(st->st_dev),
    };
    if (!mount)
        return;
    ret->stx_mask |= STATX_MNT_ID;
    ret->stx_mnt_id = (uint64_t)mount->id;
}

long sys_statx(struct call *c)
{
    char name[GUEST_PATH_MAX];
    _cleanup_path_ struct path path = {0};
    int flags = call_int(c, 2);
    if (call_uint(c, 3) & STATX__RESERVED)
        return -EINVAL;
    if ((flags & AT_STATX_SYNC_TYPE) == AT_STATX_SYNC_TYPE)
        return -EINVAL;
    if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | AT_STATX_SYNC_TYPE))
        return -EINVAL;
    int r = args_path_at(c, call_addr(c, 1), flags, name);
    if (r == 0)
        r = args_walk(c, call_int(c, 0), name, follow_unless(flags) | empty_if(flags), NULL, &path);
    if (r < 0)
        return r;
    struct stat st;
    struct statx answer;
    r = vfs_stat(path.dentry->inode, &st);
    if (r < 0)
        return r;
    fill_statx(path.dentry->inode, &st, path.mount, &answer);
    return call_write(c, call_addr(c, 4), &answer, sizeof(answer));
}

/* ---- access ---- */

/*
 * access(2) asks for the real ids: what a set-user-ID program would be allowed if its user ran it.
 * Capabilities go the same way (access_override_creds() of Linux).
 */
static struct cred real_cred(const struct cred *cred)
{
    struct cred real = *cred;
    real.fsuid = cred->uid;
    real.fsgid = cred->gid;
    if (!(cred->securebits & SECBIT_NO_SETUID_FIXUP))
        real.cap_effective = cred->uid == 0 ? cred->cap_permitted : 0;
    return real;
}

static int check_access(const struct path *path, const struct cred *cred, int mode)
{
    struct inode *i = path->dentry->inode;
    if ((mode & X_OK) && S_ISREG(i->mode) && path->mount && path->mount->noexec)
        return -EACCES;
    int mask =
        (mode & R_OK ? MAY_READ : 0) | (mode & W_OK ? MAY_WRITE : 0) | (mode & X_OK ? MAY_EXEC : 0);
    if (i->ops->refresh) {
        int r = i->ops->refresh(i);
        if (r < 0)
            return r;
    }
    int r = mask ? inode_permission(i, cred, mask) : 0;
    if (r < 0)
        return r;
    bool special = !S_ISREG(i->mode) && !S_ISDIR(i->mode) && !S_ISLNK(i->mode);
    if ((mode & W_OK) && !special && path->mount && path->mount->read_only)
        return -EROFS;
    return 0;
}

static long access_at(struct call *c, int dirfd, struct gaddr address, int mode, int at_flags)
{
    char name[GUEST_PATH_MAX];
    _cleanup_path_ struct path path = {0};
    if (mode & ~(R_OK | W_OK | X_OK))
        return -EINVAL;
    if (at_flags & ~(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    const struct cred *cred = c->thread->cred;
    struct cred real;
    if (!(at_flags & AT_EACCESS)) {
        real = real_cred(cred);
        cred = &real;
    }
    int r = args_path_at(c, address, at_flags, name);
    if (r == 0)
        r = args_walk(c, dirfd, name, follow_unless(at_flags) | empty_if(at_flags), cred, &path);
    return r < 0 ? r : check_access(&path, cred, mode);
}

long sys_access(struct call *c)
{
    return access_at(c, AT_FDCWD, call_addr(c, 0), call_int(c, 1), 0);
}

long sys_faccessat(struct call *c)
{
    return access_at(c, call_int(c, 0), call_addr(c, 1), call_int(c, 2), 0);
}

long sys_faccessat2(struct call *c)
{
    return access_at(c, call_int(c, 0), call_addr(c, 1), call_int(c, 2), call_int(c, 3));
}

/* ---- readlink ---- */

static long readlink_at(struct call *c, int dirfd, struct gaddr address, struct gaddr buffer,
                        int size)
{
    char name[GUEST_PATH_MAX], target[GUEST_PATH_MAX];
    _cleanup_path_ struct path path = {0};
    if (size <= 0)
        return -EINVAL;
    int r = args_path_or_empty(c, address, name);
    if (r == 0)
        r = args_walk(c, dirfd, name, WALK_EMPTY_OK, NULL, &path);
    if (r < 0)
        return r;
    struct inode *i = path.dentry->inode;
    /* "" is for a descriptor that is open on a link (O_PATH | O_NOFOLLOW). */
    if (!S_ISLNK(i->mode))
        return name[0] ? -EINVAL : -ENOENT;
    if (!i->ops->readlink)
        return -EINVAL;
    ssize_t length = i->ops->readlink(i, target, sizeof(target));
    if (length < 0)
        return length;
    inode_accessed(i, path.mount);
    length = MIN(length, (ssize_t)size);
    r = call_write(c, buffer, target, (size_t)length);
    return r < 0 ? r : length;
}

long sys_readlink(struct call *c)
{
    return readlink_at(c, AT_FDCWD, call_addr(c, 0), call_addr(c, 1), call_int(c, 2));
}

long sys_readlinkat(struct call *c)
{
    return readlink_at(c, call_int(c, 0), call_addr(c, 1), call_addr(c, 2), call_int(c, 3));
}

/* ---- statfs ---- */

static long mount_flags(const struct mount *m)
{
    long flags = ST_VALID_KERNEL;
    if (!m)
        return flags;
    flags |= ST_RELATIME;
    flags |= m->read_only ? ST_RDONLY : 0;
    flags |= m->nosuid ? ST_NOSUID : 0;
    flags |= m->nodev ? ST_NODEV : 0;
    flags |= m->noexec ? ST_NOEXEC : 0;
    return flags;
}

static long write_statfs(struct call *c, const struct inode *i, const struct mount *mount,
                         struct gaddr buffer)
{
    struct super *s = i->super;
    struct statfs st = {
        .f_type = s->magic,
        .f_bsize = GUEST_PAGE_SIZE,
        .f_frsize = GUEST_PAGE_SIZE,
        .f_namelen = NAME_LENGTH_MAX,
    };
    if (s->statfs) {
        int r = s->statfs(s, &st);
        if (r < 0)
            return r;
    }
    st.f_flags = mount_flags(mount);
    return call_write(c, buffer, &st, sizeof(st));
}

long sys_statfs(struct call *c)
{
    char name[GUEST_PATH_MAX];
    _cleanup_path_ struct path path = {0};
    int r = args_path(c, call_addr(c, 0), name);
    if (r == 0)
        r = args_walk(c, AT_FDCWD, name, WALK_FOLLOW, NULL, &path);
    return r < 0 ? r : write_statfs(c, path.dentry->inode, path.mount, call_addr(c, 1));
}

long sys_fstatfs(struct call *c)
{
    const struct file *f = args_any_file(c, call_int(c, 0));
    return f ? write_statfs(c, f->inode, f->path.mount, call_addr(c, 1)) : -EBADF;
}
