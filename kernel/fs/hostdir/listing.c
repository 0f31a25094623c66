// SPDX-License-Identifier: Apache-2.0
/*
 * Listing of host folders. The host's own cookies can't be given out (they may be any 64-bit
 * number), so the names are taken all at once when a listing begins, and a cookie is a place among
 * them.
 *
 * host calls: getdents64
 */
#include "kernel/fs/hostdir/hostdir.h"

#include "kernel/core/limits.h"

#include <dirent.h>
#include <fcntl.h>

#define FIRST_COOKIE 3
#define CHUNK_BYTES  32768

struct listing {
    char *entries; /* struct dirent64 as the host wrote them */
    size_t size;
    /* Where to go on: of the entry with cookie next_cookie. */
    size_t next_offset;
    uint64_t next_cookie;
};

static size_t listings_bytes;

static void listing_reset(struct listing *l)
{
    listings_bytes -= l->size;
    free(l->entries);
    *l = (struct listing){.next_cookie = FIRST_COOKIE};
}

static int listing_read(struct listing *l, int fd)
{
    _cleanup_free_ char *chunk = malloc(CHUNK_BYTES);
    if (!chunk)
        return -ENOMEM;
    for (;;) {
        ssize_t n = getdents64(fd, chunk, CHUNK_BYTES);
        if (n <= 0)
            return n < 0 ? -errno : 0;
        char *bigger = listings_bytes + (size_t)n <= LIMIT_LISTING_BYTES
                           ? realloc(l->entries, l->size + (size_t)n)
                           : NULL;
        if (!bigger)
            return -ENOMEM;
        memcpy(bigger + l->size, chunk, (size_t)n);
        l->entries = bigger;
        l->size += (size_t)n;
        listings_bytes += (size_t)n;
    }
}

static int listing_begin(struct file *dir, struct listing *l)
{
    listing_reset(l);
    _cleanup_close_ int fd = hostnode_open(hostnode_of(dir->inode), O_RDONLY | O_DIRECTORY);
    int r = fd < 0 ? fd : listing_read(l, fd);
    if (r < 0)
        listing_reset(l);
    return r;
}

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Places the listing behind the name with this cookie. */
static void listing_seek(struct listing *l, uint64_t after)
{
    if (after < l->next_cookie) {
        l->next_offset = 0;
        l->next_cookie = FIRST_COOKIE;
    }
    while (l->next_cookie <= after && l->next_offset < l->size) {
        const struct dirent64 *e = (const struct dirent64 *)(l->entries + l->next_offset);
        l->next_offset += e->d_reclen;
        l->next_cookie++;
    }
}

static struct listing *listing_of(struct file *dir)
{
    if (!dir->private) {
        struct listing *l = calloc(1, sizeof(*l));
        if (l)
            l->next_cookie = FIRST_COOKIE;
        dir->private = l;
    }
    return dir->private;
}

int hostdir_list(struct file *dir, struct dir_emit *emit)
{
    struct dentry *d = dir->path.dentry;
    struct inode *parent = d->parent && d->parent->inode ? d->parent->inode : d->inode;
    struct listing *l = listing_of(dir);
    if (!l)
        return -ENOMEM;
    int r = emit->after == 0 || !l->entries ? listing_begin(dir, l) : 0;
    if (r < 0)
        return r;
    if (emit->after < 1 && !emit->emit(emit, ".", 1, d->inode->ino, DT_DIR, 1))
        return 0;
    if (emit->after < 2 && !emit->emit(emit, "..", 2, parent->ino, DT_DIR, 2))
        return 0;
    listing_seek(l, MAX(emit->after, 2UL));
    while (l->next_offset < l->size) {
        const struct dirent64 *e = (const struct dirent64 *)(l->entries + l->next_offset);
        if (!is_dot(e->d_name) &&
            !emit->emit(emit, e->d_name, strlen(e->d_name), e->d_ino, e->d_type, l->next_cookie))
            break;
        l->next_offset += e->d_reclen;
        l->next_cookie++;
    }
    return 0;
}

static ssize_t list_read(struct file *f, struct uio *u, off_t *pos, int flags)
{
    return -EISDIR;
}

static int list_fsync(struct file *f)
{
    return 0;
}

static void list_release(struct file *f)
{
    struct listing *l = f->private;
    if (l)
        listing_reset(l);
    free(l);
}

static off_t list_lseek(struct file *f, off_t offset, int whence)
{
    return dir_file_ops.lseek(f, offset, whence);
}

const struct file_ops hostdir_list_ops = {
    .read = list_read,
    .lseek = list_lseek,
    .fsync = list_fsync,
    .release = list_release,
};
