// SPDX-License-Identifier: Apache-2.0
/*
 * Ways for a thread to keep from itself the one signal by which the sandbox's kernel interrupts it
 * (SIGNAL_KICK in kernel/proc/signal.h), or to make nothing of it. Such a thread misses what its
 * program is sent; nobody else must miss anything: it is stopped, killed and timed out as any, and
 * holds up no exec or exit of its siblings.
 */
#pragma once

#include "probes/support.h"

struct deaf_way {
    const char *name; /* what it does to be deaf */
    void (*prepare)(void);
    /* What it does from then on, for ever, counting its turns; NULL: nothing but that. */
    void (*run)(volatile uint64_t *turns);
    bool may_crash; /* what it has broken may also end it, by SIGSEGV */
};

/* NULL: none of this name. */
const struct deaf_way *deaf_way_find(const char *name);
/* NULL: no more. */
const struct deaf_way *deaf_way_at(size_t index);

/* Prepares, and then runs on. */
_noreturn_ void deaf_run(const struct deaf_way *way, volatile uint64_t *turns);
_noreturn_ void deaf_run_on(const struct deaf_way *way, volatile uint64_t *turns);
