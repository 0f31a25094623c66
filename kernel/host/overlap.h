// SPDX-License-Identifier: Apache-2.0
/*
 * Do tasks run side by side just now? It decides how the host wakes whom a notification concerns.
 *
 * With the synchronous wake-up the kernel runs on the processor of the task that called, and the
 * task on the kernel's when it is answered. Nobody has to rouse an idle processor for that, which
 * on a virtual machine takes as long as several calls. It goes wrong for a task whose call came
 * while the kernel was at another's: both are then drawn onto one processor. If they call again at
 * once, that is still the fastest; if they compute, the other processor stays idle for
 * milliseconds. So, while tasks run side by side, a task that the kernel did not wait for, and that
 * worked for a while before its call, is left to the host's ordinary placement: it goes *apart*.
 *
 * The measure of "side by side": at a call, has another task been let go a few calls ago and not
 * come back? That is true of two compilers at nearly every call, and of a writer and its reader,
 * who take turns, at every other one. So a call that finds none weighs more than one that does.
 */
#pragma once

#include "lib/base/base.h"

/* Of work before a call: longer than it takes to rouse a processor. */
#define OVERLAP_APART_NS (20 * NSEC_PER_USEC)

/*
 * A call came in from this task. was_there: before the kernel asked for one. The times are
 * CLOCK_MONOTONIC, and are read only where overlap_now() is true.
 */
void overlap_received(pid_t tid, uint64_t id, bool was_there, int64_t now_ns);
/* The call with this id is about to be answered. True: its task is to go apart. */
bool overlap_answered(uint64_t id, int64_t now_ns);
bool overlap_now(void);
