// SPDX-License-Identifier: Apache-2.0
/*
 * open(2), openat2(2), close(2), close_range(2).
 */
#include "kernel/core/kernel.h"
#include "kernel/fs/pipe.h"
#include "kernel/host/host.h"
#include "kernel/proc/process.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"
#include "kernel/sys/new_fd.h"

#include <linux/close_range.h>
#include <linux/openat2.h>

/* What the kernel calls O_LARGEFILE; libc's is 0 where all files are large. */
#define O_LARGEFILE_KERNEL 0100000

#define O_TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)

#define OPEN_FLAGS_KNOWN                                                                        \
    (O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK | O_SYNC |       \
     O_DSYNC | O_ASYNC | O_DIRECT | O_LARGEFILE_KERNEL | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | \
     O_CLOEXEC | O_PATH | O_TMPFILE_BIT)
#define OPEN_FLAGS_OF_O_PATH (O_DIRECTORY | O_NOFOLLOW | O_PATH | O_CLOEXEC)

#define MODE_MASK 07777

#define RESOLVE_KNOWN                                                                  \
    (RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH | \
     RESOLVE_IN_ROOT | RESOLVE_CACHED)

/* struct open_how of the first version, which is the only one so far. */
#define OPEN_HOW_MIN sizeof(struct open_how)

/* build_open_flags() of Linux: which combinations there are. */
static int check_flags(const struct open_how *how)
{
    uint64_t flags = how->flags;
    bool creates = flags & (O_CREAT | O_TMPFILE_BIT);
    if ((flags & ~(uint64_t)OPEN_FLAGS_KNOWN) || (how->resolve & ~(uint64_t)RESOLVE_KNOWN))
        return -EINVAL;
    if ((how->resolve & RESOLVE_BENEATH) && (how->resolve & RESOLVE_IN_ROOT))
        return -EINVAL;
    if (creates ? how->mode & ~(uint64_t)MODE_MASK : how->mode != 0)
        return -EINVAL;
    if ((flags & (O_CREAT | O_DIRECTORY)) == (O_CREAT | O_DIRECTORY))
        return -EINVAL;
    if (flags & O_TMPFILE_BIT) {
        int access = flags & O_ACCMODE;
        if ((flags & (O_TMPFILE | O_CREAT)) != O_TMPFILE || access == O_RDONLY)
            return -EINVAL;
    }
    if ((flags & O_PATH) && (flags & ~(uint64_t)OPEN_FLAGS_OF_O_PATH))
        return -EINVAL;
    return 0;
}

static unsigned walk_flags_of(uint64_t resolve)
{
    static const struct {
        uint64_t resolve;
        unsigned walk;
    } table[] = {
        {RESOLVE_NO_XDEV, WALK_NO_XDEV},
        {RESOLVE_NO_MAGICLINKS, WALK_NO_MAGICLINKS},
        {RESOLVE_NO_SYMLINKS, WALK_NO_SYMLINKS | WALK_NO_MAGICLINKS},
        {RESOLVE_BENEATH, WALK_BENEATH},
        {RESOLVE_IN_ROOT, WALK_IN_ROOT},
    };
    unsigned flags = 0;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (resolve & table[i].resolve)
            flags |= table[i].walk;
    return flags;
}

/* A number is free: asked before the name is touched, since a file must not be made for an EMFILE.
 */
static bool has_free_number(const struct fdtable *t, size_t limit)
{
    size_t end = MIN(limit, t->capacity);
    for (size_t i = t->first_free; i < end; i++)
        if (!t->entries[i].file)
            return true;
    return t->capacity < limit && t->first_free < limit;
}

static void release_fifo(struct call *c)
{
    pipe_open_cancel(&c->state_word);
    file_put(c->state);
}

/*
 * fifo(7): the end that is opened alone waits for its other side. It is registered meanwhile, in
 * c->state_word; vfs_open() has checked the name and its file, in c->state, is no use but to hold
 * it.
 */
static long open_fifo(struct call *c, bool cloexec)
{
    const struct file *half = c->state;
    struct file *f;
    int r = pipe_open_fifo(half->path, half->flags, &c->state_word, &f);
    if (r == 0)
        return new_fd_install(c, f, cloexec);
    if (r == -EAGAIN)
        r = call_wait_on(c, pipe_open_queue(half->inode));
    return r < 0 ? r : call_park(c, RESTART_SYS);
}

static long finish_open(struct call *c, struct file *f, bool cloexec)
{
    if (!file_is_half_open(f))
        return new_fd_install(c, f, cloexec);
    /* Mode 3 asks for both rights and gives neither: a FIFO has no such end. */
    if ((f->flags & O_ACCMODE) == O_ACCMODE) {
        file_put(f);
        return -EINVAL;
    }
    c->state = f;
    c->release = release_fifo;
    return open_fifo(c, cloexec);
}

static int open_base(struct call *c, int dirfd, const char *name, unsigned walk_flags,
                     struct walk_base *ret)
{
    /* With these an absolute name begins at dirfd too (or is refused for it). */
    if (walk_flags & (WALK_IN_ROOT | WALK_BENEATH))
        return thread_walk_base(c->thread, dirfd, ret);
    return args_base(c, dirfd, name, ret);
}

static long open_name(struct call *c, int dirfd, struct gaddr address, const struct open_how *how)
{
    char name[GUEST_PATH_MAX];
    struct walk_base base;
    struct file *f;
    bool cloexec = how->flags & O_CLOEXEC;
    if (c->state)
        return open_fifo(c, cloexec);
    int r = check_flags(how);
    if (r == 0 && (how->resolve & RESOLVE_CACHED))
        r = -EAGAIN;
    if (r == 0)
        r = args_path(c, address, name);
    if (r < 0)
        return r;
    if (!has_free_number(c->thread->files, process_limit(c->thread->process, RLIMIT_NOFILE)))
        return -EMFILE;
    struct open_how_in in = {
        .flags = (int)how->flags,
        .mode = (mode_t)how->mode & ~c->thread->fs->umask,
        .walk_flags = walk_flags_of(how->resolve),
    };
    r = open_base(c, dirfd, name, in.walk_flags, &base);
    if (r == 0)
        r = vfs_open(&base, name, &in, &f);
    return r < 0 ? r : finish_open(c, f, cloexec);
}

/* open(2) and openat(2) ignore what openat2(2) refuses. */
static struct open_how lenient_how(int flags, uint32_t mode)
{
    struct open_how how = {.flags = (unsigned)flags & OPEN_FLAGS_KNOWN};
    if (how.flags & O_PATH)
        how.flags &= OPEN_FLAGS_OF_O_PATH;
    if (how.flags & (O_CREAT | O_TMPFILE_BIT))
        how.mode = mode & MODE_MASK;
    return how;
}

long sys_open(struct call *c)
{
    struct open_how how = lenient_how(call_int(c, 1), call_uint(c, 2));
    return open_name(c, AT_FDCWD, call_addr(c, 0), &how);
}

long sys_creat(struct call *c)
{
    struct open_how how = lenient_how(O_CREAT | O_WRONLY | O_TRUNC, call_uint(c, 1));
    return open_name(c, AT_FDCWD, call_addr(c, 0), &how);
}

long sys_openat(struct call *c)
{
    struct open_how how = lenient_how(call_int(c, 2), call_uint(c, 3));
    return open_name(c, call_int(c, 0), call_addr(c, 1), &how);
}

/* What a newer version of the struct has more must be 0: -E2BIG, copy_struct_from_user() of Linux.
 */
static int read_how(struct call *c, struct gaddr address, size_t size, struct open_how *ret)
{
    char tail[GUEST_PAGE_SIZE];
    if (size < OPEN_HOW_MIN)
        return -EINVAL;
    if (size > GUEST_PAGE_SIZE)
        return -E2BIG;
    int r = call_read(c, tail, address, size);
    if (r < 0)
        return r;
    for (size_t i = OPEN_HOW_MIN; i < size; i++)
        if (tail[i])
            return -E2BIG;
    memcpy(ret, tail, OPEN_HOW_MIN);
    return 0;
}

long sys_openat2(struct call *c)
{
    struct open_how how;
    int r = read_how(c, call_addr(c, 2), c->arg[3], &how);
    return r < 0 ? r : open_name(c, call_int(c, 0), call_addr(c, 1), &how);
}

/*
 * The host has a descriptor at the same number if the file was mapped through it. It is inert, but
 * it keeps the content on the host's disk, so the host is let run the same close on its own table.
 *
 * Not if a sibling shares the table: it could open and map another file at the number before the
 * host closes, and would find nothing there from then on. Then the loader stub takes the place.
 */
static bool close_on_host(struct call *c, int fd)
{
    if (c->thread->files->refs == 1)
        return true;
    host->place_fd(c->id, kernel.stub, fd);
    return false;
}

long sys_close(struct call *c)
{
    struct fdtable *t = c->thread->files;
    int fd = call_int(c, 0);
    struct fd_entry *entry = fdtable_entry(t, fd);
    if (!entry)
        return -EBADF;
    bool on_host = entry->host_slot != HOST_SLOT_NONE && close_on_host(c, fd);
    entry->host_slot = HOST_SLOT_NONE;
    int r = fdtable_close(t, fd, t);
    return r == 0 && on_host ? CALL_HOST : r;
}

static void close_one(struct fdtable *t, int fd, unsigned flags)
{
    struct fd_entry *entry = fdtable_entry(t, fd);
    if (!entry)
        return;
    if (flags & CLOSE_RANGE_CLOEXEC) {
        entry->cloexec = true;
        return;
    }
    entry->host_slot = 0;
    fdtable_close(t, fd, t);
}

/*
 * What the host's table holds at these numbers stays: it is inert, and goes when something is
 * mapped at the number again. But a table that is no longer shared here must not be shared there,
 * else one thread's mmap would put another file under its sibling's number: with
 * CLOSE_RANGE_UNSHARE the host runs the call too.
 */
long sys_close_range(struct call *c)
{
    struct fdtable *t = c->thread->files;
    unsigned first = call_uint(c, 0), last = call_uint(c, 1), flags = call_uint(c, 2);
    if ((flags & ~(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC)) || first > last)
        return -EINVAL;
    bool unshares = (flags & CLOSE_RANGE_UNSHARE) && t->refs > 1;
    if (unshares) {
        struct fdtable *own = fdtable_copy(t);
        if (!own)
            return -ENOMEM;
        c->thread->files = own;
        fdtable_put(t);
        t = own;
    }
    size_t end = MIN((size_t)last + 1, t->capacity);
    for (size_t fd = first; fd < end; fd++)
        close_one(t, (int)fd, flags);
    return unshares ? CALL_HOST : 0;
}
