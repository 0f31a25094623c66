// SPDX-License-Identifier: Apache-2.0
/*
 * Timers that send signals: setitimer(2), alarm(2), timer_create(2), and the CPU time limit of
 * setrlimit(2).
 *
 * Clocks that follow the wall are timers of the main loop. Clocks of CPU time are polled: no
 * oftener than every 10 ms, no oftener than the time could have been used up.
 *
 * A periodic timer whose signal is pending is not armed: it goes on from the next multiple of its
 * interval when the signal is taken, and the expirations in between are its overrun. So a guest's
 * timers never cost more than the signals that it takes.
 */
#pragma once

#include "kernel/proc/process.h"

#include <time.h>

/* setitimer(2), microseconds exact. which: ITIMER_*. ret_old may be NULL. -EINVAL, -ENOMEM. */
struct timers_interval {
    int64_t value_ns; /* until the next expiration; 0: disarmed */
    int64_t interval_ns;
};
int timers_set_interval(struct process *p, int which, const struct timers_interval *value,
                        struct timers_interval *ret_old);
int timers_get_interval(struct process *p, int which, struct timers_interval *ret);

/* timer_create(2). event NULL: SIGALRM to the process. *ret_id on success. -EINVAL, -EAGAIN, ... */
int timers_create(struct thread *creator, clockid_t clock, const struct sigevent *event,
                  int *ret_id);
/* timer_settime(2). flags: TIMER_ABSTIME. ret_old may be NULL. -EINVAL: no such timer. */
int timers_set(struct process *p, int id, int flags, const struct timers_interval *value,
               struct timers_interval *ret_old);
int timers_get(struct process *p, int id, struct timers_interval *ret);
int timers_overrun(struct process *p, int id);
int timers_delete(struct process *p, int id);

/* exec: POSIX timers go, interval timers stay. */
void timers_exec(struct process *p);
/* The process has ended: all its timers go. */
void interval_timers_free(struct process *p);
/* RLIMIT_CPU was set: begins to watch it. */
void timers_watch_cpu_limit(struct process *p);

/*
 * From the queues: a timer's entry was taken (info: gets si_overrun) or dropped (info NULL);
 * a SIGALRM of the process was taken.
 */
void timer_signal_taken(struct signal_queued *entry, siginfo_t *info);
void timers_alarm_taken(struct process *p);
