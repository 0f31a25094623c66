// SPDX-License-Identifier: Apache-2.0
/*
 * Names of the layer: looking up below, making, removing and moving them.
 *
 * host calls: fstat newfstatat
 */
#include "kernel/fs/layer/layer.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>

void layer_publish(struct dentry *d, struct inode *i)
{
    dentry_set_inode(d, i);
    dentry_pin(d);
}

/* A name of dir came or went: its times, and the links that the ".." of directories are. */
static void dir_changed(struct inode *dir, int subdirs)
{
    dir->nlink += (uint32_t)subdirs;
    dir->keep = true;
    inode_touch_modified(dir);
}

static int subdir(const struct inode *i)
{
    return S_ISDIR(i->mode) ? 1 : 0;
}

static int layer_lookup(struct inode *dir, struct dentry *d)
{
    struct layer_node *node = layer_node_of(dir);
    if (!node->lower)
        return 0;
    struct stat st;
    int r = lower_stat(node->lower, d->name, &st);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    struct lower *lower = lower_new(node->lower, d->name, S_ISDIR(st.st_mode));
    struct inode *i = lower ? layer_inode_from(dir->super, lower, &st) : NULL;
    if (!i)
        return -ENOMEM;
    dentry_set_inode(d, i);
    return 0;
}

struct populate {
    struct dentry *dir;
    uint64_t host_dev;
};

static int populate_entry(void *context, const char *name, uint64_t ino, uint8_t d_type)
{
    struct populate *p = context;
    size_t length = strlen(name);
    if (dentry_find(p->dir, name, length))
        return 0;
    struct dentry *d = dentry_new(p->dir, name, length);
    if (!d)
        return -ENOMEM;
    d->unloaded = true;
    d->d_type = d_type;
    d->d_ino = layer_lower_ino(layer_of(p->dir->inode), p->host_dev, ino);
    dentry_put(d);
    return 0;
}

static int layer_populate(struct inode *dir, struct dentry *dir_dentry)
{
    struct layer_node *node = layer_node_of(dir);
    if (dir_dentry->populated || !node->lower) {
        dir_dentry->populated = true;
        return 0;
    }
    struct stat st;
    int fd = lower_open(node->lower);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    struct populate p = {dir_dentry, st.st_dev};
    /* Set before, so that what is listed already is not evicted while the rest is. */
    dir_dentry->populated = true;
    int r = lower_list(node->lower, populate_entry, &p);
    if (r < 0)
        dir_dentry->populated = false;
    return r;
}

static int layer_mknod(struct inode *dir, struct dentry *d, mode_t mode, uint64_t rdev, uid_t uid,
                       gid_t gid)
{
    struct inode *i;
    int r = layer_inode_new(dir->super, mode, uid, gid, &i);
    if (r < 0)
        return r;
    i->rdev = rdev;
    layer_publish(d, i);
    dir_changed(dir, 0);
    return 0;
}

static int layer_mkdir(struct inode *dir, struct dentry *d, mode_t mode, uid_t uid, gid_t gid)
{
    struct inode *i;
    int r = layer_inode_new(dir->super, S_IFDIR | (mode & 07777), uid, gid, &i);
    if (r < 0)
        return r;
    i->size = 4096;
    d->populated = true;
    layer_publish(d, i);
    dir_changed(dir, 1);
    return 0;
}

static int layer_symlink(struct inode *dir, struct dentry *d, const char *target, uid_t uid,
                         gid_t gid)
{
    struct inode *i;
    int r = layer_inode_new(dir->super, S_IFLNK | 0777, uid, gid, &i);
    if (r < 0)
        return r;
    r = layer_set_target(i, target);
    if (r < 0) {
        inode_put(i);
        return r;
    }
    i->size = (off_t)strlen(target);
    layer_publish(d, i);
    dir_changed(dir, 0);
    return 0;
}

static int layer_link(struct inode *target, struct inode *dir, struct dentry *d)
{
    if (target->nlink == UINT32_MAX)
        return -EMLINK;
    target->nlink++;
    target->keep = true;
    inode_touch_changed(target);
    layer_publish(d, inode_get(target));
    dir_changed(dir, 0);
    return 0;
}

static int layer_tmpfile(struct inode *dir, mode_t mode, uid_t uid, gid_t gid, struct inode **ret)
{
    struct inode *i;
    int r = layer_inode_new(dir->super, S_IFREG | (mode & 07777), uid, gid, &i);
    if (r < 0)
        return r;
    i->nlink = 0;
    *ret = i;
    return 0;
}

/*
 * d is about to leave its directory: if something of that name is below, a whiteout must hide it.
 * It stands behind d in the hash table until then, so that d is still the one that is found.
 */
static int cover(struct inode *dir, const struct dentry *d)
{
    struct layer_node *node = layer_node_of(dir);
    struct stat st;
    if (!node->lower || lower_stat(node->lower, d->name, &st) == -ENOENT)
        return 0;
    struct dentry *whiteout = dentry_new(d->parent, d->name, d->name_length);
    if (!whiteout)
        return -ENOMEM;
    whiteout->pinned = true;
    return 0;
}

static void drop_link(struct inode *i)
{
    i->nlink = S_ISDIR(i->mode) ? 0 : i->nlink - 1;
    inode_touch_changed(i);
}

static int layer_unlink(struct inode *dir, struct dentry *d)
{
    int r = cover(dir, d);
    if (r < 0)
        return r;
    drop_link(d->inode);
    dir_changed(dir, 0);
    return 0;
}

static int check_empty(struct dentry *d)
{
    int r = layer_populate(d->inode, d);
    if (r < 0)
        return r;
    struct dentry *child;
    list_for_each(child, &d->children,
                  sibling) if (child->inode || child->unloaded) return -ENOTEMPTY;
    return 0;
}

static int layer_rmdir(struct inode *dir, struct dentry *d)
{
    int r = check_empty(d);
    if (r == 0)
        r = cover(dir, d);
    if (r < 0)
        return r;
    drop_link(d->inode);
    dir_changed(dir, -1);
    return 0;
}

/* i has moved: what it is called is known only here from now on. */
static void moved(struct dentry *d)
{
    d->inode->keep = true;
    dentry_pin(d);
    inode_touch_changed(d->inode);
}

static int rename_exchange(struct inode *old_dir, struct dentry *old_d, struct inode *new_dir,
                           struct dentry *new_d)
{
    int difference = subdir(new_d->inode) - subdir(old_d->inode);
    moved(old_d);
    moved(new_d);
    dir_changed(old_dir, difference);
    dir_changed(new_dir, -difference);
    return 0;
}

static int layer_rename(struct inode *old_dir, struct dentry *old_d, struct inode *new_dir,
                        struct dentry *new_d, unsigned flags)
{
    struct inode *replaced = new_d->inode;
    if (flags & RENAME_EXCHANGE)
        return rename_exchange(old_dir, old_d, new_dir, new_d);
    int r = replaced && S_ISDIR(replaced->mode) ? check_empty(new_d) : 0;
    if (r == 0)
        r = cover(old_dir, old_d);
    if (r < 0)
        return r;
    int gone = replaced ? subdir(replaced) : 0;
    if (replaced)
        drop_link(replaced);
    moved(old_d);
    dir_changed(old_dir, -subdir(old_d->inode));
    dir_changed(new_dir, subdir(old_d->inode) - gone);
    return 0;
}

static ssize_t layer_readlink(struct inode *i, char *buffer, size_t size)
{
    struct layer_node *node = layer_node_of(i);
    if (!node->target) {
        char target[PATH_MAX];
        ssize_t n = lower_readlink(node->lower, target, sizeof(target) - 1);
        if (n < 0)
            return n;
        target[n] = '\0';
        int r = layer_set_target(i, target);
        if (r < 0)
            return r;
    }
    size_t length = strlen(node->target);
    if (length >= size)
        return -ENAMETOOLONG;
    memcpy(buffer, node->target, length + 1);
    return (ssize_t)length;
}

const struct inode_ops layer_ops = {
    .lookup = layer_lookup,
    .populate = layer_populate,
    .mknod = layer_mknod,
    .mkdir = layer_mkdir,
    .symlink = layer_symlink,
    .link = layer_link,
    .unlink = layer_unlink,
    .rmdir = layer_rmdir,
    .rename = layer_rename,
    .tmpfile = layer_tmpfile,
    .readlink = layer_readlink,
    .refresh = layer_refresh,
    .setattr = layer_setattr,
    .getxattr = layer_getxattr,
    .setxattr = layer_setxattr,
    .listxattr = layer_listxattr,
    .release = layer_inode_release,
};
