// SPDX-License-Identifier: Apache-2.0
/*
 * Two ends of a stream between a program in a sandbox and us. Both are close-on-exec, ours never
 * waits; nor does the kernel's, with which all other tasks would wait. False and errno: not made,
 * or not all of it; the ends that are set are the caller's to close.
 */
#pragma once

#include "lib/base/base.h"

/* A pipe. */
bool stream_pair_pipe(int *ret_ours, int *ret_theirs, bool we_read);

/* A pair of sockets of that type (AF_UNIX), of which theirs may wait. */
bool stream_pair_sockets(int type, int *ret_ours, int *ret_theirs);

/* For a terminal's bytes both ways: *ret_input is a duplicate of *ret_output. */
bool stream_pair_terminal(int *ret_input, int *ret_output, int *ret_theirs);
