// SPDX-License-Identifier: Apache-2.0
/*
 * The main loop: takes system calls of the tasks one after the other and runs their handlers;
 * between them, what was woken, timers that are due, and the kernel's own descriptors.
 */
#pragma once

#include "lib/base/base.h"

/* Runs until loop_stop() or until no task is left. */
void loop_run(void);
void loop_stop(void);
