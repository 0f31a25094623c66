// SPDX-License-Identifier: Apache-2.0
/*
 * What a sandbox without a gateway wanted outside, told to its starter, so that somebody can find
 * out later why it got nothing: CONTROL_DENIED of lib/base/control.h. The same thing is told once
 * in a second, and no more than DENIED_PER_S different ones; the others are counted.
 */
#pragma once

#include "kernel/net/socket.h"

#define DENIED_PER_S 50

/* Who tells: set by boot. what: a name or an address; NULL: value is a count. */
extern void (*denied_tell)(int32_t value, unsigned protocol, const char *what);

/* A connection or datagram to an address that only a gateway could reach. */
void denied_address(const struct socket *s, const struct inet_endpoint *to);

/* A DNS query, which is one, for a name that only a gateway could look up. */
void denied_query(const uint8_t *query, size_t size);

/* Tells what was counted last. */
void denied_end(void);
