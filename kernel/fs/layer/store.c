// SPDX-License-Identifier: Apache-2.0
#include "kernel/fs/layer/store.h"

#include "kernel/core/timer.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#define NUMBER_TEXT   24
#define FOLDER_PREFIX ".glovebox-"
#define FOLDER_TEXT   (sizeof(FOLDER_PREFIX) + 16)
/* Younger ones may be between their making and their locking. */
#define SWEEP_AGE_SECONDS 60

static struct hostfd folder = {-1};
static char folder_name[FOLDER_TEXT];

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

/* The sandbox's own folder, made and locked at first need; -1 with errno. */
static int own_folder(void)
{
    uint64_t random;
    if (hostfd_is_open(folder))
        return folder.n;
    kernel_random(&random, sizeof(random));
    snprintf(folder_name, sizeof(folder_name), FOLDER_PREFIX "%016llx", (unsigned long long)random);
    if (mkdirat(kernel.store_dir.n, folder_name, 0700) < 0)
        return -1;
    folder.n =
        openat(kernel.store_dir.n, folder_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder.n >= 0)
        flock(folder.n, LOCK_EX | LOCK_NB);
    return folder.n;
}

/* Removes all files of an open folder; its entries are never folders. */
static void empty_folder(int fd)
{
    int copy = dup(fd);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *e;
    if (!dir)
        return;
    while ((e = readdir(dir)))
        unlinkat(fd, e->d_name, 0);
    closedir(dir);
}

static void sweep_one(int parent, const char *name)
{
    struct stat st;
    _cleanup_close_ int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
        st.st_mtime > clock_realtime_ns() / NSEC_PER_SEC - SWEEP_AGE_SECONDS ||
        flock(fd, LOCK_EX | LOCK_NB) < 0)
        return;
    empty_folder(fd);
    unlinkat(parent, name, AT_REMOVEDIR);
}

void store_sweep(void)
{
    int fd = openat(kernel.store_dir.n, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *e;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((e = readdir(dir)))
        if (!strncmp(e->d_name, FOLDER_PREFIX, strlen(FOLDER_PREFIX)))
            sweep_one(dirfd(dir), e->d_name);
    closedir(dir);
}

void store_remove(void)
{
    if (!hostfd_is_open(folder))
        return;
    empty_folder(folder.n);
    unlinkat(kernel.store_dir.n, folder_name, AT_REMOVEDIR);
    hostfd_close(&folder);
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
    fd = openat(own_folder(), name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
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
    return linkat(dir, link, own_folder(), name, AT_SYMLINK_FOLLOW) == 0;
}

int store_open(uint64_t number, int flags)
{
    char name[NUMBER_TEXT];
    number_text(number, name);
    int fd = openat(own_folder(), name, flags | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

void store_unlink(uint64_t number)
{
    char name[NUMBER_TEXT];
    number_text(number, name);
    unlinkat(own_folder(), name, 0);
}

int store_reopen_read_only(int fd)
{
    char link[64];
    int dir = self_fd(fd, link, sizeof(link));
    int reader = openat(dir, link, O_RDONLY | O_CLOEXEC);
    return reader < 0 ? -errno : reader;
}
