// SPDX-License-Identifier: Apache-2.0
/*
 * Rights that a process of ours gives up for good: capabilities(7), PR_SET_NO_NEW_PRIVS,
 * getrlimit(2). Each returns 0 or -errno.
 */
#pragma once

#include "lib/base/base.h"

/*
 * No execve(2) brings capabilities any more, whatever the file or the user id: bounding set, secure
 * bits, no_new_privs. Those that the process has stay. Its children inherit this.
 */
int seal_no_new_privileges(void);

/* The process has no capability any more. */
int seal_drop_capabilities(void);

/*
 * Neither core dumps, nor processes, nor locked memory, message queues or realtime priorities, and
 * nobody without privilege looks into its memory.
 */
int seal_limit_resources(void);
int seal_not_dumpable(void);

/*
 * Memory never becomes executable that was not so from its beginning, and none is writable and
 * executable at once: PR_SET_MDWE of Linux 6.3. False where the host has no such thing. Children
 * inherit it, over execve(2) too.
 */
bool seal_deny_write_execute(void);
