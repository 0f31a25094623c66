// SPDX-License-Identifier: Apache-2.0
/*
 * The caller's terminal while a sandbox uses it: raw, so that every key goes in, and always as it
 * was before when this process ends or is stopped, be it by a crash. Only SIGKILL leaves it raw.
 * There is one terminal a process, so this is one global thing.
 */
#pragma once

#include "lib/base/base.h"

/* Size in characters; zeros when unknown. */
void terminal_get_size(int fd, unsigned *ret_rows, unsigned *ret_columns);

/*
 * Puts the terminal of fd into raw mode; again when somebody else has changed it meanwhile. 0 or
 * negative errno.
 */
int terminal_enter_raw(int fd);

bool terminal_is_raw(void);

/*
 * Puts it back, without what was typed, or answered by the terminal, while it was raw; does nothing
 * when it isn't. May be called from a signal handler.
 */
void terminal_restore(void);

/* A job that reads from its terminal now would be stopped, even if its program never reads. */
bool terminal_is_in_background(int fd);
