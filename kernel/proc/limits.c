// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/limits.h"

#include "kernel/core/kernel.h"
#include "kernel/host/host.h"
#include "kernel/proc/timers.h"

#include <linux/capability.h>

#define MIB (1024UL * 1024)

void limits_defaults(struct rlimit limits[RLIM_NLIMITS])
{
    for (int i = 0; i < RLIM_NLIMITS; i++)
        limits[i] = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    if (kernel.config.file_bytes > 0 && kernel.config.file_bytes < RLIM_INFINITY)
        limits[RLIMIT_FSIZE] = (struct rlimit){kernel.config.file_bytes, kernel.config.file_bytes};
    limits[RLIMIT_STACK].rlim_cur = 8 * MIB;
    limits[RLIMIT_CORE].rlim_cur = 0;
    limits[RLIMIT_NPROC] = (struct rlimit){kernel.config.thread_count, kernel.config.thread_count};
    limits[RLIMIT_NOFILE] = (struct rlimit){1024, FD_LIMIT};
    limits[RLIMIT_MEMLOCK] = (struct rlimit){8 * MIB, 8 * MIB};
    limits[RLIMIT_SIGPENDING] = (struct rlimit){LIMIT_SIGNALS_OF_PROCESS, LIMIT_SIGNALS_OF_PROCESS};
    limits[RLIMIT_MSGQUEUE] = (struct rlimit){819200, 819200};
    limits[RLIMIT_NICE] = (struct rlimit){0, 0};
    limits[RLIMIT_RTPRIO] = (struct rlimit){0, 0};
}

size_t process_limit(const struct process *p, int resource)
{
    rlim_t soft = p->rlimits[resource].rlim_cur;
    return soft == RLIM_INFINITY ? SIZE_MAX : (size_t)soft;
}

int limits_change(struct process *p, const struct cred *cred, unsigned resource,
                  const struct rlimit *value, struct rlimit *ret_old)
{
    if (resource >= RLIM_NLIMITS)
        return -EINVAL;
    struct rlimit *limit = &p->rlimits[resource], old = *limit;
    if (value) {
        if (value->rlim_cur > value->rlim_max)
            return -EINVAL;
        if (resource == RLIMIT_NOFILE && value->rlim_max > FD_LIMIT)
            return -EPERM;
        if (value->rlim_max > limit->rlim_max && !cred_has_cap(cred, CAP_SYS_RESOURCE))
            return -EPERM;
        /* Only what the host has taken is said to be in force; of a task that is gone nothing is.
         */
        if (resource == RLIMIT_AS || resource == RLIMIT_DATA || resource == RLIMIT_STACK) {
            int r = host->limit(p->host_pid, (int)resource, value->rlim_cur);
            if (r < 0 && r != -ESRCH)
                return r;
        }
        *limit = *value;
        if (resource == RLIMIT_CPU)
            timers_watch_cpu_limit(p);
    }
    if (ret_old)
        *ret_old = old;
    return 0;
}
