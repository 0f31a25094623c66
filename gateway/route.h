// SPDX-License-Identifier: Apache-2.0
/*
 * Whether IPv6 leads anywhere from this machine: it has a route to public addresses, and an address
 * to come from. Where it has not, nobody is told of IPv6 addresses, and none is dialled, since many
 * programs try them first and give up with the first error.
 */
#pragma once

#include "lib/base/base.h"

/* Tells the kernel: for the first time, or since there is another policy. */
void route_tell(void);

/* Looks anew, without a packet; tells the kernel when it has changed. */
bool route_has_v6(void);
