// SPDX-License-Identifier: Apache-2.0
#include "cli/limit_options.h"

#include "cli/run_options.h"

static int take(void *target, enum sandbox_limit which, const char *value, struct sandbox_error *e)
{
    struct run_options *o = target;
    return limit_take(&o->limits, which, value, e);
}

#define LIMIT_OPTION(function, which)                                      \
    int function(void *target, const char *value, struct sandbox_error *e) \
    {                                                                      \
        return take(target, which, value, e);                              \
    }

LIMIT_OPTION(limit_option_memory, LIMIT_MEMORY)
LIMIT_OPTION(limit_option_cpus, LIMIT_CPUS)
LIMIT_OPTION(limit_option_pids, LIMIT_PIDS)
LIMIT_OPTION(limit_option_disk, LIMIT_DISK)
LIMIT_OPTION(limit_option_inodes, LIMIT_INODES)
LIMIT_OPTION(limit_option_timeout, LIMIT_TIMEOUT)
LIMIT_OPTION(limit_option_lifetime, LIMIT_LIFETIME)
LIMIT_OPTION(limit_option_idle, LIMIT_IDLE)
LIMIT_OPTION(limit_option_grace, LIMIT_GRACE)
LIMIT_OPTION(limit_option_cpu_budget, LIMIT_CPU_BUDGET)
LIMIT_OPTION(limit_option_write_budget, LIMIT_WRITE_BUDGET)
LIMIT_OPTION(limit_option_send_budget, LIMIT_SEND_BUDGET)
LIMIT_OPTION(limit_option_output_rate, LIMIT_OUTPUT_RATE)
LIMIT_OPTION(limit_option_output, LIMIT_OUTPUT)
LIMIT_OPTION(limit_option_sandboxes, LIMIT_SANDBOXES)
LIMIT_OPTION(limit_option_rate, LIMIT_RATE)

int limit_option_ulimit(void *target, const char *value, struct sandbox_error *e)
{
    struct run_options *o = target;
    return limit_take_rlimit(&o->limits, value, e);
}
