// SPDX-License-Identifier: Apache-2.0
/*
 * How each file system is made. A super that was made is mounted with mount_add().
 */
#pragma once

#include "kernel/fs/vfs.h"
#include "lib/base/buf.h"

/* Shared budget of the private layer and all tmpfs of the sandbox; -ENOSPC past it. */
struct storage_budget {
    uint64_t max_bytes, used_bytes;
    uint64_t max_inodes, used_inodes;
};

/*
 * A tree in memory over an optional read-only host directory (fs/layer). Names, modes, owners,
 * times, links and xattrs live here; contents that are large or mapped become unnamed files in the
 * store. lower: host directory (O_PATH), taken over; HOSTFD_NONE: empty, a tmpfs. owner of every
 * file that comes from lower is shown as root.
 */
struct layer_options {
    const char *type_name; /* "overlay" or "tmpfs" */
    struct hostfd lower;
    struct storage_budget *budget; /* borrowed for the life of the super */
    uint64_t max_bytes;            /* of this one (tmpfs size=), UINT64_MAX: only the budget */
    mode_t root_mode;
    uid_t root_uid;
    gid_t root_gid;
};
int layer_super_new(const struct layer_options *options, struct super **ret);

/* The budget that one takes from. */
const struct storage_budget *layer_budget(const struct super *layer);

/* Makes a file, directory or link in a super at start-up, without permission checks. */
int layer_add_directory(struct dentry *parent, const char *name, mode_t mode, uid_t uid, gid_t gid,
                        struct dentry **ret /* borrowed, may be NULL */);
int layer_add_file(struct dentry *parent, const char *name, mode_t mode, const void *data,
                   size_t size);
int layer_add_symlink(struct dentry *parent, const char *name, const char *target);
/* What shows of a name in a host directory. */
enum lower_verdict {
    LOWER_HIDDEN,
    LOWER_FILE,   /* if it is a regular file, or a link that may be seen */
    LOWER_PARTLY, /* if it is a directory: what the view says of the names below */
    LOWER_WHOLE,  /* if it is a directory: all that is below */
};
struct lower_view {
    enum lower_verdict (*verdict)(const char *path); /* below the directory that has the view */
    bool (*shows_link)(const char *target);          /* of a link that is a LOWER_FILE */
    /*
     * Calls visit for each name that may show in the directory at path ("" for the one that has the
     * view, else "a/b"), once, until it answers an error. The host's own listing is not asked for:
     * the kernel need not be able to read it.
     */
    int (*list)(const char *path, int (*visit)(void *context, const char *name), void *context);
};

/*
 * A directory of parent whose content is this host directory (taken over), as with options.lower:
 * how the host image puts /usr and /bin under one root. view: NULL, all of it shows; or borrowed
 * for good.
 */
int layer_add_lower(struct dentry *parent, const char *name, struct hostfd lower,
                    const struct lower_view *view, struct dentry **ret /* as above */);

/*
 * Bytes that files from below are shown with behind their own, as if they stood there. Reading
 * copies nothing; a file that is written or mapped gets a content that has them.
 */
struct layer_appendix {
    const char *text;
    size_t size;
    /* Ends of the paths of the files that have it, as "dir/name"; closed by NULL. */
    const char *const *names;
    /*
     * The same for files in a format that nothing can be appended to. Such a one is rewritten when
     * it is opened first: rewrite puts what it is to be into ret and answers 0; or something else,
     * and it stays what it is.
     */
    const char *const *rewritten_names;
    int (*rewrite)(const struct layer_appendix *a, const void *data, size_t size, struct buf *ret);
};

/* appendix is borrowed for good. What was looked up before is as it was. */
void layer_set_appendix(struct super *s, const struct layer_appendix *appendix);
/* One more file has it, whatever its name, if it is a regular one from below. */
void layer_show_appendix(struct inode *i);

/* A folder of the host, live (fs/hostdir). dir: O_PATH descriptor, taken over. */
int hostdir_super_new(struct hostfd dir, bool read_only, struct super **ret);

int proc_super_new(struct super **ret);   /* fs/proc */
int sysfs_super_new(struct super **ret);  /* fs/sysfs: read-only, what programs read below /sys */
int cgroup_super_new(struct super **ret); /* fs/sysfs: the sandbox's limits, for /sys/fs/cgroup */
int dev_super_new(
    struct super **ret); /* fs/dev: null zero full random urandom tty ptmx fd std* shm pts */
int devpts_super_new(struct super **ret); /* fs/tty: /dev/pts */

/* An anonymous regular file in memory, as memfd_create(2) (fs/memfd.c). flags: MFD_*. */
int memfd_create_file(const char *name, unsigned flags, struct file **ret);
/* fcntl F_ADD_SEALS, F_GET_SEALS: -EINVAL for other files. */
int memfd_add_seals(struct file *f, unsigned seals);
int memfd_get_seals(struct file *f);
