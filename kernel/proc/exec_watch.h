// SPDX-License-Identifier: Apache-2.0
/*
 * Has the host's execve failed, or has it happened? The host says neither.
 *
 * A thread whose execve has failed goes on in the old program, and may make no call for long. So it
 * is looked at from time to time. What is to be seen in /proc:
 *
 *   it sleeps in execve              wait
 *   it sleeps in another call        failed
 *   it runs                          it is kicked, and then
 *     no handler is installed          happened: the stub is about to ask for its plan
 *     the kick is still pending        it has not come back to any program: wait
 *     the kick is gone                 failed: the old program took it
 *     the kick is blocked              as if pending, but only for so much of its processor time
 *
 * How long an execve takes says nothing: on a busy machine a thread may stand in the midst of it
 * for minutes. Only for one that keeps the kick from itself, which no program of ours does by
 * accident, there is a bound, in time that it had the processor: more than any execve needs. Should
 * the host still start the stub then, that gets no plan and ends.
 */
#pragma once

#include "kernel/core/timer.h"

struct thread;

#define EXEC_DEAF_NS (5 * NSEC_PER_SEC) /* of processor time */

struct exec_watch {
    struct timer timer;
    struct thread *thread;
    int64_t distance_ns;
    bool was_kicked;
    bool is_deaf;
    int64_t deaf_from_ns; /* its processor time when it was first seen so */
};

/* Looks after t until exec_watch_end(): exec_cancel() when the execve has failed. 0 or -ENOMEM. */
int exec_watch_start(struct exec_watch *w, struct thread *t);
/* Also one that was never started, if it is all zero bytes. */
void exec_watch_end(struct exec_watch *w);

/*
 * The host has executed the stub and nothing of the guest has run since: no signal handler is
 * installed, which the stub does last and no guest can undo. Whoever asks for the plan may be the
 * old program: its execve can fail on the host (its memory is bad, its arguments too many), and a
 * sibling can be quicker.
 *
 * *ret_blocks: the host blocks signals, which no program of ours should have come to. They stay
 * blocked over exec: the stub unblocks them.
 */
bool exec_has_happened(const struct thread *t, bool *ret_blocks);
