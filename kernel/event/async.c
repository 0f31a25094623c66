// SPDX-License-Identifier: Apache-2.0
#include "kernel/event/async.h"

#include "kernel/proc/jobs.h"
#include "kernel/proc/process.h"
#include "kernel/proc/signal_queue.h"

#include <fcntl.h>
#include <signal.h>

#define WAITS_MAX 4 /* queues that one file's readiness depends on */

#define READABLE (EPOLLIN | EPOLLRDNORM | EPOLLPRI | EPOLLHUP | EPOLLRDHUP | EPOLLERR)
#define WRITABLE (EPOLLOUT | EPOLLWRNORM | EPOLLERR)

struct async_wait {
    struct wait_entry entry;
    struct async *async;
};

struct async {
    struct list due_link;
    struct file *file; /* uncounted: the file owns this */
    int fd;
    uint32_t noted; /* EPOLL*, since it told last */
    struct async_wait waits[WAITS_MAX];
    size_t wait_count;
};

static struct list due = {&due, &due};

/* ---- noting ---- */

static void on_wake(struct wait_entry *entry, uint32_t events)
{
    struct async *a = container_of(entry, struct async_wait, entry)->async;
    a->noted |= events ? events : READABLE | WRITABLE;
    if (!list_is_linked(&a->due_link))
        list_append(&due, &a->due_link);
}

struct async_table {
    struct poll_table table;
    struct async *async;
    int error;
};

static void add_wait(struct poll_table *table, struct waitq *q)
{
    struct async_table *t = container_of(table, struct async_table, table);
    struct async *a = t->async;
    if (a->wait_count == WAITS_MAX) {
        t->error = -ENOMEM;
        return;
    }
    struct async_wait *w = &a->waits[a->wait_count++];
    *w = (struct async_wait){.entry = {.wake = on_wake}, .async = a};
    waitq_add(q, &w->entry);
}

static void async_free(struct file *f)
{
    struct async *a = f->async;
    for (size_t i = 0; i < a->wait_count; i++)
        waitq_remove(&a->waits[i].entry);
    list_remove(&a->due_link);
    free(a);
    f->async = NULL;
}

int async_set(struct file *f, int fd, bool on)
{
    if (!f->ops->tells_by_signal)
        return -ENOTTY;
    if (!on) {
        if (f->async)
            async_free(f);
        return 0;
    }
    if (f->async) {
        f->async->fd = fd;
        return 0;
    }
    struct async *a = calloc(1, sizeof(*a));
    if (!a)
        return -ENOMEM;
    file_async_release = async_free;
    a->file = f;
    a->fd = fd;
    list_init(&a->due_link);
    f->async = a;
    struct async_table t = {.table = {.add = add_wait}, .async = a};
    file_poll(f, &t.table);
    if (t.error < 0)
        async_free(f);
    return t.error;
}

/* ---- sending ---- */

/* All of it copied: whoever dies of the signal may take the file along. */
struct notice {
    struct file_owner owner;
    int fd;
    int reason; /* POLL_IN, POLL_OUT: si_code of sigaction(2) */
};

/* sigio_perm() of Linux. */
static bool may_tell(const struct file_owner *o, const struct thread *t)
{
    const struct cred *c = t->cred;
    return o->euid == 0 || o->euid == c->suid || o->euid == c->uid || o->uid == c->suid ||
           o->uid == c->uid;
}

/* Codes of other signals have meanings of their own: send_sigio_to_task() of Linux. */
static bool has_own_codes(int sig)
{
    return sig != SIGIO && signal_in(SIGMASK_SYNCHRONOUS | SIGMASK(SIGCHLD), sig);
}

static siginfo_t info_of(const struct notice *n)
{
    const int sig = n->owner.signal;
    siginfo_t info = signal_info_kernel(sig);
    info.si_code = has_own_codes(sig) ? SI_SIGIO : n->reason;
    info.si_band =
        n->reason == POLL_IN ? EPOLLIN | EPOLLRDNORM : EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND;
    info.si_fd = n->fd;
    return info;
}

static int send(struct process *p, struct thread *t, int sig, const siginfo_t *info)
{
    return t ? signal_send_thread(t, sig, info) : signal_send_process(p, sig, info);
}

/* To thread t alone, or the whole process when it is NULL. */
static void tell(struct process *p, struct thread *t, const struct notice *n)
{
    if (p->state != PROCESS_ALIVE || list_is_empty(&p->threads) ||
        !may_tell(&n->owner, t ? t : process_leader(p)))
        return;
    if (n->owner.signal != 0) {
        const siginfo_t info = info_of(n);
        if (send(p, t, n->owner.signal, &info) == 0)
            return;
    }
    /* Also where the other one did not fit its queue. */
    const siginfo_t plain = signal_info_kernel(SIGIO);
    send(p, t, SIGIO, &plain);
}

static void tell_group(struct process_group *g, const struct notice *n)
{
    struct process *p, *next;
    process_group_get(g);
    list_for_each_safe(p, next, &g->members, group_link) tell(p, NULL, n);
    process_group_put(g);
}

static void tell_owner(const struct notice *n)
{
    if (n->owner.type == F_OWNER_PGRP) {
        struct process_group *g = process_group_find(n->owner.pid);
        if (g)
            tell_group(g, n);
        return;
    }
    struct thread *t = n->owner.type == F_OWNER_TID ? thread_find(n->owner.pid) : NULL;
    struct process *p = t ? t->process : process_find(n->owner.pid);
    if (p && (t || n->owner.type == F_OWNER_PID))
        tell(p, t, n);
}

static void deliver(struct async *a)
{
    struct notice n = {.owner = a->file->owner, .fd = a->fd};
    const uint32_t noted = a->noted, now = file_poll(a->file, NULL);
    a->noted = 0;
    if (n.owner.pid == 0)
        return;
    if (noted & READABLE && now & READABLE) {
        n.reason = POLL_IN;
        tell_owner(&n);
    }
    if (noted & WRITABLE && now & WRITABLE) {
        n.reason = POLL_OUT;
        tell_owner(&n);
    }
}

void async_deliver(void)
{
    /* A signal ends calls, and each end comes here again: how deep is not for guests to say. */
    static bool is_delivering;
    struct async *a;
    if (is_delivering || list_is_empty(&due))
        return;
    is_delivering = true;
    while ((a = list_first(&due, struct async, due_link))) {
        list_remove(&a->due_link);
        deliver(a);
    }
    is_delivering = false;
}
