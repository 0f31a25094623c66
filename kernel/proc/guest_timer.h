// SPDX-License-Identifier: Apache-2.0
/*
 * One timer of a process, whatever made it: its clock, its next expiration, its interval. Shared by
 * timers.c and posix_timers.c; others use timers.h.
 *
 * States: disarmed (when_ns TIMER_NEVER); armed; pending: it has expired, its signal has not been
 * taken, and if it is periodic it goes on from when_ns then.
 */
#pragma once

#include "kernel/proc/timers.h"

enum guest_clock {
    GUEST_CLOCK_MONOTONIC,
    GUEST_CLOCK_BOOTTIME,
    GUEST_CLOCK_REALTIME,
    GUEST_CLOCK_TAI,
    /* CPU time: polled */
    GUEST_CLOCK_PROCESS,      /* user and system */
    GUEST_CLOCK_PROCESS_USER, /* user only */
    GUEST_CLOCK_THREAD,
    GUEST_CLOCK_THREAD_USER,
};

struct guest_timer {
    struct interval_timers *owner;
    enum guest_clock clock;
    pid_t target;    /* of a CPU clock: the process or thread it belongs to */
    int64_t when_ns; /* on that clock; TIMER_NEVER: disarmed */
    int64_t interval_ns;
    bool pending;
    struct timer timer;   /* of the clocks that are not polled */
    struct list cpu_link; /* in owner->cpu_timers, else */
    /* Sends the signal. False: it was ignored, or there was nobody to send it to. */
    bool (*expired)(struct guest_timer *t);
};

struct interval_timers {
    struct process *process;
    struct guest_timer real, user, cpu; /* ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF */
    struct map posix;                   /* id -> struct posix_timer */
    int next_id;
    struct list cpu_timers; /* armed ones on CPU clocks */
    struct timer poll;
    pid_t told_tid; /* who was told last that processor time was used up */
};

/* The process's timers, made on first use; NULL when out of memory. */
struct interval_timers *interval_timers_of(struct process *p);

void guest_timer_init(struct guest_timer *t, struct interval_timers *owner, enum guest_clock clock,
                      pid_t target, bool (*expired)(struct guest_timer *t));
/* 0 or -errno (the process or thread of a CPU clock is gone). */
int guest_timer_now(const struct guest_timer *t, int64_t *ret);
/* Arms for when_ns on its clock. 0 or -ENOMEM. */
int guest_timer_arm(struct guest_timer *t, int64_t when_ns);
void guest_timer_disarm(struct guest_timer *t);
/* Moves when_ns to the first multiple of the interval after now_ns; how many that were. */
int64_t guest_timer_forward(struct guest_timer *t, int64_t now_ns);
/* A pending periodic timer goes on. The number of intervals since its expiration. */
int64_t guest_timer_resume(struct guest_timer *t);
/* Time until the next expiration, at least 1 while one is due; 0: disarmed. */
int64_t guest_timer_remaining(const struct guest_timer *t);

/* All POSIX timers of a process go. */
void posix_timers_clear(struct interval_timers *owner);
