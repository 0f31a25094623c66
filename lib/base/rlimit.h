// SPDX-License-Identifier: Apache-2.0
/* Limits of this process, setrlimit(2). */
#pragma once

#include <sys/resource.h>

/* Makes the soft limit the hard one, which it answers; RLIM_INFINITY: none, or it can't be had. */
static inline rlim_t rlimit_raise(int resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) < 0)
        return RLIM_INFINITY;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
    return limit.rlim_max;
}
