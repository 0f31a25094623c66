// SPDX-License-Identifier: Apache-2.0
/*
 * Listing of directories from their dentries. The position of an open directory is the cookie of
 * the last name that was given out; names are in the order of their cookies, so that a listing goes
 * on rightly whatever was unlinked or made meanwhile. To go on without a search, the open file
 * keeps the dentry it stopped at. After a seek there is a search, which may come in parts.
 */
#include "kernel/fs/vfs.h"

#include <dirent.h>

/* The most names that one look skips, where it may be called again. */
#define SKIPS_MAX 1024

static struct dentry *listing_start(struct file *dir, uint64_t after)
{
    struct dentry *d = dir->private;
    struct list *children = &dir->path.dentry->children;
    if (d && d->seq <= after && d->parent == dir->path.dentry && list_is_linked(&d->sibling))
        return list_entry(d->sibling.next, struct dentry, sibling);
    return list_entry(children->next, struct dentry, sibling);
}

static void listing_remember(struct file *dir, struct dentry *d)
{
    struct dentry *old = dir->private;
    if (old == d)
        return;
    dir->private = d ? dentry_get(d) : NULL;
    dentry_put(old);
}

static int listing_populate(struct dentry *d)
{
    struct inode *i = d->inode;
    return i->ops->populate && !d->populated ? i->ops->populate(i, d) : 0;
}

/* "." and "..": false when the buffer is full. */
static bool listing_dots(struct path dir, struct dir_emit *emit)
{
    const struct dentry *d = dir.dentry;
    if (dir.mount && d == dir.mount->root && dir.mount->at.dentry)
        d = dir.mount->at.dentry;
    const struct inode *parent = d->parent && d->parent->inode ? d->parent->inode : d->inode;
    d = dir.dentry;
    if (emit->after < 1 && !emit->emit(emit, ".", 1, d->inode->ino, DT_DIR, 1))
        return false;
    return emit->after >= 2 || emit->emit(emit, "..", 2, parent->ino, DT_DIR, 2);
}

int dentry_list(struct file *dir, struct dir_emit *emit)
{
    struct dentry *parent = dir->path.dentry;
    if (parent->unlinked)
        return -ENOENT;
    int r = listing_populate(parent);
    if (r < 0)
        return r;
    if (!listing_dots(dir->path, emit))
        return 0;

    bool remembers = dir->ops == &dir_file_ops;
    unsigned skips = 0;
    struct dentry *last = NULL;
    struct dentry *d = remembers ? listing_start(dir, emit->after)
                                 : list_entry(parent->children.next, struct dentry, sibling);
    for (; &d->sibling != &parent->children;
         d = list_entry(d->sibling.next, struct dentry, sibling)) {
        if (d->seq <= emit->after && remembers && emit->in_parts && ++skips == SKIPS_MAX) {
            listing_remember(dir, d);
            return -EAGAIN;
        }
        if (d->seq <= emit->after || (!d->inode && !d->unloaded))
            continue;
        uint64_t ino = d->inode ? d->inode->ino : d->d_ino;
        uint8_t type = d->inode ? IFTODT(d->inode->mode) : d->d_type;
        if (!emit->emit(emit, d->name, d->name_length, ino, type, d->seq))
            break;
        last = d;
    }
    if (remembers && last)
        listing_remember(dir, last);
    return 0;
}

static ssize_t dir_read(struct file *f, struct uio *u, off_t *pos, int flags)
{
    return -EISDIR;
}

static off_t dir_lseek(struct file *f, off_t offset, int whence)
{
    off_t base;
    if (whence == SEEK_SET)
        base = 0;
    else if (whence == SEEK_CUR)
        base = f->pos;
    else
        return -EINVAL;
    if (__builtin_add_overflow(base, offset, &base) || base < 0)
        return -EINVAL;
    return f->pos = base;
}

static int dir_fsync(struct file *f)
{
    return 0;
}

static void dir_release(struct file *f)
{
    listing_remember(f, NULL);
}

const struct file_ops dir_file_ops = {
    .read = dir_read,
    .lseek = dir_lseek,
    .fsync = dir_fsync,
    .release = dir_release,
};
