// SPDX-License-Identifier: Apache-2.0
/*
 * What the process waits for: descriptors in one epoll set, level-triggered, and timers.
 */
#pragma once

#include "lib/base/list.h"

#include <sys/epoll.h>

struct watch {
    int fd;          /* -1: none */
    uint32_t events; /* that are waited for now; 0: it is not in the set at all, so that an end
                      * which can't be dealt with yet doesn't keep the loop busy */
    void (*ready)(struct watch *w, uint32_t events);
    void (*release)(struct watch *w);
    struct list released;
};

/* 0 or -errno. */
int loop_start(void);

/* Changes what w waits for. 0 or -errno: without memory it is no longer in the set. */
int watch_for(struct watch *w, uint32_t events);

/*
 * Closes w's descriptor and takes it out of the set; it is not called any more. release (may be
 * NULL) is called once no event of this turn can mean it, and may free it.
 */
void watch_close(struct watch *w, void (*release)(struct watch *w));

struct timer {
    int64_t at_ns; /* CLOCK_MONOTONIC */
    size_t place;  /* in the heap, from 1; 0: it is not set */
    void (*fire)(struct timer *t);
};

/* Sets or moves it. 0 or -ENOMEM, and then it is not set. */
int timer_set(struct timer *t, int64_t at_ns);
void timer_clear(struct timer *t);

/*
 * One turn: waits for a descriptor or a timer, calls what is ready, then after(). Returns at once
 * when after() of the turn before said that there is more to do.
 */
void loop_turn(bool (*after)(void));
