// SPDX-License-Identifier: Apache-2.0
#include "kernel/event/inotify.h"

#include "kernel/event/anon.h"
#include "lib/base/buf.h"

#include <sys/ioctl.h>

#define READ_CHUNK_BYTES 4096 /* holds at least one event with the longest name */

/* Moves events to buffer while they fit into room bytes; how many bytes that was. */
static size_t fill_chunk(struct notify_group *g, char *buffer, size_t room)
{
    size_t used = 0;
    const struct notify_event *e;
    while ((e = notify_group_first(g))) {
        size_t size = notify_event_size(e);
        if (used + size > room)
            break;
        const struct inotify_event head = {
            .wd = e->wd,
            .mask = e->mask,
            .cookie = e->cookie,
            .len = (uint32_t)(size - sizeof(head)),
        };
        memset(buffer + used, 0, size);
        memcpy(buffer + used, &head, sizeof(head));
        memcpy(buffer + used + sizeof(head), e->name, e->name_length);
        used += size;
        notify_group_drop_first(g);
    }
    return used;
}

static ssize_t inotify_file_read(struct file *f, struct uio *u, off_t *pos, int flags)
{
    struct notify_group *g = f->private;
    char chunk[READ_CHUNK_BYTES];
    ssize_t done = 0;
    const struct notify_event *first = notify_group_first(g);
    if (!first)
        return -EAGAIN;
    if (notify_event_size(first) > u->left)
        return -EINVAL;
    for (;;) {
        size_t size = fill_chunk(g, chunk, MIN(u->left, sizeof(chunk)));
        if (size == 0)
            return done;
        /* Events that could not be copied are lost, as on Linux. */
        if (uio_copy_out(u, chunk, size) != (ssize_t)size)
            return -EFAULT;
        done += (ssize_t)size;
    }
}

static uint32_t inotify_file_poll(struct file *f, struct poll_table *table)
{
    struct notify_group *g = f->private;
    poll_table_add(table, notify_group_wait(g));
    return notify_group_first(g) ? EPOLLIN | EPOLLRDNORM : 0;
}

static long inotify_file_ioctl(struct file *f, struct call *c, unsigned request,
                               struct gaddr argument)
{
    if (request != FIONREAD)
        return -ENOTTY;
    int bytes = (int)notify_group_bytes(f->private);
    return call_write(c, argument, &bytes, sizeof(bytes));
}

static void inotify_file_release(struct file *f)
{
    notify_group_free(f->private);
}

static void inotify_file_describe(struct file *f, struct buf *b)
{
    notify_group_describe(f->private, b);
}

static const struct file_ops inotify_ops = {
    .release = inotify_file_release,
    .read = inotify_file_read,
    .lseek = anon_lseek,
    .stream = true,
    .reads_apart = true,
    .poll = inotify_file_poll,
    .describe = inotify_file_describe,
    .ioctl = inotify_file_ioctl,
    .tells_by_signal = true,
};

int inotify_create_file(int flags, struct file **ret)
{
    struct notify_group *g;
    int r = notify_group_new(NOTIFY_INSIDE, &g);
    if (r < 0)
        return r;
    r = file_new_anonymous("anon_inode:inotify", ANON_MODE, O_RDONLY | (flags & O_NONBLOCK),
                           &inotify_ops, g, ret);
    if (r < 0)
        notify_group_free(g);
    return r;
}

struct notify_group *inotify_group_of(const struct file *f)
{
    return f->ops == &inotify_ops ? f->private : NULL;
}
