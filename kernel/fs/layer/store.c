// SPDX-License-Identifier: Apache-2.0
/* host calls: fallocate linkat openat pread64 pwritev2 rt_sigprocmask unlinkat */
#include "kernel/fs/layer/store.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/uio.h>

#define NUMBER_TEXT 24

static void number_text(uint64_t number, char text[NUMBER_TEXT])
{
    snprintf(text, NUMBER_TEXT, "%llu", (unsigned long long)number);
}

/* The kernel's own link to an open descriptor, below its view of /proc. */
static int self_fd(int fd, char *text, size_t size)
{
    if (!hostfd_is_open(kernel.proc_dir)) {
        snprintf(text, size, "/proc/self/fd/%d", fd);
        return AT_FDCWD;
    }
    snprintf(text, size, "self/fd/%d", fd);
    return kernel.proc_dir.n;
}

uint64_t store_next_number(void)
{
    static uint64_t next = 1;
    return next++;
}

int store_create(uint64_t number, bool *ret_named)
{
    if (!hostfd_is_open(kernel.store_dir))
        return -ENOSPC;
    int fd = openat(kernel.store_dir.n, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) {
        *ret_named = false;
        return fd;
    }
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)
        return -errno;
    char name[NUMBER_TEXT];
    number_text(number, name);
    fd = openat(kernel.store_dir.n, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    *ret_named = true;
    return fd;
}

bool store_name(int fd, uint64_t number)
{
    char name[NUMBER_TEXT], link[64];
    number_text(number, name);
    int dir = self_fd(fd, link, sizeof(link));
    return linkat(dir, link, kernel.store_dir.n, name, AT_SYMLINK_FOLLOW) == 0;
}

int store_open(uint64_t number, int flags)
{
    char name[NUMBER_TEXT];
    number_text(number, name);
    int fd = openat(kernel.store_dir.n, name, flags | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

void store_unlink(uint64_t number)
{
    char name[NUMBER_TEXT];
    number_text(number, name);
    unlinkat(kernel.store_dir.n, name, 0);
}

int store_reopen_read_only(int fd)
{
    char link[64];
    int dir = self_fd(fd, link, sizeof(link));
    int reader = openat(dir, link, O_RDONLY | O_CLOEXEC);
    return reader < 0 ? -errno : reader;
}

static void hold_signals(sigset_t *ret_before)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, ret_before);
}

int store_allocate(int fd, int mode, off_t offset, off_t size)
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

ssize_t store_read(int fd, char *data, size_t size, off_t pos)
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

ssize_t store_write(int fd, const char *data, size_t size, off_t pos, int flags)
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
