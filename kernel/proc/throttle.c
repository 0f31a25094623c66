// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/throttle.h"

#include "kernel/core/kernel.h"
#include "kernel/host/host.h"
#include "kernel/proc/meter.h"

#include <signal.h>

static int64_t credit_ns; /* processor time; below 0 when more was used */
static int64_t looked_ns, looked_cpu_ns;
static bool is_stopped;

static int64_t share_of(int64_t ns)
{
    return ns / 1000 * kernel.config.cpu_thousandths;
}

static bool can_be_stopped(const struct process *p)
{
    return p->state == PROCESS_ALIVE && p != process_init && !p->exiting;
}

static void stop(struct process *p)
{
    if (!can_be_stopped(p))
        return;
    p->throttled = true;
    process_stop_on_host(p);
}

static void let_go(struct process *p)
{
    if (p->throttled && p->state == PROCESS_ALIVE && !p->host_stopped)
        host->signal_process(p->pidfd, SIGCONT);
    p->throttled = false;
}

static void for_all(void (*act)(struct process *p))
{
    struct process *p;
    list_for_each(p, &process_all, all_link) act(p);
}

static void look(int64_t now_ns, int64_t cpu_ns, struct meter_plan *plan)
{
    const int64_t full_ns = share_of(THROTTLE_PERIOD_NS);
    int64_t used_ns = MAX(cpu_ns - looked_cpu_ns, (int64_t)0);
    credit_ns = MIN(credit_ns + share_of(now_ns - looked_ns) - used_ns, full_ns);
    looked_ns = now_ns;
    looked_cpu_ns = cpu_ns;
    if (credit_ns <= 0 && !is_stopped) {
        is_stopped = true;
        for_all(stop);
    } else if (credit_ns >= full_ns && is_stopped) {
        is_stopped = false;
        for_all(let_go);
    }
    if (is_stopped)
        meter_want_at(plan,
                      now_ns + (full_ns - credit_ns) * 1000 / kernel.config.cpu_thousandths + 1);
    else
        meter_want_cpu(plan, credit_ns / (int64_t)(2 * MAX(process_count_tasks(), 1UL)));
}

void throttle_start(void)
{
    static struct meter_watcher watcher = {.look = look};
    if (!kernel.config.watch_cpu)
        return;
    credit_ns = share_of(THROTTLE_PERIOD_NS);
    looked_ns = clock_monotonic_ns();
    looked_cpu_ns = meter_cpu_ns();
    meter_add(&watcher);
}

void throttle_thread_born(const struct thread *t)
{
    struct process *p = t->process;
    if (!is_stopped || !can_be_stopped(p))
        return;
    p->throttled = true;
    host->signal_thread(p->host_pid, t->host_tid, SIGSTOP);
}
