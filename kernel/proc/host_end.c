// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/host_end.h"

#include "kernel/core/timer.h"
#include "kernel/host/host.h"

#include <errno.h>

static void look_again(struct timer *t)
{
    process_ended(container_of(t, struct process, end_timer));
}

/* False: nothing more is to be waited for. */
static bool wait_for_host(struct process *p)
{
    int64_t now_ns = clock_monotonic_ns();
    if (p->end_seen_ns == 0) {
        p->end_seen_ns = now_ns;
        /* It stays readable, and would wake the kernel all the time. */
        host_watch_remove(&p->end_watch);
    }
    if (now_ns - p->end_seen_ns >= HOST_END_WAIT_NS)
        return false;
    p->end_timer = TIMER_INIT(look_again);
    return timer_arm(&p->end_timer, now_ns + HOST_END_LOOK_NS) == 0;
}

bool host_end_note(struct process *p)
{
    int status = SIGKILL;
    int r = host->how_ended(p->pidfd, &status);
    if (r == -EAGAIN && wait_for_host(p))
        return false;
    process_note_end(p, status);
    if (status == SIGKILL)
        p->end_reason = r == 0         ? CONTROL_BY_HOST
                        : r == -EAGAIN ? CONTROL_BY_HOST_LATE
                                       : CONTROL_BY_HOST_UNTOLD;
    return true;
}

void host_end_forget(struct process *p)
{
    timer_disarm(&p->end_timer);
}
