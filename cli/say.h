// SPDX-License-Identifier: Apache-2.0
/*
 * What glovebox itself says to the person who started it: lines on standard error that begin with
 * its name.
 */
#pragma once

#include "lib/text/shown.h"
#include "sandbox/error.h"

/* "glovebox: LINE", with the line ends that a raw terminal wants. */
void cli_say(const char *line);

/*
 * From begin to end no line is waited for: a program decides when there is something to say, and
 * who reads standard error, or stops his terminal, would hold up the clock that is to end it.
 * Lines that nobody takes are kept, up to a limit, until the next one. What is left at the end is
 * waited for as long as somebody takes of it, and for a second more.
 */
void cli_say_begin(void);
void cli_say_end(void);

/*
 * For a loop that goes on: writes what can be written. A descriptor to wait with until more can
 * (POLLOUT), or -1: nothing is left. Of what there is no room for a line tells how much it was.
 */
int cli_say_pending(void);

/* Likewise for the text of e: one line that is safe to show, whatever names are in it. */
void cli_say_error(const struct sandbox_error *e);

/*
 * How fd is to show what comes out of a sandbox: a terminal gets colours, unless TERM says that it
 * knows none, and nothing else that would act on it. NULL when it is no terminal.
 */
const struct text_style *cli_choose_style(int fd);
