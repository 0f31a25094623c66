// SPDX-License-Identifier: Apache-2.0
#include "kernel/sys/new_fd.h"

#include "kernel/proc/process.h"

long new_fd_install(struct call *c, struct file *f, bool cloexec)
{
    size_t limit = process_limit(c->thread->process, RLIMIT_NOFILE);
    long fd = fdtable_install(c->thread->files, f, 0, limit, cloexec);
    if (fd < 0)
        file_put(f);
    return fd;
}
