// SPDX-License-Identifier: Apache-2.0
#include "kernel/event/signalfd.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"
#include "kernel/sys/new_fd.h"

#include <sys/signalfd.h>

static long create(struct call *c, int flags)
{
    int fd = call_int(c, 0);
    sigmask_t mask;
    struct file *f;
    if (c->arg[2] != sizeof(mask))
        return -EINVAL;
    int r = call_read(c, &mask, call_addr(c, 1), sizeof(mask));
    if (r < 0)
        return r;
    if (flags & ~(SFD_CLOEXEC | SFD_NONBLOCK))
        return -EINVAL;
    if (fd != -1) {
        f = args_file(c, fd);
        if (!f)
            return -EBADF;
        return signalfd_set_mask(f, mask) ? fd : -EINVAL;
    }
    r = signalfd_create_file(mask, flags, &f);
    return r < 0 ? r : new_fd_install(c, f, flags & SFD_CLOEXEC);
}

long sys_signalfd(struct call *c)
{
    return create(c, 0);
}

long sys_signalfd4(struct call *c)
{
    return create(c, call_int(c, 3));
}
