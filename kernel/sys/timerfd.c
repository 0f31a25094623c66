// SPDX-License-Identifier: Apache-2.0
#include "kernel/event/timerfd.h"
#include "kernel/proc/process.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"
#include "kernel/sys/new_fd.h"

#include <linux/capability.h>

static bool is_alarm(int clock)
{
    return clock == CLOCK_REALTIME_ALARM || clock == CLOCK_BOOTTIME_ALARM;
}

long sys_timerfd_create(struct call *c)
{
    struct file *f;
    int clock = call_int(c, 0), flags = call_int(c, 1);
    if (flags & ~(TFD_CLOEXEC | TFD_NONBLOCK))
        return -EINVAL;
    if (is_alarm(clock) && !cred_has_cap(c->thread->cred, CAP_WAKE_ALARM))
        return -EPERM;
    int r = timerfd_create_file(clock, flags, &f);
    return r < 0 ? r : new_fd_install(c, f, flags & TFD_CLOEXEC);
}

static bool is_valid(struct timespec t)
{
    return t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < NSEC_PER_SEC;
}

/* The file of a descriptor; *ret_error -EBADF or -EINVAL. */
static struct file *timer_file(struct call *c, long *ret_error)
{
    struct file *f = args_file(c, call_int(c, 0));
    if (f && timerfd_is(f))
        return f;
    *ret_error = f ? -EINVAL : -EBADF;
    return NULL;
}

long sys_timerfd_settime(struct call *c)
{
    struct itimerspec value, old;
    long error;
    int flags = call_int(c, 1);
    int r = call_read(c, &value, call_addr(c, 2), sizeof(value));
    if (r < 0)
        return r;
    if ((flags & ~(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)) || !is_valid(value.it_value) ||
        !is_valid(value.it_interval))
        return -EINVAL;
    struct file *f = timer_file(c, &error);
    if (!f)
        return error;
    r = timerfd_set(f, flags, &value, &old);
    if (r < 0 || call_addr(c, 3).v == 0)
        return r;
    return call_write(c, call_addr(c, 3), &old, sizeof(old));
}

long sys_timerfd_gettime(struct call *c)
{
    struct itimerspec value;
    long error;
    struct file *f = timer_file(c, &error);
    if (!f)
        return error;
    timerfd_get(f, &value);
    return call_write(c, call_addr(c, 1), &value, sizeof(value));
}
