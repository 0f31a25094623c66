// SPDX-License-Identifier: Apache-2.0
/*
 * The signals to this process while it runs a sandbox: blocked and read from a descriptor, SIGPIPE
 * ignored, and all as it was before when it is over.
 */
#pragma once

#include "lib/base/base.h"

#include <signal.h>
#include <sys/signalfd.h>

struct signals {
    int fd; /* of struct signalfd_siginfo, non-blocking; -1: no descriptor was left */
    sigset_t mask_before;
    struct sigaction pipe_before;
};

void signals_block(struct signals *s);
void signals_restore(struct signals *s);

/* Does this one end the sandbox? The others that come are passed on or acted upon. */
bool signals_is_ending(int sig);

/* Who sent it: "process 12 (make) of user 1000", "the terminal", or "" when nobody knows. */
void signals_describe_sender(const struct signalfd_siginfo *info, char *ret, size_t size);
