// SPDX-License-Identifier: Apache-2.0
/*
 * What is left of a sandbox that was killed, or is about to be, as its machine shows it in /proc.
 */
#pragma once

#include "lib/base/base.h"

/*
 * Whether the killed process pid, or one below it, is at work on its end: it runs in the host,
 * which takes its memory apart, and does not wait for anything. proc_pid_stat(5).
 */
bool remains_are_at_work(pid_t pid);

/*
 * Adds the processor time of all that live below pid, which is not in it, in whole ticks of the
 * host's clock; of very many, that of the first ones.
 */
void remains_measure(pid_t pid, int64_t *user_ns, int64_t *system_ns);
