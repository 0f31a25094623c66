// SPDX-License-Identifier: Apache-2.0
/* A connection to one of the addresses of a name. */
#pragma once

#include "lib/base/base.h"

#include <netinet/in.h>

#define CALLER_ADDRESSES_MAX 32

struct caller_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
    socklen_t size;
};

/*
 * Tries them in their order: where one has not answered for a moment the next is tried beside it
 * (RFC 8305, 5), so that an address that nobody answers at costs no more than that. Of more than
 * CALLER_ADDRESSES_MAX the first ones. A connected socket that doesn't block, or negative errno;
 * -ETIMEDOUT: at the deadline (CLOCK_MONOTONIC), or of no address, there was none.
 */
int caller_connect(const struct caller_address *addresses, size_t count, int64_t deadline_ns);
