// SPDX-License-Identifier: Apache-2.0
/*
 * Signals: signal(7). The host delivers, the kernel decides.
 *
 * Masks, dispositions, queues and siginfo are the kernel's. On the host nothing is blocked and only
 * two kinds of handler exist, installed by the loader stub, always with SA_RESTART | SA_SIGINFO |
 * SA_ONSTACK | SA_NODEFER: one for SIGNAL_KICK, one for synchronous faults (SEGV, BUS, FPE, ILL,
 * TRAP, SYS). All else is at its default on the host and never sent, but SIGKILL.
 *
 * To deliver: the kernel picks a thread that does not block the signal and sends it SIGNAL_KICK
 * (signal_kick). If the thread is parked in a call, call_interrupt() ends that after the kick was
 * sent. The stub's handler asks with SYS_GLOVEBOX_SIGNAL (arguments: host signal, address of
 * siginfo, address of ucontext, whether the host changed to the alternate stack for this frame):
 * sys_glovebox_signal() takes the next deliverable signal and
 *   - handler: writes siginfo and the mask to return to into the frame, updates the mask (sa_mask,
 *     SA_NODEFER, SA_RESETHAND), answers with the handler's address; with STUB_MOVE_FRAME_BIT when
 *     the stub is to move the frame to the interrupted stack first (no SA_ONSTACK);
 *   - stop: the answer is held back (parked) until SIGCONT or SIGKILL: that is the stop;
 *   - death: sends the host SIGKILL to the whole process, with wait_status noted as the signal's;
 *   - nothing (taken by another thread, ignored meanwhile): answers 0, the handler returns.
 * rt_sigreturn is notified with the address of the ucontext in rdi (our restorer sets it): the
 * kernel takes the guest's mask from uc_sigmask, writes 0 there (host mask), and lets the host run
 * it.
 */
#pragma once

#include "kernel/core/call.h"

#include <signal.h>

#define SIGNAL_COUNT 64
/*
 * On the host. Its default there is to be ignored: no program can die of one that comes when the
 * stub has not installed its handler yet. The guest's own SIGURG is only ever in our tables.
 */
#define SIGNAL_KICK SIGURG

typedef uint64_t sigmask_t; /* bit n-1 is signal n */
#define SIGMASK(sig)        (1ULL << ((sig)-1))
#define SIGMASK_UNBLOCKABLE (SIGMASK(SIGKILL) | SIGMASK(SIGSTOP))

struct cred;
struct process;
struct thread;
struct process_group;

struct signal_action { /* as the kernel ABI's struct sigaction */
    uint64_t handler;  /* 0 SIG_DFL, 1 SIG_IGN */
    uint64_t flags;
    uint64_t restorer;
    sigmask_t mask;
};

struct signal_actions {
    size_t refs;
    struct signal_action action[SIGNAL_COUNT + 1];
};

struct signal_queued {
    struct list link;
    siginfo_t info; /* 128 bytes as on the host */
    void *timer;    /* POSIX timer that owns it, or NULL */
};

struct signal_queue {
    sigmask_t set;
    struct list queued; /* siginfo of those in set; standard signals at most once each */
    size_t count;
};

struct signal_thread {
    sigmask_t mask;
    sigmask_t saved_mask; /* to come back to after sigsuspend, ppoll, ... */
    bool restore_mask;    /* saved_mask is put back at the end of the call or into the frame */
    struct signal_queue pending;
    sigmask_t awaited;    /* by a parked sigtimedwait: taken there, not delivered to a handler */
    bool kicked;          /* a host signal is under way and not asked about yet */
    bool returning;       /* the stub works on a frame: no kick before its next call */
    struct call *stopped; /* the held answer of a stopped thread */
    struct waitq wait;    /* sigtimedwait and signalfd: woken when a signal becomes pending */
};

struct signal_actions *signal_actions_new(void);
struct signal_actions *signal_actions_copy(const struct signal_actions *a);
struct signal_actions *signal_actions_get(struct signal_actions *a);
void signal_actions_put(struct signal_actions *a);
void signal_queue_init(struct signal_queue *q);
void signal_queue_clear(struct signal_queue *q);
void signal_thread_init(struct signal_thread *s);

/* siginfo as the kernel makes it: si_code SI_USER and the sender, SI_KERNEL, or a child's end. */
siginfo_t signal_info_user(int sig, const struct process *sender);
siginfo_t signal_info_kernel(int sig);

/*
 * Sends to a process, to one thread, to a group. 0 also when it is ignored. -EAGAIN when a realtime
 * signal does not fit the queue. Stop and continue, ignoring, the waking of parked calls: all here.
 */
int signal_send_process(struct process *p, int sig, const siginfo_t *info);
int signal_send_thread(struct thread *t, int sig, const siginfo_t *info);
/* To the process of `near`, which takes it where it can: the thread that the signal comes from. */
int signal_send_near(struct thread *near, int sig, const siginfo_t *info);
int signal_send_group(struct process_group *g, int sig, const siginfo_t *info);

/* kill(2)'s rule: same real or saved uid, CAP_KILL, or SIGCONT within the session. */
bool signal_may_send(const struct thread *sender, const struct process *target, int sig);
/* The same to another process with these credentials (NULL: none yet) in this group. */
bool signal_may_send_to(const struct thread *sender, const struct cred *b,
                        const struct process_group *group, int sig);

/* A signal is pending for t that it does not block (and does not ignore). */
bool signal_is_deliverable(const struct thread *t);

/* t's mask becomes mask (KILL and STOP taken out); pending ones that this unblocks are delivered.
 */
void signal_set_mask(struct thread *t, sigmask_t mask);

/*
 * For calls with a temporary mask (sigsuspend, ppoll, pselect, epoll_pwait): sets it for the time
 * of the call; it is put back when the call ends, or goes into the handler's frame.
 */
void signal_begin_temporary_mask(struct thread *t, sigmask_t mask);
void signal_end_temporary_mask(struct thread *t);

/*
 * For call_on_end: a call of c->thread is about to be answered with result. Ends its temporary
 * mask, unless a signal interrupted the call: then the mask stands until the stub's handler asks.
 */
void signal_call_ended(struct call *c, long result);

/*
 * Sends the host's SIGNAL_KICK to t when it has something to act on, and ends its parked call.
 * Nothing happens otherwise, so it may be called at any time; it must be called
 *   - when a handler of t has just parked: a kick may have come before the host handed us the call;
 *   - when t's program starts (SYS_GLOVEBOX_START) and when t is first seen: before, it can't be
 * kicked.
 */
void signal_kick(struct thread *t);

/* t calls after the stub was at work on a frame: from now on it can be kicked again. */
void signal_returned(struct thread *t);

/* The answers to the stub's and the guest's calls. */
long sys_glovebox_signal(struct call *c);
long sys_glovebox_moved(struct call *c);
long sys_rt_sigreturn(struct call *c);

/* exec: handlers become SIG_DFL, ignored ones stay. */
void signal_exec(struct process *p);
/* A thread or process ends. */
void signal_thread_done(struct signal_thread *s);

/* Takes the next pending signal of `set` (thread first, lowest number first). False: none. */
bool signal_take(struct thread *t, sigmask_t set, siginfo_t *ret);

/* Pending of thread and process together, as sigpending(2). */
sigmask_t signal_pending(const struct thread *t);

/*
 * The child p changed state (CLD_EXITED, CLD_KILLED, CLD_STOPPED, CLD_CONTINUED): SIGCHLD to its
 * parent. For a zombie code and status are taken from its wait_status, so a new parent can be told
 * again.
 */
void signal_child_changed(struct process *p, int code, int status);

/* Ends the whole process by sig on the host, as if by its default action (core signals included).
 */
void process_kill(struct process *p, int sig);
