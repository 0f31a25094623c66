// SPDX-License-Identifier: Apache-2.0
/*
 * How much went through: what programs wrote, what came in and out of the sandbox.
 */
#pragma once

#include "lib/base/base.h"

struct traffic {
    uint64_t written_bytes; /* by programs to files, pipes, terminals and sockets */
    uint64_t stream_bytes;  /* in and out of the sandbox: its standard streams and terminal, and
                               connections from outside */
    uint64_t received_bytes, sent_bytes; /* over connections and sockets to the outside */
};

extern struct traffic traffic;
