// SPDX-License-Identifier: Apache-2.0
/*
 * The programs that the starter asks for: who runs them, where they are found, their first three
 * descriptors. The main program, and those that come by CONTROL_EXEC, which the sandbox outlives.
 */
#pragma once

#include "kernel/boot/setup.h"

/* Exit statuses of a program that could not be started, as shells and container engines have them.
 */
#define STATUS_FAILED    125
#define STATUS_CANT_RUN  126
#define STATUS_NOT_FOUND 127

/*
 * Queues the start of the main program, if there is one, and from now on takes others. 0; or the
 * exit status above, negative, with the reason in e. The main program's end is told to the starter,
 * and stops the main loop. spec is borrowed for ever.
 */
int program_start(const struct spec *spec, struct setup_error *e);
