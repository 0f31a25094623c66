// SPDX-License-Identifier: Apache-2.0
/* host calls: clock_gettime */
#include "kernel/proc/meter.h"

#include "kernel/host/host.h"
#include "kernel/proc/account.h"
#include "kernel/proc/embryo.h"

#include <sched.h>
#include <time.h>

#define PERIOD_MAX_NS (2 * NSEC_PER_SEC)
/* Between looks as long as one takes, but for at least this. */
#define PAUSE_MIN_NS (2 * NSEC_PER_MSEC)

static struct list watchers = {&watchers, &watchers};
static struct timer next = {.expire = NULL};
static struct host_alarm own_alarm;
static int64_t period_ns = PERIOD_MAX_NS;
static int64_t rest_until_ns; /* no look before */
static int64_t due_since_ns;  /* the first alarm that no look has followed; 0: none */
static size_t processes, processes_at_look;
static int64_t ended_at_look_ns; /* what those used that had ended by then */
static bool lacks_alarm;         /* some process could not be given one since the last look */

/* ---- processor time ---- */

static int64_t own_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static int64_t ended_cpu_ns(void)
{
    const struct account_totals ended = account_totals();
    return ended.user_ns + ended.system_ns;
}

int64_t meter_cpu_ns(void)
{
    int64_t sum = ended_cpu_ns() + own_cpu_ns();
    struct process *p;
    list_for_each(p, &process_all, all_link)
    {
        /* What an ending one has used is among the totals already. */
        if (p->state == PROCESS_ALIVE && !p->exiting)
            sum += account_cpu_ns(p);
    }
    return sum;
}

/* ---- alarms ---- */

static void set_alarm(struct host_alarm *a, pid_t host_pid)
{
    if (host->set_alarm(a, host_pid, period_ns) < 0)
        lacks_alarm = true;
}

static void set_period(int64_t wanted_ns)
{
    struct process *p;
    wanted_ns = MAX(MIN(wanted_ns, PERIOD_MAX_NS), METER_TICK_NS);
    /* To change them all costs a call each: not for a little. */
    bool is_kept = wanted_ns <= period_ns * 2 && wanted_ns >= period_ns - period_ns / 4;
    if (!is_kept)
        period_ns = wanted_ns;
    if (is_kept && !lacks_alarm)
        return;
    lacks_alarm = false;
    set_alarm(&own_alarm, 0);
    list_for_each(p, &process_all, all_link)
    {
        if (p->state == PROCESS_ALIVE)
            set_alarm(&p->alarm, p->host_pid);
    }
}

/* ---- looks ---- */

static void look(void)
{
    struct meter_plan plan = {.cpu_ns = PERIOD_MAX_NS, .at_ns = TIMER_NEVER};
    const struct meter_watcher *w;
    int64_t began_ns = clock_monotonic_ns(), cpu_ns = meter_cpu_ns();
    list_for_each(w, &watchers, link) w->look(began_ns, cpu_ns, &plan);
    processes_at_look = processes;
    ended_at_look_ns = ended_cpu_ns();
    set_period(plan.cpu_ns);
    int64_t now_ns = clock_monotonic_ns();
    if (lacks_alarm)
        meter_want_at(&plan, now_ns + METER_CLOCK_NS);
    rest_until_ns = now_ns + MAX(now_ns - began_ns, PAUSE_MIN_NS);
    due_since_ns = 0;
    timer_disarm(&next);
    if (plan.at_ns != TIMER_NEVER)
        timer_arm(&next, MAX(plan.at_ns, rest_until_ns));
}

static void on_timer(struct timer *t)
{
    look();
}

/* From the main loop, not from the midst of what somebody does with processes. */
static void look_soon(void)
{
    int64_t now_ns = clock_monotonic_ns(), when_ns = MAX(now_ns, rest_until_ns);
    if (due_since_ns == 0)
        due_since_ns = now_ns;
    if (!timer_is_armed(&next) || next.when_ns > when_ns)
        timer_arm(&next, when_ns);
}

/* Many that are brief use up much, and none of them so much that its alarm would tell. */
static void look_after_ends(void)
{
    if (!list_is_empty(&watchers) && ended_cpu_ns() - ended_at_look_ns >= period_ns)
        look_soon();
}

void meter_look_soon(void)
{
    if (!list_is_empty(&watchers))
        look_soon();
}

void meter_add(struct meter_watcher *w)
{
    next.expire = on_timer;
    host_alarm_fired = look_soon;
    list_append(&watchers, &w->link);
    set_alarm(&own_alarm, 0);
}

/* As many as may have run at once since it was last looked at: see meter_thread_leaves(). */
static int64_t count_threads(const struct process *p)
{
    int64_t count = p->embryo && (p->embryo->flags & CLONE_THREAD) ? 1 : 0;
    const struct thread *t;
    list_for_each(t, &p->threads, process_link) count += !t->dead;
    return MAX(count, 1);
}

/*
 * No longer than it was on the processors if nothing else ran. And an alarm tells of each period
 * within a tick, but for the time that it has been waiting for its look.
 */
int64_t meter_unseen_ns(const struct process *p, int64_t now_ns)
{
    if (list_is_empty(&watchers))
        return 0;
    int64_t threads = count_threads(p), most_ns = (now_ns - p->seen_ns) * threads;
    if (!p->alarm.is_made)
        return most_ns;
    int64_t late_ns = due_since_ns ? now_ns - due_since_ns : 0;
    return MIN(most_ns, p->alarm.period_ns + (2 * METER_TICK_NS + late_ns) * threads);
}

void meter_child_unseen(int64_t within_ns)
{
    if (list_is_empty(&watchers))
        return;
    account_add_unseen(MIN(within_ns, EMBRYO_POLL_MAX_NS));
    look_after_ends();
}

void meter_thread_leaves(struct process *p)
{
    if (!list_is_empty(&watchers))
        account_cpu_ns(p);
}

void meter_process_born(struct process *p)
{
    processes++;
    p->seen_ns = p->start_ns;
    if (list_is_empty(&watchers))
        return;
    account_cpu_ns(p);
    set_alarm(&p->alarm, p->host_pid);
    /* The share of each was reckoned for twice as many as there were. */
    if (lacks_alarm || processes > 2 * processes_at_look)
        look_soon();
}

void meter_process_gone(struct process *p)
{
    processes--;
    host->clear_alarm(&p->alarm);
    look_after_ends();
}
