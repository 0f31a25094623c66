// SPDX-License-Identifier: Apache-2.0
/*
 * Stops of job control. A thread that is in a call is kicked, asks what is due, and gets no answer
 * until SIGCONT: see signal_deliver.c. If there is one that is not, it may sleep in the host, and
 * would not sleep on after our handler; then the host stops the process too, and that is all that
 * the stop waits for. What threads call before it takes effect is answered, and kicked if it has
 * to wait.
 *
 * A program can see to it that none of its threads asks: block the kick on the host, by changing a
 * signal frame between the kernel's look at it and the host's rt_sigreturn; write over the stub;
 * ask once and never return from that. It misses its own signals then. But a stop is what others
 * decide, so one that is overdue is made by the host's SIGSTOP. That may also meet an innocent
 * process, which waits in the host for the child of its vfork: it can't tell.
 */
#include "kernel/proc/signal_queue.h"

#include "kernel/host/host.h"
#include "kernel/proc/jobs.h"
#include "kernel/proc/process.h"

#define OVERDUE_NS NSEC_PER_SEC

void signal_stop_settle(struct process *p)
{
    struct thread *t;
    if (!p->group_stopped || p->stop_settled)
        return;
    list_for_each(t, &p->threads, process_link)
    {
        if (!t->dead && !t->signals.stopped && !p->host_stopped)
            return;
    }
    p->stop_settled = true;
    p->stop_reported = false;
    signal_child_changed(p, CLD_STOPPED, p->stop_signal);
    if (process_on_stop)
        process_on_stop(p);
}

void signal_stop_begin(struct process *p, const struct thread *asker, int sig)
{
    struct thread *t;
    /* Nobody could continue an orphaned group: POSIX 2.4.3 has such a stop discarded. */
    if (sig != SIGSTOP && process_group_is_orphaned(p->group))
        return;
    p->group_stopped = true;
    p->stop_settled = false;
    p->stop_reported = true; /* nothing to report before all are held */
    p->continue_pending = false;
    p->stop_signal = sig;
    list_for_each(t, &p->threads, process_link)
    {
        if (t != asker)
            signal_kick(t);
    }
}

/* ---- stops that do not come about ---- */

/* The stop signals that t should have asked for. */
static sigmask_t stops_due(const struct thread *t)
{
    sigmask_t due = t->dead ? 0 : signal_deliverable(t) & SIGMASK_STOP;
    for (sigmask_t rest = due; rest; rest &= rest - 1) {
        int sig = __builtin_ctzll(rest) + 1;
        if (t->process->actions->action[sig].handler != (uint64_t)SIG_DFL)
            due &= ~SIGMASK(sig);
    }
    return due;
}

static bool is_due(const struct process *p)
{
    const struct thread *t;
    if (p->state != PROCESS_ALIVE || p->exiting || p == process_init)
        return false;
    if (p->group_stopped)
        return !p->stop_settled;
    list_for_each(t, &p->threads, process_link) if (stops_due(t)) return true;
    return false;
}

static bool stop_on_host(struct process *p)
{
    if (!process_stop_on_host(p))
        return false;
    p->host_stopped = true;
    signal_stop_settle(p);
    return true;
}

static void begin_if_due(struct thread *t)
{
    siginfo_t info;
    if (signal_take(t, stops_due(t), &info))
        signal_stop_begin(t->process, NULL, info.si_signo);
}

bool signal_stop_on_host(struct thread *t)
{
    struct process *p = t->process;
    if (p->group_stopped)
        return stop_on_host(p);
    sigmask_t due = stops_due(t);
    if (!due || signal_first(signal_deliverable(t)) != signal_first(due))
        return false;
    begin_if_due(t);
    return p->group_stopped || !signal_deliverable(t); /* a discarded one is nothing to ask for */
}

static void stop_late(struct process *p)
{
    struct thread *t;
    list_for_each(t, &p->threads, process_link)
    {
        if (!p->group_stopped)
            begin_if_due(t);
    }
    if (p->group_stopped)
        stop_on_host(p);
}

/* Whoever is late at two looks one after the other has had time. */
static void on_look(struct timer *timer)
{
    struct process *p;
    bool any = false;
    list_for_each(p, &process_all, all_link)
    {
        bool was_late = p->stop_is_late;
        p->stop_is_late = is_due(p);
        if (was_late && p->stop_is_late)
            stop_late(p);
        any |= is_due(p);
    }
    if (any)
        timer_arm(timer, clock_monotonic_ns() + OVERDUE_NS);
}

void signal_stop_watch(void)
{
    static struct timer timer = {.expire = on_look};
    /* Out of memory it is armed with the next kick. */
    if (!timer_is_armed(&timer))
        timer_arm(&timer, clock_monotonic_ns() + OVERDUE_NS);
}

void signal_stop_end(struct process *p)
{
    struct thread *t;
    bool was_settled = p->stop_settled;
    if (!p->group_stopped)
        return;
    p->group_stopped = p->stop_settled = false;
    if (p->host_stopped && !p->throttled)
        host->signal_process(p->pidfd, SIGCONT);
    p->host_stopped = false;
    list_for_each(t, &p->threads, process_link)
    {
        if (t->signals.stopped)
            call_wake(t->signals.stopped);
    }
    if (was_settled) {
        p->continue_pending = true;
        signal_child_changed(p, CLD_CONTINUED, SIGCONT);
    }
    /* Who was stopped by the host asks for nothing by itself. */
    signal_kick_pending(p);
}
