// SPDX-License-Identifier: Apache-2.0
/*
 * Inodes of the layer: making, changing and freeing them.
 */
#include "kernel/fs/layer/layer.h"

#include "kernel/core/kernel.h"
#include "kernel/fs/host_io.h"

/*
 * Numbers of lower inodes lie above all of the sandbox's own: a tag of the host device, then the
 * host's number, mixed so that it says nothing of the host.
 */
#define INO_BITS 48
#define INO_MASK ((1ULL << INO_BITS) - 1)

#define REWRITE_MAX_BYTES (4UL << 20)

static uint64_t ino_secret(void)
{
    static uint64_t secret;
    if (!secret) {
        kernel_random(&secret, sizeof(secret));
        secret |= 1; /* odd: multiplying by it is one to one */
    }
    return secret;
}

uint64_t layer_lower_ino(struct layer *layer, uint64_t host_dev, uint64_t host_ino)
{
    size_t slot = 0;
    while (slot + 1 < ARRAY_SIZE(layer->dev_seen) && layer->dev_seen[slot] &&
           layer->dev_seen[slot] != host_dev)
        slot++;
    layer->dev_seen[slot] = host_dev;
    return (slot + 1) << INO_BITS | (host_ino * ino_secret() & INO_MASK);
}

static struct inode *inode_alloc(struct super *s, mode_t mode)
{
    struct layer_node *node = calloc(1, sizeof(*node));
    struct inode *i = node ? inode_new(s, mode) : NULL;
    if (!i) {
        free(node);
        return NULL;
    }
    i->private = node;
    i->ops = &layer_ops;
    if (S_ISDIR(mode)) {
        i->file_ops = &dir_file_ops;
        i->nlink = 2;
    } else if (S_ISREG(mode)) {
        i->file_ops = &layer_file_ops;
    }
    return i;
}

int layer_inode_new(struct super *s, mode_t mode, uid_t uid, gid_t gid, struct inode **ret)
{
    struct layer *layer = s->private;
    struct storage_budget *b = layer->account.budget;
    if (b && b->used_inodes >= b->max_inodes)
        return -ENOSPC;
    struct inode *i = inode_alloc(s, mode);
    if (!i)
        return -ENOMEM;
    i->uid = uid;
    i->gid = gid;
    i->keep = true;
    if (b)
        b->used_inodes++;
    layer_node_of(i)->charged = true;
    *ret = i;
    return 0;
}

static void show_appendix(struct inode *i)
{
    layer_node_of(i)->appended = true;
    i->size += (off_t)layer_appended_bytes(i);
    i->blocks = ((uint64_t)i->size + 511) / 512;
}

static bool is_one_of(const struct lower *lower, const char *const *names)
{
    while (*names && !lower_ends_with(lower, *names))
        names++;
    return *names != NULL;
}

void layer_show_appendix(struct inode *i)
{
    struct layer_node *node = layer_node_of(i);
    if (!S_ISREG(i->mode) || !node->lower || node->appended)
        return;
    show_appendix(i);
    i->keep = true;
}

struct inode *layer_inode_from(struct super *s, struct lower *lower, const struct stat *st)
{
    struct inode *i = inode_alloc(s, st->st_mode & (S_IFMT | 07777));
    if (!i) {
        lower_put(lower);
        return NULL;
    }
    layer_node_of(i)->lower = lower;
    i->ino = layer_lower_ino(s->private, st->st_dev, st->st_ino);
    i->size = st->st_size;
    i->blocks = (uint64_t)st->st_blocks;
    i->atime = st->st_atim;
    i->mtime = st->st_mtim;
    i->ctime = i->btime = st->st_ctim;
    /* Some file systems say 1 for every directory. */
    if (S_ISDIR(st->st_mode))
        i->nlink = lower->view ? 2 : (uint32_t)MAX(st->st_nlink, 2UL);
    const struct layer_appendix *a = layer_of(i)->appendix;
    if (a && S_ISREG(st->st_mode)) {
        layer_node_of(i)->to_rewrite = is_one_of(lower, a->rewritten_names);
        if (is_one_of(lower, a->names))
            show_appendix(i);
    }
    return i;
}

static size_t target_bytes; /* of all links */

int layer_set_target(struct inode *i, const char *target)
{
    size_t size = strlen(target) + 1;
    if (size > LIMIT_SYMLINK_BYTES - target_bytes)
        return -ENOSPC;
    char *copy = malloc(size);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, target, size);
    target_bytes += size;
    layer_node_of(i)->target = copy;
    return 0;
}

void layer_inode_release(struct inode *i)
{
    struct layer_node *node = layer_node_of(i);
    if (node->charged && layer_of(i)->account.budget)
        layer_of(i)->account.budget->used_inodes--;
    content_free(node->content);
    lower_put(node->lower);
    xattr_free(node->xattrs);
    if (node->target)
        target_bytes -= strlen(node->target) + 1;
    free(node->target);
    free(node);
}

int layer_append_bytes(struct content *c, const char *data, size_t size)
{
    while (size > 0) {
        struct uio u;
        /* Only read from: a uio has one kind of pointer for both directions. */
        uio_init_kernel(&u, (char *)(uintptr_t)data, size);
        ssize_t n = content_write(c, &u, c->size);
        if (n <= 0)
            return n < 0 ? (int)n : -EIO;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

/* What reads of i give goes into c, which is empty. */
static int copy_bytes(struct inode *i, struct content *c)
{
    size_t appended = layer_appended_bytes(i);
    int fd = lower_open(layer_node_of(i)->lower);
    if (fd < 0)
        return fd;
    int r = content_copy_from(c, fd, i->size - (off_t)appended);
    if (r < 0 || appended == 0)
        return r;
    return layer_append_bytes(c, layer_of(i)->appendix->text, appended);
}

/* i's bytes are those of c from now on. */
static void take_content(struct inode *i, struct content *c)
{
    struct layer_node *node = layer_node_of(i);
    node->content = c;
    lower_put(node->lower);
    node->lower = NULL;
    node->appended = node->to_rewrite = false;
    i->keep = true;
    layer_refresh(i);
}

int layer_copy_up(struct inode *i, bool keep_bytes)
{
    struct layer_node *node = layer_node_of(i);
    if (node->content)
        return 0;
    struct content *c = content_new(&layer_of(i)->account);
    if (!c)
        return -ENOMEM;
    int r = node->lower && keep_bytes && i->size > 0 ? copy_bytes(i, c) : 0;
    if (r < 0) {
        content_free(c);
        return r;
    }
    take_content(i, c);
    return 0;
}

/* All of a file below: -EFBIG past REWRITE_MAX_BYTES, -ENOMEM, -EIO. */
static int read_whole(struct lower *l, struct buf *ret)
{
    int fd = lower_open(l);
    for (off_t pos = 0; fd >= 0;) {
        ssize_t n = host_io_read(fd, content_bounce, CONTENT_BOUNCE_BYTES, pos);
        if (n <= 0)
            return (int)n;
        int r = buf_append(ret, content_bounce, (size_t)n);
        if (r < 0)
            return r;
        pos += n;
    }
    return fd;
}

void layer_rewrite(struct inode *i)
{
    struct layer_node *node = layer_node_of(i);
    const struct layer_appendix *a = layer_of(i)->appendix;
    struct buf old = BUF_INIT(REWRITE_MAX_BYTES), new = BUF_INIT(2 * REWRITE_MAX_BYTES);
    struct content *c = content_new(&layer_of(i)->account);
    int r = c ? read_whole(node->lower, &old) : -ENOMEM;
    if (r == 0)
        r = a->rewrite(a, old.data, old.size, &new);
    if (r == 0)
        r = layer_append_bytes(c, new.data, new.size);
    if (r == 0)
        take_content(i, c);
    else
        content_free(c);
    node->to_rewrite = false;
    buf_done(&old);
    buf_done(&new);
}

int layer_refresh(struct inode *i)
{
    struct content *c = layer_node_of(i)->content;
    if (c) {
        i->size = c->size;
        i->blocks = content_blocks(c);
    }
    return 0;
}

static int set_size(struct inode *i, off_t size)
{
    if (size == i->size)
        return 0;
    int r = layer_copy_up(i, size > 0);
    if (r == 0)
        r = content_truncate(layer_node_of(i)->content, size);
    return r < 0 ? r : layer_refresh(i);
}

int layer_setattr(struct inode *i, const struct inode_attr *attr)
{
    if (attr->valid & ATTR_SIZE) {
        int r = set_size(i, attr->size);
        if (r < 0)
            return r;
    }
    inode_set_attr_generic(i, attr);
    i->keep = true;
    return 0;
}

ssize_t layer_getxattr(struct inode *i, const char *name, void *value, size_t size)
{
    return xattr_get(layer_node_of(i)->xattrs, name, value, size);
}

int layer_setxattr(struct inode *i, const char *name, const void *value, size_t size, int flags)
{
    int r = xattr_set(&layer_node_of(i)->xattrs, name, value, size, flags);
    if (r == 0) {
        inode_touch_changed(i);
        i->keep = true;
    }
    return r;
}

ssize_t layer_listxattr(struct inode *i, char *names, size_t size)
{
    return xattr_list(layer_node_of(i)->xattrs, names, size);
}
