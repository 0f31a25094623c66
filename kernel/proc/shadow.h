// SPDX-License-Identifier: Apache-2.0
/*
 * The tasks' host root: a private tmpfs in which nothing exists but directories and hard links to
 * the loader stub, under names that tasks have executed. See exec.h.
 *
 * Two names can be in each other's way ("usr" and "usr/bin/ls"), and there is room for some
 * thousands. So names are removed again, but not while the host may be looking for them. An exec
 * that finds such a name in its way waits, and no other exec begins before it: whatever is in
 * flight then comes to an end, so that nobody waits for ever.
 */
#pragma once

#include "kernel/core/call.h"

#define SHADOW_ENTRIES_MAX 512

/* A name that an exec in flight needs. All zero: none. */
struct shadow_use {
    struct list link;
    char *path;        /* where the link is, below the shadow directory */
    bool needs_others; /* the name passes through directories (x/../y): nothing may be removed */
};

/*
 * Makes `path` lead to the stub for a process whose root and working directory are the tasks' root,
 * and keeps it so until shadow_release(use). c: the exec; NULL, as use, for the first program of
 * all. 0; -EAGAIN: a name that is in use is in the way, shadow_wait() is to be returned; -errno.
 */
int shadow_link(const struct call *c, const char *path, struct shadow_use *use);

/* Nothing happens when it has no name. */
void shadow_release(struct shadow_use *use);

/* Parks c until a name has been released. */
long shadow_wait(struct call *c);
