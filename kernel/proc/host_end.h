// SPDX-License-Identifier: Apache-2.0
/*
 * How a process ended that the host ended by itself: nobody called exit_group, and no signal was
 * ours. A pidfd is readable from the moment at which the last thread has exited; the host says how
 * (Linux 6.15) from the moment at which it reaps, which on a busy machine can be much later. So who
 * comes between the two looks again.
 */
#pragma once

#include "kernel/proc/process.h"

#define HOST_END_LOOK_NS NSEC_PER_MSEC
/* After this nothing more is expected: somebody outside keeps it from being reaped, as a tracer. */
#define HOST_END_WAIT_NS (2 * NSEC_PER_SEC)

/*
 * p's pidfd is readable. True: it has been noted by process_note_end(), with SIGKILL and its
 * end_reason where the host does not say more. False: the host has not reaped it yet;
 * process_ended() is called when there is more to know, at the latest after HOST_END_WAIT_NS.
 */
bool host_end_note(struct process *p);

/* Before the memory of p goes. */
void host_end_forget(struct process *p);
