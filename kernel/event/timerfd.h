// SPDX-License-Identifier: Apache-2.0
/*
 * timerfd_create(2): timers that are read like files.
 */
#pragma once

#include "kernel/fs/vfs.h"

#include <sys/timerfd.h>

/* clock: one of the five that timerfd_create(2) names, or -EINVAL. flags: TFD_NONBLOCK. */
int timerfd_create_file(int clock, int flags, struct file **ret);

bool timerfd_is(const struct file *f);

/* The time that remains until the next expiration (0: disarmed), and the interval. */
void timerfd_get(struct file *f, struct itimerspec *ret);

/* Sets it anew; *ret_old is what timerfd_get() would have said. flags: TFD_TIMER_*. 0 or -ENOMEM.
 */
int timerfd_set(struct file *f, int flags, const struct itimerspec *value,
                struct itimerspec *ret_old);
