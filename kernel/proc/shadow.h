// SPDX-License-Identifier: Apache-2.0
/*
 * The tasks' host root: a private tmpfs in which nothing exists but directories and hard links to
 * the loader stub, under names that tasks have executed. See exec.h.
 */
#pragma once

#include "kernel/host/hostfd.h"

#define SHADOW_ENTRIES_MAX 512

/*
 * Makes `path` lead to the stub for a process whose root and working directory are the tasks' root.
 * -EAGAIN: a name that is in use by an exec in flight is in the way.
 */
int shadow_link(const char *path);

/* Counts execs that the host runs at the moment: while there are any, no entry is removed. */
void shadow_hold(void);
void shadow_release(void);
