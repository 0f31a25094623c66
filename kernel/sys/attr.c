// SPDX-License-Identifier: Apache-2.0
/*
 * Changing modes, owners and times: chmod(2), chown(2), utimensat(2). Who may do it is decided in
 * vfs_setattr(). xattr.c has the extended attributes.
 *
 * host calls: clock_gettime
 */
#include "kernel/proc/process.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"

#include <sys/time.h>
#include <utime.h>

/* attr NULL: -EINVAL, which comes after the errors of the name and the descriptor. */
static long set_attr_at(struct call *c, int dirfd, struct gaddr address, int at_flags,
                        const struct inode_attr *attr)
{
    char name[GUEST_PATH_MAX];
    _cleanup_path_ struct path path = {0};
    unsigned walk_flags = at_flags & AT_SYMLINK_NOFOLLOW ? 0 : WALK_FOLLOW;
    if (at_flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    if (at_flags & AT_EMPTY_PATH)
        walk_flags |= WALK_EMPTY_OK;
    int r = args_path_at(c, address, at_flags, name);
    if (r == 0)
        r = args_walk(c, dirfd, name, walk_flags, NULL, &path);
    if (r < 0)
        return r;
    return attr ? vfs_setattr(&path, c->thread->cred, attr) : -EINVAL;
}

static long set_attr_of(struct call *c, int fd, const struct inode_attr *attr)
{
    const struct file *f = args_file(c, fd);
    if (!f)
        return -EBADF;
    return attr ? vfs_setattr(&f->path, c->thread->cred, attr) : -EINVAL;
}

/* ---- modes ---- */

static struct inode_attr mode_attr(uint32_t mode)
{
    return (struct inode_attr){.valid = ATTR_MODE, .mode = mode & 07777};
}

long sys_chmod(struct call *c)
{
    struct inode_attr attr = mode_attr(call_uint(c, 1));
    return set_attr_at(c, AT_FDCWD, call_addr(c, 0), 0, &attr);
}

long sys_fchmod(struct call *c)
{
    struct inode_attr attr = mode_attr(call_uint(c, 1));
    return set_attr_of(c, call_int(c, 0), &attr);
}

long sys_fchmodat(struct call *c)
{
    struct inode_attr attr = mode_attr(call_uint(c, 2));
    return set_attr_at(c, call_int(c, 0), call_addr(c, 1), 0, &attr);
}

long sys_fchmodat2(struct call *c)
{
    struct inode_attr attr = mode_attr(call_uint(c, 2));
    return set_attr_at(c, call_int(c, 0), call_addr(c, 1), call_int(c, 3), &attr);
}

/* ---- owners ---- */

/* -1 leaves the owner or the group as it is. */
static struct inode_attr owner_attr(uint32_t uid, uint32_t gid)
{
    struct inode_attr attr = {.valid = ATTR_CHOWN, .uid = uid, .gid = gid};
    if (uid != (uid_t)-1)
        attr.valid |= ATTR_UID;
    if (gid != (gid_t)-1)
        attr.valid |= ATTR_GID;
    return attr;
}

long sys_chown(struct call *c)
{
    struct inode_attr attr = owner_attr(call_uint(c, 1), call_uint(c, 2));
    return set_attr_at(c, AT_FDCWD, call_addr(c, 0), 0, &attr);
}

long sys_lchown(struct call *c)
{
    struct inode_attr attr = owner_attr(call_uint(c, 1), call_uint(c, 2));
    return set_attr_at(c, AT_FDCWD, call_addr(c, 0), AT_SYMLINK_NOFOLLOW, &attr);
}

long sys_fchown(struct call *c)
{
    struct inode_attr attr = owner_attr(call_uint(c, 1), call_uint(c, 2));
    return set_attr_of(c, call_int(c, 0), &attr);
}

long sys_fchownat(struct call *c)
{
    struct inode_attr attr = owner_attr(call_uint(c, 2), call_uint(c, 3));
    return set_attr_at(c, call_int(c, 0), call_addr(c, 1), call_int(c, 4), &attr);
}

/* ---- times ---- */

static bool is_valid_time(struct timespec t)
{
    return t.tv_nsec == UTIME_NOW || t.tv_nsec == UTIME_OMIT ||
           (t.tv_nsec >= 0 && t.tv_nsec < NSEC_PER_SEC);
}

/* times NULL: both are now, which those may set who may write (vfs_utimes() of Linux). -EINVAL. */
static int times_attr(const struct timespec *times, struct inode_attr *ret)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *ret = (struct inode_attr){
        .valid = ATTR_ATIME | ATTR_MTIME | ATTR_TOUCH, .atime = now, .mtime = now};
    if (!times)
        return 0;
    if (!is_valid_time(times[0]) || !is_valid_time(times[1]))
        return -EINVAL;
    if (times[0].tv_nsec == UTIME_NOW && times[1].tv_nsec == UTIME_NOW)
        return 0;
    ret->valid &= ~ATTR_TOUCH;
    if (times[0].tv_nsec == UTIME_OMIT)
        ret->valid &= ~ATTR_ATIME;
    else if (times[0].tv_nsec != UTIME_NOW)
        ret->atime = times[0];
    if (times[1].tv_nsec == UTIME_OMIT)
        ret->valid &= ~ATTR_MTIME;
    else if (times[1].tv_nsec != UTIME_NOW)
        ret->mtime = times[1];
    return 0;
}

/* A null name with a descriptor means the file that is open there: what futimens(3) does. */
static long set_times(struct call *c, int dirfd, struct gaddr address, int at_flags,
                      const struct timespec *times)
{
    struct inode_attr attr;
    bool of_descriptor = address.v == 0 && dirfd != AT_FDCWD;
    if (at_flags & ~(of_descriptor ? 0 : AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    if (of_descriptor && !args_file(c, dirfd))
        return -EBADF;
    const struct inode_attr *valid = times_attr(times, &attr) < 0 ? NULL : &attr;
    if (of_descriptor)
        return set_attr_of(c, dirfd, valid);
    return set_attr_at(c, dirfd, address, at_flags, valid);
}

long sys_utimensat(struct call *c)
{
    struct timespec times[2];
    struct gaddr address = call_addr(c, 2);
    if (address.v) {
        int r = call_read(c, times, address, sizeof(times));
        if (r < 0)
            return r;
        /* Nothing to be done: not even the name is looked at. */
        if (times[0].tv_nsec == UTIME_OMIT && times[1].tv_nsec == UTIME_OMIT)
            return 0;
    }
    return set_times(c, call_int(c, 0), call_addr(c, 1), call_int(c, 3), address.v ? times : NULL);
}

static long set_times_usec(struct call *c, int dirfd, struct gaddr name, struct gaddr address)
{
    struct timeval in[2];
    struct timespec times[2];
    if (!address.v)
        return set_times(c, dirfd, name, 0, NULL);
    int r = call_read(c, in, address, sizeof(in));
    if (r < 0)
        return r;
    for (int i = 0; i < 2; i++) {
        if (in[i].tv_usec < 0 || in[i].tv_usec >= 1000000)
            return -EINVAL;
        times[i] = (struct timespec){in[i].tv_sec, in[i].tv_usec * NSEC_PER_USEC};
    }
    return set_times(c, dirfd, name, 0, times);
}

long sys_utimes(struct call *c)
{
    return set_times_usec(c, AT_FDCWD, call_addr(c, 0), call_addr(c, 1));
}

long sys_futimesat(struct call *c)
{
    return set_times_usec(c, call_int(c, 0), call_addr(c, 1), call_addr(c, 2));
}

long sys_utime(struct call *c)
{
    struct utimbuf in;
    struct gaddr address = call_addr(c, 1);
    if (!address.v)
        return set_times(c, AT_FDCWD, call_addr(c, 0), 0, NULL);
    int r = call_read(c, &in, address, sizeof(in));
    if (r < 0)
        return r;
    struct timespec times[2] = {{.tv_sec = in.actime}, {.tv_sec = in.modtime}};
    return set_times(c, AT_FDCWD, call_addr(c, 0), 0, times);
}
