// SPDX-License-Identifier: Apache-2.0
/*
 * Parts of host names, for patterns (patterns.c). Not for other rooms.
 */
#pragma once

#include "lib/policy/host.h"

#define POLICY_LABEL_MAX_BYTES 63

/* Room for a name with a dot at its end. */
struct policy_ascii {
    size_t size;
    char text[POLICY_NAME_MAX_BYTES + 2];
};

/* [a-z0-9_-] */
bool policy_label_byte(char c);

/*
 * UTS 46 and lower case: bytes of labels and dots, in any order. 0, -EINVAL with *why as
 * policy_host_parse() has it, -ENOMEM.
 */
int policy_host_to_ascii(const char *text, size_t size, struct policy_ascii *ret, const char **why);
