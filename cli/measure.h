// SPDX-License-Identifier: Apache-2.0
/*
 * What running sandboxes use: as the machine sees it (sandbox/usage.h), and as their own kernels
 * say, where they say it in time (sandbox/usage_ask.h).
 */
#pragma once

#include "sandbox/exec_messages.h"
#include "sandbox/registry.h"
#include "sandbox/usage.h"

/* How long kernels have to answer, all together. */
#define MEASURE_WAIT_MS 1000

struct measure {
    char name[REGISTRY_NAME_MAX_BYTES + 1];
    int64_t created_ns;
    struct sandbox_limits limits;
    struct sandbox_usage usage;
    bool is_told; /* told is known, and cpu_ns */
    struct exec_usage told;
    int64_t at_ns;      /* CLOCK_MONOTONIC, of cpu_ns */
    int64_t cpu_ns;     /* of all that ran in it, and of its kernel */
    double cpu_percent; /* of one processor, since the one before; negative: not known */
    int socket;         /* while its kernel is asked; -1 */
};

struct measures {
    struct measure *items;
    size_t count, capacity;
};

/*
 * Of those of these names that run, of all when there is none. before: their earlier ones, or NULL.
 * 0 and *ret, to be ended with measures_done(); or negative errno and the sentence.
 */
int measures_take(char *const *names, int count, const struct measures *before,
                  struct measures *ret, struct sandbox_error *e);
void measures_done(struct measures *m);
