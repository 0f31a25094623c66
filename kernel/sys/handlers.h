// SPDX-License-Identifier: Apache-2.0
/*
 * Prototypes of all handlers, made from the table: `long sys_NAME(struct call *c)`.
 */
#pragma once

#include "kernel/core/call.h"

#define KERNEL(number, name, handler, note) long handler(struct call *c);
#define HOST(number, name, rule, note)
#define REFUSED(number, name, error, note)
#include "kernel/sys/table.def"
#undef KERNEL
#undef HOST
#undef REFUSED

/* What a HOST row answers when the filter's check of its arguments did not let the host run it. */
long sys_mmap(struct call *c);
long sys_rt_sigaction(struct call *c);
long sys_madvise(struct call *c);
long sys_futex(struct call *c);
long sys_arch_prctl(struct call *c);
long sys_membarrier(struct call *c);
