// SPDX-License-Identifier: Apache-2.0
/*
 * Alarms on processor time: the host says when a process has used so much more of it.
 *
 * Whoever looks after what processes use has to look again and again; by the clock on the wall that
 * costs the more the more sandboxes sleep. Nothing is used up without processor time, so it is that
 * clock that the looks go by, and a sandbox in which nothing runs costs nothing.
 *
 * Sources: timer_create(2), clock_getcpuclockid(3): a timer may run on another process's clock. The
 * host looks at these clocks at its ticks (1 to 10 ms) and when the process returns to user mode.
 */
#pragma once

#include "kernel/host/hostfd.h"

#include <time.h>

/* All zero bytes are an alarm that is not set. */
struct host_alarm {
    timer_t timer;
    bool is_made;
    int64_t period_ns;
};

/* Called from the main loop after some alarm, of whatever process, has gone off. */
extern void (*host_alarm_fired)(void);

/*
 * For host_ops. Sets a to go off each time that the process (0: the kernel itself) has used
 * period_ns more, from now on; nothing happens when it does already. 0; -ESRCH; -EAGAIN: the host
 * has no more timers for this user.
 */
int host_alarm_set(struct host_alarm *a, pid_t host_pid, int64_t period_ns);
void host_alarm_clear(struct host_alarm *a);
