// SPDX-License-Identifier: Apache-2.0
/* Sets of one or two signals, blocked and unblocked; b 0: none. */
#pragma once

#include "tests/harness/harness.h"

#include <signal.h>

static inline sigset_t set_of(int a, int b)
{
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, a);
    if (b)
        sigaddset(&s, b);
    return s;
}

static inline void block(int a, int b)
{
    sigset_t s = set_of(a, b);
    ASSERT_EQ(sigprocmask(SIG_BLOCK, &s, NULL), 0);
}

static inline void unblock(int a, int b)
{
    sigset_t s = set_of(a, b);
    ASSERT_EQ(sigprocmask(SIG_UNBLOCK, &s, NULL), 0);
}
