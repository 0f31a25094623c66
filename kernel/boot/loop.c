// SPDX-License-Identifier: Apache-2.0
#include "kernel/boot/loop.h"

#include "kernel/boot/trace.h"
#include "kernel/core/kernel.h"
#include "kernel/event/async.h"
#include "kernel/host/host.h"
#include "kernel/proc/exec.h"
#include "kernel/proc/process.h"
#include "kernel/sys/table.h"

#include <signal.h>
#include <sys/syscall.h>

static bool stopping;

void loop_stop(void)
{
    stopping = true;
}

/* The end of a call, just before its answer is sent. */
static void on_call_end(struct call *c, long result)
{
    struct thread *t = c->thread;
    if (!t)
        return;
    if (kernel.config.trace)
        trace_call(c, result);
    t->call = NULL;
    signal_call_ended(c, result);
    async_deliver();
    if (t->dead && t != process_leader(t->process))
        thread_leave(t);
}

static void on_call_park(struct call *c)
{
    signal_kick(c->thread);
}

/* A task that no embryo explains must not go on. */
static void refuse_stranger(const struct seccomp_notif *n)
{
    if (host->is_valid(n->id))
        host->signal_thread(0, (pid_t)n->pid, SIGKILL);
    host->answer(n->id, -ENOSYS);
}

/* On the way into a handler, or back: the call that was interrupted is still to be made again. */
static bool is_between_calls(int nr)
{
    return nr == SYS_GLOVEBOX_SIGNAL || nr == SYS_GLOVEBOX_MOVED || nr == SYS_rt_sigreturn;
}

static void dispatch(const struct seccomp_notif *n)
{
    struct thread *t = thread_for_notification((pid_t)n->pid);
    if (!t) {
        refuse_stranger(n);
        return;
    }
    /* What it was doing is over, whether the kernel was told or not (exec by another thread). */
    if (t->call)
        call_abandon(t->call);
    if (t->signals.returning)
        signal_returned(t);
    if (t->exec && !t->exec->loading && n->data.nr != SYS_GLOVEBOX_EXEC)
        exec_cancel(t);
    const struct syscall_row *row = syscall_row(n->data.nr);
    struct call *c = row->handler ? call_new() : NULL;
    if (!c) {
        host->answer(n->id, row->handler ? -ENOMEM : -row->error);
        return;
    }
    c->id = n->id;
    c->thread = t;
    c->memory = (struct guest_memory){t->host_tid};
    c->resume = is_between_calls(n->data.nr) ? NULL : &t->resume;
    c->handler = row->handler;
    c->nr = n->data.nr;
    c->ip = n->data.instruction_pointer;
    for (int i = 0; i < 6; i++)
        c->arg[i] = n->data.args[i];
    t->call = c;
    if (kernel.config.trace)
        c->started_ns = clock_monotonic_ns();
    call_run(c);
}

/*
 * Whether what comes next is sooner a watch's than a call: a task ends, or all wait for something.
 * What it is must not wait for a tick: somebody outside starts a program, or talks to one.
 */
static bool expects_no_call(void)
{
    return process_ending > 0 || call_total == thread_total;
}

/* What woken calls may take before new ones get their turn. */
#define TURN_NS NSEC_PER_MSEC

/* False: there are no tasks any more. */
static bool receive(bool *ret_received)
{
    struct seccomp_notif n;
    int64_t deadline = call_is_any_woken() ? 0 : timer_next_ns();
    int r = host->receive(&n, deadline, expects_no_call());
    if (r == 0)
        dispatch(&n);
    if (timer_next_ns() != TIMER_NEVER)
        timer_run(clock_monotonic_ns());
    *ret_received = r == 0;
    return r != -ENODEV;
}

/*
 * A new call, or, while woken ones wait for their turn, new calls for as long as the last of these
 * took: so they share, whether the one that goes on for long is alone or in company.
 */
static bool receive_turn(int64_t for_ns)
{
    bool received;
    int64_t until_ns = for_ns > 0 ? clock_monotonic_ns() + MIN(for_ns, TURN_NS) : 0;
    do {
        if (!receive(&received))
            return false;
    } while (received && !stopping && call_is_any_woken() && clock_monotonic_ns() < until_ns);
    return true;
}

void loop_run(void)
{
    call_may_run = exec_may_run;
    call_on_end = on_call_end;
    call_on_park = on_call_park;
    while (!stopping) {
        int64_t took_ns = call_run_woken(TURN_NS);
        /* Of what they, timers and the host have changed; its signals may wake others. */
        async_deliver();
        if (stopping)
            break;
        if (kernel.config.trace)
            trace_flush();
        if (!receive_turn(took_ns))
            break;
    }
}
