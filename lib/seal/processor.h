// SPDX-License-Identifier: Apache-2.0
/*
 * What keeps programs from learning of others through the processor they share. Both are inherited
 * by the process's children, so that a process of ours and the programs it serves are one.
 *
 * Each says whether it is in force now; *ret_why is a constant for a person.
 */
#pragma once

#include "lib/seal/report.h"

/*
 * Core scheduling (Linux 5.14): on the threads of one core only processes with the same cookie run
 * at the same time. Reads /sys where the host has no core scheduling at all.
 */
enum seal_state seal_core_scheduling(const char **ret_why);

/*
 * Speculative store bypass and indirect branches that others have steered: switched off for good,
 * PR_SET_SPECULATION_CTRL. Costs much: docs/decisions/speculation-is-the-hosts.md.
 */
enum seal_state seal_speculation(const char **ret_why);
