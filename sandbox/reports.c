// SPDX-License-Identifier: Apache-2.0
#include "sandbox/reports.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#define FOLDER     "reports"
#define NAME_TRIES 1000

static int open_folder(int parent)
{
    if (mkdirat(parent, FOLDER, 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = openat(parent, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Numbers grow with time, so that the first one is the oldest. */
static size_t find_oldest(DIR *folder, char ret[static 256])
{
    size_t count = 0;
    const struct dirent *d;
    rewinddir(folder);
    while ((d = readdir(folder))) {
        if (!isdigit((unsigned char)d->d_name[0]))
            continue;
        if (count++ == 0 || strcmp(d->d_name, ret) < 0)
            strcpy(ret, d->d_name);
    }
    return count;
}

static void make_room(int fd)
{
    char oldest[256];
    int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    DIR *folder = again < 0 ? NULL : fdopendir(again);
    if (!folder) {
        base_closep(&again);
        return;
    }
    while (find_oldest(folder, oldest) >= REPORTS_MAX && unlinkat(fd, oldest, 0) == 0)
        ;
    closedir(folder);
}

/* Milliseconds since 1970, or the next free number. */
static int create(int folder, char ret_number[static 17])
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    int64_t number = ts.tv_sec * 1000 + ts.tv_nsec / NSEC_PER_MSEC;
    for (int i = 0; i < NAME_TRIES; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%" PRId64, number + i);
        int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0) {
            snprintf(ret_number, 17, "%.16s", name);
            return fd;
        }
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

int reports_keep(int folder, const struct buf *text, char ret_number[static 17])
{
    char number[17];
    _cleanup_close_ int reports = open_folder(folder);
    if (reports < 0)
        return reports;
    make_room(reports);
    _cleanup_close_ int fd = create(reports, number);
    if (fd < 0)
        return fd;
    if (write(fd, text->data, text->size) != (ssize_t)text->size) {
        unlinkat(reports, number, 0);
        return -ENOSPC;
    }
    memcpy(ret_number, number, sizeof(number));
    return 0;
}
