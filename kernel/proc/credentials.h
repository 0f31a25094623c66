// SPDX-License-Identifier: Apache-2.0
/*
 * How credentials change: credentials(7), capabilities(7) "Effect of user ID changes on
 * capabilities". A change is made in a copy (cred_copy), which then takes the place of the old one.
 */
#pragma once

#include "kernel/proc/process.h"

/*
 * Puts new (taken over) in the place of t's credentials. A change that gives the process another
 * identity makes it undumpable and forgets its parent death signal, as commit_creds() of Linux
 * does.
 */
void thread_set_cred(struct thread *t, struct cred *new);

/* Capabilities of new after its user ids (all but fsuid) were changed from those of old. */
void cred_follow_uids(struct cred *new, const struct cred *old);
/* The same for fsuid alone. */
void cred_follow_fsuid(struct cred *new, const struct cred *old);
