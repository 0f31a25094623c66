// SPDX-License-Identifier: Apache-2.0
/*
 * What a process used.
 */
#pragma once

#include "kernel/proc/process.h"

/*
 * Fills p->usage from the host while the process still is there. The host keeps nothing of one that
 * it ended by itself: then with what account_cpu_ns() says, and the result is false.
 */
bool account_sample(struct process *p);

/*
 * Processor time of p. When the host has ended it, what it had at the last look and the most that
 * it can have used since, as meter_unseen_ns() knows it.
 */
int64_t account_cpu_ns(struct process *p);

/* Time that processes have used of which nobody ever saw any more. */
void account_add_unseen(int64_t ns);

/* What p has used and those of its children that it has waited for: what wait4(2) says of a zombie.
 */
struct rusage account_whole(const struct process *p);

/* A waited-for child's usage goes to its parent's children_usage; the sandbox's totals grow. */
void account_add_to_parent(const struct process *child);

/* Of all processes that have ended. */
struct account_totals {
    int64_t user_ns, system_ns;
    int64_t peak_memory_bytes; /* of the largest */
};
struct account_totals account_totals(void);
/* And of those that live: one look into /proc each. */
struct account_totals account_totals_with_living(void);
