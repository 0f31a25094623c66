// SPDX-License-Identifier: Apache-2.0
/*
 * Memory: the host's, but for the question which file a mapping shows.
 *
 * mmap(2) of a file. The host will run the call with the registers as they are, so its own table
 * must have, at the number that the guest used, a descriptor of the content: the kernel puts one
 * there first. The race is harmless: another thread of the guest can make the host map what another
 * permitted mmap put at that number, never more than it was allowed to.
 *
 * What stays there is inert (no other call that takes a descriptor reaches the host) and saves
 * placing it again: a loader maps each library four times. fd_entry.host_slot says what it is.
 *
 * host calls: fstat newfstatat
 */
#include "kernel/core/kernel.h"
#include "kernel/host/host.h"
#include "kernel/proc/budget.h"
#include "kernel/proc/memory_limit.h"
#include "kernel/proc/shared_memory.h"
#include "kernel/proc/space.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"

#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#define MAP_TYPE_MASK 0x0fu

static bool slot_is(const struct fd_entry *e, uint64_t slot)
{
    return e->host_slot == slot;
}

/* Identifies a host file and the right to write: never one of HOST_SLOT_*. */
static uint64_t slot_of(const struct stat *st, bool writable)
{
    uint64_t key[3] = {st->st_dev, st->st_ino, writable};
    return map_hash_bytes(key, sizeof(key)) | 2;
}

/* What is nowhere but behind its descriptor: pipes, sockets, eventfds, but not memfds. */
static bool is_noexec(const struct file *f)
{
    return f->path.mount ? f->path.mount->noexec : !S_ISREG(f->inode->mode);
}

static long check_access(const struct file *f, uint64_t protection, unsigned type)
{
    if (!f->can_read)
        return -EACCES;
    if (type != MAP_PRIVATE && (protection & PROT_WRITE) && !f->can_write)
        return -EACCES;
    if ((protection & PROT_EXEC) && is_noexec(f))
        return -EPERM;
    return f->ops->map ? 0 : -ENODEV;
}

/* MAP_POPULATE fills a mapping, and a shared one of /dev/zero is memory of its own. */
static long reserve_memory(const struct call *c, bool is_shared_memory)
{
    /* The host's own pages: many small mappings are not small together. */
    uint64_t size = c->arg[1] + (-c->arg[1] & (GUEST_PAGE_SIZE - 1));
    if (size < c->arg[1])
        return -ENOMEM;
    if ((call_uint(c, 3) & MAP_POPULATE) && !memory_limit_admits(size))
        return -ENOMEM;
    return is_shared_memory ? shared_memory_reserve(c->thread, size) : 0;
}

static bool is_zero_device(const struct inode *i)
{
    return S_ISCHR(i->mode) && i->rdev == makedev(1, 5);
}

/* What Linux looks for before it looks at the file, but for what is at the place already. */
static long check_place(const struct call *c, const struct inode *i)
{
    uint64_t address = c->arg[0], size = c->arg[1], offset = c->arg[5];
    uint64_t end = S_ISREG(i->mode) || S_ISSOCK(i->mode) ? INT64_MAX : UINT64_MAX;
    bool is_fixed = call_uint(c, 3) & (MAP_FIXED | MAP_FIXED_NOREPLACE);
    if (size == 0)
        return -EINVAL;
    if (size > GUEST_ADDRESS_END || (is_fixed && address > GUEST_ADDRESS_END - size))
        return -ENOMEM;
    if (is_fixed && address & (GUEST_PAGE_SIZE - 1))
        return -EINVAL;
    return offset > end - size ? -EOVERFLOW : 0;
}

static long map_file(struct call *c, struct file *f, int fd, uint64_t protection, unsigned type)
{
    struct hostfd content;
    struct stat st;
    long r = check_access(f, protection, type);
    if (r == 0)
        r = reserve_memory(c, type != MAP_PRIVATE && is_zero_device(f->inode));
    if (r < 0)
        return r;
    /* A shared mapping may be made writable later, if the file was opened for it. */
    bool writable = type != MAP_PRIVATE && f->can_write;
    space_tidy(c->thread);
    r = f->ops->map(f, writable, &content);
    if (r == -ENOMEM && space_forget_unmapped(c->thread))
        r = f->ops->map(f, writable, &content);
    if (r < 0)
        return r;
    if (fstat(content.n, &st) < 0)
        return -errno;
    struct fd_entry *e = fdtable_entry(c->thread->files, fd);
    uint64_t slot = slot_of(&st, writable);
    if (!slot_is(e, slot)) {
        r = host->place_fd(c->id, content, fd);
        if (r < 0)
            return r == -EBADF ? -EMFILE : r;
        e->host_slot = slot;
    }
    if (writable)
        budget_note_mapped(c->thread->process->space);
    space_note_mapping(c->thread->process->space, f, content);
    return CALL_HOST;
}

long sys_mmap(struct call *c)
{
    uint64_t protection = c->arg[2];
    unsigned flags = call_uint(c, 3), type = flags & MAP_TYPE_MASK;
    int fd = call_int(c, 4);
    struct file *f = NULL;
    if (c->arg[5] & (GUEST_PAGE_SIZE - 1))
        return -EINVAL;
    if (!(flags & MAP_ANONYMOUS) && !(f = args_file(c, fd)))
        return -EBADF;
    if (flags & MAP_HUGETLB)
        return f ? -EINVAL : -ENOMEM; /* no huge pages are set aside */
    long r = f ? check_place(c, f->inode) : 0;
    if (r < 0)
        return r;
    if (type != MAP_SHARED && type != MAP_PRIVATE && type != MAP_SHARED_VALIDATE)
        return -EINVAL;
    if ((flags & MAP_ANONYMOUS) && (flags & MAP_SYNC))
        return -EINVAL;
    if (!f) {
        r = reserve_memory(c, type != MAP_PRIVATE);
        return r < 0 ? r : CALL_HOST;
    }
    if (type == MAP_SHARED_VALIDATE && (flags & MAP_SYNC))
        return -EOPNOTSUPP;
    return map_file(c, f, fd, protection, type);
}

/* What the filter did not let through. */

#ifndef MADV_POPULATE_READ /* Linux 5.14 */
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

long sys_madvise(struct call *c)
{
    switch (call_int(c, 2)) {
    case MADV_FREE:
        /*
         * Such pages can be taken into use again without a sign of it, so that what is counted by
         * watching would be wrong. Programs know the errno from older kernels, and free at once.
         */
        return kernel.config.watch_memory ? -EINVAL : CALL_HOST;
    case MADV_POPULATE_READ:
    case MADV_POPULATE_WRITE:
        return memory_limit_admits(c->arg[1]) ? CALL_HOST : -ENOMEM;
    default:
        return -EINVAL;
    }
}

long sys_futex(struct call *c)
{
    return -ENOSYS;
}

long sys_arch_prctl(struct call *c)
{
    return -EINVAL;
}

/* The commands that the filter lets the host run, and the question which they are. */
long sys_membarrier(struct call *c)
{
    if (call_int(c, 0) != MEMBARRIER_CMD_QUERY || call_uint(c, 1) != 0)
        return -EINVAL;
    return MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED |
           MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE |
           MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE;
}

/* ---- locking: accepted within the limit, and without an effect ---- */

static long may_lock(const struct call *c, uint64_t bytes)
{
    size_t limit = process_limit(c->thread->process, RLIMIT_MEMLOCK);
    if (cred_has_cap(c->thread->cred, 14)) /* CAP_IPC_LOCK */
        return 0;
    if (limit == 0)
        return -EPERM;
    return bytes > limit ? -ENOMEM : 0;
}

long sys_mlock(struct call *c)
{
    uint64_t end;
    if (__builtin_add_overflow(c->arg[0], c->arg[1], &end) || end >= GUEST_ADDRESS_END)
        return c->arg[1] ? -ENOMEM : 0;
    return may_lock(c, c->arg[1]);
}

long sys_mlock2(struct call *c)
{
    return c->arg[2] & ~1ULL ? -EINVAL : sys_mlock(c); /* MLOCK_ONFAULT */
}

long sys_munlock(struct call *c)
{
    uint64_t end;
    return __builtin_add_overflow(c->arg[0], c->arg[1], &end) ? -EINVAL : 0;
}

long sys_mlockall(struct call *c)
{
    unsigned flags = call_uint(c, 0);
    if (flags == 0 || (flags & ~7u) || flags == 4) /* MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT */
        return -EINVAL;
    return may_lock(c, 0);
}

long sys_munlockall(struct call *c)
{
    return 0;
}

/* ---- process_vm_readv and writev: the caller's own memory ---- */

static long own_memory(struct call *c, bool write)
{
    struct uio local, remote;
    char piece[4096];
    if (c->arg[5])
        return -EINVAL;
    struct thread *target = thread_find(call_int(c, 0));
    if (!target)
        return -ESRCH;
    if (target->process != c->thread->process)
        return -EPERM;
    int r = uio_init_guest_iov(&local, call_memory(c), call_addr(c, 1), c->arg[2]);
    if (r < 0)
        return r;
    r = uio_init_guest_iov(&remote, call_memory(c), call_addr(c, 3), c->arg[4]);
    if (r < 0) {
        uio_done(&local);
        return r;
    }
    struct uio *from = write ? &local : &remote, *to = write ? &remote : &local;
    long done = 0;
    while (from->left > 0 && to->left > 0 && done < (1 << 20)) {
        size_t both = MIN(from->left, to->left);
        size_t size = MIN(both, sizeof(piece));
        ssize_t n = uio_copy_in(from, piece, size);
        ssize_t m = n > 0 ? uio_copy_out(to, piece, (size_t)n) : n;
        if (m <= 0) {
            done = done ? done : -EFAULT;
            break;
        }
        done += m;
    }
    uio_done(&local);
    uio_done(&remote);
    return done;
}

long sys_process_vm_readv(struct call *c)
{
    return own_memory(c, false);
}

long sys_process_vm_writev(struct call *c)
{
    return own_memory(c, true);
}
