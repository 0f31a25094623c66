// SPDX-License-Identifier: Apache-2.0
#include "kernel/sys/waiting.h"

#include "kernel/host/host.h"
#include "kernel/proc/process.h"

#include <sys/time.h>
#include <time.h>

static int64_t saturating_ns(int64_t seconds, int64_t ns)
{
    int64_t sum;
    if (__builtin_mul_overflow(seconds, NSEC_PER_SEC, &sum) ||
        __builtin_add_overflow(sum, ns, &sum))
        return INT64_MAX;
    return sum;
}

int waiting_read_timespec(const struct call *c, struct gaddr at, int64_t *ret_ns)
{
    struct timespec t;
    if (at.v == 0) {
        *ret_ns = WAITING_FOREVER;
        return 0;
    }
    int r = call_read(c, &t, at, sizeof(t));
    if (r < 0)
        return r;
    if (t.tv_sec < 0 || t.tv_nsec < 0 || t.tv_nsec >= NSEC_PER_SEC)
        return -EINVAL;
    *ret_ns = saturating_ns(t.tv_sec, t.tv_nsec);
    return 0;
}

int waiting_read_timeval(const struct call *c, struct gaddr at, int64_t *ret_ns)
{
    struct timeval t;
    if (at.v == 0) {
        *ret_ns = WAITING_FOREVER;
        return 0;
    }
    int r = call_read(c, &t, at, sizeof(t));
    if (r < 0)
        return r;
    int64_t seconds;
    if (__builtin_add_overflow(t.tv_sec, t.tv_usec / 1000000, &seconds) || seconds < 0 ||
        t.tv_usec % 1000000 < 0)
        return -EINVAL;
    *ret_ns = saturating_ns(seconds, t.tv_usec % 1000000 * NSEC_PER_USEC);
    return 0;
}

int64_t waiting_from_ms(int ms)
{
    return ms < 0 ? WAITING_FOREVER : ms * NSEC_PER_MSEC;
}

int waiting_begin_mask(struct call *c, struct gaddr mask, size_t size)
{
    sigmask_t set;
    if (mask.v == 0)
        return 0;
    if (size != sizeof(set))
        return -EINVAL;
    int r = call_read(c, &set, mask, sizeof(set));
    if (r < 0)
        return r;
    signal_begin_temporary_mask(c->thread, set);
    return 0;
}

void waiting_write_left(struct call *c, struct waiting_left left)
{
    if (left.at.v == 0 || c->deadline_ns == CALL_NO_DEADLINE)
        return;
    int64_t ns = MAX(c->deadline_ns - clock_monotonic_ns(), 0);
    if (left.is_timeval) {
        struct timeval t = {.tv_sec = ns / NSEC_PER_SEC,
                            .tv_usec = ns % NSEC_PER_SEC / NSEC_PER_USEC};
        call_write(c, left.at, &t, sizeof(t));
    } else {
        struct timespec t = {.tv_sec = ns / NSEC_PER_SEC, .tv_nsec = ns % NSEC_PER_SEC};
        call_write(c, left.at, &t, sizeof(t));
    }
}

void waiting_write_left_at_release(struct call *c, struct waiting_left left)
{
    /* A task that has died is abandoned the same way: its number may be another's by now. */
    if (left.at.v != 0 && host->is_valid(c->id))
        waiting_write_left(c, left);
}
