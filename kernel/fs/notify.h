// SPDX-License-Identifier: Apache-2.0
/*
 * inotify(7): the hooks that the VFS calls. Cheap when nobody watches.
 */
#pragma once

#include "kernel/fs/vfs.h"

#include <sys/inotify.h>

/* Something happened to d (an entry of a directory): tells watches of it and of its parent. */
void notify_dentry(struct dentry *d, uint32_t mask);
/* The same for the inode alone: no directory is told (IN_ATTRIB of a link count, IN_MOVE_SELF). */
void notify_inode(struct inode *i, uint32_t mask);
/* The same for an open file (IN_MODIFY, IN_ACCESS, IN_OPEN, IN_CLOSE_*). */
void notify_file(struct file *f, uint32_t mask);
/* A name came, went or moved in directory dir. cookie pairs IN_MOVED_FROM and IN_MOVED_TO. */
void notify_name(struct inode *dir, uint32_t mask, uint32_t cookie, const char *name);
uint32_t notify_next_cookie(void);
/* The inode is gone (IN_DELETE_SELF, IN_IGNORED): removes all its watches. */
void notify_inode_gone(struct inode *i);

/*
 * ---- instances, for the inotify file (event/inotify.c) ----
 *
 * A watch holds no reference: the dentries of a watched inode are not dropped from the cache, and
 * an inode that goes takes its watches with it. A watch is on the list of its inode and in its
 * group.
 */
struct notify_group;

struct notify_event {
    struct list link;
    int wd;
    uint32_t mask, cookie;
    size_t name_length; /* 0: none; without the NUL that is there */
    char name[];
};

/* Whose it is. Each has limits of its own: programs that use theirs up don't blind the owner. */
enum notify_side { NOTIFY_INSIDE, NOTIFY_OUTSIDE };

/* -EMFILE past LIMIT_INOTIFY_INSTANCES of one side, -ENOMEM. */
int notify_group_new(enum notify_side side, struct notify_group **ret);
void notify_group_free(struct notify_group *g);

/*
 * Watches i, or changes the watch that is there, as inotify_add_watch(2). mask: IN_* events and
 * IN_MASK_ADD, IN_MASK_CREATE, IN_ONESHOT, IN_EXCL_UNLINK. The watch descriptor; -EEXIST, -ENOSPC,
 * -ENOMEM.
 */
int notify_watch_add(struct notify_group *g, struct inode *i, uint32_t mask);
/* Queues IN_IGNORED. -EINVAL: no such watch. */
int notify_watch_remove(struct notify_group *g, int wd);

/* The oldest event, borrowed until it is dropped, or NULL. */
struct notify_event *notify_group_first(const struct notify_group *g);
void notify_group_drop_first(struct notify_group *g);
/* The watches, each a line of /proc/PID/fdinfo/FD. */
void notify_group_describe(const struct notify_group *g, struct buf *b);
/* Bytes that reading all events would give. */
size_t notify_group_bytes(const struct notify_group *g);
/* Bytes of one event as struct inotify_event with its padded name. */
size_t notify_event_size(const struct notify_event *e);
/* Woken for each event. */
struct waitq *notify_group_wait(struct notify_group *g);
