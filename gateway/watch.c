// SPDX-License-Identifier: Apache-2.0
#include "gateway/watch.h"

#include "gateway/gateway.h"

#define BATCH_MAX 64

static int set = -1;

int watch_start(void)
{
    set = epoll_create1(EPOLL_CLOEXEC);
    return set < 0 ? -errno : 0;
}

int watch_fd(void)
{
    return set;
}

void watch_for(struct watch *w, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = w};
    if (w->fd < 0 || w->events == events)
        return;
    int call = !w->events ? EPOLL_CTL_ADD : events ? EPOLL_CTL_MOD : EPOLL_CTL_DEL;
    if (epoll_ctl(set, call, w->fd, &e) < 0)
        gateway_fail("epoll: %s; free memory", strerror(errno));
    w->events = events;
}

void watch_close(struct watch *w)
{
    /* The kernel holds duplicates of some, which would keep it in the set. */
    watch_for(w, 0);
    base_closep(&w->fd);
    w->fd = -1;
}

void watch_step(void)
{
    struct epoll_event ready[BATCH_MAX];
    int count = epoll_wait(set, ready, BATCH_MAX, 0);
    for (int i = 0; i < count; i++) {
        struct watch *w = ready[i].data.ptr;
        if (w->events)
            w->ready(w, ready[i].events);
    }
}
