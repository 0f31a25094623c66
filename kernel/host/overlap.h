// SPDX-License-Identifier: Apache-2.0
/*
 * Do tasks run side by side just now? It decides how the host wakes whom a notification concerns.
 *
 * With the synchronous wake-up the kernel runs on the processor of the task that called, and the
 * task on the kernel's when it is answered: right for one task after the other, since nobody has to
 * rouse an idle processor. Two tasks that both have work are drawn onto that one processor by it
 * and leave the other idle; then the host's ordinary placement is better.
 *
 * The measure: at a call, has another task been let go a few calls ago and not come back? That is
 * true of two compilers at nearly every call, and of a writer and its reader, who take turns, at
 * every other one. So a call that finds none weighs more than one that does.
 */
#pragma once

#include "lib/base/base.h"

/* A call came in from this task. True: the answer of overlap_now() has changed. */
bool overlap_received(pid_t tid, uint64_t id);
/* The call with this id was answered. */
void overlap_answered(uint64_t id);
bool overlap_now(void);
