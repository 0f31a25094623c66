// SPDX-License-Identifier: Apache-2.0
/*
 * How many sandboxes a user makes in a second: the times of the last ones, in a file of the
 * runtime folder. Where nobody limits it, there is no file.
 */
#pragma once

#include "sandbox/error.h"

#define RATE_MAX 1000

/*
 * Notes that one is made now, unless `most` (0: no limit, at most RATE_MAX) were within the last
 * second. folder: the runtime folder. 0, or negative errno and the sentence.
 */
int rate_check(int folder, uint64_t most, struct sandbox_error *e);

/* The same on times, oldest first, of which *count are there: takes out those that are older than
 * a second or not from this boot, and adds now_ns unless there are `most`. */
bool rate_take(int64_t times[static RATE_MAX], size_t *count, uint64_t most, int64_t now_ns);
