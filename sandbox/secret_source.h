// SPDX-License-Identifier: Apache-2.0
/*
 * Where the values of secrets come from, on the side of who starts a sandbox.
 */
#pragma once

#include "lib/policy/document.h"
#include "sandbox/error.h"

#define SECRET_COMMAND_MS 60000 /* somebody may have to unlock a key ring */

/*
 * Reads the value of a secret: a variable of this process, a file, a descriptor that this process
 * was started with, or what a command writes; of the last three one newline at the end is left out.
 *
 *   file  a regular file, or a FIFO, whose writer is waited for as cat(1) does; no device
 *   fd    to its end; not one that we opened ourselves
 *   exec  looked up in PATH, with our environment and directory; its input is empty, its errors are
 *         ours. It has SECRET_COMMAND_MS, and has to end with status 0
 *
 * The number of bytes, at most capacity, in ret; negative errno and "SOURCE: REASON; NEXT STEP",
 * -E2BIG when there is more. What the value is, is not looked at.
 */
ssize_t secret_source_read(const struct policy_secret *p, char *ret, size_t capacity,
                           struct sandbox_error *e);

/* What it is called: "env NAME", "file /PATH", "fd 3", "command WORD", "literal". */
void secret_source_describe(const struct policy_secret *p, char *ret, size_t size);
