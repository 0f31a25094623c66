// SPDX-License-Identifier: Apache-2.0
/*
 * Calls that wait for many files: what poll(2) and select(2) share.
 */
#pragma once

#include "kernel/fs/vfs.h"

/*
 * The files that a parked call looks at. They are held, since a wait stands on a queue inside of
 * them, while other threads may close the last descriptor.
 */
struct poll_hold {
    struct file **files;
    size_t count, capacity;
};

/*
 * Registers c with the queues of f and holds f. capacity files at most in the life of h: it is said
 * at each call so that the first can make room. 0 or -ENOMEM (also past LIMIT_POLL_WAITS).
 */
int poll_hold_file(struct poll_hold *h, struct call *c, struct file *f, size_t capacity);

/* Lets go of all; h can be used again. To be called when c's waits are gone: in its next run or
 * release. */
void poll_hold_clear(struct poll_hold *h);
void poll_hold_done(struct poll_hold *h);
