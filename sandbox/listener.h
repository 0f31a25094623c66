// SPDX-License-Identifier: Apache-2.0
/*
 * A socket_file.h that is listened to in a poll list. Without a descriptor for who connects he
 * stays where he is, and the listener readable: so for a while it is not looked at then.
 */
#pragma once

#include "lib/base/base.h"

#include <poll.h>

struct listener {
    int fd;              /* -1 */
    int64_t rests_until; /* ns, CLOCK_MONOTONIC; 0: it does not rest */
};

/* What to wait for; also ends a rest whose time has come. */
void listener_fill_poll(struct listener *l, struct pollfd *p);

/* The end of the rest, or 0: as listener_fill_poll() saw it. */
static inline int64_t listener_deadline(const struct listener *l)
{
    return l->rests_until;
}

/* Who connected next, as socket_file_accept() gives him, or -1: nobody. */
int listener_accept(struct listener *l);

void listener_close(struct listener *l);
