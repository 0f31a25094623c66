// SPDX-License-Identifier: Apache-2.0
#include "kernel/core/outflow.h"

#include "kernel/core/kernel.h"
#include "kernel/core/timer.h"

#include <limits.h>

#define USEC_PER_SEC    1000000
#define BURSTS_A_SECOND 10
#define LEAST_WAIT_NS   (2 * NSEC_PER_MSEC) /* else a slow stream wakes somebody for each byte */

static void on_expire(struct timer *t);

/* rate is at most a TiB a second (sandbox/limit_table.c), so a second of it in µs fits. */
static struct {
    int64_t bytes;  /* that may go; below 0: that have gone ahead */
    int64_t now_us; /* up to when they have come in; 0: never */
    struct timer timer;
    struct waitq queue;
} bucket = {.timer = TIMER_INIT(on_expire),
            .queue = {.entries = {&bucket.queue.entries, &bucket.queue.entries}}};

static void on_expire(struct timer *t)
{
    (void)t;
    waitq_wake(&bucket.queue, EPOLLOUT);
}

static void fill(int64_t rate)
{
    int64_t most = MAX(rate / BURSTS_A_SECOND, (int64_t)PIPE_BUF);
    int64_t now_us = clock_monotonic_ns() / NSEC_PER_USEC, passed_us = now_us - bucket.now_us;
    if (bucket.now_us == 0 || passed_us > USEC_PER_SEC) {
        bucket.bytes = MIN(bucket.bytes + rate, most);
        bucket.now_us = now_us;
        return;
    }
    /* The time that they took alone is used up, so that no fraction is lost. */
    int64_t come = passed_us * rate / USEC_PER_SEC;
    bucket.bytes = MIN(bucket.bytes + come, most);
    bucket.now_us += (come * USEC_PER_SEC + rate - 1) / rate;
}

/* Until there is something. Without a timer nobody would be told: they are told at once. */
static void wait_for_some(int64_t rate)
{
    int64_t wait_ns = (1 - bucket.bytes) * NSEC_PER_SEC / rate;
    if (timer_is_armed(&bucket.timer))
        return;
    if (timer_arm(&bucket.timer, clock_monotonic_ns() + MAX(wait_ns, LEAST_WAIT_NS)) < 0)
        waitq_wake(&bucket.queue, EPOLLOUT);
}

size_t outflow_room(void)
{
    int64_t rate = (int64_t)kernel.config.output_rate;
    if (rate == 0)
        return SIZE_MAX;
    fill(rate);
    if (bucket.bytes > 0)
        return (size_t)MAX(bucket.bytes, (int64_t)PIPE_BUF);
    wait_for_some(rate);
    return 0;
}

void outflow_take(size_t size)
{
    if (kernel.config.output_rate)
        bucket.bytes -= (int64_t)size;
}

struct waitq *outflow_queue(void)
{
    return &bucket.queue;
}
