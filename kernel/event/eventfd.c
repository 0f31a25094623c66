// SPDX-License-Identifier: Apache-2.0
#include "kernel/event/eventfd.h"

#include "kernel/event/anon.h"
#include "lib/base/buf.h"

#include <sys/eventfd.h>

#define COUNT_MAX (UINT64_MAX - 1)

struct eventfd {
    uint64_t count; /* UINT64_MAX can't be reached by writing */
    bool semaphore;
    struct waitq wait;
};

static ssize_t eventfd_file_read(struct file *f, struct uio *u, off_t *pos, int flags)
{
    struct eventfd *e = f->private;
    if (u->left < sizeof(uint64_t))
        return -EINVAL;
    if (e->count == 0)
        return -EAGAIN;
    uint64_t value = e->semaphore ? 1 : e->count;
    e->count -= value;
    waitq_wake(&e->wait, EPOLLOUT);
    /* As on Linux, a reader with a bad buffer has taken the value. */
    return uio_copy_out(u, &value, sizeof(value)) == sizeof(value) ? (ssize_t)sizeof(value)
                                                                   : -EFAULT;
}

static ssize_t eventfd_file_write(struct file *f, struct uio *u, off_t *pos, int flags)
{
    struct eventfd *e = f->private;
    uint64_t value;
    if (u->left != sizeof(value))
        return -EINVAL;
    if (uio_copy_in(u, &value, sizeof(value)) != sizeof(value))
        return -EFAULT;
    if (value == UINT64_MAX)
        return -EINVAL;
    if (value > COUNT_MAX - e->count)
        return -EAGAIN;
    e->count += value;
    waitq_wake(&e->wait, EPOLLIN);
    return sizeof(value);
}

static uint32_t eventfd_file_poll(struct file *f, struct poll_table *table)
{
    struct eventfd *e = f->private;
    uint32_t events = 0;
    poll_table_add(table, &e->wait);
    if (e->count > 0)
        events |= EPOLLIN;
    if (e->count < COUNT_MAX)
        events |= EPOLLOUT;
    return events;
}

static void eventfd_file_release(struct file *f)
{
    free(f->private);
}

static void eventfd_file_describe(struct file *f, struct buf *b)
{
    const struct eventfd *e = f->private;
    buf_printf(b, "eventfd-count: %16llx\neventfd-id: %llu\neventfd-semaphore: %d\n",
               (unsigned long long)e->count, (unsigned long long)f->id, e->semaphore);
}

static const struct file_ops eventfd_ops = {
    .release = eventfd_file_release,
    .read = eventfd_file_read,
    .write = eventfd_file_write,
    .lseek = anon_lseek,
    .stream = true,
    .writes_apart = true,
    .poll = eventfd_file_poll,
    .describe = eventfd_file_describe,
};

int eventfd_create_file(uint64_t count, int flags, struct file **ret)
{
    struct eventfd *e = calloc(1, sizeof(*e));
    if (!e)
        return -ENOMEM;
    e->count = count;
    e->semaphore = flags & EFD_SEMAPHORE;
    waitq_init(&e->wait);
    int r = file_new_anonymous("anon_inode:[eventfd]", ANON_MODE, O_RDWR | (flags & O_NONBLOCK),
                               &eventfd_ops, e, ret);
    if (r < 0)
        free(e);
    return r;
}
