// SPDX-License-Identifier: Apache-2.0
#include "kernel/event/inotify.h"
#include "kernel/proc/process.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"
#include "kernel/sys/new_fd.h"

#define WATCH_BITS                                                                     \
    (IN_ALL_EVENTS | IN_UNMOUNT | IN_Q_OVERFLOW | IN_IGNORED | IN_ISDIR | IN_ONLYDIR | \
     IN_DONT_FOLLOW | IN_EXCL_UNLINK | IN_MASK_ADD | IN_MASK_CREATE | (uint32_t)IN_ONESHOT)

static long create(struct call *c, int flags)
{
    struct file *f;
    if (flags & ~(IN_CLOEXEC | IN_NONBLOCK))
        return -EINVAL;
    int r = inotify_create_file(flags, &f);
    return r < 0 ? r : new_fd_install(c, f, flags & IN_CLOEXEC);
}

long sys_inotify_init(struct call *c)
{
    return create(c, 0);
}

long sys_inotify_init1(struct call *c)
{
    return create(c, call_int(c, 0));
}

static int find_target(const struct call *c, uint32_t mask, struct path *ret)
{
    char name[GUEST_PATH_MAX];
    unsigned flags = 0;
    int r = args_path(c, call_addr(c, 1), name);
    if (r < 0)
        return r;
    if (!(mask & IN_DONT_FOLLOW))
        flags |= WALK_FOLLOW;
    if (mask & IN_ONLYDIR)
        flags |= WALK_DIRECTORY;
    r = args_walk(c, AT_FDCWD, name, flags, NULL, ret);
    if (r < 0)
        return r;
    r = inode_permission(ret->dentry->inode, c->thread->cred, MAY_READ);
    if (r < 0)
        path_put(ret);
    return r;
}

long sys_inotify_add_watch(struct call *c)
{
    uint32_t mask = call_uint(c, 2);
    struct path target;
    if ((mask & ~WATCH_BITS) || !(mask & WATCH_BITS))
        return -EINVAL;
    struct file *f = args_file(c, call_int(c, 0));
    if (!f)
        return -EBADF;
    struct notify_group *g = inotify_group_of(f);
    if (!g || ((mask & IN_MASK_ADD) && (mask & IN_MASK_CREATE)))
        return -EINVAL;
    int r = find_target(c, mask, &target);
    if (r < 0)
        return r;
    r = notify_watch_add(g, target.dentry->inode, mask);
    path_put(&target);
    return r;
}

long sys_inotify_rm_watch(struct call *c)
{
    struct file *f = args_file(c, call_int(c, 0));
    if (!f)
        return -EBADF;
    struct notify_group *g = inotify_group_of(f);
    return g ? notify_watch_remove(g, call_int(c, 1)) : -EINVAL;
}
