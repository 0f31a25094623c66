// SPDX-License-Identifier: Apache-2.0
/*
 * The file system of /dev: a small tmpfs that holds the devices every program expects.
 */
#include "kernel/core/kernel.h"
#include "kernel/fs/dev/memory_devices.h"
#include "kernel/fs/filesystems.h"
#include "kernel/fs/tty/tty.h"

#include <sys/sysmacros.h>

#define MEM_MAJOR 1
#define TTY_MAJOR 5 /* TTYAUX_MAJOR */

static struct storage_budget budget = {
    .max_bytes = LIMIT_DEV_BYTES,
    .max_inodes = LIMIT_DEV_INODES,
};

static const struct device {
    const char *name;
    unsigned major, minor;
    const struct file_ops *ops;
} devices[] = {
    {"null", MEM_MAJOR, 3, &null_device_ops},       {"zero", MEM_MAJOR, 5, &zero_device_ops},
    {"full", MEM_MAJOR, 7, &full_device_ops},       {"random", MEM_MAJOR, 8, &random_device_ops},
    {"urandom", MEM_MAJOR, 9, &urandom_device_ops}, {"tty", TTY_MAJOR, 0, &tty_current_ops},
    {"ptmx", TTY_MAJOR, 2, &tty_multiplexer_ops},
};

static const struct {
    const char *name, *target;
} links[] = {
    {"fd", "/proc/self/fd"},
    {"stdin", "/proc/self/fd/0"},
    {"stdout", "/proc/self/fd/1"},
    {"stderr", "/proc/self/fd/2"},
};

static int add_device(struct dentry *root, const struct device *device)
{
    struct dentry *d;
    struct inode *dir = root->inode;
    int r = walk_lookup_child(root, device->name, strlen(device->name), &d);
    if (r < 0)
        return r;
    r = dir->ops->mknod(dir, d, S_IFCHR | 0666, makedev(device->major, device->minor), 0, 0);
    if (r == 0) {
        d->inode->file_ops = device->ops;
        /* The operations are known to this inode only: it stays. */
        dentry_pin(d);
    }
    dentry_put(d);
    return r;
}

static int fill(struct dentry *root)
{
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(devices) && r == 0; i++)
        r = add_device(root, &devices[i]);
    for (size_t i = 0; i < ARRAY_SIZE(links) && r == 0; i++)
        r = layer_add_symlink(root, links[i].name, links[i].target);
    if (r == 0)
        r = layer_add_directory(root, "pts", 0755, 0, 0, NULL);
    if (r == 0)
        r = layer_add_directory(root, "shm", 01777, 0, 0, NULL);
    return r;
}

int dev_super_new(struct super **ret)
{
    const struct layer_options options = {
        .type_name = "tmpfs",
        .lower = HOSTFD_NONE,
        .budget = &budget,
        .max_bytes = LIMIT_DEV_BYTES,
        .root_mode = 0755,
    };
    struct super *s;
    int r = layer_super_new(&options, &s);
    if (r < 0)
        return r;
    s->nodev = false;
    r = fill(s->root);
    if (r < 0)
        return r;
    *ret = s;
    return 0;
}
