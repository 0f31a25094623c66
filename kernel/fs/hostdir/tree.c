// SPDX-License-Identifier: Apache-2.0
/*
 * host calls: fchmodat fcntl fstat fstatfs ftruncate linkat mkdirat newfstatat openat readlinkat
 * renameat renameat2 symlinkat unlinkat utimensat
 */
#include "kernel/core/kernel.h"
#include "kernel/fs/hostdir/hostdir.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/statfs.h>

/* A name that may be handed to the host: one component, and none that leads away. */
static bool name_is_plain(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length <= NAME_LENGTH_MAX && !strchr(name, '/') &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* The descriptor of a directory, pinned, so that another one can be asked for meanwhile. */
struct held {
    struct hostnode *node;
    int fd;
};

static int hold(struct inode *dir, struct held *ret)
{
    struct hostnode *n = hostnode_of(dir);
    int fd = hostnode_fd(n);
    if (fd < 0)
        return fd;
    int r = n->parent ? fdcache_pin(&n->fd) : 0;
    if (r < 0)
        return r;
    *ret = (struct held){n, fd};
    return 0;
}

static void let_go(struct held *h)
{
    if (h->node && h->node->parent)
        fdcache_unpin(&h->node->fd);
}

/* As held, for changes: -EROFS, and the name is checked. */
static int hold_for_change(struct inode *dir, const struct dentry *d, struct held *ret)
{
    if (dir->super->read_only)
        return -EROFS;
    return name_is_plain(d->name) ? hold(dir, ret) : -EINVAL;
}

static int host_result(int r)
{
    return r < 0 ? -errno : 0;
}

static int stat_child(struct inode *dir, const char *name, struct stat *ret)
{
    if (!name_is_plain(name))
        return -EINVAL;
    int fd = hostnode_fd(hostnode_of(dir));
    if (fd < 0)
        return fd;
    return host_result(fstatat(fd, name, ret, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT));
}

static int hostdir_lookup(struct inode *dir, struct dentry *d)
{
    struct stat st;
    int r = stat_child(dir, d->name, &st);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    struct inode *i;
    r = hostnode_inode(dir->super, dir, d->name, &st, &i);
    if (r == 0)
        dentry_set_inode(d, i);
    return r;
}

static bool hostdir_revalidate(struct dentry *d)
{
    struct stat st;
    struct inode *i = d->inode;
    if (!i || stat_child(d->parent->inode, d->name, &st) < 0)
        return false;
    struct hostnode *n = hostnode_of(i);
    hostnode_close_born(n);
    if (n->dev != st.st_dev || n->ino != st.st_ino || (i->mode & S_IFMT) != (st.st_mode & S_IFMT))
        return false;
    hostdir_fill(i, &st);
    return hostnode_set_place(n, hostnode_of(d->parent->inode), d->name) == 0;
}

/* What was just made under d; somebody on the host may have taken it away again. */
static int look_up_made(struct inode *dir, struct dentry *d)
{
    int r = hostdir_lookup(dir, d);
    return r < 0 || d->inode ? r : -ENOENT;
}

static int hostdir_mknod(struct inode *dir, struct dentry *d, mode_t mode, uint64_t rdev, uid_t uid,
                         gid_t gid)
{
    struct held h;
    if (!S_ISREG(mode))
        return -EPERM;
    int r = hold_for_change(dir, d, &h);
    if (r < 0)
        return r;
    _cleanup_close_ int fd =
        openat(h.fd, d->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode & 0777);
    r = fd < 0 ? -errno : 0;
    let_go(&h);
    if (r == 0)
        r = look_up_made(dir, d);
    if (r < 0)
        return r;
    struct stat st;
    struct hostnode *n = hostnode_of(d->inode);
    if (fstat(fd, &st) == 0 && st.st_ino == n->ino && st.st_dev == n->dev)
        hostnode_keep_born(n, TAKE_FD(fd));
    return 0;
}

static int hostdir_mkdir(struct inode *dir, struct dentry *d, mode_t mode, uid_t uid, gid_t gid)
{
    struct held h;
    int r = hold_for_change(dir, d, &h);
    if (r < 0)
        return r;
    r = host_result(mkdirat(h.fd, d->name, mode & 01777));
    let_go(&h);
    return r < 0 ? r : look_up_made(dir, d);
}

static int hostdir_symlink(struct inode *dir, struct dentry *d, const char *target, uid_t uid,
                           gid_t gid)
{
    struct held h;
    int r = hold_for_change(dir, d, &h);
    if (r < 0)
        return r;
    r = host_result(symlinkat(target, h.fd, d->name));
    let_go(&h);
    return r < 0 ? r : look_up_made(dir, d);
}

static int hostdir_link(struct inode *target, struct inode *dir, struct dentry *d)
{
    struct hostnode *n = hostnode_of(target);
    struct held to = {0}, from = {0};
    if (!n->parent || !n->parent->inode)
        return -ENOENT;
    int r = hold_for_change(dir, d, &to);
    if (r == 0)
        r = hold(n->parent->inode, &from);
    struct stat st;
    if (r == 0)
        r = host_result(fstatat(from.fd, n->name, &st, AT_SYMLINK_NOFOLLOW));
    if (r == 0 && (st.st_ino != n->ino || st.st_dev != n->dev))
        r = -ENOENT;
    if (r == 0)
        r = host_result(linkat(from.fd, n->name, to.fd, d->name, 0));
    let_go(&from);
    let_go(&to);
    return r < 0 ? r : look_up_made(dir, d);
}

static int remove_child(struct inode *dir, struct dentry *d, int flags)
{
    struct held h;
    struct stat st;
    struct hostnode *n = hostnode_of(d->inode);
    int r = hold_for_change(dir, d, &h);
    if (r < 0)
        return r;
    r = host_result(unlinkat(h.fd, d->name, flags));
    let_go(&h);
    if (r == 0 && hostnode_stat(n, &st) == 0)
        hostdir_fill(d->inode, &st);
    else if (r == 0)
        d->inode->nlink = flags & AT_REMOVEDIR || d->inode->nlink <= 1 ? 0 : d->inode->nlink - 1;
    return r;
}

static int hostdir_unlink(struct inode *dir, struct dentry *d)
{
    return remove_child(dir, d, 0);
}

static int hostdir_rmdir(struct inode *dir, struct dentry *d)
{
    return remove_child(dir, d, AT_REMOVEDIR);
}

static int hostdir_rename(struct inode *old_dir, struct dentry *old_d, struct inode *new_dir,
                          struct dentry *new_d, unsigned flags)
{
    struct held from = {0}, to = {0};
    int r = hold_for_change(old_dir, old_d, &from);
    if (r == 0)
        r = hold_for_change(new_dir, new_d, &to);
    if (r == 0)
        r = host_result(
            renameat2(from.fd, old_d->name, to.fd, new_d->name, flags & RENAME_EXCHANGE));
    let_go(&from);
    let_go(&to);
    if (r < 0)
        return r;
    /* A place that can't be noted for want of memory is found wrong, and looked up, later. */
    hostnode_set_place(hostnode_of(old_d->inode), hostnode_of(new_dir), new_d->name);
    if (flags & RENAME_EXCHANGE)
        hostnode_set_place(hostnode_of(new_d->inode), hostnode_of(old_dir), old_d->name);
    else if (new_d->inode && new_d->inode->nlink > 0)
        new_d->inode->nlink = S_ISDIR(new_d->inode->mode) ? 0 : new_d->inode->nlink - 1;
    return 0;
}

static ssize_t hostdir_readlink(struct inode *i, char *buffer, size_t size)
{
    int fd = hostnode_fd(hostnode_of(i));
    if (fd < 0)
        return fd;
    ssize_t n = readlinkat(fd, "", buffer, size);
    if (n < 0)
        return -errno;
    if ((size_t)n >= size)
        return -ENAMETOOLONG;
    buffer[n] = '\0';
    return n;
}

static int hostdir_refresh(struct inode *i)
{
    struct stat st;
    int r = hostnode_stat(hostnode_of(i), &st);
    if (r == 0) {
        hostdir_fill(i, &st);
        return 0;
    }
    /* Gone from its place: what was known last, if it is still referred to here. */
    if (r == -ENOENT)
        i->nlink = 0;
    return r == -ENOENT ? 0 : r;
}

static int change_mode(struct hostnode *n, mode_t mode)
{
    if (mode & (S_ISUID | S_ISGID) & ~n->inode->mode)
        return -EPERM;
    if (S_ISLNK(n->inode->mode))
        return -EOPNOTSUPP;
    int fd = hostnode_fd(n);
    if (fd < 0)
        return fd;
    char link[64];
    bool has_proc = hostfd_is_open(kernel.proc_dir);
    snprintf(link, sizeof(link), has_proc ? "self/fd/%d" : "/proc/self/fd/%d", fd);
    return host_result(fchmodat(has_proc ? kernel.proc_dir.n : AT_FDCWD, link, mode & 07777, 0));
}

static int change_times(struct hostnode *n, const struct inode_attr *attr)
{
    const struct timespec omit = {0, UTIME_OMIT};
    struct timespec times[2] = {attr->valid & ATTR_ATIME ? attr->atime : omit,
                                attr->valid & ATTR_MTIME ? attr->mtime : omit};
    int fd = hostnode_fd(n);
    if (fd < 0)
        return fd;
    return host_result(utimensat(fd, "", times, AT_EMPTY_PATH));
}

static int change_length(struct hostnode *n, off_t size)
{
    struct hostfile *open;
    list_for_each(open, &n->open_files, link)
    {
        if ((fcntl(open->fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
            return host_result(ftruncate(open->fd, size));
    }
    _cleanup_close_ int fd = hostnode_open(n, O_WRONLY);
    return fd < 0 ? fd : host_result(ftruncate(fd, size));
}

static int hostdir_setattr(struct inode *i, const struct inode_attr *attr)
{
    struct hostnode *n = hostnode_of(i);
    int r = 0;
    if (i->super->read_only)
        return -EROFS;
    if ((attr->valid & ATTR_UID && attr->uid != i->uid) ||
        (attr->valid & ATTR_GID && attr->gid != i->gid))
        return -EPERM;
    if (attr->valid & ATTR_SIZE)
        r = change_length(n, attr->size);
    if (r == 0 && attr->valid & ATTR_MODE)
        r = change_mode(n, attr->mode);
    /* The host's own clock sets the times of a change of size. */
    if (r == 0 && attr->valid & (ATTR_ATIME | ATTR_MTIME) && !(attr->valid & ATTR_SIZE))
        r = change_times(n, attr);
    return r < 0 ? r : hostdir_refresh(i);
}

static void hostdir_release(struct inode *i)
{
    struct hostnode *n = hostnode_of(i);
    if (!n)
        return;
    if (map_get(&n->fs->nodes, n->key) == n)
        map_remove(&n->fs->nodes, n->key);
    hostnode_close_born(n);
    n->inode = NULL;
    hostnode_put(n);
}

const struct inode_ops hostdir_ops = {
    .lookup = hostdir_lookup,
    .revalidate = hostdir_revalidate,
    .mknod = hostdir_mknod,
    .mkdir = hostdir_mkdir,
    .symlink = hostdir_symlink,
    .link = hostdir_link,
    .unlink = hostdir_unlink,
    .rmdir = hostdir_rmdir,
    .rename = hostdir_rename,
    .readlink = hostdir_readlink,
    .refresh = hostdir_refresh,
    .setattr = hostdir_setattr,
    .list = hostdir_list,
    .release = hostdir_release,
};

static int hostdir_statfs(struct super *s, struct statfs *ret)
{
    const struct hostdir *fs = s->private;
    int r = host_result(fstatfs(fs->root.n, ret));
    if (r == 0)
        ret->f_fsid.__val[0] = (int)s->dev;
    return r;
}

static int make_root(struct super *s)
{
    const struct hostdir *fs = s->private;
    struct stat st;
    if (fstat(fs->root.n, &st) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return -EINVAL;
    struct inode *i;
    int r = hostnode_inode(s, NULL, "", &st, &i);
    if (r < 0)
        return r;
    s->root = dentry_new(NULL, "", 0);
    if (!s->root) {
        inode_put(i);
        return -ENOMEM;
    }
    dentry_set_inode(s->root, i);
    s->root->pinned = true;
    return 0;
}

int hostdir_super_new(struct hostfd dir, bool read_only, struct super **ret)
{
    struct hostdir *fs = calloc(1, sizeof(*fs));
    struct super *s = fs ? super_new("hostdir", 0) : NULL;
    if (!s) {
        free(fs);
        hostfd_close(&dir);
        return -ENOMEM;
    }
    struct statfs st;
    if (fstatfs(dir.n, &st) == 0)
        s->magic = st.f_type;
    fs->root = dir;
    s->private = fs;
    s->read_only = read_only;
    s->nodev = true;
    s->stored = s->magic != TMPFS_MAGIC;
    s->statfs = hostdir_statfs;
    int r = make_root(s);
    if (r < 0) {
        hostfd_close(&fs->root);
        map_done(&fs->nodes);
        free(fs);
        free(s);
        return r;
    }
    *ret = s;
    return 0;
}
