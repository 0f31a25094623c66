// SPDX-License-Identifier: Apache-2.0
/* The machine's own addresses, as the floor of all policies has to know them. */
#pragma once

#include "lib/policy/policy.h"

#define POLICY_MACHINE_ADDRESSES_MAX 256

struct policy_machine {
    struct policy_net own[POLICY_MACHINE_ADDRESSES_MAX];
    struct policy_net broadcasts[POLICY_MACHINE_ADDRESSES_MAX];
};

/*
 * Reads the interfaces (getifaddrs(3)), and makes m's tables the operator's host and broadcast; m
 * stays as long as the operator. 0, -E2BIG when there are more, or -errno.
 */
int policy_machine_read(struct policy_machine *m, struct policy_operator *op);
