// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/pidfd.h"

#include "lib/base/buf.h"

struct pidfd {
    struct list link;        /* process.pidfds */
    struct process *process; /* NULL once it is reaped */
    struct waitq wait;
};

static void pidfd_release(struct file *f)
{
    struct pidfd *d = f->private;
    list_remove(&d->link);
    waitq_done(&d->wait);
    free(d);
}

static uint32_t pidfd_poll(struct file *f, struct poll_table *table)
{
    struct pidfd *d = f->private;
    poll_table_add(table, &d->wait);
    if (!d->process)
        return EPOLLIN | EPOLLRDNORM | EPOLLHUP;
    return d->process->state == PROCESS_ZOMBIE ? EPOLLIN | EPOLLRDNORM : 0;
}

static void pidfd_describe(struct file *f, struct buf *b)
{
    const struct pidfd *d = f->private;
    int pid = d->process ? d->process->pid : -1;
    buf_printf(b, "Pid:\t%d\nNSpid:\t%d\n", pid, pid);
}

static const struct file_ops pidfd_ops = {
    .release = pidfd_release,
    .poll = pidfd_poll,
    .describe = pidfd_describe,
    .stream = true,
};

int pidfd_create(struct process *p, int flags, struct file **ret)
{
    struct pidfd *d = calloc(1, sizeof(*d));
    if (!d)
        return -ENOMEM;
    list_init(&d->link);
    waitq_init(&d->wait);
    d->process = p;
    int r = file_new_anonymous("anon_inode:[pidfd]", S_IRUSR | S_IWUSR, O_RDWR | flags, &pidfd_ops,
                               d, ret);
    if (r < 0) {
        free(d);
        return r;
    }
    list_append(&p->pidfds, &d->link);
    return 0;
}

struct process *pidfd_process(const struct file *f, bool *ret_is_pidfd)
{
    *ret_is_pidfd = f->ops == &pidfd_ops;
    return *ret_is_pidfd ? ((struct pidfd *)f->private)->process : NULL;
}

void pidfd_process_ended(struct process *p)
{
    struct pidfd *d;
    list_for_each(d, &p->pidfds, link) waitq_wake(&d->wait, EPOLLIN);
}

void pidfd_process_gone(struct process *p)
{
    struct pidfd *d, *next;
    list_for_each_safe(d, next, &p->pidfds, link)
    {
        d->process = NULL;
        list_remove(&d->link);
        waitq_wake(&d->wait, EPOLLIN | EPOLLHUP);
    }
}
