// SPDX-License-Identifier: Apache-2.0
/*
 * Files for somebody outside (lib/base/files.h): each who connected has a socket here, and asks
 * with the rights of a user of the sandbox, in the sandbox's own tree. What takes long is done a
 * piece at a time, between the calls of the programs, whose view it shares: it holds no lock, and
 * what they change meanwhile may be seen or not, as with any program that works on a tree.
 */
#pragma once

#include "kernel/host/hostfd.h"

/* user: who asks when no user is named, as in kernel/boot/user.h. */
void files_start(const char *user);

/* Takes both over: the socket of somebody new, and the memory file. */
void files_admit(struct hostfd socket, struct hostfd memory);

/* Everybody is gone: what was not committed is dropped. */
void files_end_all(void);
