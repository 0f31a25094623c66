// SPDX-License-Identifier: Apache-2.0
/*
 * What is left of a sandbox that was killed, as its machine shows it in /proc.
 */
#pragma once

#include "lib/base/base.h"

/*
 * Whether the killed process pid, or one below it, is at work on its end: it runs in the host,
 * which takes its memory apart, and does not wait for anything. proc_pid_stat(5).
 */
bool remains_are_at_work(pid_t pid);
