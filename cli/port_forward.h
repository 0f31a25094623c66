// SPDX-License-Identifier: Apache-2.0
/*
 * Ports of this machine lead to ports in a sandbox, for as long as this runs: whoever connects is
 * handed to the sandbox's kernel as he is, so that no byte passes through here.
 */
#pragma once

#include "sandbox/error.h"
#include "sandbox/port_forward.h"

#define CLI_FORWARDS_MAX 64

/*
 * Listens, prints a line for each on standard output, and goes on until SIGINT, SIGTERM or SIGHUP:
 * 0; or negative errno with the sentence. All connections are cut then.
 */
int cli_port_forward(const char *name, struct port_forward *forwards, size_t count, bool is_public,
                     struct sandbox_error *e);
