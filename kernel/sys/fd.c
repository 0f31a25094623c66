// SPDX-License-Identifier: Apache-2.0
/*
 * Descriptors: dup(2), fcntl(2), flock(2), pipe(2), memfd_create(2).
 */
#include "kernel/event/async.h"
#include "kernel/fs/filesystems.h"
#include "kernel/fs/locks.h"
#include "kernel/fs/pipe.h"
#include "kernel/proc/process.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"
#include "kernel/sys/new_fd.h"

#include <limits.h>
#include <linux/capability.h>
#include <sys/file.h>
#include <sys/mman.h>

#ifndef F_DUPFD_QUERY
#define F_DUPFD_QUERY 1027 /* Linux 6.10 */
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U /* Linux 6.3 */
#define MFD_EXEC        16U
#endif

/* What F_SETFL can change; the rest of its argument is ignored. */
#define SETFL_FLAGS (O_APPEND | O_NONBLOCK | O_DIRECT | O_NOATIME)

#define RW_HINT_MAX 5 /* RWH_WRITE_LIFE_EXTREME */

/* "memfd:" and the name together are a file name (NAME_MAX). */
#define MEMFD_NAME_MAX (NAME_LENGTH_MAX - 6)

static size_t fd_limit(const struct call *c)
{
    return process_limit(c->thread->process, RLIMIT_NOFILE);
}

/* ---- dup ---- */

static long dup_lowest(struct call *c, struct file *f, int from, bool cloexec)
{
    long fd = fdtable_install(c->thread->files, file_get(f), from, fd_limit(c), cloexec);
    if (fd < 0)
        file_put(f);
    return fd;
}

static long dup_at(struct call *c, struct file *f, int fd, bool cloexec)
{
    int r = fdtable_install_at(c->thread->files, file_get(f), fd, fd_limit(c), cloexec);
    if (r < 0) {
        file_put(f);
        return r;
    }
    /* What the host has at this number belongs to the file that was here: the next mmap replaces
     * it. */
    fdtable_entry(c->thread->files, fd)->host_slot = 0;
    return fd;
}

long sys_dup(struct call *c)
{
    struct file *f = args_any_file(c, call_int(c, 0));
    return f ? dup_lowest(c, f, 0, false) : -EBADF;
}

long sys_dup2(struct call *c)
{
    int old_fd = call_int(c, 0), new_fd = call_int(c, 1);
    struct file *f = args_any_file(c, old_fd);
    if (!f)
        return -EBADF;
    return old_fd == new_fd ? new_fd : dup_at(c, f, new_fd, false);
}

long sys_dup3(struct call *c)
{
    int old_fd = call_int(c, 0), new_fd = call_int(c, 1), flags = call_int(c, 2);
    if ((flags & ~O_CLOEXEC) || old_fd == new_fd)
        return -EINVAL;
    if (new_fd < 0 || (size_t)new_fd >= fd_limit(c))
        return -EBADF;
    struct file *f = args_any_file(c, old_fd);
    return f ? dup_at(c, f, new_fd, flags & O_CLOEXEC) : -EBADF;
}

/* ---- fcntl ---- */

/* The commands that work on an O_PATH descriptor. */
static bool works_on_path(int command)
{
    switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
    case F_DUPFD_QUERY:
    case F_GETFD:
    case F_SETFD:
    case F_GETFL:
        return true;
    default:
        return false;
    }
}

static long set_flags(struct call *c, struct file *f, int flags)
{
    if ((flags & O_NOATIME) && !(f->flags & O_NOATIME) &&
        !inode_is_owner(f->inode, c->thread->cred))
        return -EPERM;
    /* Files that never tell don't keep the flag either: setfl() of Linux. */
    if ((flags ^ f->flags) & O_ASYNC && f->ops->tells_by_signal) {
        int r = async_set(f, call_int(c, 0), flags & O_ASYNC);
        if (r < 0)
            return r;
        f->flags ^= O_ASYNC;
    }
    f->flags = (f->flags & ~SETFL_FLAGS) | (flags & SETFL_FLAGS);
    return 0;
}

static bool owner_exists(int type, pid_t id)
{
    switch (type) {
    case F_OWNER_TID:
        return thread_find(id);
    case F_OWNER_PID:
        return process_find(id);
    default:
        return process_group_find(id);
    }
}

static long set_owner(struct call *c, struct file *f, int type, pid_t id)
{
    const struct cred *cred = c->thread->cred;
    if (id != 0 && !owner_exists(type, id))
        process_settle_all();
    if (id != 0 && !owner_exists(type, id))
        return -ESRCH;
    f->owner.type = type;
    f->owner.pid = id;
    f->owner.uid = cred->uid;
    f->owner.euid = cred->euid;
    return 0;
}

/* A negative argument names a process group. */
static long set_owner_simple(struct call *c, struct file *f, int id)
{
    if (id == INT_MIN)
        return -EINVAL;
    return id < 0 ? set_owner(c, f, F_OWNER_PGRP, -id) : set_owner(c, f, F_OWNER_PID, id);
}

static long set_owner_ex(struct call *c, struct file *f)
{
    struct f_owner_ex owner;
    int r = call_read(c, &owner, call_addr(c, 2), sizeof(owner));
    if (r < 0)
        return r;
    if (owner.type != F_OWNER_TID && owner.type != F_OWNER_PID && owner.type != F_OWNER_PGRP)
        return -EINVAL;
    return set_owner(c, f, owner.type, owner.pid);
}

static long get_owner_ex(struct call *c, const struct file *f)
{
    struct f_owner_ex owner = {.type = f->owner.type, .pid = f->owner.pid};
    return call_write(c, call_addr(c, 2), &owner, sizeof(owner));
}

static long set_pipe_size(struct call *c, struct file *f)
{
    struct pipe *p = pipe_of(f);
    if (!p)
        return -EBADF;
    return pipe_set_size(p, call_uint(c, 2), cred_has_cap(c->thread->cred, CAP_SYS_RESOURCE));
}

/* There are no leases: nobody can hold one, and to give one up that is not held is EAGAIN. */
static long set_lease(struct call *c, const struct file *f, int type)
{
    const struct cred *cred = c->thread->cred;
    if (type != F_RDLCK && type != F_WRLCK && type != F_UNLCK)
        return -EINVAL;
    if (f->inode->uid != cred->fsuid && !cred_has_cap(cred, CAP_LEASE))
        return -EACCES;
    return S_ISREG(f->inode->mode) && type == F_UNLCK ? -EAGAIN : -EINVAL;
}

static long rw_hint(struct call *c, struct file *f, int command)
{
    uint64_t hint = f->inode->write_hint;
    if (command == F_GET_RW_HINT)
        return call_write(c, call_addr(c, 2), &hint, sizeof(hint));
    int r = call_read(c, &hint, call_addr(c, 2), sizeof(hint));
    if (r < 0)
        return r;
    if (hint > RW_HINT_MAX)
        return -EINVAL;
    if (!inode_is_owner(f->inode, c->thread->cred))
        return -EPERM;
    f->inode->write_hint = (uint8_t)hint;
    return 0;
}

static long fcntl_descriptor(struct call *c, struct file *f, int command)
{
    struct fd_entry *entry = fdtable_entry(c->thread->files, call_int(c, 0));
    switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
        if (call_uint(c, 2) >= fd_limit(c))
            return -EINVAL;
        return dup_lowest(c, f, call_int(c, 2), command == F_DUPFD_CLOEXEC);
    case F_DUPFD_QUERY: {
        const struct file *other = args_any_file(c, call_int(c, 2));
        return other ? other == f : -EBADF;
    }
    case F_GETFD:
        return entry->cloexec ? FD_CLOEXEC : 0;
    case F_SETFD:
        entry->cloexec = c->arg[2] & FD_CLOEXEC;
        return 0;
    case F_GETFL:
        return f->flags;
    default:
        return -EINVAL;
    }
}

static long fcntl_owner(struct call *c, struct file *f, int command)
{
    switch (command) {
    case F_GETOWN:
        return f->owner.type == F_OWNER_PGRP ? -f->owner.pid : f->owner.pid;
    case F_SETOWN:
        return set_owner_simple(c, f, call_int(c, 2));
    case F_GETOWN_EX:
        return get_owner_ex(c, f);
    case F_SETOWN_EX:
        return set_owner_ex(c, f);
    case F_GETSIG:
        return f->owner.signal;
    default: /* F_SETSIG; 0 is SIGIO */
        if (call_uint(c, 2) > SIGNAL_COUNT)
            return -EINVAL;
        f->owner.signal = call_int(c, 2);
        return 0;
    }
}

static long fcntl_file(struct call *c, struct file *f, int command)
{
    switch (command) {
    case F_SETFL:
        return set_flags(c, f, call_int(c, 2));
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
        return lock_fcntl(f, c, command, call_addr(c, 2), c->thread->files,
                          c->thread->process->pid);
    case F_GETOWN:
    case F_SETOWN:
    case F_GETOWN_EX:
    case F_SETOWN_EX:
    case F_GETSIG:
    case F_SETSIG:
        return fcntl_owner(c, f, command);
    case F_GETPIPE_SZ:
        return pipe_of(f) ? pipe_size(pipe_of(f)) : -EBADF;
    case F_SETPIPE_SZ:
        return set_pipe_size(c, f);
    case F_ADD_SEALS:
        return memfd_add_seals(f, call_uint(c, 2));
    case F_GET_SEALS:
        return memfd_get_seals(f);
    case F_GETLEASE:
        return F_UNLCK;
    case F_SETLEASE:
        return set_lease(c, f, call_int(c, 2));
    case F_NOTIFY: /* nothing watches by signal; to end it is fine all the same */
        return call_uint(c, 2) & ~DN_MULTISHOT ? -EINVAL : 0;
    case F_GET_RW_HINT:
    case F_SET_RW_HINT:
        return rw_hint(c, f, command);
    default:
        return -EINVAL;
    }
}

long sys_fcntl(struct call *c)
{
    int command = call_int(c, 1);
    struct file *now = args_any_file(c, call_int(c, 0));
    struct file *f = lock_waiting_file(c);
    /*
     * Another thread has closed the descriptor while this one waited. That close saw no lock of the
     * process to drop, so none must be made any more (fcntl_setlk() of Linux).
     */
    if (f && command == F_SETLKW && f != now)
        return -EBADF;
    if (!f)
        f = now;
    if (!f || ((f->flags & O_PATH) && !works_on_path(command)))
        return -EBADF;
    return works_on_path(command) ? fcntl_descriptor(c, f, command) : fcntl_file(c, f, command);
}

long sys_flock(struct call *c)
{
    int operation = call_int(c, 1), type = operation & ~LOCK_NB;
    struct file *f = lock_waiting_file(c);
    if (type != LOCK_SH && type != LOCK_EX && type != LOCK_UN)
        return -EINVAL;
    if (!f)
        f = args_file(c, call_int(c, 0));
    return f ? lock_flock(f, c, operation, c->thread->process->pid) : -EBADF;
}

/* ---- new files without a name ---- */

/* Installs both or none; the references are taken over in any case. */
static int install_two(struct call *c, struct file *const files[2], bool cloexec, int ret_fds[2])
{
    struct fdtable *t = c->thread->files;
    for (int i = 0; i < 2; i++) {
        ret_fds[i] = fdtable_install(t, files[i], 0, fd_limit(c), cloexec);
        if (ret_fds[i] >= 0)
            continue;
        file_put(files[i]);
        if (i == 0)
            file_put(files[1]);
        else
            fdtable_close(t, ret_fds[0], t);
        return ret_fds[i];
    }
    return 0;
}

static long make_pipe(struct call *c, int flags)
{
    struct file *ends[2];
    int fds[2];
    if (flags & ~(O_CLOEXEC | O_NONBLOCK | O_DIRECT))
        return -EINVAL;
    int r = pipe_create(flags & ~O_CLOEXEC, &ends[0], &ends[1]);
    if (r == 0) { /* whoever made it may open it again, by /proc/self/fd and /dev/stdout */
        ends[0]->inode->uid = c->thread->cred->fsuid;
        ends[0]->inode->gid = c->thread->cred->fsgid;
        r = install_two(c, ends, flags & O_CLOEXEC, fds);
    }
    if (r < 0)
        return r;
    r = call_write(c, call_addr(c, 0), fds, sizeof(fds));
    if (r < 0) {
        fdtable_close(c->thread->files, fds[0], c->thread->files);
        fdtable_close(c->thread->files, fds[1], c->thread->files);
    }
    return r;
}

long sys_pipe(struct call *c)
{
    return make_pipe(c, 0);
}

long sys_pipe2(struct call *c)
{
    return make_pipe(c, call_int(c, 1));
}

long sys_memfd_create(struct call *c)
{
    char name[MEMFD_NAME_MAX + 1];
    unsigned flags = call_uint(c, 1);
    unsigned known = MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL | MFD_EXEC;
    struct file *f;
    if ((flags & ~known) || ((flags & MFD_EXEC) && (flags & MFD_NOEXEC_SEAL)))
        return -EINVAL;
    ssize_t length = guest_read_string(call_memory(c), name, call_addr(c, 0), sizeof(name));
    if (length < 0)
        return length == -ENAMETOOLONG ? -EINVAL : length;
    int r = memfd_create_file(name, flags, &f);
    if (r < 0)
        return r;
    f->inode->uid = c->thread->cred->fsuid;
    f->inode->gid = c->thread->cred->fsgid;
    return new_fd_install(c, f, flags & MFD_CLOEXEC);
}
