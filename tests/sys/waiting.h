// SPDX-License-Identifier: Apache-2.0
/* What the cases about calls that wait share: the time, and signals that come meanwhile. */
#pragma once

#include "tests/harness/harness.h"

#include <signal.h>
#include <time.h>

static volatile sig_atomic_t signals_seen;

static inline long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline void count_signal(int sig)
{
    signals_seen++;
}

static inline void handle(int sig, int flags)
{
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = flags};
    ASSERT_EQ(sigaction(sig, &action, NULL), 0);
}
