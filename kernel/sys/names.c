// SPDX-License-Identifier: Apache-2.0
/*
 * Making, removing and moving names; where a process stands in the tree.
 */
#include "kernel/proc/process.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"

#include <linux/capability.h>
#include <stdio.h>

/* A name of the guest and where its walk begins. */
struct named {
    struct walk_base base;
    char name[GUEST_PATH_MAX];
};

static int read_named(struct call *c, int dirfd, struct gaddr address, struct named *ret)
{
    int r = args_path(c, address, ret->name);
    return r < 0 ? r : args_base(c, dirfd, ret->name, &ret->base);
}

static mode_t masked(const struct call *c, mode_t mode)
{
    return mode & ~c->thread->fs->umask;
}

/* ---- making ---- */

static long mkdir_at(struct call *c, int dirfd, struct gaddr address, uint32_t mode)
{
    struct named n;
    int r = read_named(c, dirfd, address, &n);
    return r < 0 ? r : vfs_mkdir(&n.base, n.name, masked(c, mode));
}

long sys_mkdir(struct call *c)
{
    return mkdir_at(c, AT_FDCWD, call_addr(c, 0), call_uint(c, 1));
}

long sys_mkdirat(struct call *c)
{
    return mkdir_at(c, call_int(c, 0), call_addr(c, 1), call_uint(c, 2));
}

/*
 * Devices need CAP_MKNOD (vfs_mknod) and are names and numbers only: archives and images unpack
 * with them, and opening one is ENXIO. What leads to a device stands in /dev.
 */
static int check_node_mode(uint32_t mode)
{
    switch (mode & S_IFMT) {
    case 0:
    case S_IFREG:
    case S_IFIFO:
    case S_IFSOCK:
    case S_IFCHR:
    case S_IFBLK:
        return 0;
    case S_IFDIR:
        return -EPERM;
    default:
        return -EINVAL;
    }
}

static long mknod_at(struct call *c, int dirfd, struct gaddr address, uint32_t mode,
                     uint32_t device)
{
    struct named n;
    bool is_device = S_ISCHR(mode) || S_ISBLK(mode);
    int r = check_node_mode(mode);
    if (r == 0)
        r = read_named(c, dirfd, address, &n);
    return r < 0 ? r : vfs_mknod(&n.base, n.name, masked(c, mode), is_device ? device : 0);
}

long sys_mknod(struct call *c)
{
    return mknod_at(c, AT_FDCWD, call_addr(c, 0), call_uint(c, 1) & 0xffff, call_uint(c, 2));
}

long sys_mknodat(struct call *c)
{
    return mknod_at(c, call_int(c, 0), call_addr(c, 1), call_uint(c, 2) & 0xffff, call_uint(c, 3));
}

static long symlink_at(struct call *c, struct gaddr target_address, int dirfd, struct gaddr address)
{
    char target[GUEST_PATH_MAX];
    struct named n;
    int r = args_path(c, target_address, target);
    if (r == 0)
        r = read_named(c, dirfd, address, &n);
    return r < 0 ? r : vfs_symlink(&n.base, n.name, target);
}

long sys_symlink(struct call *c)
{
    return symlink_at(c, call_addr(c, 0), AT_FDCWD, call_addr(c, 1));
}

long sys_symlinkat(struct call *c)
{
    return symlink_at(c, call_addr(c, 0), call_int(c, 1), call_addr(c, 2));
}

/* AT_EMPTY_PATH makes a name for what only its descriptor leads to: a matter of privilege. */
static int link_target(struct call *c, int dirfd, struct gaddr address, int flags, struct path *ret)
{
    char name[GUEST_PATH_MAX];
    unsigned walk_flags = flags & AT_SYMLINK_FOLLOW ? WALK_FOLLOW : 0;
    if (flags & AT_EMPTY_PATH)
        walk_flags |= WALK_EMPTY_OK;
    int r = args_path_at(c, address, flags, name);
    if (r < 0)
        return r;
    if (!name[0] && !cred_has_cap(c->thread->cred, CAP_DAC_READ_SEARCH))
        return -ENOENT;
    return args_walk(c, dirfd, name, walk_flags, NULL, ret);
}

static long link_at(struct call *c, int old_dirfd, struct gaddr old_address, int new_dirfd,
                    struct gaddr new_address, int flags)
{
    _cleanup_path_ struct path target = {0};
    struct named n;
    if (flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    int r = link_target(c, old_dirfd, old_address, flags, &target);
    if (r == 0)
        r = read_named(c, new_dirfd, new_address, &n);
    if (r < 0)
        return r;
    /* Pipes and their like are of no mount, so of none that a name could be in. */
    return target.mount ? vfs_link(&target, &n.base, n.name) : -EXDEV;
}

long sys_link(struct call *c)
{
    return link_at(c, AT_FDCWD, call_addr(c, 0), AT_FDCWD, call_addr(c, 1), 0);
}

long sys_linkat(struct call *c)
{
    return link_at(c, call_int(c, 0), call_addr(c, 1), call_int(c, 2), call_addr(c, 3),
                   call_int(c, 4));
}

/* ---- removing and moving ---- */

static long remove_at(struct call *c, int dirfd, struct gaddr address,
                      int (*remove)(const struct walk_base *b, const char *name))
{
    struct named n;
    int r = read_named(c, dirfd, address, &n);
    return r < 0 ? r : remove(&n.base, n.name);
}

long sys_rmdir(struct call *c)
{
    return remove_at(c, AT_FDCWD, call_addr(c, 0), vfs_rmdir);
}

long sys_unlink(struct call *c)
{
    return remove_at(c, AT_FDCWD, call_addr(c, 0), vfs_unlink);
}

long sys_unlinkat(struct call *c)
{
    int flags = call_int(c, 2);
    if (flags & ~AT_REMOVEDIR)
        return -EINVAL;
    return remove_at(c, call_int(c, 0), call_addr(c, 1),
                     flags & AT_REMOVEDIR ? vfs_rmdir : vfs_unlink);
}

static long rename_at(struct call *c, int old_dirfd, struct gaddr old_address, int new_dirfd,
                      struct gaddr new_address, unsigned flags)
{
    struct named old, new;
    if (flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE))
        return -EINVAL;
    if ((flags & RENAME_NOREPLACE) && (flags & RENAME_EXCHANGE))
        return -EINVAL;
    int r = read_named(c, old_dirfd, old_address, &old);
    if (r < 0)
        return r;
    r = read_named(c, new_dirfd, new_address, &new);
    if (r < 0) {
        int error = vfs_find_parent(&old.base, old.name);
        return error < 0 ? error : r;
    }
    return vfs_rename(&old.base, old.name, &new.base, new.name, flags);
}

long sys_rename(struct call *c)
{
    return rename_at(c, AT_FDCWD, call_addr(c, 0), AT_FDCWD, call_addr(c, 1), 0);
}

long sys_renameat(struct call *c)
{
    return rename_at(c, call_int(c, 0), call_addr(c, 1), call_int(c, 2), call_addr(c, 3), 0);
}

long sys_renameat2(struct call *c)
{
    return rename_at(c, call_int(c, 0), call_addr(c, 1), call_int(c, 2), call_addr(c, 3),
                     call_uint(c, 4));
}

/* ---- where a process stands ---- */

/* Takes the path over in place of *at, if the thread may search it. */
static int move_to(struct call *c, struct path *at, struct path *path)
{
    if (!S_ISDIR(path->dentry->inode->mode))
        return -ENOTDIR;
    int r = inode_permission(path->dentry->inode, c->thread->cred, MAY_EXEC);
    if (r < 0)
        return r;
    struct path old = *at;
    *at = path_get(*path);
    path_put(&old);
    return 0;
}

static int find_directory(struct call *c, struct gaddr address, struct path *ret)
{
    char name[GUEST_PATH_MAX];
    int r = args_path(c, address, name);
    return r < 0 ? r : args_walk(c, AT_FDCWD, name, WALK_FOLLOW | WALK_DIRECTORY, NULL, ret);
}

long sys_chdir(struct call *c)
{
    _cleanup_path_ struct path path = {0};
    int r = find_directory(c, call_addr(c, 0), &path);
    return r < 0 ? r : move_to(c, &c->thread->fs->cwd, &path);
}

long sys_fchdir(struct call *c)
{
    struct file *f = args_any_file(c, call_int(c, 0));
    return f ? move_to(c, &c->thread->fs->cwd, &f->path) : -EBADF;
}

long sys_chroot(struct call *c)
{
    _cleanup_path_ struct path path = {0};
    int r = find_directory(c, call_addr(c, 0), &path);
    if (r < 0)
        return r;
    r = inode_permission(path.dentry->inode, c->thread->cred, MAY_EXEC);
    if (r < 0)
        return r;
    if (!cred_has_cap(c->thread->cred, CAP_SYS_CHROOT))
        return -EPERM;
    return move_to(c, &c->thread->fs->root, &path);
}

long sys_getcwd(struct call *c)
{
    char text[GUEST_PATH_MAX];
    const struct fs_context *fs = c->thread->fs;
    if (fs->cwd.dentry->unlinked)
        return -ENOENT;
    ssize_t length = path_text(fs->cwd, fs->root, text, sizeof(text));
    if (length < 0)
        return length;
    size_t size = (size_t)length + 1;
    if (size > c->arg[1])
        return -ERANGE;
    int r = call_write(c, call_addr(c, 0), text, size);
    return r < 0 ? r : (long)size;
}

long sys_umask(struct call *c)
{
    struct fs_context *fs = c->thread->fs;
    mode_t old = fs->umask;
    fs->umask = call_uint(c, 0) & 0777;
    return (long)old;
}
