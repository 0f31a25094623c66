// SPDX-License-Identifier: Apache-2.0
/*
 * Descriptors that the loop waits for, besides the channel and what look-ups use: one epoll set,
 * level-triggered.
 */
#pragma once

#include "lib/base/base.h"

#include <sys/epoll.h>

struct watch {
    int fd;          /* -1: none */
    uint32_t events; /* that are waited for now; 0: it is not in the set at all, so that an end
                      * which can't be dealt with yet doesn't keep the loop busy */
    void (*ready)(struct watch *w, uint32_t events);
};

#define WATCH_NONE ((struct watch){.fd = -1})

/* Before the seal. 0 or -errno. */
int watch_start(void);

/* What the loop polls: readable when watch_step() has something to do. */
int watch_fd(void);

/*
 * Changes what w waits for. Without memory for it the process ends: a flow that nobody looks at
 * would hang for ever.
 */
void watch_for(struct watch *w, uint32_t events);

/* Closes w's descriptor, if it has one. */
void watch_close(struct watch *w);

/*
 * Calls ready() of what is ready. A watch that is closed meanwhile is not called any more; its
 * memory has to stay until watch_step() returns.
 */
void watch_step(void);
