// SPDX-License-Identifier: Apache-2.0
/*
 * What calls that wait for a while have in common: timeouts in the task's memory, temporary masks,
 * and the time that is left when they end.
 */
#pragma once

#include "kernel/core/call.h"

#define WAITING_FOREVER (-1)

/* The length of a wait in nanoseconds; address 0: WAITING_FOREVER. -EFAULT, -EINVAL. */
int waiting_read_timespec(const struct call *c, struct gaddr at, int64_t *ret_ns);
/* As select(2) takes it: microseconds of more than a second are carried over. */
int waiting_read_timeval(const struct call *c, struct gaddr at, int64_t *ret_ns);
/* For the timeouts of poll(2) and epoll_wait(2): negative is WAITING_FOREVER. */
int64_t waiting_from_ms(int ms);

/* Takes over the mask of ppoll(2) and kin for the time of the call; address 0: none. -EINVAL,
 * -EFAULT. */
int waiting_begin_mask(struct call *c, struct gaddr mask, size_t size);

/* Where the time that is left of the call's deadline is to be written. */
struct waiting_left {
    struct gaddr at; /* 0: nowhere */
    bool is_timeval;
};

/* Writes it. A bad address is not an error by then. */
void waiting_write_left(struct call *c, struct waiting_left left);
/* The same from the release function of a call that a signal may have ended. */
void waiting_write_left_at_release(struct call *c, struct waiting_left left);
