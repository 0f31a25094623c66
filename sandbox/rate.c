// SPDX-License-Identifier: Apache-2.0
#include "sandbox/rate.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <time.h>

#define FILE_NAME  "rate"
#define LOCK_TRIES 100
#define LOCK_STEP  NSEC_PER_MSEC

bool rate_take(int64_t times[static RATE_MAX], size_t *count, uint64_t most, int64_t now_ns)
{
    size_t left = 0;
    for (size_t i = 0; i < *count; i++)
        if (times[i] <= now_ns && times[i] > now_ns - NSEC_PER_SEC)
            times[left++] = times[i];
    *count = left;
    if (left >= most || left >= RATE_MAX)
        return false;
    times[(*count)++] = now_ns;
    return true;
}

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_BOOTTIME, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* It is held for a few microseconds, unless its holder was stopped just then. */
static int open_locked(int folder)
{
    const struct timespec step = {.tv_nsec = LOCK_STEP};
    int fd = openat(folder, FILE_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return fd;
        nanosleep(&step, NULL);
    }
    close(fd);
    return -EBUSY;
}

int rate_check(int folder, uint64_t most, struct sandbox_error *e)
{
    int64_t times[RATE_MAX];
    if (!most)
        return 0;
    _cleanup_close_ int fd = open_locked(folder);
    ssize_t size = fd < 0 ? fd : pread(fd, times, sizeof(times), 0);
    if (size < 0)
        return sandbox_error_set(e, fd < 0 ? fd : -errno,
                                 "how many sandboxes were made in this second: %s; try again",
                                 strerror(fd < 0 ? -fd : errno));
    size_t count = (size_t)size / sizeof(times[0]);
    if (!rate_take(times, &count, most, now_ns()))
        return sandbox_error_set(e, -EUSERS,
                                 "limit of %" PRIu64 " new sandboxes in a second reached; try "
                                 "again later, or raise it with --sandboxes-per-second",
                                 most);
    size_t bytes = count * sizeof(times[0]);
    if (pwrite(fd, times, bytes, 0) != (ssize_t)bytes || ftruncate(fd, (off_t)bytes) < 0)
        return sandbox_error_set(e, -ENOSPC, "the time of this start can't be noted: %s; make room",
                                 strerror(errno));
    return 0;
}
