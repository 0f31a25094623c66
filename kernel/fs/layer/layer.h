// SPDX-License-Identifier: Apache-2.0
/*
 * The private layer: a tree in memory over an optional read-only host directory. See
 * kernel/fs/filesystems.h for what others see of it.
 *
 * A name is one of
 *   upper     pinned, positive: it exists because it was made, moved or changed here
 *   lower     not pinned, positive or `unloaded`: seen below, forgotten and read again as needed
 *   whiteout  pinned, negative: it is there below and was removed here
 *   missing   not pinned, negative: a cached answer
 *
 * An inode that came from below and was changed sets `keep`, so that its names become pinned. Its
 * bytes stay below until they are written (`content`). Each node knows its place below by itself,
 * so that renaming a directory takes along what is below it.
 */
#pragma once

#include "kernel/fs/filesystems.h"
#include "kernel/fs/layer/content.h"
#include "kernel/fs/layer/lower.h"
#include "kernel/fs/xattr.h"

struct layer {
    struct content_account account;
    uint64_t dev_seen[8]; /* host devices that lower inodes came from, for their numbers */
    const struct layer_appendix *appendix; /* or NULL */
};

struct layer_node {
    struct lower *lower; /* counted: what shows through a directory, what a file or link holds */
    struct content *content; /* of a regular file that was written */
    char *target;            /* of a symbolic link, once read; counted by layer_set_target() */
    struct xattr_set *xattrs;
    bool charged;    /* counts among the budget's inodes */
    bool appended;   /* the appendix stands behind the bytes of lower; the inode's size has it */
    bool to_rewrite; /* and for this one, that is not enough */
};

extern const struct inode_ops layer_ops;
extern const struct file_ops layer_file_ops;

static inline struct layer *layer_of(const struct inode *i)
{
    return i->super->private;
}

static inline struct layer_node *layer_node_of(const struct inode *i)
{
    return i->private;
}

/* Bytes of i's size that are the appendix. */
static inline size_t layer_appended_bytes(const struct inode *i)
{
    return layer_node_of(i)->appended ? layer_of(i)->appendix->size : 0;
}

/* A new inode of the sandbox's own, charged: -ENOSPC, -ENOMEM. */
int layer_inode_new(struct super *s, mode_t mode, uid_t uid, gid_t gid, struct inode **ret);
/* The inode of something below; takes lower over, on failure (NULL) too. */
struct inode *layer_inode_from(struct super *s, struct lower *lower, const struct stat *st);
void layer_inode_release(struct inode *i);

/* What the symbolic link i leads to: a copy. -ENOSPC, -ENOMEM. */
int layer_set_target(struct inode *i, const char *target);

/* Number of a lower inode: stable however often it is forgotten. */
uint64_t layer_lower_ino(struct layer *layer, uint64_t host_dev, uint64_t host_ino);

/* i's bytes are its own from now on (an empty content when size is 0). */
int layer_copy_up(struct inode *i, bool keep_bytes);

/* Before the first byte of i, which is to_rewrite, is looked at. */
void layer_rewrite(struct inode *i);

/* Writes to the end of c: 0, -ENOSPC, -ENOMEM, -EIO. */
int layer_append_bytes(struct content *c, const char *data, size_t size);

/* Makes i, already a whole inode, what the negative d names. */
void layer_publish(struct dentry *d, struct inode *i);

int layer_setattr(struct inode *i, const struct inode_attr *attr);
int layer_refresh(struct inode *i);
ssize_t layer_getxattr(struct inode *i, const char *name, void *value, size_t size);
int layer_setxattr(struct inode *i, const char *name, const void *value, size_t size, int flags);
ssize_t layer_listxattr(struct inode *i, char *names, size_t size);
