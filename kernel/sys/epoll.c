// SPDX-License-Identifier: Apache-2.0
/*
 * epoll_create(2), epoll_ctl(2), epoll_wait(2) and their kin.
 */
#include "kernel/event/epoll.h"
#include "kernel/proc/process.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"
#include "kernel/sys/new_fd.h"
#include "kernel/sys/waiting.h"

#define EVENTS_MAX ((int)(INT32_MAX / sizeof(struct epoll_event)))

static long create(struct call *c, int flags)
{
    struct file *f;
    if (flags & ~EPOLL_CLOEXEC)
        return -EINVAL;
    int r = epoll_create_file(&f);
    return r < 0 ? r : new_fd_install(c, f, flags & EPOLL_CLOEXEC);
}

long sys_epoll_create(struct call *c)
{
    return call_int(c, 0) <= 0 ? -EINVAL : create(c, 0);
}

long sys_epoll_create1(struct call *c)
{
    return create(c, call_int(c, 0));
}

long sys_epoll_ctl(struct call *c)
{
    struct epoll_event event = {0};
    int operation = call_int(c, 1), fd = call_int(c, 2);
    if (operation != EPOLL_CTL_DEL) {
        int r = call_read(c, &event, call_addr(c, 3), sizeof(event));
        if (r < 0)
            return r;
    }
    struct file *epoll = args_file(c, call_int(c, 0));
    struct file *target = args_file(c, fd);
    if (!epoll || !target)
        return -EBADF;
    return epoll_control(epoll, operation, target, fd, &event);
}

static void release_epoll(struct call *c)
{
    file_put(c->state);
}

/*
 * c->state: the instance, from the first time that the call parks. Closing the descriptor meanwhile
 * does not disturb the call.
 */
static long wait_for_events(struct call *c)
{
    struct file *f = c->state ? c->state : args_file(c, call_int(c, 0));
    int max = call_int(c, 2);
    struct gaddr events = call_addr(c, 1);
    if (!f)
        return -EBADF;
    if (max <= 0 || max > EVENTS_MAX)
        return -EINVAL;
    if (!args_range_ok(events, (size_t)max * sizeof(struct epoll_event)))
        return -EFAULT;
    if (!epoll_is(f))
        return -EINVAL;
    long delivered = epoll_deliver(f, call_memory(c), events, (size_t)max);
    if (delivered != 0)
        return delivered;
    if (c->timed_out || c->deadline_ns <= clock_monotonic_ns())
        return 0;
    if (!c->state) {
        c->state = file_get(f);
        c->release = release_epoll;
    }
    int r = call_wait_on(c, epoll_wait_queue(f));
    return r < 0 ? r : call_park(c, RESTART_NEVER);
}

long sys_epoll_wait(struct call *c)
{
    if (!c->state)
        call_set_timeout(c, waiting_from_ms(call_int(c, 3)));
    return wait_for_events(c);
}

long sys_epoll_pwait(struct call *c)
{
    if (!c->state) {
        int r = waiting_begin_mask(c, call_addr(c, 4), c->arg[5]);
        if (r < 0)
            return r;
        call_set_timeout(c, waiting_from_ms(call_int(c, 3)));
    }
    return wait_for_events(c);
}

long sys_epoll_pwait2(struct call *c)
{
    if (!c->state) {
        int64_t timeout;
        int r = waiting_read_timespec(c, call_addr(c, 3), &timeout);
        if (r == 0)
            r = waiting_begin_mask(c, call_addr(c, 4), c->arg[5]);
        if (r < 0)
            return r;
        call_set_timeout(c, timeout);
    }
    return wait_for_events(c);
}
