// SPDX-License-Identifier: Apache-2.0
/*
 * Lines for the person who started the server, on standard error. All clients wait for this
 * process: it waits for nobody who has stopped reading what it says, or has stopped his terminal,
 * and has no room to keep lines for him. What is not taken at once is left out.
 */
#pragma once

#include "lib/base/base.h"

/* Before server_enter(), after which nothing of the host can be opened. */
void say_start(void);

/*
 * Writes a line of size bytes, its newline included. When there is no room for all of it the rest
 * is left out, and the next line begins on a new one; how many are missing, or not whole, is told
 * in front of the next line for which there is room. A reader that is gone needs no lines.
 */
void say_line(const char *line, size_t size);
