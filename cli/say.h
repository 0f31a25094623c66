// SPDX-License-Identifier: Apache-2.0
/*
 * What glovebox itself says to the person who started it: lines on standard error that begin with
 * its name.
 */
#pragma once

#include "sandbox/error.h"

/* "glovebox: LINE", with the line ends that a raw terminal wants. */
void cli_say(const char *line);

/* Likewise for the text of e, made safe for a terminal. */
void cli_say_error(const struct sandbox_error *e);
