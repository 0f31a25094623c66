// SPDX-License-Identifier: Apache-2.0
/*
 * A file that we read ahead of the program is put back to where the program stopped reading, so
 * that "while read line; do glovebox run ...; done < file" works as without glovebox.
 */
#pragma once

#include "sandbox/relay.h"

/*
 * source: where the program's input comes from; sink: our end of its pipe. The reading end of that
 * pipe, to count what the program leaves; -1: there is nothing to put back.
 */
int input_left_open(int source, int sink);

/* The program has ended. */
void input_left_give_back(int fd, int source, const struct relay *input);
