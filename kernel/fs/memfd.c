// SPDX-License-Identifier: Apache-2.0
/*
 * memfd_create(2): an unnamed file of memory, with seals.
 *
 * Each is one memory file of the host, of which the tasks see no more than its mappings. Seals are
 * promises that programs trust one another for (that no page changes any more), and a page that is
 * mapped is changed without a call: only the host can keep such a promise, and know at F_SEAL_WRITE
 * that a writable mapping is left (EBUSY). So the seals on size and content are set on the host's
 * file, and it refuses what they forbid, to us as to its tasks. F_SEAL_SEAL and F_SEAL_EXEC are
 * ours.
 *
 * Memory: what all of them hold is charged against the sandbox's memory here, page by page as it is
 * written through calls; what page faults add counts against the sandbox's limit, whoever enforces
 * that (core/held.h, or a cgroup).
 *
 * host calls: fcntl fstat ftruncate lseek memfd_create newfstatat pwrite64
 */
#include "kernel/core/held.h"
#include "kernel/core/kernel.h"
#include "kernel/fs/filesystems.h"
#include "kernel/fs/layer/content.h"
#include "kernel/fs/host_io.h"
#include "kernel/fs/layer/store.h"
#include "kernel/host/newer.h"

#include <linux/falloc.h>
#include <linux/magic.h>
#include <stdio.h>

#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x0020 /* Linux 6.3 */
#endif

#define SEALS_OF_HOST (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)
#define SEALS_KNOWN   (SEALS_OF_HOST | F_SEAL_SEAL | F_SEAL_EXEC)

#define EXEC_BITS 0111

#define O_LARGEFILE_LINUX 0100000 /* libc has 0 where all files are large */

struct memfd {
    struct cached_fd file;   /* read-write, open as long as the inode lives */
    struct cached_fd reader; /* read-only, from the first mapping that needs it */
    unsigned seals;          /* all of them, those of the host too */
    uint64_t charged_bytes;
    struct list mapped_link; /* of those that page faults may fill */
};

static uint64_t charged_total;
static struct list all_mapped = {&all_mapped, &all_mapped};

static struct memfd *memfd_of(const struct inode *i)
{
    return i->private;
}

static bool never_closes(struct cached_fd *f)
{
    return false;
}

/* ---- memory ---- */

static int charge_what_is(struct memfd *m, struct stat *ret)
{
    if (fstat(m->file.n, ret) < 0)
        return -errno;
    uint64_t bytes = (uint64_t)ret->st_blocks * 512;
    charged_total += bytes - m->charged_bytes;
    m->charged_bytes = bytes;
    return 0;
}

/* What the host's file holds now, by writing or by page faults. */
static void recharge(struct inode *i)
{
    struct stat st;
    if (charge_what_is(memfd_of(i), &st) < 0)
        return;
    i->blocks = (uint64_t)st.st_blocks;
    i->size = st.st_size;
}

static uint64_t held_bytes(void)
{
    struct memfd *m;
    struct stat st;
    list_for_each(m, &all_mapped, mapped_link) charge_what_is(m, &st);
    return charged_total;
}

static struct held_memory held = {.bytes = held_bytes};

static bool may_grow(uint64_t bytes)
{
    uint64_t limit = kernel.config.memory_bytes ? kernel.config.memory_bytes : UINT64_MAX;
    return charged_total <= limit && bytes <= limit - charged_total;
}

/* ---- operations of the inode ---- */

static int memfd_refresh(struct inode *i)
{
    recharge(i);
    return 0;
}

static int memfd_setattr(struct inode *i, const struct inode_attr *attr)
{
    struct memfd *m = memfd_of(i);
    if ((attr->valid & ATTR_MODE) && (m->seals & F_SEAL_EXEC) &&
        ((i->mode ^ attr->mode) & EXEC_BITS))
        return -EPERM;
    if ((attr->valid & ATTR_SIZE) && ftruncate(m->file.n, attr->size) < 0)
        return -errno;
    if (attr->valid & ATTR_SIZE)
        recharge(i);
    inode_set_attr_generic(i, attr);
    return 0;
}

static void memfd_release_inode(struct inode *i)
{
    struct memfd *m = memfd_of(i);
    charged_total -= m->charged_bytes;
    list_remove(&m->mapped_link);
    fdcache_done(&m->reader);
    fdcache_done(&m->file);
    free(m);
}

static const struct inode_ops memfd_inode_ops = {
    .refresh = memfd_refresh,
    .setattr = memfd_setattr,
    .release = memfd_release_inode,
};

/* ---- operations of the file ---- */

static ssize_t memfd_read(struct file *f, struct uio *u, off_t *pos, int flags)
{
    recharge(f->inode);
    ssize_t n = content_read_host(memfd_of(f->inode)->file.n, u, *pos, f->inode->size);
    if (n > 0) {
        *pos += n;
        file_accessed(f);
    }
    return n;
}

/* Bytes that the host took of one piece, or -errno: -EPERM where a seal forbids it. */
static ssize_t write_piece(struct memfd *m, const char *data, size_t size, off_t pos)
{
    if (!may_grow(size))
        return -ENOSPC;
    ssize_t n = pwrite(m->file.n, data, size, pos);
    return n < 0 ? -errno : n;
}

static ssize_t memfd_write(struct file *f, struct uio *u, off_t *pos, int flags)
{
    struct memfd *m = memfd_of(f->inode);
    ssize_t done = 0;
    recharge(f->inode);
    if (f->flags & O_APPEND)
        *pos = f->inode->size;
    while (u->left > 0) {
        size_t want = MIN(u->left, CONTENT_BOUNCE_BYTES);
        ssize_t got = uio_copy_in(u, content_bounce, want);
        ssize_t n = got > 0 ? write_piece(m, content_bounce, (size_t)got, *pos) : got;
        if (n <= 0) {
            done = done > 0 ? done : n;
            break;
        }
        *pos += n;
        done += n;
        recharge(f->inode);
        if ((size_t)n < want)
            break;
    }
    if (done > 0)
        file_modified(f);
    return done;
}

static off_t memfd_lseek(struct file *f, off_t offset, int whence)
{
    recharge(f->inode);
    if (whence != SEEK_DATA && whence != SEEK_HOLE)
        return file_lseek_generic(f, offset, whence);
    off_t pos = lseek(memfd_of(f->inode)->file.n, offset, whence);
    if (pos < 0)
        return -errno;
    return f->pos = pos;
}

static int memfd_fsync(struct file *f)
{
    return 0;
}

static int memfd_fallocate(struct file *f, int mode, off_t offset, off_t size)
{
    struct memfd *m = memfd_of(f->inode);
    /* As tmpfs: there is no other way to fill a range with zeros than to punch it. */
    if (mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE))
        return -EOPNOTSUPP;
    if (!(mode & FALLOC_FL_PUNCH_HOLE) && !may_grow((uint64_t)size))
        return -ENOSPC;
    int r = host_io_allocate(m->file.n, mode, offset, size);
    if (r < 0)
        return r;
    recharge(f->inode);
    inode_touch_modified(f->inode);
    return 0;
}

static int reader_open(struct memfd *m)
{
    if (m->reader.n >= 0)
        return 0;
    int fd = store_reopen_read_only(m->file.n);
    if (fd < 0)
        return fd;
    fdcache_opened(&m->reader, fd);
    int r = fdcache_pin(&m->reader);
    if (r < 0)
        fdcache_done(&m->reader);
    return r;
}

static int memfd_map(struct file *f, bool shared_writable, struct hostfd *ret)
{
    struct memfd *m = memfd_of(f->inode);
    if (!shared_writable) {
        int r = reader_open(m);
        if (r < 0)
            return r;
    }
    *ret = (struct hostfd){shared_writable ? m->file.n : m->reader.n};
    if (!list_is_linked(&m->mapped_link))
        list_append(&all_mapped, &m->mapped_link);
    return 0;
}

static const struct file_ops memfd_file_ops = {
    .read = memfd_read,
    .write = memfd_write,
    .lseek = memfd_lseek,
    .fsync = memfd_fsync,
    .fallocate = memfd_fallocate,
    .map = memfd_map,
};

/* ---- making ---- */

static int memfd_statfs(struct super *s, struct statfs *ret)
{
    *ret = (struct statfs){
        .f_type = s->magic,
        .f_bsize = GUEST_PAGE_SIZE,
        .f_frsize = GUEST_PAGE_SIZE,
        .f_namelen = NAME_LENGTH_MAX,
    };
    return 0;
}

static struct super *memfd_super(void)
{
    static struct super *s;
    if (s)
        return s;
    s = super_new("tmpfs", TMPFS_MAGIC);
    if (s) {
        s->cached = true;
        s->statfs = memfd_statfs;
    }
    return s;
}

/* A host on which memory files must not be executable (vm.memfd_noexec) wants to be told so. */
static int host_memfd(void)
{
    int fd = memfd_create("sandbox", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("sandbox", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0)
        return fd;
    return errno == EMFILE ? -ENFILE : -errno;
}

static struct memfd *memfd_new(int *ret_error)
{
    struct memfd *m = calloc(1, sizeof(*m));
    int fd = m ? host_memfd() : -ENOMEM;
    if (fd < 0) {
        free(m);
        *ret_error = fd;
        return NULL;
    }
    held_memory_add(&held);
    list_init(&m->mapped_link);
    fdcache_init(&m->file, never_closes);
    fdcache_init(&m->reader, never_closes);
    fdcache_opened(&m->file, fd);
    int r = fdcache_pin(&m->file);
    if (r == 0)
        return m;
    fdcache_done(&m->file);
    free(m);
    *ret_error = r;
    return NULL;
}

static struct inode *memfd_inode(unsigned flags, int *ret_error)
{
    struct super *s = memfd_super();
    bool noexec = flags & MFD_NOEXEC_SEAL;
    struct inode *i = s ? inode_new(s, S_IFREG | (noexec ? 0666 : 0777)) : NULL;
    *ret_error = -ENOMEM;
    struct memfd *m = i ? memfd_new(ret_error) : NULL;
    if (!m) {
        inode_put(i);
        return NULL;
    }
    m->seals = flags & (MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL) ? 0 : F_SEAL_SEAL;
    m->seals |= noexec ? F_SEAL_EXEC : 0;
    i->private = m;
    i->ops = &memfd_inode_ops;
    i->file_ops = &memfd_file_ops;
    i->nlink = 0;
    return i;
}

int memfd_create_file(const char *name, unsigned flags, struct file **ret)
{
    char text[NAME_LENGTH_MAX + 32];
    int r;
    struct inode *i = memfd_inode(flags, &r);
    if (!i)
        return r;
    /* What links in /proc show; no tree has it, so it has no other end than this. */
    snprintf(text, sizeof(text), "/memfd:%s (deleted)", name);
    struct path path = {NULL, dentry_new_anonymous(i, text)};
    r = path.dentry ? file_new(path, i, O_RDWR | O_LARGEFILE_LINUX, NULL, ret) : -ENOMEM;
    /* On Linux its first description is no writer either: fexecve(3) of it works, not ETXTBSY. */
    if (r == 0)
        file_uncount_writer(*ret);
    dentry_put(path.dentry);
    inode_put(i);
    return r;
}

/* ---- seals ---- */

int memfd_add_seals(struct file *f, unsigned seals)
{
    struct inode *i = f->inode;
    struct memfd *m = memfd_of(i);
    if (!f->can_write)
        return -EPERM;
    if (i->ops != &memfd_inode_ops || seals & ~(unsigned)SEALS_KNOWN)
        return -EINVAL;
    if (m->seals & F_SEAL_SEAL)
        return -EPERM;
    /* A program that nobody may change any more is sealed as a whole, from its making on. */
    if ((seals & F_SEAL_EXEC) && (i->mode & EXEC_BITS))
        seals |= SEALS_OF_HOST;
    if ((seals & SEALS_OF_HOST) && fcntl(m->file.n, F_ADD_SEALS, seals & SEALS_OF_HOST) < 0)
        return -errno;
    m->seals |= seals;
    return 0;
}

int memfd_get_seals(struct file *f)
{
    if (f->inode->ops != &memfd_inode_ops)
        return -EINVAL;
    return (int)memfd_of(f->inode)->seals;
}
