// SPDX-License-Identifier: Apache-2.0
/*
 * The parts of glovebox doctor. Each prints what it found and returns the exit status: 0, 1 when
 * something is not as it must be, or CLI_STATUS_BAD_USE when it could not be found out (said on
 * standard error).
 */
#pragma once

#include "cli/run_options.h"

#define DOCTOR_STATUS_BAD 1

/* What this machine offers. */
int doctor_machine(bool json);

/* Runs the probes of these names, all when there are none, in a sandbox of these options. */
int doctor_inside(struct run_options *o, int count, char **names);

/* Runs those that are harmless where no sandbox is: there they must see what they look for. */
int doctor_outside(bool json, int count, char **names);
