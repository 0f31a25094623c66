// SPDX-License-Identifier: Apache-2.0
/*
 * When to look at what the sandbox uses: for limits that are enforced by watching.
 *
 * A look is due when some process has used a certain share of processor time (kernel/host/alarm.h),
 * when those that ended have, when processes have become many, and when somebody asked for it. Each
 * watcher says after its look how much processor time may pass until the next one; the shortest
 * counts. So looks come the more often the nearer a limit is and the faster it is approached, and
 * never while nothing runs.
 *
 * Where the host gives no alarms, looks come by the clock too.
 */
#pragma once

#include "kernel/proc/process.h"

/* No alarm is due after less: the host looks at processors' clocks at its ticks. */
#define METER_TICK_NS (4 * NSEC_PER_MSEC)
/* Between looks by the clock, where alarms are none or too coarse. */
#define METER_CLOCK_NS NSEC_PER_SEC

/* Until the next look: what all watchers want. */
struct meter_plan {
    int64_t cpu_ns; /* that any one process may use */
    int64_t at_ns;  /* CLOCK_MONOTONIC: when it is due whatever they use; TIMER_NEVER */
};

struct meter_watcher {
    /* now_ns: CLOCK_MONOTONIC; cpu_ns: as meter_cpu_ns(). Lowers what it wants lower in plan. */
    void (*look)(int64_t now_ns, int64_t cpu_ns, struct meter_plan *plan);
    struct list link;
};

/* Before the first process: w is asked from now on. */
void meter_add(struct meter_watcher *w);

/* A look is due for a reason of the caller's own. Nothing happens without watchers. */
void meter_look_soon(void);

static inline void meter_want_cpu(struct meter_plan *plan, int64_t cpu_ns)
{
    plan->cpu_ns = MIN(plan->cpu_ns, cpu_ns);
}
static inline void meter_want_at(struct meter_plan *plan, int64_t at_ns)
{
    plan->at_ns = MIN(plan->at_ns, at_ns);
}

/* Processor time of all processes, dead ones too, and of the kernel itself. */
int64_t meter_cpu_ns(void);

/*
 * The most processor time that p, which the host has ended by itself, can have used since it was
 * last looked at. 0 without watchers: nothing depends on it.
 */
int64_t meter_unseen_ns(const struct process *p, int64_t now_ns);

/* For process.c. Nothing happens without watchers. */
/* A child has come and gone, or never was, in so much time; in vain it was looked for meanwhile. */
void meter_child_unseen(int64_t within_ns);
void meter_process_born(struct process *p);
/* Before a thread counts as dead: what it has used is looked at once more. */
void meter_thread_leaves(struct process *p);
void meter_process_gone(struct process *p);
