// SPDX-License-Identifier: Apache-2.0
/* host calls: fallocate pread64 pwritev2 rt_sigprocmask */
#include "kernel/fs/host_io.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/uio.h>

static void hold_signals(sigset_t *ret_before)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, ret_before);
}

int host_io_allocate(int fd, int mode, off_t offset, off_t size)
{
    sigset_t before;
    hold_signals(&before);
    int r = fallocate(fd, mode, offset, size) < 0 ? -errno : 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return r;
}

static ssize_t read_quietly(int fd, char *data, size_t size, off_t pos)
{
    sigset_t before;
    hold_signals(&before);
    ssize_t n = pread(fd, data, size, pos);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return n;
}

ssize_t host_io_read(int fd, char *data, size_t size, off_t pos)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = pread(fd, data + done, size - done, pos + (off_t)done);
        if (n < 0 && errno == EINTR)
            n = read_quietly(fd, data + done, size - done, pos + (off_t)done);
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

ssize_t host_io_write(int fd, const char *data, size_t size, off_t pos, int flags)
{
    const struct iovec v = {(void *)(uintptr_t)data, size};
    ssize_t n = pwritev2(fd, &v, 1, pos, flags);
    if (n < 0 && errno == EINTR) {
        sigset_t before;
        hold_signals(&before);
        n = pwritev2(fd, &v, 1, pos, flags);
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    return n < 0 ? -errno : n;
}
