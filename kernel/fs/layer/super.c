// SPDX-License-Identifier: Apache-2.0
/*
 * The layer as a whole, and what the kernel puts into it at start-up.
 *
 * host calls: fstat fstatfs newfstatat
 */
#include "kernel/core/kernel.h"
#include "kernel/fs/layer/layer.h"

#include <fcntl.h>

#define OVERLAY_MAGIC 0x794c7630L
#define TMPFS_MAGIC   0x01021994L
#define BLOCK_BYTES   4096U

static uint64_t left_of(uint64_t max, uint64_t used)
{
    return max > used ? max - used : 0;
}

/* The budget; where it has no end, the host's file system has one. */
static struct storage_budget real_budget(const struct storage_budget *b)
{
    struct storage_budget real = *b;
    struct statfs host;
    if ((b->max_bytes != UINT64_MAX && b->max_inodes != UINT64_MAX) ||
        !hostfd_is_open(kernel.store_dir) || fstatfs(kernel.store_dir.n, &host) < 0)
        return real;
    if (b->max_bytes == UINT64_MAX)
        real.max_bytes = b->used_bytes + host.f_bavail * (uint64_t)host.f_bsize;
    if (b->max_inodes == UINT64_MAX)
        real.max_inodes = b->used_inodes + host.f_ffree;
    return real;
}

static int layer_statfs(struct super *s, struct statfs *ret)
{
    const struct content_account *a = &((struct layer *)s->private)->account;
    const struct storage_budget real = real_budget(a->budget), *b = &real;
    uint64_t max = MIN(b->max_bytes, a->max_bytes);
    uint64_t budget_left = left_of(b->max_bytes, b->used_bytes);
    uint64_t own_left = left_of(a->max_bytes, a->used_bytes);
    uint64_t left = MIN(budget_left, own_left);
    *ret = (struct statfs){
        .f_type = s->magic,
        .f_bsize = BLOCK_BYTES,
        .f_frsize = BLOCK_BYTES,
        .f_blocks = max / BLOCK_BYTES,
        .f_bfree = left / BLOCK_BYTES,
        .f_bavail = left / BLOCK_BYTES,
        .f_files = b->max_inodes,
        .f_ffree = left_of(b->max_inodes, b->used_inodes),
        .f_fsid = {.__val = {(int)s->dev, 0}},
        .f_namelen = NAME_LENGTH_MAX,
    };
    return 0;
}

const struct storage_budget *layer_budget(const struct super *layer)
{
    return ((const struct layer *)layer->private)->account.budget;
}

void layer_set_appendix(struct super *s, const struct layer_appendix *appendix)
{
    ((struct layer *)s->private)->appendix = appendix;
}

/* The root: what is below with the mode and owner that were asked for, or an empty directory. */
static int make_root(struct super *s, struct lower *lower, const struct layer_options *o)
{
    struct inode *i;
    int r = layer_inode_new(s, S_IFDIR | (o->root_mode & 07777), o->root_uid, o->root_gid, &i);
    if (r < 0)
        return r;
    i->size = BLOCK_BYTES;
    layer_node_of(i)->lower = lower ? lower_get(lower) : NULL;
    struct stat st;
    if (lower && fstat(lower->fd.n, &st) == 0)
        i->nlink = (uint32_t)MAX(st.st_nlink, 2UL);
    struct dentry *d = dentry_new(NULL, "", 0);
    if (!d) {
        inode_put(i);
        return -ENOMEM;
    }
    dentry_set_inode(d, i);
    d->pinned = true;
    s->root = d;
    return 0;
}

int layer_super_new(const struct layer_options *options, struct super **ret)
{
    struct lower *lower = NULL;
    if (hostfd_is_open(options->lower)) {
        lower = lower_new_root(options->lower, true);
        if (!lower)
            return -ENOMEM;
    }
    bool is_tmpfs = strcmp(options->type_name, "tmpfs") == 0;
    struct layer *layer = calloc(1, sizeof(*layer));
    struct super *s =
        layer ? super_new(options->type_name, is_tmpfs ? TMPFS_MAGIC : OVERLAY_MAGIC) : NULL;
    int r = -ENOMEM;
    if (s) {
        layer->account.budget = options->budget;
        layer->account.max_bytes = options->max_bytes;
        s->private = layer;
        s->cached = true;
        s->stored = !is_tmpfs;
        s->statfs = layer_statfs;
        r = make_root(s, lower, options);
    }
    lower_put(lower);
    if (r < 0) {
        free(s);
        free(layer);
        return r;
    }
    *ret = s;
    return 0;
}

/* Puts a new inode at a name of parent, which must be free or a name from below. */
static int add(struct dentry *parent, const char *name, struct inode *i, struct dentry **ret)
{
    struct dentry *d;
    int r = walk_lookup_child(parent, name, strlen(name), &d);
    if (r == 0 && d->pinned && d->inode)
        r = -EEXIST;
    else if (r == 0)
        layer_publish(d, inode_get(i));
    if (r == 0 && S_ISDIR(i->mode))
        parent->inode->nlink++;
    if (r == 0 && ret)
        *ret = d;
    if (r == 0 || r == -EEXIST)
        dentry_put(d);
    inode_put(i);
    return r;
}

int layer_add_directory(struct dentry *parent, const char *name, mode_t mode, uid_t uid, gid_t gid,
                        struct dentry **ret)
{
    struct inode *i;
    int r = layer_inode_new(parent->super, S_IFDIR | (mode & 07777), uid, gid, &i);
    if (r < 0)
        return r;
    i->size = BLOCK_BYTES;
    return add(parent, name, i, ret);
}

int layer_add_file(struct dentry *parent, const char *name, mode_t mode, const void *data,
                   size_t size)
{
    struct inode *i;
    int r = layer_inode_new(parent->super, S_IFREG | (mode & 07777), 0, 0, &i);
    if (r < 0)
        return r;
    r = layer_copy_up(i, false);
    if (r == 0)
        r = layer_append_bytes(layer_node_of(i)->content, data, size);
    if (r == 0)
        r = layer_refresh(i);
    if (r < 0) {
        inode_put(i);
        return r;
    }
    return add(parent, name, i, NULL);
}

int layer_add_symlink(struct dentry *parent, const char *name, const char *target)
{
    struct inode *i;
    int r = layer_inode_new(parent->super, S_IFLNK | 0777, 0, 0, &i);
    if (r < 0)
        return r;
    r = layer_set_target(i, target);
    if (r < 0) {
        inode_put(i);
        return r;
    }
    i->size = (off_t)strlen(target);
    return add(parent, name, i, NULL);
}

int layer_add_lower(struct dentry *parent, const char *name, struct hostfd fd,
                    const struct lower_view *view, struct dentry **ret)
{
    struct stat st;
    if (fstat(fd.n, &st) < 0 || !S_ISDIR(st.st_mode)) {
        hostfd_close(&fd);
        return -EINVAL;
    }
    struct lower *lower = lower_new_root(fd, true);
    if (!lower)
        return -ENOMEM;
    lower->public_only = true; /* the machine's own directories; an image of its own is whole */
    lower->view = view;
    struct inode *i = layer_inode_from(parent->super, lower, &st);
    if (!i)
        return -ENOMEM;
    /* It is found by no look-up in what is below parent. */
    i->keep = true;
    return add(parent, name, i, ret);
}
