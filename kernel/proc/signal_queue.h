// SPDX-License-Identifier: Apache-2.0
/*
 * Pending queues of signals: what the files of this folder that deal with signals share. Others use
 * signal.h.
 *
 * Rules. A standard signal is queued once, a realtime signal as often as it is sent; within a queue
 * signals of one number keep their order. A bit of `set` without an entry is a signal whose siginfo
 * found no room. An entry with a `timer` belongs to that POSIX timer: it is linked and unlinked
 * here, never freed.
 */
#pragma once

#include "kernel/proc/signal.h"

#define SIGNAL_REALTIME_MIN 32

#define SIGMASK_STOP (SIGMASK(SIGSTOP) | SIGMASK(SIGTSTP) | SIGMASK(SIGTTIN) | SIGMASK(SIGTTOU))
#define SIGMASK_SYNCHRONOUS                                                                      \
    (SIGMASK(SIGSEGV) | SIGMASK(SIGBUS) | SIGMASK(SIGILL) | SIGMASK(SIGTRAP) | SIGMASK(SIGFPE) | \
     SIGMASK(SIGSYS))
#define SIGMASK_DEFAULT_IGNORED \
    (SIGMASK(SIGCONT) | SIGMASK(SIGCHLD) | SIGMASK(SIGWINCH) | SIGMASK(SIGURG))

static inline bool signal_is_valid(int sig)
{
    return sig >= 1 && sig <= SIGNAL_COUNT;
}

static inline bool signal_in(sigmask_t set, int sig)
{
    return set & SIGMASK(sig);
}

/* The number in set (not empty) that Linux takes first: faults, then the lowest. */
int signal_first(sigmask_t set);

/*
 * Adds a signal. limit: entries this queue may have. 0, also when it was pending already; -EAGAIN
 * when there is no room for its siginfo and `must_queue`.
 */
int signal_queue_add(struct signal_queue *q, int sig, const siginfo_t *info, size_t limit,
                     bool must_queue);

/* Links a timer's own entry, which is on no queue; unlinks one that is on q. */
void signal_queue_add_timer(struct signal_queue *q, struct signal_queued *entry);
void signal_queue_remove(struct signal_queue *q, struct signal_queued *entry);

/*
 * Takes the first entry of sig, which is in q->set. *ret_timer: the timer's entry, now unlinked, or
 * NULL.
 */
void signal_queue_take(struct signal_queue *q, int sig, siginfo_t *ret,
                       struct signal_queued **ret_timer);

/* Drops all pending signals of set. Periodic timers whose entry was dropped go on. */
void signal_queue_drop(struct signal_queue *q, sigmask_t set);

/* Sends the signal of a POSIX timer with its own entry. False: it was ignored and not queued. */
bool signal_send_timer(struct process *p, struct thread *t, struct signal_queued *entry);

enum signal_default { DEFAULT_IGNORE, DEFAULT_TERMINATE, DEFAULT_STOP };
enum signal_default signal_default_action(int sig);

/* Pending, not blocked, not waited for by sigtimedwait, not ignored. */
sigmask_t signal_deliverable(const struct thread *t);

/* Drops sig everywhere in p: its action has become "ignore". */
void signal_forget(struct process *p, int sig);

/* The action of p for sig makes it vanish. */
bool signal_is_ignored(const struct process *p, int sig);

/* ---- stops: signal_stop.c ---- */

/* p is to stop, by sig. asker is on its way to being held; the others are called in. */
void signal_stop_begin(struct process *p, const struct thread *asker, int sig);
/* Tells the parent once every thread of a stopping process is held. */
void signal_stop_settle(struct process *p);
/*
 * t is in no call: begins the stop that is next for it, if one is, and has the host make it. False:
 * there is none, or the host can't; t is to be kicked.
 */
bool signal_stop_on_host(struct thread *t);
/* A thread was kicked that is to stop: looks whether it does. */
void signal_stop_watch(void);
/* SIGCONT. */
void signal_stop_end(struct process *p);
/* Kicks those threads of p that take what is pending; it may end p. */
void signal_kick_pending(struct process *p);
