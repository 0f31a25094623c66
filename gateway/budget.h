// SPDX-License-Identifier: Apache-2.0
/*
 * How many bytes the sandbox may send and receive, in all and in a second (limits.bytes_up,
 * bytes_down, rate_up, rate_down): of all its connections together, as they come in here on either
 * side.
 */
#pragma once

#include "gateway/gateway.h"

enum budget { BUDGET_UP, BUDGET_DOWN };

/*
 * Whether bytes count at all. They can only be counted in time where they pass through here, so
 * then no connection is handed over.
 */
bool budget_is_set(void);

/* How many of size bytes may pass now: 0 while the rate is used up. */
size_t budget_room(enum budget which, size_t size);

/* When there is room again after that; INT64_MAX: it is not the rate that waits. */
int64_t budget_wait_until_ns(enum budget which);

/* So many passed. false: the sandbox has had all that it may have; this and every other connection
 * is to be cut. */
bool budget_spend(enum budget which, size_t size);

/* "limit:bytes_up", or of the other one, once it is used up; NULL before. */
const char *budget_used_up(void);
