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
    /* The last one that counted (signals_is_echo()); 0: none. */
    uint32_t last, last_sender;
    int64_t last_ns;
    sigset_t mask_before;
    struct sigaction pipe_before;
};

void signals_block(struct signals *s);
void signals_restore(struct signals *s);

/* Does this one end the sandbox? The others that come are passed on or acted upon. */
bool signals_is_ending(int sig);

/*
 * Whether it is one with the last: timeout(1), and a supervisor that ends a process and its group,
 * send each signal twice. That is the same one of the same process within SIGNALS_ECHO_NS; what is
 * typed comes once. now_ns: CLOCK_MONOTONIC. One that is none is the last from now on.
 */
#define SIGNALS_ECHO_NS (200 * NSEC_PER_MSEC)
bool signals_is_echo(struct signals *s, const struct signalfd_siginfo *info, int64_t now_ns);

/* Who sent it: "process 12 (make) of user 1000", "the terminal", or "" when nobody knows. */
void signals_describe_sender(const struct signalfd_siginfo *info, char *ret, size_t size);
