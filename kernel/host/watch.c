// SPDX-License-Identifier: Apache-2.0
/* host calls: clock_gettime epoll_ctl epoll_pwait2 ppoll */
#include "kernel/host/watch.h"

#include <poll.h>
#include <signal.h>
#include <time.h>

#define BATCH 32

static struct hostfd epoll_fd = {-1};
static struct hostfd extra_added = {-1};
static struct epoll_event fetched[BATCH];
static int fetched_count;
static size_t impatient;

/* Counts w before and after a change of its events. */
static void count_change(const struct host_watch *w, uint32_t events)
{
    impatient -= !w->patient && w->events;
    impatient += !w->patient && events;
}

bool host_watch_is_quiet(void)
{
    return impatient == 0;
}

struct hostfd host_watch_epoll(void)
{
    if (!hostfd_is_open(epoll_fd))
        epoll_fd.n = epoll_create1(EPOLL_CLOEXEC);
    return epoll_fd;
}

int host_watch_add(struct host_watch *w, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = w};
    w->events = 0;
    if (epoll_ctl(host_watch_epoll().n, EPOLL_CTL_ADD, w->fd.n, &e) < 0)
        return -errno;
    count_change(w, events);
    w->events = events;
    return 0;
}

void host_watch_change(struct host_watch *w, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = w};
    if (w->events == events)
        return;
    count_change(w, events);
    w->events = events;
    epoll_ctl(epoll_fd.n, EPOLL_CTL_MOD, w->fd.n, &e);
}

void host_watch_remove(struct host_watch *w)
{
    epoll_ctl(epoll_fd.n, EPOLL_CTL_DEL, w->fd.n, NULL);
    count_change(w, 0);
    w->events = 0;
    for (int i = 0; i < fetched_count; i++)
        if (fetched[i].data.ptr == w)
            fetched[i].data.ptr = NULL;
}

static int wait_until(int64_t deadline_ns)
{
    struct timespec timeout, now;
    if (deadline_ns == INT64_MAX)
        return epoll_pwait2(epoll_fd.n, fetched, BATCH, NULL, NULL);
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t left = MAX(deadline_ns - (now.tv_sec * NSEC_PER_SEC + now.tv_nsec), (int64_t)0);
    timeout = (struct timespec){left / NSEC_PER_SEC, left % NSEC_PER_SEC};
    return epoll_pwait2(epoll_fd.n, fetched, BATCH, &timeout, NULL);
}

int host_watch_wait(struct hostfd extra, int64_t deadline_ns, uint32_t *ret_extra)
{
    uint32_t extra_events = 0;
    if (extra.n != extra_added.n) {
        if (hostfd_is_open(extra_added))
            epoll_ctl(epoll_fd.n, EPOLL_CTL_DEL, extra_added.n, NULL);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = &extra_added};
        if (hostfd_is_open(extra) &&
            epoll_ctl(host_watch_epoll().n, EPOLL_CTL_ADD, extra.n, &e) < 0)
            return -errno;
        extra_added = extra;
    }
    int n = wait_until(deadline_ns);
    if (n < 0)
        return -errno;
    fetched_count = n;
    for (int i = 0; i < n; i++) {
        if (fetched[i].data.ptr == &extra_added)
            extra_events = fetched[i].events;
        else if (fetched[i].data.ptr)
            ((struct host_watch *)fetched[i].data.ptr)
                ->ready(fetched[i].data.ptr, fetched[i].events);
    }
    fetched_count = 0;
    *ret_extra = extra_events;
    return 0;
}

bool host_watch_wait_room(struct hostfd fd, int limit_ms)
{
    struct pollfd p = {.fd = fd.n, .events = POLLOUT};
    const struct timespec limit = {limit_ms / 1000, limit_ms % 1000 * NSEC_PER_MSEC};
    sigset_t all; /* the ticker of host/linux.c would end the wait */
    sigfillset(&all);
    return ppoll(&p, 1, limit_ms < 0 ? NULL : &limit, &all) > 0;
}
