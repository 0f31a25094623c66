// SPDX-License-Identifier: Apache-2.0
#include "kernel/event/eventfd.h"
#include "kernel/sys/handlers.h"
#include "kernel/sys/new_fd.h"

#include <sys/eventfd.h>

static long create(struct call *c, uint32_t count, int flags)
{
    struct file *f;
    if (flags & ~(EFD_SEMAPHORE | EFD_CLOEXEC | EFD_NONBLOCK))
        return -EINVAL;
    int r = eventfd_create_file(count, flags, &f);
    return r < 0 ? r : new_fd_install(c, f, flags & EFD_CLOEXEC);
}

long sys_eventfd(struct call *c)
{
    return create(c, call_uint(c, 0), 0);
}

long sys_eventfd2(struct call *c)
{
    return create(c, call_uint(c, 0), call_int(c, 1));
}
