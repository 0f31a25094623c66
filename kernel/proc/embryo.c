// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/embryo.h"

#include "kernel/core/kernel.h"
#include "kernel/core/limits.h"
#include "kernel/host/host.h"
#include "kernel/host/spare.h"
#include "kernel/proc/jobs.h"
#include "kernel/proc/space.h"
#include "kernel/proc/timers.h"
#include "kernel/proc/spawn.h"

#include <sched.h>

#define POLL_FIRST_NS (2 * NSEC_PER_MSEC)

size_t embryo_total;

/* Of all creators, those whose child will be a process. */
static struct list processes_to_be = {&processes_to_be, &processes_to_be};

static struct embryo *find_marked(uint64_t mark)
{
    struct embryo *e;
    list_for_each(e, &processes_to_be, link) if (e->mark == mark) return e;
    return NULL;
}

struct process *embryo_creator(uint64_t mark)
{
    struct embryo *e = find_marked(mark);
    return e ? e->creator : NULL;
}

/* Gives p a mark that no creator has which waits for its child. */
static int change_mark(struct process *p)
{
    static uint64_t next;
    do
        next++;
    while (find_marked(next));
    int r = host->set_mark(p->host_pid, next);
    if (r == 0)
        p->mark = next;
    return r;
}

struct waitq *embryo_in_the_way(struct process *p, uint64_t flags)
{
    if (p->embryo)
        return &p->embryo->settled;
    struct embryo *like = flags & CLONE_THREAD ? NULL : find_marked(p->mark);
    return like && change_mark(p) < 0 ? &like->settled : NULL;
}

struct process *embryo_only_creator(void)
{
    if (list_is_empty(&processes_to_be) || processes_to_be.next != processes_to_be.prev)
        return NULL;
    return list_first(&processes_to_be, struct embryo, link)->creator;
}

static void embryo_free(struct embryo *e)
{
    embryo_total--;
    list_remove(&e->link);
    timer_disarm(&e->poll);
    waitq_done(&e->settled);
    if (e->files)
        fdtable_put(e->files);
    fs_context_put(e->fs);
    if (e->cred)
        cred_put(e->cred);
    if (e->actions)
        signal_actions_put(e->actions);
    if (e->space)
        space_put(e->space);
    process_group_put(e->group);
    signal_queue_clear(&e->missed);
    if (e->spawn)
        spawn_lost(e->spawn);
    spare_unreserve(&e->reserved);
    free(e);
}

/* Children that never call anything (a loop) are looked for, at growing distances. */
static void on_poll(struct timer *t)
{
    struct embryo *e = container_of(t, struct embryo, poll);
    struct process *creator = e->creator;
    process_settle_embryo(creator);
    if (creator->embryo != e)
        return;
    int64_t age = clock_monotonic_ns() - e->made_ns;
    timer_arm(t, clock_monotonic_ns() + MIN(MAX(age, POLL_FIRST_NS), EMBRYO_POLL_MAX_NS));
    waitq_wake(&e->settled, 0);
}

int embryo_new(struct thread *t, uint64_t flags)
{
    struct process *p = t->process;
    struct embryo *e = calloc(1, sizeof(*e));
    if (!e)
        return -ENOMEM;
    e->reserved = HOSTFD_NONE;
    /* Without a descriptor for its pidfd the child could not live. */
    if (!(flags & CLONE_THREAD) && spare_reserve(&e->reserved) < 0) {
        free(e);
        return -EAGAIN;
    }
    embryo_total++;
    list_init(&e->link);
    waitq_init(&e->settled);
    signal_queue_init(&e->missed);
    e->poll = TIMER_INIT(on_poll);
    e->creator = p;
    e->creator_tid = t->tid;
    e->flags = flags;
    e->mark = p->mark;
    e->made_ns = clock_monotonic_ns();
    e->mask = t->signals.mask;
    memcpy(e->name, t->name, sizeof(e->name));
    memcpy(e->cpus, t->cpus, sizeof(e->cpus));
    e->sched_policy = t->sched_policy;
    e->sched_priority = t->sched_priority;
    e->timer_slack_ns = t->timer_slack_ns;
    memcpy(e->rlimits, p->rlimits, sizeof(e->rlimits));
    e->cred = cred_get(t->cred);
    e->group = p->group ? process_group_get(p->group) : NULL;
    e->files = flags & CLONE_FILES ? fdtable_get(t->files) : fdtable_copy(t->files);
    e->fs = flags & CLONE_FS ? fs_context_get(t->fs) : fs_context_copy(t->fs);
    e->actions =
        flags & CLONE_SIGHAND ? signal_actions_get(p->actions) : signal_actions_copy(p->actions);
    e->space = flags & CLONE_VM ? space_get(p->space) : space_copy(p->space);
    if (!e->files || !e->fs || !e->actions || !e->space ||
        timer_arm(&e->poll, e->made_ns + POLL_FIRST_NS) < 0) {
        embryo_free(e);
        return -ENOMEM;
    }
    p->embryo = e;
    if (!(flags & CLONE_THREAD))
        list_append(&processes_to_be, &e->link);
    if (p == process_init)
        spawn_give(e);
    return 0;
}

void embryo_drop(struct process *creator)
{
    struct embryo *e = creator->embryo;
    creator->embryo = NULL;
    embryo_free(e);
    /* Who waits for a child that was on its way may wait for none now. */
    waitq_wake(&creator->child_wait, 0);
}

/* What a thread takes over, in both cases. */
static void give_thread(struct embryo *e, struct thread *t)
{
    t->files = e->files;
    t->fs = e->fs;
    t->cred = e->cred;
    e->files = NULL; /* transferred, as the two below */
    e->fs = NULL;
    e->cred = NULL;
    t->signals.mask = e->mask;
    memcpy(t->name, e->name, sizeof(t->name));
    memcpy(t->cpus, e->cpus, sizeof(t->cpus));
    t->sched_policy = e->sched_policy;
    t->sched_priority = e->sched_priority;
    t->timer_slack_ns = e->timer_slack_ns;
}

static struct thread *born_thread(struct process *p, pid_t host_tid, pid_t tid)
{
    struct thread *t = thread_new(p, tid, host_tid);
    if (t)
        give_thread(p->embryo, t);
    return t;
}

static struct thread *born_process(struct process *creator, const struct task_ids *ids,
                                   struct hostfd pidfd)
{
    struct embryo *e = creator->embryo;
    struct process *parent = creator->state == PROCESS_ALIVE ? creator : process_reaper(creator);
    if (!hostfd_is_open(pidfd))
        hostfd_close(&e->reserved);
    struct process *p = process_new(parent, ids->tid, ids->host_tid, pidfd);
    if (!p)
        return NULL;
    struct thread *t = process_leader(p);
    give_thread(e, t);
    p->space = e->space;
    p->actions = e->actions;
    e->space = NULL; /* transferred */
    e->actions = NULL;
    memcpy(p->rlimits, e->rlimits, sizeof(p->rlimits));
    p->mark = e->mark;
    /* An orphan at its birth is its reaper's child like any other. */
    p->exit_signal = parent == creator ? (int)(e->flags & 0xff) : SIGCHLD;
    p->nice = creator->nice;
    p->oom_score_adj = creator->oom_score_adj;
    p->thp_disabled = creator->thp_disabled;
    p->ioprio = creator->ioprio;
    p->coredump_filter = creator->coredump_filter;
    p->tty_dropped = creator->tty_dropped;
    timers_watch_cpu_limit(p);
    if (!e->spawn) {
        process_join_group(p, e->group);
        return t;
    }
    struct spawn *spawn = e->spawn;
    e->spawn = NULL; /* it has come to something */
    spawn_born(spawn, p);
    return t;
}

/* ---- signals to groups ---- */

static void miss(struct embryo *e, int sig, const siginfo_t *info)
{
    if (signal_in(SIGMASK_STOP, sig))
        signal_queue_drop(&e->missed, SIGMASK(SIGCONT));
    else if (sig == SIGCONT)
        signal_queue_drop(&e->missed, SIGMASK_STOP);
    signal_queue_add(&e->missed, sig, info, LIMIT_SIGNALS_OF_PROCESS, false);
}

bool embryo_signal(const struct process_group *g, int sig, const siginfo_t *info,
                   const struct thread *sender)
{
    struct embryo *e;
    bool any = false;
    list_for_each(e, &processes_to_be, link)
    {
        if ((g && e->group != g) || (sender && !signal_may_send_to(sender, e->cred, e->group, sig)))
            continue;
        any = true;
        if (sig)
            miss(e, sig, info);
    }
    return any;
}

static void take_missed(struct embryo *e, struct process *p)
{
    struct signal_queued *no_timer;
    siginfo_t info;
    while (e->missed.set) {
        int sig = signal_first(e->missed.set);
        signal_queue_take(&e->missed, sig, &info, &no_timer);
        signal_send_process(p, sig, &info);
    }
}

struct thread *embryo_born(struct process *creator, const struct task_ids *ids, struct hostfd pidfd)
{
    struct embryo *e = creator->embryo;
    bool is_thread = ids->host_tgid != ids->host_tid;
    if (is_thread != !!(e->flags & CLONE_THREAD)) {
        hostfd_close(&pidfd);
        return NULL;
    }
    struct thread *t = is_thread ? born_thread(creator, ids->host_tid, ids->tid)
                                 : born_process(creator, ids, pidfd);
    if (t && !is_thread)
        take_missed(e, t->process);
    embryo_drop(creator);
    if (!t) {
        /* Nobody knows it any more: it must not live to be taken for another creator's child. */
        host->signal_thread(0, ids->host_tid, SIGKILL);
        return NULL;
    }
    signal_kick(t);
    return t;
}
