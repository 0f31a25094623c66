// SPDX-License-Identifier: Apache-2.0
/*
 * The file system of /dev/pts: a name for each slave that is not hung up, and ptmx. There is one of
 * it.
 */
#include "kernel/fs/filesystems.h"
#include "kernel/fs/tty/pair.h"

#include <stdio.h>
#include <sys/sysmacros.h>

#define DEVPTS_MAGIC 0x1cd1
#define TTY_GROUP    5 /* "tty" of Debian's base-passwd */

#define SLAVE_MAJOR       136
#define MULTIPLEXER_MAJOR 5
#define MULTIPLEXER_MINOR 2

static struct super *devpts;

/* Names are the dentries; what is not there as one is not there. */
static int devpts_lookup(struct inode *dir, struct dentry *d)
{
    return 0;
}

static const struct inode_ops devpts_dir_ops = {.lookup = devpts_lookup};

static int add_node(const char *name, mode_t mode, uint64_t rdev, const struct file_ops *ops,
                    struct inode **ret, struct dentry **ret_entry)
{
    struct dentry *d;
    int r = walk_lookup_child(devpts->root, name, strlen(name), &d);
    if (r < 0)
        return r;
    struct inode *i = inode_new(devpts, S_IFCHR | mode);
    if (!i) {
        dentry_put(d);
        return -ENOMEM;
    }
    i->rdev = rdev;
    i->file_ops = ops;
    dentry_set_inode(d, i);
    dentry_pin(d);
    *ret = i;
    *ret_entry = d;
    return 0;
}

int devpts_add(struct tty *t, uid_t uid)
{
    char name[16];
    struct inode *i;
    if (!devpts)
        return -ENODEV;
    snprintf(name, sizeof(name), "%u", t->index);
    int r = add_node(name, 0620, makedev(SLAVE_MAJOR, t->index), &tty_slave_ops, &i, &t->entry);
    if (r < 0)
        return r;
    i->uid = uid;
    i->gid = TTY_GROUP;
    i->private = t;
    return 0;
}

void devpts_remove(struct tty *t)
{
    struct dentry *d = t->entry;
    if (!d)
        return;
    t->entry = NULL;
    d->inode->private = NULL;
    d->inode->nlink = 0;
    dentry_detach(d);
    dentry_put(d);
}

int devpts_path(struct tty *t, struct path *ret)
{
    struct mount *m;
    list_for_each(m, &vfs_mounts, link)
    {
        if (m->super == devpts && t->entry) {
            *ret = path_get((struct path){m, t->entry});
            return 0;
        }
    }
    return -ENODEV;
}

static struct dentry *make_root(struct super *s)
{
    struct inode *i = inode_new(s, S_IFDIR | 0755);
    if (!i)
        return NULL;
    struct dentry *d = dentry_new(NULL, "", 0);
    if (!d) {
        inode_put(i);
        return NULL;
    }
    d->super = s;
    i->nlink = 2;
    i->ops = &devpts_dir_ops;
    i->file_ops = &dir_file_ops;
    dentry_set_inode(d, i);
    return d;
}

int devpts_super_new(struct super **ret)
{
    struct inode *i;
    struct dentry *d;
    if (!devpts) {
        devpts = super_new("devpts", DEVPTS_MAGIC);
        if (!devpts)
            return -ENOMEM;
        devpts->cached = true;
        devpts->noexec = true;
    }
    if (!devpts->root) {
        devpts->root = make_root(devpts);
        if (!devpts->root)
            return -ENOMEM;
        int r = add_node("ptmx", 0666, makedev(MULTIPLEXER_MAJOR, MULTIPLEXER_MINOR),
                         &tty_multiplexer_ops, &i, &d);
        if (r < 0)
            return r;
        dentry_put(d);
    }
    *ret = devpts;
    return 0;
}
