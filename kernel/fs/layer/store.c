// SPDX-License-Identifier: Apache-2.0
/* host calls: linkat openat unlinkat */
#include "kernel/fs/layer/store.h"

#include <fcntl.h>
#include <stdio.h>

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
