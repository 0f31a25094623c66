// SPDX-License-Identifier: Apache-2.0
/*
 * Files that tell of themselves by a signal: O_ASYNC, FIOASYNC, F_SETOWN, F_SETSIG of fcntl(2).
 *
 * A wake-up must not send anything (core/waitq.h), so it notes what has changed. async_deliver()
 * sends: before the answer to the call that changed it, as Linux has it, and from the main loop for
 * what the host changed. However often a file is woken in one call, it tells once of each
 * direction.
 */
#pragma once

#include "kernel/fs/vfs.h"

/*
 * f, with descriptor fd, tells of itself from now on, or no more. 0, -ENOTTY when it is of a kind
 * that never does, -ENOMEM. Nothing is sent while it has no owner.
 */
int async_set(struct file *f, int fd, bool on);

/* Sends what is due. It may be called at any time when no call is in the midst of its end. */
void async_deliver(void);
