// SPDX-License-Identifier: Apache-2.0
/*
 * One system call of a task, from its notification to its answer.
 *
 * A handler is `long sys_NAME(struct call *c)`. It returns the result (0 or more), a negative
 * errno, or one of three codes below. These are negative too, past the last errno, so that whoever
 * asks only for success (r >= 0) is never wrong; who acts on an error has to look for them first.
 *
 * Parking. A parked call holds its notification and nothing else of the handler: when one of the
 * queues it waits on is woken, when its deadline passes, the handler is run again from its start
 * with the same arguments, and decides anew. So handlers are written as "try; if nothing could be
 * done, park". What must survive from run to run stands in the call: `deadline_ns` (set once, from
 * the first run), `progress` (bytes already transferred; an interrupted call with progress answers
 * it), `state` (a word and a pointer of the handler's own with a release function).
 *
 * Signals. call_interrupt() ends a parked call the way Linux would, by the kind given to
 * call_park(): RESTART_SYS     -ERESTARTSYS: restarted if the guest's handler has SA_RESTART, EINTR
 * if not RESTART_NOHAND  -ERESTARTNOHAND: EINTR if a handler runs, restarted else (pause, poll,
 * select, ...) RESTART_NEVER   EINTR always (epoll_wait, sigtimedwait, ...; see signal(7))
 *   RESTART_NONE    can't be interrupted
 */
#pragma once

#include "kernel/core/memory.h"
#include "kernel/core/timer.h"
#include "kernel/core/waitq.h"

struct thread;

/* It has to wait: call_wait_on() named what for, and call_park() returned this. */
#define CALL_PARKED (-5000L)
/*
 * The host is to run the call as it stands. Only for calls whose arguments are registers (or which
 * the host re-checks): see the table.
 */
#define CALL_HOST (-5001L)
/* The task is gone or will never read an answer (exec of a sibling): nothing is sent. */
#define CALL_DROP (-5002L)

#define CALL_NO_DEADLINE INT64_MAX

/* The internal restart codes of Linux (include/linux/errno.h of its sources). */
#define ERESTARTSYS    512
#define ERESTARTNOHAND 514

enum call_restart { RESTART_SYS, RESTART_NOHAND, RESTART_NEVER, RESTART_NONE };

/*
 * What a thread keeps of a call that a signal made it restart, until its next call: the same call
 * of the same instruction goes on with its first deadline; a handler that runs before that decides
 * anew whether it is made again (kernel/proc/signal_deliver.c).
 */
struct call_resume {
    bool valid;
    enum call_restart restart;
    int nr;
    uint64_t ip, arg[6];
    int64_t deadline_ns;
};

/* A link between a parked call and one queue. */
struct call_wait {
    struct wait_entry entry;
    struct call *call;
};

#define CALL_INLINE_WAITS 2

struct call {
    uint64_t id; /* of the notification */
    struct thread *thread;
    struct guest_memory memory; /* of the task */
    struct call_resume *resume; /* the thread's; NULL: it is not the program that calls */
    long (*handler)(struct call *c);
    int nr;
    uint64_t arg[6];
    uint64_t ip; /* where the task's next instruction is */

    bool parked;
    bool timed_out; /* the deadline has passed: this run must not park again */
    enum call_restart restart;
    int64_t deadline_ns; /* CLOCK_MONOTONIC, or CALL_NO_DEADLINE */
    struct timer timer;
    struct list run_link; /* on the run queue once woken */

    struct call_wait inline_wait[CALL_INLINE_WAITS];
    struct call_wait **more_waits; /* for calls that wait on many queues: poll, select */
    size_t wait_count, more_capacity;

    uint64_t progress;
    uint64_t state_word;
    void *state; /* handler's own; freed by release when the call ends */
    void (*release)(struct call *c);
    int64_t started_ns; /* set only when calls are traced */
};

/*
 * The call whose handler is running; NULL outside of handlers (timers, watches, the control
 * channel). For operations that depend on who asks and are not handed the call: /proc/self,
 * /dev/tty, the job control of terminals. Set and cleared by whoever runs handlers.
 */
extern struct call *call_current;

/* That have no answer yet: while no handler runs, those that are parked or woken. */
extern size_t call_total;

/* Argument words as the types that Linux takes them for. */
static inline int call_int(const struct call *c, int i)
{
    return (int)(uint32_t)c->arg[i];
}
static inline uint32_t call_uint(const struct call *c, int i)
{
    return (uint32_t)c->arg[i];
}
static inline struct gaddr call_addr(const struct call *c, int i)
{
    return (struct gaddr){c->arg[i]};
}

/* The calling task's memory. */
static inline struct guest_memory call_memory(const struct call *c)
{
    return c->memory;
}

/* Copies between the calling task and ours: guest_read() and kin on call_memory(). */
static inline int call_read(const struct call *c, void *dst, struct gaddr src, size_t size)
{
    return guest_read(c->memory, dst, src, size);
}
static inline int call_write(const struct call *c, struct gaddr dst, const void *src, size_t size)
{
    return guest_write(c->memory, dst, src, size);
}

/* Names a queue whose wake-up runs the handler again. 0 or -ENOMEM. Undone when the call is woken.
 */
int call_wait_on(struct call *c, struct waitq *q);

/*
 * A deadline for the whole call: set by the first run, later runs (also after a restart that a
 * signal caused, for the same instruction and arguments) keep the first. after_ns < 0: none.
 */
void call_set_timeout(struct call *c, int64_t after_ns);
void call_set_deadline(struct call *c, int64_t when_ns);

/* Parks c; returns CALL_PARKED for the handler to return. */
long call_park(struct call *c, enum call_restart restart);

/*
 * Likewise for a while, after which the handler runs again; signals wait. For calls without a
 * deadline. CALL_PARKED or -ENOMEM.
 */
long call_rest(struct call *c, int64_t for_ns);

/*
 * For a signal that thread c->thread has to act on. The host signal must have been sent to the
 * thread before. handler_restarts: a guest handler will run and has SA_RESTART; handler_runs: one
 * will run at all. Nothing happens to calls that can't be interrupted. True if the call was ended.
 */
bool call_interrupt(struct call *c, bool handler_runs, bool handler_restarts);

/* Ends a parked call with this answer from outside of its handler (exec of a sibling, tests). */
void call_finish(struct call *c, long result);

/* Wakes c as a queue would: its handler runs again from the main loop. */
void call_wake(struct call *c);

/* The task has died: drops waits and state, answers nothing, frees c. */
void call_abandon(struct call *c);

/*
 * For the main loop. call_new: a call from the pool, zeroed, or NULL. call_run: runs the handler
 * and acts on what it returns. call_run_woken: a round of all that were woken; what these wake
 * waits for the next round, and what is left when for_ns have passed for the next time. How long it
 * took, in nanoseconds; 0 where nothing was woken. call_is_any_woken: whether something waits for
 * it.
 */
struct call *call_new(void);
void call_run(struct call *c);
int64_t call_run_woken(int64_t for_ns);
bool call_is_any_woken(void);

/*
 * Asked before each run of a handler. False: it must not run now; the call has been parked, and is
 * woken when it is time to ask again.
 */
extern bool (*call_may_run)(struct call *c);

/* Told of each call that ends, before its answer is sent: tracing and temporary signal masks. */
extern void (*call_on_end)(struct call *c, long result);
/*
 * Told of each call whose handler has just parked it: a signal that came before could not interrupt
 * it then. May end the call.
 */
extern void (*call_on_park)(struct call *c);
