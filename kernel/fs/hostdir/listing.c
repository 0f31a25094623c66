// SPDX-License-Identifier: Apache-2.0
/*
 * Listing of host folders. The host's own cookies can't be given out (they may be any 64-bit
 * number), so all names are taken when a listing begins, and a cookie is a place among them.
 *
 * Taking them may need long: so a look takes a part, and the next one goes on. Until then the
 * folder's descriptor stays open, of a few listings at a time: of others only the host's position
 * is kept.
 *
 * host calls: close getdents64 lseek
 */
#include "kernel/fs/hostdir/hostdir.h"

#include "kernel/core/limits.h"

#include <dirent.h>
#include <fcntl.h>

#define FIRST_COOKIE 3
#define CHUNK_BYTES  32768
#define PART_CHUNKS  4
#define OPEN_MAX     8 /* listings with a descriptor */

struct listing {
    char *entries; /* struct dirent64 as the host wrote them */
    size_t size;
    /* Where to go on: of the entry with cookie next_cookie. */
    size_t next_offset;
    uint64_t next_cookie;
    /* While names are taken: */
    bool is_begun;
    int fd; /* or -1 */
    off_t host_position;
    struct list open_link; /* open_listings, the eldest first */
};

static size_t listings_bytes;
static struct list open_listings = {&open_listings, &open_listings};
static unsigned open_count;

static void listing_close(struct listing *l)
{
    if (l->fd < 0)
        return;
    close(l->fd);
    l->fd = -1;
    list_remove(&l->open_link);
    open_count--;
}

static void listing_init(struct listing *l)
{
    *l = (struct listing){.next_cookie = FIRST_COOKIE, .fd = -1};
    list_init(&l->open_link);
}

static void listing_reset(struct listing *l)
{
    listing_close(l);
    listings_bytes -= l->size;
    free(l->entries);
    listing_init(l);
}

/* Opens the folder where the last part ended. 0 or -errno. */
static int listing_open(struct file *dir, struct listing *l)
{
    if (l->fd >= 0)
        return 0;
    if (open_count == OPEN_MAX)
        listing_close(list_first(&open_listings, struct listing, open_link));
    int fd = hostnode_open(hostnode_of(dir->inode), O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return fd;
    if (l->host_position && lseek(fd, l->host_position, SEEK_SET) < 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    l->fd = fd;
    list_append(&open_listings, &l->open_link);
    open_count++;
    return 0;
}

static off_t position_after(const char *chunk, size_t size)
{
    off_t position = 0;
    for (size_t at = 0; at < size;) {
        const struct dirent64 *e = (const struct dirent64 *)(chunk + at);
        position = e->d_off;
        at += e->d_reclen;
    }
    return position;
}

/* Takes names: 0 when all are there, -EAGAIN when a part is, or -errno. */
static int listing_read(struct listing *l, bool in_parts)
{
    _cleanup_free_ char *chunk = malloc(CHUNK_BYTES);
    if (!chunk)
        return -ENOMEM;
    for (unsigned taken = 0;; taken++) {
        if (in_parts && taken == PART_CHUNKS)
            return -EAGAIN;
        ssize_t n = getdents64(l->fd, chunk, CHUNK_BYTES);
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
        l->host_position = position_after(chunk, (size_t)n);
    }
}

/* Begins a listing, or goes on with one that has not all names yet: as listing_read(). */
static int listing_take(struct file *dir, struct listing *l, bool in_parts)
{
    if (!l->is_begun)
        listing_reset(l);
    l->is_begun = true;
    int r = listing_open(dir, l);
    if (r == 0)
        r = listing_read(l, in_parts);
    if (r == -EAGAIN)
        return r;
    if (r < 0) {
        listing_reset(l);
        return r;
    }
    listing_close(l);
    l->is_begun = false;
    return 0;
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
            listing_init(l);
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
    bool is_to_take = emit->after == 0 || !l->entries || l->is_begun;
    int r = is_to_take ? listing_take(dir, l, emit->in_parts) : 0;
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
