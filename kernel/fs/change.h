// SPDX-License-Identifier: Apache-2.0
/*
 * What the files of the VFS share among themselves about changes: not for file systems or callers.
 */
#pragma once

#include "kernel/fs/vfs.h"

/* The ops of a FIFO's file that vfs_open() gives out: it does nothing, it is to be replaced. */
extern const struct file_ops file_half_open_ops;

/* Owner and mode of what cred makes in dir: the set-group-ID rules of inode(7). */
struct birth {
    mode_t mode;
    uid_t uid;
    gid_t gid;
};
struct birth birth_in(const struct inode *dir, const struct cred *cred, mode_t mode);

/* cred may make a name in the directory of this path: -EROFS, -EACCES. */
int may_create(struct path dir, const struct cred *cred);

/* cred may take the name d away from dir, which must (not) be a directory: sticky rules too. */
int may_delete(struct inode *dir, const struct dentry *d, const struct cred *cred, bool is_dir);

/* Makes a regular file, FIFO, socket or device under the negative d, and tells. No checks. */
int create_node(struct path dir, struct dentry *d, const struct cred *cred, mode_t mode,
                uint64_t rdev);

/* Sets the size of i, drops set-user-ID and kin as cred's rights say. Tells d. No checks. */
int change_size(struct inode *i, struct dentry *d, const struct cred *cred, off_t size);
