// SPDX-License-Identifier: Apache-2.0
/*
 * ioctl(2): the requests that mean the same for every file; all others are the file's own.
 */
#include "kernel/event/async.h"
#include "kernel/proc/process.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

static long set_flag(struct call *c, struct file *f, int flag)
{
    int on;
    int r = call_read(c, &on, call_addr(c, 2), sizeof(on));
    if (r < 0)
        return r;
    if (flag == O_ASYNC && !(f->flags & O_ASYNC) == !!on)
        r = async_set(f, call_int(c, 0), on);
    if (r < 0)
        return r;
    f->flags = on ? f->flags | flag : f->flags & ~flag;
    return 0;
}

/* ioctl_fideduperange(2) and ioctl_ficlone(2) on file systems without shared extents. */
static long refuse_clone(struct call *c, struct file *f, unsigned request)
{
    if (!f->can_write && request != FIDEDUPERANGE)
        return -EBADF;
    return S_ISDIR(f->inode->mode) ? -EISDIR : -EOPNOTSUPP;
}

static long bytes_left(struct call *c, struct file *f)
{
    struct stat st;
    int r = vfs_stat(f->inode, &st);
    if (r < 0)
        return r;
    off_t left = st.st_size - f->pos;
    int answer = (int)left;
    return call_write(c, call_addr(c, 2), &answer, sizeof(answer));
}

static long request_of_file(struct call *c, struct file *f, unsigned request)
{
    if (!f->ops->ioctl)
        return -ENOTTY;
    return f->ops->ioctl(f, c, request, call_addr(c, 2));
}

long sys_ioctl(struct call *c)
{
    int fd = call_int(c, 0);
    unsigned request = call_uint(c, 1);
    struct file *f = args_file(c, fd);
    if (!f)
        return -EBADF;
    switch (request) {
    case FIOCLEX:
    case FIONCLEX:
        fdtable_entry(c->thread->files, fd)->cloexec = request == FIOCLEX;
        return 0;
    case FIONBIO:
        return set_flag(c, f, O_NONBLOCK);
    case FIOASYNC:
        return set_flag(c, f, O_ASYNC);
    case FIONREAD:
        return S_ISREG(f->inode->mode) ? bytes_left(c, f) : request_of_file(c, f, request);
    case FICLONE:
    case FICLONERANGE:
    case FIDEDUPERANGE:
        return refuse_clone(c, f, request);
    default:
        return request_of_file(c, f, request);
    }
}
