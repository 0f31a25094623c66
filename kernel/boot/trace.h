// SPDX-License-Identifier: Apache-2.0
/*
 * --trace: one line for each call that ends, with its arguments decoded, result and time.
 */
#pragma once

#include "kernel/core/call.h"

/* Called when c ends. The line goes out with trace_flush(). */
void trace_call(const struct call *c, long result);

/* Sends what has gathered to the starter. */
void trace_flush(void);
