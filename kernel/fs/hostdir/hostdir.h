// SPDX-License-Identifier: Apache-2.0
/*
 * A folder of the host that the user gave to the sandbox, live: what others change there is seen.
 *
 * The host is asked with one component at a time, relative to the descriptor of its directory, and
 * no link is ever followed by it: links are read and followed by our own walk, in the sandbox's
 * tree. An object is known by the host's device and inode number; a place (directory and name) that
 * holds another object by now is answered ENOENT. Devices, sockets and FIFOs are shown, and never
 * opened.
 *
 * The sandbox can give a file no set-user-ID or set-group-ID bit there, and no other owner: on the
 * host these mean something.
 */
#pragma once

#include "kernel/fs/filesystems.h"
#include "kernel/fs/layer/fdcache.h"
#include "lib/base/map.h"

struct hostdir {
    struct hostfd root; /* O_PATH: a directory, or a single file */
    struct map nodes;   /* key of device and inode number -> struct hostnode */
};

/* An object of the host. Its inode owns one reference, each node whose place is in it another. */
struct hostnode {
    size_t refs;
    struct hostdir *fs;
    struct inode *inode;     /* uncounted; NULL once it is gone */
    struct hostnode *parent; /* counted: where it was seen last; NULL: the root */
    char *name;
    uint64_t dev, ino;
    uint64_t key;
    struct cached_fd fd;    /* O_PATH */
    struct list open_files; /* hostfile */
    int born_fd; /* read-write, of the call that made the file, whatever its mode; -1: none */
};

/* An open regular file: file->private. */
struct hostfile {
    struct list link; /* hostnode.open_files */
    int fd;
};

extern const struct inode_ops hostdir_ops;
extern const struct file_ops hostdir_file_ops, hostdir_list_ops, hostdir_special_ops;

static inline struct hostnode *hostnode_of(const struct inode *i)
{
    return i->private;
}

/* The inode of what st tells of, which was seen as name in dir (NULL: the root). -ENOMEM, or as
 * hostnode_set_place(). */
int hostnode_inode(struct super *s, struct inode *dir, const char *name, const struct stat *st,
                   struct inode **ret);
/* It is seen as name in dir now. -ENOMEM; -ENOENT: dir is known to be below it, so one of both is
 * not where it was any more. */
int hostnode_set_place(struct hostnode *n, struct hostnode *dir, const char *name);
void hostnode_put(struct hostnode *n);

/* An O_PATH descriptor of the object itself, good until the next call; -ENOENT when it is gone. */
int hostnode_fd(struct hostnode *n);

/*
 * The descriptor that a file was made with passes to the first open, which may ask for more than
 * the mode of the new file allows (open(2)); else it is closed, at the latest when the next file is
 * made: there is never more than one.
 */
void hostnode_keep_born(struct hostnode *n, int fd);
int hostnode_take_born(struct hostnode *n);
void hostnode_close_born(struct hostnode *n);

/* The stat of the object, by whatever still leads to it. */
int hostnode_stat(struct hostnode *n, struct stat *ret);

/* Takes the fields over from the host's stat, owners as the sandbox sees them. */
void hostdir_fill(struct inode *i, const struct stat *st);

/* Opens the object anew: flags O_RDONLY, O_WRONLY or O_RDWR. Regular files and directories only. */
int hostnode_open(struct hostnode *n, int flags);

/* inode_ops.list. */
int hostdir_list(struct file *dir, struct dir_emit *emit);

/* Counts descriptors of open files; -ENFILE when they are too many for this process. */
int hostdir_fd_charge(void);
void hostdir_fd_refund(void);
