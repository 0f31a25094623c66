// SPDX-License-Identifier: Apache-2.0
/*
 * A timer counts its expirations when it is looked at, as Linux does: after the first one it sleeps
 * until somebody reads or asks, so that a program which does not read costs nothing.
 *
 * Deadlines are kept in the timer's own clock. The kernel's timers run on CLOCK_MONOTONIC, so when
 * one fires the own clock is asked again: CLOCK_REALTIME may have been set meanwhile.
 *
 * host calls: clock_gettime
 */
#include "kernel/event/timerfd.h"

#include "kernel/event/anon.h"
#include "lib/base/buf.h"

struct timerfd {
    clockid_t clock; /* of the host: REALTIME, MONOTONIC or BOOTTIME */
    int64_t next_ns; /* of that clock: the expiration that is awaited, or the last if `expired` */
    int64_t interval_ns;
    uint64_t ticks; /* expirations that were not read */
    int flags;      /* of the last timerfd_settime(2) */
    bool expired;   /* the kernel's timer has fired and was not started again */
    struct timer timer;
    struct waitq wait;
};

static int64_t clock_now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/* Seconds past the range of nanoseconds are as good as never, on Linux too (KTIME_MAX). */
static int64_t to_ns(struct timespec t)
{
    int64_t ns;
    if (__builtin_mul_overflow((int64_t)t.tv_sec, NSEC_PER_SEC, &ns) ||
        __builtin_add_overflow(ns, (int64_t)t.tv_nsec, &ns))
        return INT64_MAX;
    return ns;
}

static struct timespec from_ns(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / NSEC_PER_SEC, .tv_nsec = ns % NSEC_PER_SEC};
}

static int arm(struct timerfd *t)
{
    int64_t when;
    int64_t after = t->next_ns - clock_now(t->clock);
    if (__builtin_add_overflow(clock_monotonic_ns(), MAX(after, 0), &when))
        when = TIMER_NEVER - 1;
    return timer_arm(&t->timer, when);
}

static void on_expire(struct timer *timer)
{
    struct timerfd *t = container_of(timer, struct timerfd, timer);
    /* The heap has room: this timer has just left it. */
    if (t->next_ns > clock_now(t->clock) && arm(t) == 0)
        return;
    t->expired = true;
    t->ticks++;
    waitq_wake(&t->wait, EPOLLIN);
}

/* Counts the expirations since the timer fired, and starts it again. */
static void catch_up(struct timerfd *t)
{
    if (!t->expired || t->interval_ns == 0)
        return;
    int64_t since = MAX(clock_now(t->clock) - t->next_ns, 0);
    int64_t missed = since / t->interval_ns;
    t->ticks += (uint64_t)missed;
    if (__builtin_add_overflow(t->next_ns, (missed + 1) * t->interval_ns, &t->next_ns))
        t->next_ns = INT64_MAX;
    t->expired = arm(t) < 0;
}

static ssize_t timerfd_file_read(struct file *f, struct uio *u, off_t *pos, int flags)
{
    struct timerfd *t = f->private;
    if (u->left < sizeof(t->ticks))
        return -EINVAL;
    if (t->ticks == 0)
        return -EAGAIN;
    catch_up(t);
    uint64_t ticks = t->ticks;
    t->ticks = 0;
    if (t->interval_ns == 0)
        t->expired = false;
    return uio_copy_out(u, &ticks, sizeof(ticks)) == sizeof(ticks) ? (ssize_t)sizeof(ticks)
                                                                   : -EFAULT;
}

static uint32_t timerfd_file_poll(struct file *f, struct poll_table *table)
{
    struct timerfd *t = f->private;
    poll_table_add(table, &t->wait);
    return t->ticks > 0 ? EPOLLIN : 0;
}

static void timerfd_file_release(struct file *f)
{
    struct timerfd *t = f->private;
    timer_disarm(&t->timer);
    free(t);
}

static void timerfd_file_describe(struct file *f, struct buf *b)
{
    const struct timerfd *t = f->private;
    struct itimerspec now;
    timerfd_get(f, &now);
    buf_printf(b,
               "clockid: %d\nticks: %llu\nsettime flags: 0%o\n"
               "it_value: (%lld, %lld)\nit_interval: (%lld, %lld)\n",
               t->clock, (unsigned long long)t->ticks, t->flags, (long long)now.it_value.tv_sec,
               (long long)now.it_value.tv_nsec, (long long)now.it_interval.tv_sec,
               (long long)now.it_interval.tv_nsec);
}

static const struct file_ops timerfd_ops = {
    .release = timerfd_file_release,
    .read = timerfd_file_read,
    .lseek = anon_lseek,
    .stream = true,
    .poll = timerfd_file_poll,
    .describe = timerfd_file_describe,
};

bool timerfd_is(const struct file *f)
{
    return f->ops == &timerfd_ops;
}

int timerfd_create_file(int clock, int flags, struct file **ret)
{
    if (clock == CLOCK_REALTIME_ALARM)
        clock = CLOCK_REALTIME;
    else if (clock == CLOCK_BOOTTIME_ALARM)
        clock = CLOCK_BOOTTIME;
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME)
        return -EINVAL;
    struct timerfd *t = calloc(1, sizeof(*t));
    if (!t)
        return -ENOMEM;
    t->clock = clock;
    t->timer = TIMER_INIT(on_expire);
    waitq_init(&t->wait);
    int r = file_new_anonymous("anon_inode:[timerfd]", ANON_MODE, O_RDWR | (flags & O_NONBLOCK),
                               &timerfd_ops, t, ret);
    if (r < 0)
        free(t);
    return r;
}

void timerfd_get(struct file *f, struct itimerspec *ret)
{
    struct timerfd *t = f->private;
    catch_up(t);
    int64_t left = 0;
    /* One that is due but has not fired yet is still armed: 1 ns, since 0 would say "disarmed". */
    if (timer_is_armed(&t->timer))
        left = MAX(t->next_ns - clock_now(t->clock), 1);
    *ret = (struct itimerspec){.it_interval = from_ns(t->interval_ns), .it_value = from_ns(left)};
}

int timerfd_set(struct file *f, int flags, const struct itimerspec *value,
                struct itimerspec *ret_old)
{
    struct timerfd *t = f->private;
    int64_t value_ns = to_ns(value->it_value);
    timerfd_get(f, ret_old);
    timer_disarm(&t->timer);
    t->ticks = 0;
    t->flags = flags;
    t->expired = false;
    t->interval_ns = to_ns(value->it_interval);
    if (value_ns == 0)
        return 0;
    t->next_ns = value_ns;
    if (!(flags & TFD_TIMER_ABSTIME) &&
        __builtin_add_overflow(clock_now(t->clock), value_ns, &t->next_ns))
        t->next_ns = INT64_MAX;
    return arm(t);
}
