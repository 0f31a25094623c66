// SPDX-License-Identifier: Apache-2.0
/*
 * exit(2), exit_group(2): the kernel notes the status, the host ends the task.
 */
#include "kernel/proc/meter.h"
#include "kernel/proc/process.h"
#include "kernel/sys/handlers.h"

static bool is_last_thread(const struct thread *t)
{
    const struct thread *other;
    list_for_each(other, &t->process->threads,
                  process_link) if (other != t && !other->dead) return false;
    return true;
}

static int exit_status(const struct call *c)
{
    return (call_int(c, 0) & 0xff) << 8;
}

long sys_exit(struct call *c)
{
    struct thread *t = c->thread;
    /* A child that is on its way still counts: settle it, or its process would seem to be over. */
    process_settle_embryo(t->process);
    if (is_last_thread(t))
        process_note_end(t->process, exit_status(c));
    else
        meter_thread_leaves(t->process);
    t->dead = true;
    signal_thread_done(&t->signals);
    return CALL_HOST;
}

long sys_exit_group(struct call *c)
{
    process_note_end(c->thread->process, exit_status(c));
    return CALL_HOST;
}
