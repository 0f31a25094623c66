// SPDX-License-Identifier: Apache-2.0
/*
 * A child between clone(2) and its first appearance.
 *
 * The host runs clone; the kernel learns of the child when it makes its first call, or by looking
 * through /proc. What the child inherits is what its parent had at the clone, not what the parent
 * has by then, so all of it is copied (or counted, where the flags say shared) before the host is
 * let to run the call. A process has one embryo at a time: a second clone waits until the first
 * child has shown up.
 *
 * The parent on the host tells whose child a new process is, as long as that parent lives:
 *
 *   A: clone ──▶ X      both creators end before X and Y have called;
 *   B: clone ──▶ Y      on the host X and Y are the init's children by then
 *
 * So no two creators with the same mark (host_ops) have a process on its way at the same time: the
 * later one gets a new mark before its clone, which its child inherits. That costs a call to the
 * host only then. Where the host takes no marks, the later clone waits.
 */
#pragma once

#include "kernel/proc/process.h"
#include "kernel/proc/signal_queue.h"

struct spawn;

/* A child is looked for at distances of its age, and not longer than this: so one that nobody saw
 * has lived for no longer. */
#define EMBRYO_POLL_MAX_NS (64 * NSEC_PER_MSEC)

/* What the host calls a task, and what the sandbox does. */
struct task_ids {
    pid_t host_tid, host_tgid, host_ppid, tid;
};

struct embryo {
    struct list link;  /* of those that will be processes */
    uint64_t mark;     /* the creator's at the clone */
    uint64_t flags;    /* CLONE_*, with the exit signal in the low byte */
    pid_t creator_tid; /* sandbox's: the thread that called clone */
    int64_t made_ns;
    struct fdtable *files;
    struct fs_context *fs;
    struct cred *cred;
    struct signal_actions *actions;
    struct address_space *space;
    struct process_group *group; /* counted */
    struct signal_queue missed;  /* signals to the group that came while it was on its way */
    sigmask_t mask;
    char name[16];
    uint64_t cpus[THREAD_CPUS_MAX / 64];
    int sched_policy, sched_priority;
    uint64_t timer_slack_ns;
    struct rlimit rlimits[RLIM_NLIMITS];
    uint64_t clear_child_tid;
    struct waitq settled;   /* woken when the embryo is born or given up */
    struct hostfd reserved; /* until there is a pidfd */
    struct timer poll;      /* looks for the child when nobody else does */
    struct process *creator;
    struct spawn *spawn; /* of the init: what the child is for, borrowed */
};

extern size_t embryo_total; /* of all creators */

/*
 * Whether a clone(flags) of p has to wait for another embryo: NULL, or the queue that is woken when
 * that one is settled. May give p a new mark.
 */
struct waitq *embryo_in_the_way(struct process *p, uint64_t flags);

/*
 * What clone(flags) of t would give its child. 0 with t->process->embryo set; -ENOMEM; -EAGAIN:
 * no descriptor is left for it here. Nothing is in the way.
 */
int embryo_new(struct thread *t, uint64_t flags);

/* Who has made the new process with this mark; NULL. */
struct process *embryo_creator(uint64_t mark);

/* Who has made whatever process appears next: NULL unless one alone is on its way. */
struct process *embryo_only_creator(void);

/*
 * The child has appeared: makes its process or thread. pidfd: of a process where the caller has one
 * (taken). NULL when out of memory (it is then killed).
 */
struct thread *embryo_born(struct process *creator, const struct task_ids *ids,
                           struct hostfd pidfd);

/*
 * A signal to all of g, or to everybody (NULL), is for those on their way too: they get it when
 * they are born. Linux makes no child while a signal waits for its parent, so there nobody is
 * missed:
 *
 *   A: clone ──▶ X                       B: kill(-A's group, SIGKILL)
 *   the host has made X                  A gets it; X is not known yet
 *   X calls: it is A's child             ... and would go on
 *
 * sender: who must be allowed to; NULL: the kernel. sig 0 checks only. Whether there was any.
 */
bool embryo_signal(const struct process_group *g, int sig, const siginfo_t *info,
                   const struct thread *sender);

/* The host did not make a child, or it is gone: forget it. */
void embryo_drop(struct process *creator);
