// SPDX-License-Identifier: Apache-2.0
/* host calls: close fstat newfstatat openat openat2 prlimit64 */
#include "kernel/fs/hostdir/hostdir.h"

#include "kernel/core/kernel.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define RESOLVE_OURS (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

/* How host owners look inside: the kernel's own user is the sandbox's default user. */
static const struct {
    uid_t own_uid, other_uid;
    gid_t own_gid, other_gid;
} owners = {1000, 65534, 1000, 65534};

void hostdir_fill(struct inode *i, const struct stat *st)
{
    i->ino = st->st_ino;
    i->mode = st->st_mode;
    /* The ids that the process was started with, which are those it has: no call to the host. */
    i->uid = st->st_uid == getauxval(AT_EUID) ? owners.own_uid : owners.other_uid;
    i->gid = st->st_gid == getauxval(AT_EGID) ? owners.own_gid : owners.other_gid;
    i->nlink = (uint32_t)st->st_nlink;
    i->rdev = st->st_rdev;
    i->size = st->st_size;
    i->blocks = (uint64_t)st->st_blocks;
    i->atime = st->st_atim;
    i->mtime = st->st_mtim;
    i->ctime = st->st_ctim;
}

static uint64_t key_of(const struct stat *st)
{
    return st->st_ino ^ (uint64_t)st->st_dev << 40;
}

static bool is_node(const struct hostnode *n, const struct stat *st)
{
    return n->dev == st->st_dev && n->ino == st->st_ino &&
           (n->inode->mode & S_IFMT) == (st->st_mode & S_IFMT);
}

/*
 * Whether n is among the directories that lead to dir, as they were seen last. Where others move
 * directories about, one that is open can still be thought to be in one that is in it by now.
 */
static bool leads_to(const struct hostnode *n, const struct hostnode *dir)
{
    if (!S_ISDIR(n->inode->mode))
        return false;
    while (dir && dir != n)
        dir = dir->parent;
    return dir != NULL;
}

int hostnode_set_place(struct hostnode *n, struct hostnode *dir, const char *name)
{
    if (n->parent == dir && n->name && strcmp(n->name, name) == 0)
        return 0;
    /* Nothing is in one that has no place yet. */
    if (n->name && leads_to(n, dir))
        return -ENOENT;
    char *copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    struct hostnode *old = n->parent;
    free(n->name);
    n->name = copy;
    n->parent = dir;
    if (dir)
        dir->refs++;
    hostnode_put(old);
    return 0;
}

void hostnode_put(struct hostnode *n)
{
    while (n && --n->refs == 0) {
        struct hostnode *parent = n->parent;
        fdcache_done(&n->fd);
        free(n->name);
        free(n);
        n = parent;
    }
}

static const struct file_ops *file_ops_for(mode_t mode)
{
    if (S_ISREG(mode))
        return &hostdir_file_ops;
    return S_ISDIR(mode) ? &hostdir_list_ops : &hostdir_special_ops;
}

static struct hostnode *node_new(struct hostdir *fs, struct inode *i, const struct stat *st)
{
    struct hostnode *n = calloc(1, sizeof(*n));
    if (!n)
        return NULL;
    n->refs = 1;
    n->fs = fs;
    n->inode = i;
    n->dev = st->st_dev;
    n->ino = st->st_ino;
    n->key = key_of(st);
    fdcache_init(&n->fd, NULL);
    list_init(&n->open_files);
    n->born_fd = -1;
    return n;
}

int hostnode_inode(struct super *s, struct inode *dir, const char *name, const struct stat *st,
                   struct inode **ret)
{
    struct hostdir *fs = s->private;
    struct hostnode *parent = dir ? hostnode_of(dir) : NULL;
    struct hostnode *n = map_get(&fs->nodes, key_of(st));
    if (n && is_node(n, st)) {
        int r = hostnode_set_place(n, parent, name);
        if (r < 0)
            return r;
        hostdir_fill(n->inode, st);
        *ret = inode_get(n->inode);
        return 0;
    }

    struct inode *i = inode_new(s, st->st_mode);
    struct hostnode *made = i ? node_new(fs, i, st) : NULL;
    if (!made || hostnode_set_place(made, parent, name) < 0) {
        hostnode_put(made);
        inode_put(i);
        return -ENOMEM;
    }
    i->private = made;
    i->ops = &hostdir_ops;
    i->file_ops = file_ops_for(st->st_mode);
    hostdir_fill(i, st);
    /* Another object may still stand for this key (a number that the host gave out anew). */
    if (!n)
        map_set(&fs->nodes, made->key, made);
    *ret = i;
    return 0;
}

/* One component, which must still be n. */
static int open_place(struct hostnode *n, int dir)
{
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_OURS};
    /* A link itself is wanted when it is one: O_NOFOLLOW without NO_SYMLINKS opens just that. */
    if (S_ISLNK(n->inode->mode))
        how.resolve &= ~(uint64_t)RESOLVE_NO_SYMLINKS;
    long fd = syscall(SYS_openat2, dir, n->name, &how, sizeof(how));
    if (fd < 0)
        return -errno;
    struct stat st;
    if (fstat((int)fd, &st) == 0 && is_node(n, &st))
        return (int)fd;
    close((int)fd);
    return -ENOENT;
}

static struct hostnode *born_last; /* the only one with a born_fd, or NULL */

void hostnode_keep_born(struct hostnode *n, int fd)
{
    if (born_last)
        hostnode_close_born(born_last);
    n->born_fd = fd;
    born_last = n;
}

int hostnode_take_born(struct hostnode *n)
{
    if (born_last == n)
        born_last = NULL;
    return TAKE_FD(n->born_fd);
}

void hostnode_close_born(struct hostnode *n)
{
    int fd = hostnode_take_born(n);
    if (fd >= 0)
        close(fd);
}

static bool is_open(const struct hostnode *n)
{
    return !n->parent || n->fd.n >= 0;
}

static int open_fd(const struct hostnode *n)
{
    return n->parent ? n->fd.n : n->fs->root.n;
}

/* Opens the directories that lead to n, from the lowest that is open; no recursion, the depth is a
 * guest's to choose. */
static int open_chain(struct hostnode *n)
{
    size_t depth = 0;
    for (struct hostnode *at = n; !is_open(at); at = at->parent)
        depth++;
    _cleanup_free_ struct hostnode **chain = calloc(depth, sizeof(*chain));
    if (!chain)
        return -ENOMEM;
    size_t i = depth;
    for (struct hostnode *at = n; i > 0; at = at->parent)
        chain[--i] = at;
    for (; i < depth; i++) {
        if (!chain[i]->inode)
            return -ENOENT;
        int fd = open_place(chain[i], open_fd(chain[i]->parent));
        if (fd < 0)
            return fd;
        fdcache_opened(&chain[i]->fd, fd);
    }
    return n->fd.n;
}

int hostnode_fd(struct hostnode *n)
{
    if (!n->parent)
        return n->fs->root.n;
    if (n->fd.n < 0)
        return open_chain(n);
    fdcache_touch(&n->fd);
    return n->fd.n;
}

int hostnode_stat(struct hostnode *n, struct stat *ret)
{
    const struct hostfile *open = list_first(&n->open_files, struct hostfile, link);
    struct stat st;
    if (open || is_open(n)) {
        if (fstat(open ? open->fd : open_fd(n), &st) < 0)
            return -errno;
    } else {
        int dir = hostnode_fd(n->parent);
        if (dir < 0)
            return dir;
        if (fstatat(dir, n->name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
            return -errno;
    }
    if (!is_node(n, &st))
        return -ENOENT;
    *ret = st;
    return 0;
}

/* Through the kernel's own view of /proc, so that it is this very object. */
int hostnode_open(struct hostnode *n, int flags)
{
    int fd = hostnode_fd(n);
    if (fd < 0)
        return fd;
    if (!S_ISREG(n->inode->mode) && !S_ISDIR(n->inode->mode))
        return -EACCES;
    char link[64];
    bool has_proc = hostfd_is_open(kernel.proc_dir);
    snprintf(link, sizeof(link), has_proc ? "self/fd/%d" : "/proc/self/fd/%d", fd);
    int opened = openat(has_proc ? kernel.proc_dir.n : AT_FDCWD, link,
                        flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return opened < 0 ? -errno : opened;
}

static size_t fd_total;

int hostdir_fd_charge(void)
{
    static size_t limit;
    struct rlimit r;
    if (!limit)
        limit = getrlimit(RLIMIT_NOFILE, &r) == 0 ? r.rlim_cur / 4 : 1024;
    if (fd_total >= limit)
        return -ENFILE;
    fd_total++;
    return 0;
}

void hostdir_fd_refund(void)
{
    fd_total--;
}
