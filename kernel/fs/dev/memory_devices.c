// SPDX-License-Identifier: Apache-2.0
#include "kernel/fs/dev/memory_devices.h"

#include "kernel/core/kernel.h"
#include "kernel/fs/dev/dev.h"

#include <linux/random.h>

#define ENTROPY_BITS 256 /* as Linux answers since 5.18, once it is seeded */

static struct hostfd host_zero = {-1};

void dev_set_zero(struct hostfd zero)
{
    hostfd_close(&host_zero);
    host_zero = zero;
}

static ssize_t read_nothing(struct file *f, struct uio *u, off_t *pos, int flags)
{
    return 0;
}

static ssize_t read_zeros(struct file *f, struct uio *u, off_t *pos, int flags)
{
    return uio_zero_out(u, u->left);
}

/* Takes everything without a look at it: a bad address is no error. */
static ssize_t write_to_nowhere(struct file *f, struct uio *u, off_t *pos, int flags)
{
    ssize_t size = (ssize_t)u->left;
    u->left = 0;
    return size;
}

static ssize_t write_to_full(struct file *f, struct uio *u, off_t *pos, int flags)
{
    return -ENOSPC;
}

/* Any seek ends at the start. */
static off_t seek_to_start(struct file *f, off_t offset, int whence)
{
    return 0;
}

static off_t stay(struct file *f, off_t offset, int whence)
{
    return f->pos;
}

static int map_zero(struct file *f, bool shared_writable, struct hostfd *ret)
{
    if (!hostfd_is_open(host_zero))
        return -ENODEV;
    *ret = host_zero;
    return 0;
}

static ssize_t read_random(struct file *f, struct uio *u, off_t *pos, int flags)
{
    uint8_t data[4096];
    ssize_t done = 0;
    while (u->left > 0) {
        size_t size = MIN(u->left, sizeof(data));
        kernel_random(data, size);
        ssize_t n = uio_copy_out(u, data, size);
        if (n < 0)
            return done > 0 ? done : n;
        done += n;
    }
    return done;
}

/* What a program adds to the pool changes nothing that it could notice. */
static ssize_t write_random(struct file *f, struct uio *u, off_t *pos, int flags)
{
    uint8_t data[4096];
    ssize_t done = 0;
    while (u->left > 0) {
        ssize_t n = uio_copy_in(u, data, MIN(u->left, sizeof(data)));
        if (n < 0)
            return done > 0 ? done : n;
        done += n;
    }
    return done;
}

static long random_ioctl(struct file *f, struct call *c, unsigned request, struct gaddr argument)
{
    int bits = ENTROPY_BITS;
    switch (request) {
    case RNDGETENTCNT:
        return call_write(c, argument, &bits, sizeof(bits));
    case RNDADDTOENTCNT:
    case RNDADDENTROPY:
    case RNDZAPENTCNT:
    case RNDCLEARPOOL:
    case RNDRESEEDCRNG:
        return -EPERM;
    default:
        return -EINVAL;
    }
}

static uint32_t random_poll(struct file *f, struct poll_table *table)
{
    return EPOLLIN | EPOLLRDNORM | EPOLLOUT | EPOLLWRNORM;
}

const struct file_ops null_device_ops = {
    .read = read_nothing,
    .write = write_to_nowhere,
    .lseek = seek_to_start,
};

const struct file_ops zero_device_ops = {
    .read = read_zeros,
    .write = write_to_nowhere,
    .lseek = seek_to_start,
    .map = map_zero,
};

const struct file_ops full_device_ops = {
    .read = read_zeros,
    .write = write_to_full,
    .lseek = seek_to_start,
};

const struct file_ops random_device_ops = {
    .read = read_random,
    .write = write_random,
    .lseek = stay,
    .ioctl = random_ioctl,
    .poll = random_poll,
};

const struct file_ops urandom_device_ops = {
    .read = read_random,
    .write = write_random,
    .lseek = stay,
    .ioctl = random_ioctl,
};
