// SPDX-License-Identifier: Apache-2.0
/*
 * timer_create(2) and kin. The signal of a timer has its entry in the timer itself: an expiration
 * never fails for want of memory, and one entry at most is pending per timer.
 */
#include "kernel/proc/guest_timer.h"

#include "kernel/core/limits.h"
#include "kernel/proc/signal_queue.h"

#include <linux/capability.h>

/* SIGEV_THREAD is libc's; the kernel treats it as SIGEV_SIGNAL. */
#define NOTIFY_SIGNAL    0
#define NOTIFY_NONE      1
#define NOTIFY_THREAD    2
#define NOTIFY_THREAD_ID 4

/* Linux: include/linux/posix-timers.h, the layout of CPU clock numbers. */
#define CPU_CLOCK_PID(clock)    (~((clock) >> 3))
#define CPU_CLOCK_PER_THREAD    4
#define CPU_CLOCK_WHICH(clock)  ((clock)&3)
#define CPU_CLOCK_WHICH_USER    1
#define CPU_CLOCK_WHICH_INVALID 3

struct posix_timer {
    struct guest_timer t;
    int id;
    int notify;
    pid_t thread; /* SIGEV_THREAD_ID */
    struct signal_queued entry;
    struct signal_queue *queue; /* that entry was last linked into */
    int64_t overrun;            /* of the signal that is pending */
    int last_overrun;
};

/* ---- signals ---- */

static void unlink_entry(struct posix_timer *pt)
{
    if (list_is_linked(&pt->entry.link))
        signal_queue_remove(pt->queue, &pt->entry);
    pt->overrun = 0;
}

static bool expired(struct guest_timer *t)
{
    struct posix_timer *pt = container_of(t, struct posix_timer, t);
    struct process *p = t->owner->process;
    struct thread *thread = NULL;
    if (pt->notify == NOTIFY_THREAD_ID) {
        thread = thread_find(pt->thread);
        if (!thread || thread->process != p || thread->dead)
            return false;
    }
    if (list_is_linked(&pt->entry.link)) {
        pt->overrun++;
        return true;
    }
    pt->overrun = 0;
    pt->queue = thread ? &thread->signals.pending : &p->pending;
    return signal_send_timer(p, thread, &pt->entry);
}

void timer_signal_taken(struct signal_queued *entry, siginfo_t *info)
{
    struct posix_timer *pt = container_of(entry, struct posix_timer, entry);
    int64_t missed = guest_timer_resume(&pt->t);
    /* The first interval leads to the expiration that comes next: it was not missed. */
    pt->overrun += MAX(missed - 1, 0);
    if (info) {
        pt->last_overrun = (int)MIN(pt->overrun, (int64_t)INT32_MAX);
        info->si_overrun = pt->last_overrun;
    }
    pt->overrun = 0;
}

/* ---- making ---- */

static int cpu_clock(const struct thread *creator, clockid_t clock, enum guest_clock *ret_clock,
                     pid_t *ret_target)
{
    pid_t id = CPU_CLOCK_PID(clock);
    bool user_only = CPU_CLOCK_WHICH(clock) == CPU_CLOCK_WHICH_USER;
    if (CPU_CLOCK_WHICH(clock) == CPU_CLOCK_WHICH_INVALID)
        return -EINVAL;
    /* One that has not called yet. */
    if (id && !thread_find(id))
        process_settle_all();
    if (clock & CPU_CLOCK_PER_THREAD) {
        const struct thread *t = id ? thread_find(id) : creator;
        if (!t || t->process != creator->process)
            return -EINVAL;
        *ret_clock = user_only ? GUEST_CLOCK_THREAD_USER : GUEST_CLOCK_THREAD;
        *ret_target = t->tid;
        return 0;
    }
    const struct process *p = id ? process_find(id) : creator->process;
    if (!p)
        return -EINVAL;
    *ret_clock = user_only ? GUEST_CLOCK_PROCESS_USER : GUEST_CLOCK_PROCESS;
    *ret_target = p->pid;
    return 0;
}

static int clock_of(const struct thread *creator, clockid_t clock, enum guest_clock *ret_clock,
                    pid_t *ret_target)
{
    *ret_target = 0;
    if (clock < 0)
        return cpu_clock(creator, clock, ret_clock, ret_target);
    switch (clock) {
    case CLOCK_REALTIME_ALARM:
    case CLOCK_BOOTTIME_ALARM:
        if (!cred_has_cap(creator->cred, CAP_WAKE_ALARM))
            return -EPERM;
        *ret_clock = clock == CLOCK_REALTIME_ALARM ? GUEST_CLOCK_REALTIME : GUEST_CLOCK_BOOTTIME;
        return 0;
    case CLOCK_REALTIME:
        *ret_clock = GUEST_CLOCK_REALTIME;
        return 0;
    case CLOCK_MONOTONIC:
        *ret_clock = GUEST_CLOCK_MONOTONIC;
        return 0;
    case CLOCK_BOOTTIME:
        *ret_clock = GUEST_CLOCK_BOOTTIME;
        return 0;
    case CLOCK_TAI:
        *ret_clock = GUEST_CLOCK_TAI;
        return 0;
    case CLOCK_PROCESS_CPUTIME_ID:
        *ret_clock = GUEST_CLOCK_PROCESS;
        *ret_target = creator->process->pid;
        return 0;
    case CLOCK_THREAD_CPUTIME_ID:
        *ret_clock = GUEST_CLOCK_THREAD;
        *ret_target = creator->tid;
        return 0;
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_MONOTONIC_COARSE:
        return -EOPNOTSUPP;
    default:
        return -EINVAL;
    }
}

static int check_event(const struct thread *creator, const struct sigevent *event)
{
    const struct thread *t;
    switch (event->sigev_notify) {
    case NOTIFY_NONE:
        return 0;
    case NOTIFY_THREAD_ID:
        /* libc names a helper thread that it has only just made. */
        process_settle_embryo(creator->process);
        t = thread_find(event->_sigev_un._tid);
        if (!t || t->process != creator->process)
            return -EINVAL;
        break;
    case NOTIFY_SIGNAL:
    case NOTIFY_THREAD:
        break;
    default:
        return -EINVAL;
    }
    return signal_is_valid(event->sigev_signo) ? 0 : -EINVAL;
}

/* Numbers are not used again before all others were: a late call with an old one finds nothing. */
static int free_id(struct interval_timers *owner)
{
    for (;;) {
        int id = owner->next_id;
        owner->next_id = id == INT32_MAX ? 0 : id + 1;
        if (!map_get(&owner->posix, (uint64_t)id))
            return id;
    }
}

static void describe_signal(struct posix_timer *pt, const struct sigevent *event)
{
    siginfo_t *info = &pt->entry.info;
    memset(info, 0, sizeof(*info));
    info->si_signo = event ? event->sigev_signo : SIGALRM;
    info->si_code = SI_TIMER;
    info->si_timerid = pt->id;
    if (event)
        info->si_value = event->sigev_value;
    else
        info->si_value.sival_int = pt->id;
}

int timers_create(struct thread *creator, clockid_t clock, const struct sigevent *event,
                  int *ret_id)
{
    enum guest_clock guest_clock;
    pid_t target;
    int r = clock_of(creator, clock, &guest_clock, &target);
    if (r == 0 && event)
        r = check_event(creator, event);
    if (r < 0)
        return r;
    struct interval_timers *owner = interval_timers_of(creator->process);
    if (!owner || owner->posix.count >= LIMIT_TIMERS_OF_PROCESS)
        return -EAGAIN;
    struct posix_timer *pt = calloc(1, sizeof(*pt));
    if (!pt)
        return -EAGAIN;
    guest_timer_init(&pt->t, owner, guest_clock, target, expired);
    list_init(&pt->entry.link);
    pt->entry.timer = pt;
    pt->id = free_id(owner);
    pt->notify = event ? event->sigev_notify : NOTIFY_SIGNAL;
    pt->thread = event ? event->_sigev_un._tid : 0;
    describe_signal(pt, event);
    if (map_set(&owner->posix, (uint64_t)pt->id, pt) < 0) {
        free(pt);
        return -EAGAIN;
    }
    *ret_id = pt->id;
    return 0;
}

/* ---- use ---- */

static struct posix_timer *find(struct process *p, int id)
{
    return p->timers && id >= 0 ? map_get(&p->timers->posix, (uint64_t)id) : NULL;
}

/* A timer without a signal is never armed: its state is worked out when somebody asks. */
static void catch_up(struct posix_timer *pt)
{
    int64_t now;
    struct guest_timer *t = &pt->t;
    if (pt->notify != NOTIFY_NONE || t->when_ns == TIMER_NEVER || guest_timer_now(t, &now) < 0 ||
        t->when_ns > now)
        return;
    if (t->interval_ns)
        guest_timer_forward(t, now);
    else
        t->when_ns = TIMER_NEVER;
}

static void get(struct posix_timer *pt, struct timers_interval *ret)
{
    catch_up(pt);
    *ret = (struct timers_interval){guest_timer_remaining(&pt->t), pt->t.interval_ns};
}

int timers_get(struct process *p, int id, struct timers_interval *ret)
{
    struct posix_timer *pt = find(p, id);
    if (!pt)
        return -EINVAL;
    get(pt, ret);
    return 0;
}

int timers_set(struct process *p, int id, int flags, const struct timers_interval *value,
               struct timers_interval *ret_old)
{
    struct posix_timer *pt = find(p, id);
    struct timers_interval old;
    int64_t when = value->value_ns, now;
    int r = 0;
    if (!pt)
        return -EINVAL;
    struct guest_timer *t = &pt->t;
    get(pt, &old);
    guest_timer_disarm(t);
    unlink_entry(pt);
    pt->last_overrun = 0;
    t->interval_ns = value->value_ns ? value->interval_ns : 0;
    if (value->value_ns && !(flags & TIMER_ABSTIME)) {
        r = guest_timer_now(t, &now);
        if (r == 0 && __builtin_add_overflow(now, value->value_ns, &when))
            when = TIMER_NEVER - 1;
    }
    if (r == 0 && value->value_ns) {
        if (pt->notify == NOTIFY_NONE)
            t->when_ns = when;
        else
            r = guest_timer_arm(t, when);
    }
    if (r < 0)
        return r;
    if (ret_old)
        *ret_old = old;
    return 0;
}

int timers_overrun(struct process *p, int id)
{
    const struct posix_timer *pt = find(p, id);
    return pt ? pt->last_overrun : -EINVAL;
}

static void destroy(struct posix_timer *pt)
{
    guest_timer_disarm(&pt->t);
    unlink_entry(pt);
    free(pt);
}

int timers_delete(struct process *p, int id)
{
    struct posix_timer *pt = find(p, id);
    if (!pt)
        return -EINVAL;
    map_remove(&p->timers->posix, (uint64_t)id);
    destroy(pt);
    return 0;
}

void posix_timers_clear(struct interval_timers *owner)
{
    size_t cursor = 0;
    uint64_t id;
    void *pt;
    while (map_next(&owner->posix, &cursor, &id, &pt))
        destroy(pt);
    map_done(&owner->posix);
    owner->posix = (struct map){0};
}
