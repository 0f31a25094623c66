// SPDX-License-Identifier: Apache-2.0
/*
 * The starter's end of this process, GATEWAY_CONTROL_FD, as lib/base/update.h has it: decisions go
 * out, policies come in. May be closed, as in tests.
 *
 * A new policy is taken whole or not at all. When it is told to be in force, every flow was judged
 * by it, and none that it does not allow is open. What a flow borrows of a policy is valid to the
 * flow's end. What can't be changed while a sandbox runs: lib/policy/same.h.
 */
#pragma once

#include "gateway/gateway.h"
#include "lib/base/buf.h"

#include <poll.h>

#define CONTROL_SOCKETS_MAX 1

/* Before the seal. document: the text of the policy in force, which is kept; what is left is empty.
 */
void control_start(struct buf *document);

/* When there are no flows any more. */
void control_end(void);

/* Whether there is somebody to tell decisions to. */
bool control_is_open(void);

/* One decision. False: there is no room for it now. */
bool control_send_line(const char *text, size_t size);

/* The starter is to end the sandbox, for this secret's sake. Of several the first is told. */
void control_say_violation(const char *secret);

/* For the loop: as in names.h. */
size_t control_fill_poll(struct pollfd p[CONTROL_SOCKETS_MAX]);
void control_step(const struct pollfd *p, size_t count);
