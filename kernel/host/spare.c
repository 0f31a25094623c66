// SPDX-License-Identifier: Apache-2.0
/* host calls: close openat */
#include "kernel/host/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define COUNT 2 /* a file that is read while a folder is */

static struct hostfd place = {-1};
static int spare[COUNT] = {-1, -1};
static struct hostfd unreserved = {-1}; /* what the last reservation left */

static int open_place(void)
{
    return openat(place.n, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool give_up_one(void)
{
    for (int i = 0; i < COUNT; i++) {
        if (spare[i] < 0)
            continue;
        close(spare[i]);
        spare[i] = -1;
        return true;
    }
    return false;
}

void spare_refill(void)
{
    for (int i = 0; i < COUNT; i++)
        if (spare[i] < 0)
            spare[i] = open_place();
}

int spare_start(struct hostfd dir)
{
    place = dir;
    spare_refill();
    return spare[COUNT - 1] < 0 ? -errno : 0;
}

int spare_open(struct hostfd dir, const char *name, int flags)
{
    int fd = openat(dir.n, name, flags);
    while (fd < 0 && (errno == EMFILE || errno == ENFILE) && give_up_one())
        fd = openat(dir.n, name, flags);
    return fd < 0 ? -errno : fd;
}

int spare_reserve(struct hostfd *ret)
{
    int fd = hostfd_is_open(unreserved) ? TAKE_FD(unreserved.n) : -1;
    if (fd < 0 && hostfd_is_open(place))
        fd = open_place();
    if (fd < 0 && hostfd_is_open(place))
        return -errno;
    ret->n = fd;
    return 0;
}

void spare_unreserve(struct hostfd *fd)
{
    if (hostfd_is_open(unreserved))
        hostfd_close(fd);
    else
        unreserved = *fd;
    *fd = HOSTFD_NONE;
}
