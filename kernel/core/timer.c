// SPDX-License-Identifier: Apache-2.0
/* host calls: clock_gettime */
#include "kernel/core/timer.h"

#include <time.h>

/* A binary heap; element 0 is unused so that index 0 can mean "not armed". */
static struct timer **heap;
static size_t heap_count, heap_capacity;

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

int64_t clock_monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

int64_t clock_realtime_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}

static void place(struct timer *t, size_t i)
{
    heap[i] = t;
    t->heap_index = i;
}

static void sift_up(size_t i)
{
    struct timer *t = heap[i];
    for (; i > 1 && heap[i / 2]->when_ns > t->when_ns; i /= 2)
        place(heap[i / 2], i);
    place(t, i);
}

static void sift_down(size_t i)
{
    struct timer *t = heap[i];
    for (;;) {
        size_t child = i * 2;
        if (child > heap_count)
            break;
        if (child < heap_count && heap[child + 1]->when_ns < heap[child]->when_ns)
            child++;
        if (heap[child]->when_ns >= t->when_ns)
            break;
        place(heap[child], i);
        i = child;
    }
    place(t, i);
}

int timer_arm(struct timer *t, int64_t when_ns)
{
    timer_disarm(t);
    if (heap_count + 1 >= heap_capacity) {
        size_t capacity = heap_capacity ? heap_capacity * 2 : 64;
        struct timer **bigger = realloc(heap, capacity * sizeof(*heap));
        if (!bigger)
            return -ENOMEM;
        heap = bigger;
        heap_capacity = capacity;
    }
    t->when_ns = when_ns;
    heap_count++;
    place(t, heap_count);
    sift_up(heap_count);
    return 0;
}

void timer_disarm(struct timer *t)
{
    size_t i = t->heap_index;
    if (i == 0)
        return;
    t->heap_index = 0;
    struct timer *last = heap[heap_count--];
    if (last == t)
        return;
    place(last, i);
    sift_up(i);
    sift_down(last->heap_index);
}

int64_t timer_next_ns(void)
{
    return heap_count ? heap[1]->when_ns : TIMER_NEVER;
}

void timer_run(int64_t now_ns)
{
    while (heap_count && heap[1]->when_ns <= now_ns) {
        struct timer *t = heap[1];
        timer_disarm(t);
        t->expire(t);
    }
}
