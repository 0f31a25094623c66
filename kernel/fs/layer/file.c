// SPDX-License-Identifier: Apache-2.0
/*
 * Open regular files of the layer. file->private is what mmap was given and keeps open: a struct
 * pinned, or NULL.
 *
 * host calls: fstat newfstatat
 */
#include "kernel/fs/layer/layer.h"

struct pinned {
    struct lower *lower; /* counted and pinned, or NULL */
    bool reader, writer; /* of the inode's content */
};

/*
 * A file below may have been replaced since its name was looked up, as bundles of certificates are.
 * The appendix stands behind what is there now.
 */
static int find_appendix(struct inode *i, int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    i->size = st.st_size + (off_t)layer_appended_bytes(i);
    return 0;
}

/* A file below is opened at once, so that open(2) answers what stands in the way. */
static int layer_open(struct file *f)
{
    struct layer_node *node = layer_node_of(f->inode);
    if (node->to_rewrite)
        layer_rewrite(f->inode);
    bool reads_below = node->lower && !node->content && f->can_read;
    int fd = reads_below ? lower_open(node->lower) : 0;
    if (fd < 0)
        return fd;
    return reads_below && node->appended ? find_appendix(f->inode, fd) : 0;
}

static void layer_release(struct file *f)
{
    struct pinned *p = f->private;
    struct content *c = layer_node_of(f->inode)->content;
    if (!p)
        return;
    if (p->lower && p->lower->parent)
        fdcache_unpin(&p->lower->fd);
    lower_put(p->lower);
    if (p->reader)
        content_unmap(c, false);
    if (p->writer)
        content_unmap(c, true);
    free(p);
}

/* Up to the end of the appendix in one: who reads as much as the size says expects all of it. */
static ssize_t read_below(struct inode *i, struct uio *u, off_t pos)
{
    struct layer_node *node = layer_node_of(i);
    size_t appended = layer_appended_bytes(i);
    off_t end = i->size - (off_t)appended;
    ssize_t n = 0;
    if (pos < end) {
        int fd = lower_open(node->lower);
        n = fd < 0 ? fd : content_read_host(fd, u, pos, end);
    }
    if (n < 0 || pos + n < end || u->left == 0 || appended == 0)
        return n;
    size_t from = (size_t)(pos + n - end);
    ssize_t more =
        uio_copy_out(u, layer_of(i)->appendix->text + from, MIN(u->left, appended - from));
    if (more < 0)
        return n > 0 ? n : more;
    return n + more;
}

static ssize_t layer_read(struct file *f, struct uio *u, off_t *pos, int flags)
{
    struct inode *i = f->inode;
    struct layer_node *node = layer_node_of(i);
    ssize_t n = 0;
    if (node->content) {
        n = content_read(node->content, u, *pos);
    } else if (node->lower && *pos < i->size && u->left > 0) {
        n = read_below(i, u, *pos);
    }
    if (n < 0)
        return n;
    *pos += n;
    if (i->keep)
        file_accessed(f);
    return n;
}

static ssize_t layer_write(struct file *f, struct uio *u, off_t *pos, int flags)
{
    struct inode *i = f->inode;
    if (u->left == 0)
        return 0;
    int r = layer_copy_up(i, true);
    if (r < 0)
        return r;
    struct content *c = layer_node_of(i)->content;
    if (f->flags & O_APPEND || flags & RWF_APPEND)
        *pos = c->size;
    ssize_t n = content_write(c, u, *pos);
    if (n < 0)
        return n;
    *pos += n;
    i->size = c->size;
    i->blocks = content_blocks(c);
    file_modified(f);
    return n;
}

static off_t layer_lseek(struct file *f, off_t offset, int whence)
{
    struct content *c = layer_node_of(f->inode)->content;
    if (!c || (whence != SEEK_DATA && whence != SEEK_HOLE))
        return file_lseek_generic(f, offset, whence);
    off_t pos = content_seek(c, offset, whence);
    return pos < 0 ? pos : (f->pos = pos);
}

static int layer_fsync(struct file *f)
{
    return 0;
}

static int layer_fallocate(struct file *f, int mode, off_t offset, off_t size)
{
    struct inode *i = f->inode;
    int r = layer_copy_up(i, true);
    if (r == 0)
        r = content_fallocate(layer_node_of(i)->content, mode, offset, size);
    if (r < 0)
        return r;
    layer_refresh(i);
    file_modified(f);
    return 0;
}

static struct pinned *pinned_of(struct file *f)
{
    if (!f->private)
        f->private = calloc(1, sizeof(struct pinned));
    return f->private;
}

static int map_lower(struct lower *l, struct pinned *p, struct hostfd *ret)
{
    int fd = lower_open(l);
    if (fd < 0)
        return fd;
    if (!p->lower) {
        int r = l->parent ? fdcache_pin(&l->fd) : 0;
        if (r < 0)
            return r;
        p->lower = lower_get(l);
    }
    *ret = (struct hostfd){fd};
    return 0;
}

static int map_content(struct content *c, bool writable, struct pinned *p, struct hostfd *ret)
{
    struct hostfd fd;
    int r = content_map(c, writable, &fd);
    if (r < 0)
        return r;
    bool *held = writable ? &p->writer : &p->reader;
    if (*held)
        content_unmap(c, writable); /* one is enough for all mappings through this file */
    *held = true;
    *ret = fd;
    return 0;
}

static int layer_map(struct file *f, bool shared_writable, struct hostfd *ret)
{
    struct inode *i = f->inode;
    struct layer_node *node = layer_node_of(i);
    struct pinned *p = pinned_of(f);
    if (!p)
        return -ENOMEM;
    if (!node->content && node->lower && !node->appended && !shared_writable)
        return map_lower(node->lower, p, ret);
    int r = layer_copy_up(i, true);
    if (r == 0)
        r = map_content(node->content, shared_writable, p, ret);
    return r;
}

const struct file_ops layer_file_ops = {
    .open = layer_open,
    .release = layer_release,
    .read = layer_read,
    .write = layer_write,
    .lseek = layer_lseek,
    .fsync = layer_fsync,
    .fallocate = layer_fallocate,
    .map = layer_map,
};
