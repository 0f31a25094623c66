// SPDX-License-Identifier: Apache-2.0
/*
 * Resource limits of processes: setrlimit(2). Kept for all resources; enforced for files, signals,
 * processes, file sizes and CPU time; address space, data and stack by the host.
 */
#pragma once

#include "kernel/proc/process.h"

/* What the sandbox's first program starts with. */
void limits_defaults(struct rlimit limits[RLIM_NLIMITS]);

/*
 * prlimit(2) on p by a thread with these credentials. Either of value and ret_old may be NULL.
 * -EINVAL, -EPERM. Whether p may be asked at all is the caller's question.
 */
int limits_change(struct process *p, const struct cred *cred, unsigned resource,
                  const struct rlimit *value, struct rlimit *ret_old);
