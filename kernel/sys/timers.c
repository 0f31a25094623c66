// SPDX-License-Identifier: Apache-2.0
/*
 * System calls of interval and POSIX timers: setitimer(2), timer_create(2). The timers are in proc.
 */
#include "kernel/sys/handlers.h"

#include "kernel/proc/timers.h"

#include <sys/time.h>

#define TIMER_MAX_NS (INT64_MAX / 2)

/* Nanoseconds; what is further away than the clock can count is cut, as KTIME_MAX. */
static int64_t to_ns(int64_t seconds, int64_t ns)
{
    return seconds >= TIMER_MAX_NS / NSEC_PER_SEC ? TIMER_MAX_NS : seconds * NSEC_PER_SEC + ns;
}

/* ---- setitimer ---- */

static bool is_timeval(struct timeval t)
{
    return t.tv_sec >= 0 && t.tv_usec >= 0 && t.tv_usec < 1000000;
}

static struct timeval to_timeval(int64_t ns)
{
    /* A timer that runs is never shown as one that does not. */
    int64_t us = (ns + NSEC_PER_USEC - 1) / NSEC_PER_USEC;
    return (struct timeval){us / 1000000, us % 1000000};
}

static int write_itimer(struct call *c, struct gaddr at, const struct timers_interval *value)
{
    struct itimerval out = {
        .it_interval = to_timeval(value->interval_ns),
        .it_value = to_timeval(value->value_ns),
    };
    return call_write(c, at, &out, sizeof(out));
}

long sys_getitimer(struct call *c)
{
    struct timers_interval value;
    int r = timers_get_interval(c->thread->process, call_int(c, 0), &value);
    return r < 0 ? r : write_itimer(c, call_addr(c, 1), &value);
}

long sys_setitimer(struct call *c)
{
    struct timers_interval value = {0, 0}, old;
    struct gaddr value_at = call_addr(c, 1), old_at = call_addr(c, 2);
    if (value_at.v) {
        struct itimerval in;
        if (call_read(c, &in, value_at, sizeof(in)) < 0)
            return -EFAULT;
        if (!is_timeval(in.it_value) || !is_timeval(in.it_interval))
            return -EINVAL;
        value.value_ns = to_ns(in.it_value.tv_sec, in.it_value.tv_usec * NSEC_PER_USEC);
        value.interval_ns = to_ns(in.it_interval.tv_sec, in.it_interval.tv_usec * NSEC_PER_USEC);
    }
    int r = timers_set_interval(c->thread->process, call_int(c, 0), &value, &old);
    if (r < 0)
        return r;
    return old_at.v ? write_itimer(c, old_at, &old) : 0;
}

long sys_alarm(struct call *c)
{
    struct timers_interval value = {to_ns(call_uint(c, 0), 0), 0}, old;
    int r = timers_set_interval(c->thread->process, ITIMER_REAL, &value, &old);
    if (r < 0)
        return r;
    /* To the nearest second, but never 0 for an alarm that was set. */
    int64_t seconds = (old.value_ns + NSEC_PER_SEC / 2) / NSEC_PER_SEC;
    return old.value_ns > 0 ? MAX(seconds, 1) : 0;
}

/* ---- POSIX timers ---- */

static bool is_timespec(struct timespec t)
{
    return t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < NSEC_PER_SEC;
}

static struct timespec to_timespec(int64_t ns)
{
    return (struct timespec){ns / NSEC_PER_SEC, ns % NSEC_PER_SEC};
}

static int write_timer(struct call *c, struct gaddr at, const struct timers_interval *value)
{
    struct itimerspec out = {
        .it_interval = to_timespec(value->interval_ns),
        .it_value = to_timespec(value->value_ns),
    };
    return call_write(c, at, &out, sizeof(out));
}

long sys_timer_create(struct call *c)
{
    struct process *p = c->thread->process;
    struct gaddr event_at = call_addr(c, 1);
    struct sigevent event;
    int id;
    if (event_at.v && call_read(c, &event, event_at, sizeof(event)) < 0)
        return -EFAULT;
    int r = timers_create(c->thread, call_int(c, 0), event_at.v ? &event : NULL, &id);
    if (r < 0)
        return r;
    if (call_write(c, call_addr(c, 2), &id, sizeof(id)) < 0) {
        timers_delete(p, id);
        return -EFAULT;
    }
    return 0;
}

long sys_timer_settime(struct call *c)
{
    struct gaddr value_at = call_addr(c, 2), old_at = call_addr(c, 3);
    struct itimerspec in;
    struct timers_interval value, old;
    if (!value_at.v)
        return -EINVAL;
    if (call_read(c, &in, value_at, sizeof(in)) < 0)
        return -EFAULT;
    if (!is_timespec(in.it_value) || !is_timespec(in.it_interval))
        return -EINVAL;
    value.value_ns = to_ns(in.it_value.tv_sec, in.it_value.tv_nsec);
    value.interval_ns = to_ns(in.it_interval.tv_sec, in.it_interval.tv_nsec);
    int r = timers_set(c->thread->process, call_int(c, 0), call_int(c, 1), &value, &old);
    if (r < 0)
        return r;
    return old_at.v ? write_timer(c, old_at, &old) : 0;
}

long sys_timer_gettime(struct call *c)
{
    struct timers_interval value;
    int r = timers_get(c->thread->process, call_int(c, 0), &value);
    return r < 0 ? r : write_timer(c, call_addr(c, 1), &value);
}

long sys_timer_getoverrun(struct call *c)
{
    return timers_overrun(c->thread->process, call_int(c, 0));
}

long sys_timer_delete(struct call *c)
{
    return timers_delete(c->thread->process, call_int(c, 0));
}
