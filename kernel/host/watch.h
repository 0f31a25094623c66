// SPDX-License-Identifier: Apache-2.0
/*
 * Host descriptors of the kernel itself that the main loop watches: the starter's pipes, the
 * control socket, the tasks' pidfds.
 */
#pragma once

#include "kernel/host/hostfd.h"

#include <sys/epoll.h>

/* `ready` runs from the main loop, level-triggered, with EPOLL* bits. */
struct host_watch {
    struct hostfd fd;
    uint32_t events;
    void (*ready)(struct host_watch *w, uint32_t events);
    bool patient; /* nobody in the sandbox waits for it: a delay of HOST_TICK_NS does no harm */
};

/* events 0: registered, and told of nothing but EPOLLHUP and EPOLLERR. 0 or -errno. */
int host_watch_add(struct host_watch *w, uint32_t events);
void host_watch_change(struct host_watch *w, uint32_t events);
/* After it, `ready` is not called any more, also not for events that were fetched already. */
void host_watch_remove(struct host_watch *w);

/* No watch but patient ones listens for anything. */
bool host_watch_is_quiet(void);

/*
 * Waits up to limit_ms (-1: for ever) until fd takes more, or will never again; true if so. The
 * tasks' calls wait with it: only for what is small and bounded, or when there are none any more.
 */
bool host_watch_wait_room(struct hostfd fd, int limit_ms);

/* For kernel/host/linux.c. */
struct hostfd host_watch_epoll(void);
/* Waits until one is ready or `extra` (HOSTFD_NONE: none) is readable; runs what is ready. */
int host_watch_wait(struct hostfd extra, int64_t deadline_ns, uint32_t *ret_extra);
