// SPDX-License-Identifier: Apache-2.0
/*
 * The terminal's or shell's side of a program in a running sandbox: carries its streams, and
 * signals to it, until it ends or the connection does.
 */
#pragma once

#include "sandbox/error.h"
#include "sandbox/exec_messages.h"

struct attach_options {
    const char *name; /* of the sandbox */
    bool input;       /* ours is passed on; else it has none, or is not ours to give */
    bool tty;         /* it has a terminal, which is ours */
    bool raw;         /* bytes go to a terminal of ours as they are */
    bool detach;      /* only until it has started: its process id is printed */
    bool is_own;      /* it was started for us: when nobody reads our streams, nobody reads its */
};

/*
 * socket: a connection on which a program was asked for (sandbox/exec_ask.h). Returns the exit
 * status: the program's, 128+n for signal n, 124 when its time was up; 125 with the sentence in e.
 */
int attach_run(int socket, const struct attach_options *o, struct sandbox_error *e);
