// SPDX-License-Identifier: Apache-2.0
/*
 * --trace: one line for each call that ends, with its arguments decoded, result and time.
 */
#pragma once

#include "kernel/core/call.h"

/* Called when c ends. The line goes out with trace_flush(). */
void trace_call(const struct call *c, long result);

/*
 * Sends what has gathered to the starter. While that does not read, as when it is stopped, calls
 * are not recorded but counted, after a first wait of up to a second; the count is a line of the
 * trace.
 */
void trace_flush(void);

/* The same at the end: nothing of what was recorded is lost. */
void trace_finish(void);
