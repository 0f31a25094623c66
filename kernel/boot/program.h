// SPDX-License-Identifier: Apache-2.0
/*
 * The main program of the sandbox: who runs it, where it is found, its first three descriptors.
 */
#pragma once

#include "kernel/boot/setup.h"

/* Exit statuses of a program that could not be started, as shells and container engines have them.
 */
#define STATUS_FAILED    125
#define STATUS_CANT_RUN  126
#define STATUS_NOT_FOUND 127

/*
 * Queues the start of the program. 0; or the exit status above, negative, with the reason in e. Its
 * end is told to the starter, and stops the main loop.
 */
int program_start(const struct spec *spec, struct setup_error *e);
