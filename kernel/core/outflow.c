// SPDX-License-Identifier: Apache-2.0
#include "kernel/core/outflow.h"

#include "kernel/core/kernel.h"
#include "kernel/core/timer.h"

#include <limits.h>

#define USEC_PER_SEC    1000000
#define BURSTS_A_SECOND 10
#define LEAST_WAIT_NS   (2 * NSEC_PER_MSEC) /* else a slow stream wakes somebody for each byte */

static void on_expire(struct timer *t);

/* The rate is at most a TiB a second (sandbox/limit_table.c), so that all of this fits. */
static struct {
    int64_t bytes;                /* that may go; below 0: that have gone ahead */
    int64_t rest;                 /* of one more, in millionths */
    int64_t now_us;               /* up to when they have come in; 0: never */
    struct outflow_turn *offered; /* whose turn it has been since the last time */
    struct list turns;
    struct timer timer;
    struct waitq queue;
} bucket = {.turns = LIST_INIT(bucket.turns),
            .timer = TIMER_INIT(on_expire),
            .queue = {.entries = LIST_INIT(bucket.queue.entries)}};

static void fill(int64_t rate)
{
    int64_t most = MAX(rate / BURSTS_A_SECOND, (int64_t)PIPE_BUF);
    int64_t now_us = clock_monotonic_ns() / NSEC_PER_USEC, passed_us = now_us - bucket.now_us;
    int64_t full_us = (most - bucket.bytes) * USEC_PER_SEC / rate + 1;
    if (bucket.now_us == 0 || passed_us >= full_us) {
        bucket.bytes = most;
        bucket.rest = 0;
    } else {
        int64_t come = passed_us * rate + bucket.rest;
        bucket.bytes += come / USEC_PER_SEC;
        bucket.rest = come % USEC_PER_SEC;
    }
    bucket.now_us = now_us;
}

static void on_expire(struct timer *t)
{
    (void)t;
    fill((int64_t)kernel.config.output_rate);
    if (bucket.offered)
        outflow_leave(bucket.offered);
    bucket.offered = bucket.bytes > 0 ? list_first(&bucket.turns, struct outflow_turn, link) : NULL;
    waitq_wake_all(&bucket.queue, EPOLLOUT);
}

/* Until there is something. Without a timer nobody would be told: they are told at once. */
static void wait_for_some(int64_t rate)
{
    int64_t wait_ns = (1 - bucket.bytes) * NSEC_PER_SEC / rate;
    if (timer_is_armed(&bucket.timer))
        return;
    if (timer_arm(&bucket.timer, clock_monotonic_ns() + MAX(wait_ns, LEAST_WAIT_NS)) < 0)
        waitq_wake_all(&bucket.queue, EPOLLOUT);
}

static bool is_turn_of(const struct outflow_turn *t)
{
    return list_is_empty(&bucket.turns) ||
           list_first(&bucket.turns, struct outflow_turn, link) == t;
}

size_t outflow_room(struct outflow_turn *t)
{
    int64_t rate = (int64_t)kernel.config.output_rate;
    if (rate == 0)
        return SIZE_MAX;
    fill(rate);
    if (bucket.bytes > 0 && is_turn_of(t))
        return (size_t)MAX(bucket.bytes, (int64_t)PIPE_BUF);
    if (!t->is_waiting)
        list_append(&bucket.turns, &t->link);
    t->is_waiting = true;
    wait_for_some(rate);
    return 0;
}

void outflow_take(struct outflow_turn *t, size_t size)
{
    if (kernel.config.output_rate == 0)
        return;
    outflow_leave(t);
    bucket.bytes -= (int64_t)size;
}

void outflow_leave(struct outflow_turn *t)
{
    if (t->is_waiting)
        list_remove(&t->link);
    t->is_waiting = false;
    if (bucket.offered == t)
        bucket.offered = NULL;
}

struct waitq *outflow_queue(void)
{
    return &bucket.queue;
}
