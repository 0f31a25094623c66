// SPDX-License-Identifier: Apache-2.0
/*
 * Timers of the kernel: a heap of deadlines on CLOCK_MONOTONIC, run by the main loop.
 */
#pragma once

#include "lib/base/base.h"

#define TIMER_NEVER INT64_MAX

struct timer {
    int64_t when_ns;                 /* CLOCK_MONOTONIC */
    void (*expire)(struct timer *t); /* runs from the main loop, disarmed; may arm it again */
    size_t heap_index;               /* 0: not armed */
};

#define TIMER_INIT(fn) ((struct timer){.expire = (fn)})

static inline bool timer_is_armed(const struct timer *t)
{
    return t->heap_index != 0;
}

/* (Re)arms t. 0 or -ENOMEM (then it is not armed). */
int timer_arm(struct timer *t, int64_t when_ns);

/* Nothing happens when it is not armed. Must be called before the memory of an armed timer goes. */
void timer_disarm(struct timer *t);

/* The next deadline, or TIMER_NEVER. */
int64_t timer_next_ns(void);

/* Runs all that are due at now_ns. */
void timer_run(int64_t now_ns);

/* Clocks, in nanoseconds. */
int64_t clock_monotonic_ns(void);
int64_t clock_realtime_ns(void);
