// SPDX-License-Identifier: Apache-2.0
/* host calls: clock_gettime */
#include "kernel/proc/guest_timer.h"

#include "kernel/core/kernel.h"
#include "kernel/proc/signal_queue.h"
#include "kernel/proc/usage.h"

#include <sys/time.h>

#define CPU_POLL_NS (10 * NSEC_PER_MSEC)
/* A periodic timer whose signal is ignored still runs, but not faster than a tick of Linux. */
#define IGNORED_TICK_NS (4 * NSEC_PER_MSEC)

/* ---- clocks ---- */

static int cpu_now(const struct guest_timer *t, int64_t *ret_ns)
{
    int64_t user = 0, system = 0;
    int r = -ESRCH;
    if (t->clock == GUEST_CLOCK_THREAD || t->clock == GUEST_CLOCK_THREAD_USER) {
        const struct thread *thread = thread_find(t->target);
        if (thread && !thread->dead)
            r = thread_cpu_time(thread, &user, &system);
    } else {
        const struct process *p = process_find(t->target);
        if (p && p->state == PROCESS_ALIVE)
            r = process_cpu_time(p, &user, &system);
    }
    bool user_only = t->clock == GUEST_CLOCK_PROCESS_USER || t->clock == GUEST_CLOCK_THREAD_USER;
    if (r == 0)
        *ret_ns = user_only ? user : user + system;
    return r;
}

static int64_t host_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

int guest_timer_now(const struct guest_timer *t, int64_t *ret)
{
    switch (t->clock) {
    case GUEST_CLOCK_MONOTONIC:
        *ret = clock_monotonic_ns();
        return 0;
    case GUEST_CLOCK_BOOTTIME:
        *ret = host_clock_ns(CLOCK_BOOTTIME);
        return 0;
    case GUEST_CLOCK_REALTIME:
        *ret = clock_realtime_ns();
        return 0;
    case GUEST_CLOCK_TAI:
        *ret = host_clock_ns(CLOCK_TAI);
        return 0;
    default:
        return cpu_now(t, ret);
    }
}

static bool is_polled(const struct guest_timer *t)
{
    return t->clock >= GUEST_CLOCK_PROCESS;
}

/* ---- one timer ---- */

static void expire(struct guest_timer *t)
{
    int64_t now;
    if (t->interval_ns == 0)
        t->when_ns = TIMER_NEVER;
    else
        t->pending = true;
    if (t->expired(t) || t->interval_ns == 0)
        return;
    t->pending = false;
    if (guest_timer_now(t, &now) < 0)
        return;
    guest_timer_forward(t, now);
    guest_timer_arm(t, MAX(t->when_ns, now + IGNORED_TICK_NS));
}

static void on_timer(struct timer *timer)
{
    expire(container_of(timer, struct guest_timer, timer));
}

void guest_timer_init(struct guest_timer *t, struct interval_timers *owner, enum guest_clock clock,
                      pid_t target, bool (*expired)(struct guest_timer *t))
{
    *t = (struct guest_timer){
        .owner = owner,
        .clock = clock,
        .target = target,
        .when_ns = TIMER_NEVER,
        .timer = TIMER_INIT(on_timer),
        .expired = expired,
    };
    list_init(&t->cpu_link);
}

/* Looks again when the first of the CPU timers can have expired at the earliest. */
static int schedule_poll(struct interval_timers *owner, int64_t nearest_ns)
{
    int64_t cpus = MAX(kernel.config.cpu_count, 1);
    int64_t when = clock_monotonic_ns() + MAX(nearest_ns / cpus, CPU_POLL_NS);
    if (timer_is_armed(&owner->poll) && owner->poll.when_ns <= when)
        return 0;
    return timer_arm(&owner->poll, when);
}

int guest_timer_arm(struct guest_timer *t, int64_t when_ns)
{
    int64_t now;
    guest_timer_disarm(t);
    int r = guest_timer_now(t, &now);
    if (r < 0)
        return r;
    if (is_polled(t)) {
        r = schedule_poll(t->owner, when_ns - now);
        if (r == 0)
            list_append(&t->owner->cpu_timers, &t->cpu_link);
    } else {
        int64_t at;
        if (__builtin_add_overflow(clock_monotonic_ns(), when_ns - now, &at))
            at = TIMER_NEVER;
        r = timer_arm(&t->timer, at);
    }
    if (r == 0)
        t->when_ns = when_ns;
    return r;
}

void guest_timer_disarm(struct guest_timer *t)
{
    timer_disarm(&t->timer);
    list_remove(&t->cpu_link);
    t->when_ns = TIMER_NEVER;
    t->pending = false;
}

int64_t guest_timer_forward(struct guest_timer *t, int64_t now_ns)
{
    if (t->interval_ns == 0 || t->when_ns > now_ns)
        return 0;
    int64_t count = (now_ns - t->when_ns) / t->interval_ns + 1, distance;
    if (__builtin_mul_overflow(count, t->interval_ns, &distance) ||
        __builtin_add_overflow(t->when_ns, distance, &t->when_ns))
        t->when_ns = TIMER_NEVER - 1;
    return count;
}

int64_t guest_timer_resume(struct guest_timer *t)
{
    int64_t now;
    if (!t->pending)
        return 0;
    t->pending = false;
    if (guest_timer_now(t, &now) < 0)
        return 0;
    int64_t count = guest_timer_forward(t, now);
    guest_timer_arm(t, t->when_ns);
    return count;
}

int64_t guest_timer_remaining(const struct guest_timer *t)
{
    int64_t now;
    struct guest_timer copy = *t;
    if (t->when_ns == TIMER_NEVER || guest_timer_now(t, &now) < 0)
        return 0;
    if (t->pending)
        guest_timer_forward(&copy, now);
    return MAX(copy.when_ns - now, 1);
}

/* ---- CPU time ---- */

/* setrlimit(2): SIGXCPU each second past the soft limit, SIGKILL at the hard one. */
static void check_cpu_limit(struct process *p, int64_t used_ns)
{
    struct rlimit *limit = &p->rlimits[RLIMIT_CPU];
    rlim_t used = (rlim_t)(used_ns / NSEC_PER_SEC);
    if (limit->rlim_max != RLIM_INFINITY && used >= MAX(limit->rlim_max, (rlim_t)1)) {
        process_kill(p, SIGKILL);
    } else if (limit->rlim_cur != RLIM_INFINITY && used >= MAX(limit->rlim_cur, (rlim_t)1)) {
        siginfo_t info = signal_info_kernel(SIGXCPU);
        limit->rlim_cur = used + 1;
        signal_send_process(p, SIGXCPU, &info);
    }
}

/* What is left of the CPU time until the limit says something; TIMER_NEVER: it does not. */
static int64_t left_to_limit(const struct process *p, int64_t used_ns)
{
    const struct rlimit *limit = &p->rlimits[RLIMIT_CPU];
    rlim_t nearest = MIN(limit->rlim_cur, limit->rlim_max);
    if (nearest >= (rlim_t)(TIMER_NEVER / NSEC_PER_SEC))
        return TIMER_NEVER;
    return (int64_t)MAX(nearest, (rlim_t)1) * NSEC_PER_SEC - used_ns;
}

static void on_poll(struct timer *timer)
{
    struct interval_timers *owner = container_of(timer, struct interval_timers, poll);
    struct process *p = owner->process;
    struct list due;
    struct guest_timer *t;
    int64_t now, user, system, nearest = TIMER_NEVER;

    list_init(&due);
    list_splice(&due, &owner->cpu_timers);
    while ((t = list_first(&due, struct guest_timer, cpu_link))) {
        list_remove(&t->cpu_link);
        if (guest_timer_now(t, &now) < 0)
            continue; /* its thread has ended: it never expires */
        if (now >= t->when_ns) {
            expire(t);
        } else {
            list_append(&owner->cpu_timers, &t->cpu_link);
            nearest = MIN(nearest, t->when_ns - now);
        }
    }
    if (left_to_limit(p, 0) != TIMER_NEVER && process_cpu_time(p, &user, &system) == 0) {
        check_cpu_limit(p, user + system);
        nearest = MIN(nearest, left_to_limit(p, user + system));
    }
    if (nearest != TIMER_NEVER && !p->exiting)
        schedule_poll(owner, nearest);
}

void timers_watch_cpu_limit(struct process *p)
{
    struct interval_timers *owner;
    if (left_to_limit(p, 0) != TIMER_NEVER && (owner = interval_timers_of(p)))
        schedule_poll(owner, 0);
}

/* ---- interval timers ---- */

static void send_alarm(struct process *p, int sig)
{
    siginfo_t info = signal_info_kernel(sig);
    signal_send_process(p, sig, &info);
}

/* Goes on when a SIGALRM is taken, which an ignored one never is: so it is on Linux too. */
static bool real_expired(struct guest_timer *t)
{
    send_alarm(t->owner->process, SIGALRM);
    return true;
}

#define RUNNER_LOOKS 16

static bool can_be_told(const struct thread *t, int sig)
{
    return !t->dead && !(t->call && t->call->parked) && !signal_in(t->signals.mask, sig);
}

/*
 * Who runs is who used the processor time up, and a profiler wants to know where: on Linux the
 * signal comes from the tick of that thread. With many it is each one's turn. NULL: nobody is seen
 * running.
 */
static struct thread *find_runner(const struct interval_timers *owner, int sig)
{
    struct thread *t;
    int looks = 0;
    bool passed = false;
    for (int round = 0; round < 2; round++) {
        list_for_each(t, &owner->process->threads, process_link)
        {
            bool is_last = t->tid == owner->told_tid;
            if ((passed || round > 0) && can_be_told(t, sig) && looks++ < RUNNER_LOOKS &&
                thread_is_running(t))
                return t;
            passed |= is_last;
        }
    }
    return NULL;
}

static void tell_runner(struct interval_timers *owner, int sig)
{
    const siginfo_t info = signal_info_kernel(sig);
    struct thread *t = find_runner(owner, sig);
    if (!t) {
        signal_send_process(owner->process, sig, &info);
        return;
    }
    owner->told_tid = t->tid;
    signal_send_near(t, sig, &info);
}

/* These are polled anyway and don't wait for their signal to be taken. */
static bool user_expired(struct guest_timer *t)
{
    tell_runner(t->owner, SIGVTALRM);
    return false;
}

static bool cpu_expired(struct guest_timer *t)
{
    tell_runner(t->owner, SIGPROF);
    return false;
}

struct interval_timers *interval_timers_of(struct process *p)
{
    if (p->timers)
        return p->timers;
    struct interval_timers *owner = calloc(1, sizeof(*owner));
    if (!owner)
        return NULL;
    owner->process = p;
    owner->poll = TIMER_INIT(on_poll);
    list_init(&owner->cpu_timers);
    guest_timer_init(&owner->real, owner, GUEST_CLOCK_MONOTONIC, 0, real_expired);
    guest_timer_init(&owner->user, owner, GUEST_CLOCK_PROCESS_USER, p->pid, user_expired);
    guest_timer_init(&owner->cpu, owner, GUEST_CLOCK_PROCESS, p->pid, cpu_expired);
    p->timers = owner;
    return owner;
}

static struct guest_timer *interval_timer(struct interval_timers *owner, int which)
{
    switch (which) {
    case ITIMER_REAL:
        return &owner->real;
    case ITIMER_VIRTUAL:
        return &owner->user;
    default:
        return &owner->cpu;
    }
}

static bool is_interval_timer(int which)
{
    return which == ITIMER_REAL || which == ITIMER_VIRTUAL || which == ITIMER_PROF;
}

int timers_get_interval(struct process *p, int which, struct timers_interval *ret)
{
    if (!is_interval_timer(which))
        return -EINVAL;
    *ret = (struct timers_interval){0, 0};
    if (p->timers) {
        const struct guest_timer *t = interval_timer(p->timers, which);
        *ret = (struct timers_interval){guest_timer_remaining(t), t->interval_ns};
    }
    return 0;
}

int timers_set_interval(struct process *p, int which, const struct timers_interval *value,
                        struct timers_interval *ret_old)
{
    struct timers_interval old;
    int64_t now, when;
    int r = timers_get_interval(p, which, &old);
    if (r < 0)
        return r;
    struct interval_timers *owner = interval_timers_of(p);
    if (!owner)
        return -ENOMEM;
    struct guest_timer *t = interval_timer(owner, which);
    guest_timer_disarm(t);
    t->interval_ns = value->interval_ns;
    if (value->value_ns > 0) {
        r = guest_timer_now(t, &now);
        if (__builtin_add_overflow(now, value->value_ns, &when))
            when = TIMER_NEVER - 1;
        if (r == 0)
            r = guest_timer_arm(t, when);
        if (r < 0)
            return r;
    }
    if (ret_old)
        *ret_old = old;
    return 0;
}

void timers_alarm_taken(struct process *p)
{
    if (p->timers)
        guest_timer_resume(&p->timers->real);
}

/* ---- life ---- */

void timers_exec(struct process *p)
{
    if (p->timers)
        posix_timers_clear(p->timers);
}

void interval_timers_free(struct process *p)
{
    struct interval_timers *owner = p->timers;
    if (!owner)
        return;
    posix_timers_clear(owner);
    map_done(&owner->posix);
    guest_timer_disarm(&owner->real);
    guest_timer_disarm(&owner->user);
    guest_timer_disarm(&owner->cpu);
    timer_disarm(&owner->poll);
    free(owner);
    p->timers = NULL;
}
