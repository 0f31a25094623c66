// SPDX-License-Identifier: Apache-2.0
/*
 * Acting on signals: what the stub's handler is told, stops, and the way back from a handler.
 *
 *   thread kicked ──▶ host runs stub_handler ──▶ SYS_GLOVEBOX_SIGNAL ──▶ handler's address, or 0
 *                                                   │ stopped: the answer is held until SIGCONT
 *                                                   │ deadly: the host kills; no answer
 *
 * More than one signal is due: after each handler's address the thread is kicked again, so that the
 * host lays the next frame over the first before any instruction of the program runs, as Linux
 * does.
 *
 * Nothing is due: the frame is in the way until the stub's rt_sigreturn. A kick in between would
 * lay another over it, and in a storm of signals, where the next kick is there before each return,
 * none would go any more and the stack would overflow. So there is none until then, nor while the
 * stub moves a frame.
 *
 * Everything in the frame but siginfo and uc_sigmask is the host's. A task may call
 * SYS_GLOVEBOX_SIGNAL and rt_sigreturn by itself with any arguments, or change its frame: it then
 * misleads only itself.
 *
 * host calls: fstatfs
 */
#include "kernel/proc/signal_queue.h"

#include "kernel/arch/x86_64/arch.h"
#include "kernel/arch/x86_64/frame.h"
#include "kernel/core/kernel.h"
#include "kernel/guest/numbers.h"
#include "kernel/host/host.h"
#include "kernel/proc/process.h"

#include <linux/futex.h>
#include <stdio.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#define FULL_BYTES (64 * 1024)

/* ---- stop ---- */

static void release_held(struct call *c)
{
    c->thread->signals.stopped = NULL;
}

/* The stop itself: no answer until SIGCONT wakes the call. */
static long hold(struct call *c)
{
    struct thread *t = c->thread;
    t->signals.stopped = c;
    c->release = release_held;
    long r = call_park(c, RESTART_NONE);
    signal_stop_settle(t->process);
    return r;
}

/* ---- entering a handler ---- */

static long die(struct process *p, int sig)
{
    process_kill(p, sig);
    return CALL_DROP;
}

/* Whether the frame goes back to a call of ours that was answered so as to be made again. */
static bool is_at_restarted(const struct call_resume *r, const struct frame_registers *f)
{
    return r->valid && f->ip == r->ip - FRAME_CALL_BYTES && f->result == (uint64_t)r->nr;
}

/*
 * ... or to a wait for a futex. The host has made it go on, since the stub's handler has
 * SA_RESTART; or it is about to begin, and could be interrupted right then as well. With a time-out
 * it has ended.
 */
static bool is_at_futex_wait(const struct call *c, const struct frame_registers *f)
{
    unsigned operation = (unsigned)f->arg2 & (unsigned)FUTEX_CMD_MASK;
    uint16_t instruction;
    return f->result == SYS_futex && !f->arg4 &&
           (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET) &&
           call_read(c, &instruction, gaddr_at(f->ip), sizeof(instruction)) == 0 &&
           instruction == FRAME_CALL;
}

/*
 * A call that was interrupted for a stop is made again by the host; so is one whose first handler
 * was to be another, and a wait for a futex. The handler that runs now decides: its frame goes back
 * behind the call, with EINTR. 0 or -EFAULT.
 */
static int decide_restart(struct call *c, const struct signal_action *action)
{
    struct call_resume *r = &c->thread->resume;
    bool restarts = action->flags & SA_RESTART;
    struct frame_registers f;
    if (restarts && (!r->valid || r->restart == RESTART_SYS))
        return 0;
    struct gaddr at = gaddr_plus(call_addr(c, 2), FRAME_REGISTERS_OFFSET);
    if (call_read(c, &f, at, sizeof(f)) < 0)
        return -EFAULT;
    /* Another handler's frame may lie over it. */
    if (!is_at_restarted(r, &f) && (restarts || !is_at_futex_wait(c, &f)))
        return 0;
    r->valid = false;
    f.ip += FRAME_CALL_BYTES;
    f.result = (uint64_t)-EINTR;
    return call_write(c, at, &f, sizeof(f));
}

/* The frame is the host's, at the addresses that the stub passed on. */
static long enter_handler(struct call *c, const siginfo_t *info, const struct signal_action *action)
{
    struct thread *t = c->thread;
    struct signal_thread *s = &t->signals;
    struct process *p = t->process;
    int sig = info->si_signo;
    sigmask_t back = s->restore_mask ? s->saved_mask : s->mask;

    /* Answers in that range would be errors or codes of the main loop. */
    if (action->handler >= ARCH_USER_END)
        return die(p, SIGSEGV);
    if (decide_restart(c, action) < 0 || call_write(c, call_addr(c, 1), info, sizeof(*info)) < 0 ||
        call_write(c, gaddr_plus(call_addr(c, 2), FRAME_SIGMASK_OFFSET), &back, sizeof(back)) < 0)
        return die(p, SIGSEGV);
    if (action->flags & SA_RESETHAND)
        p->actions->action[sig].handler = (uint64_t)SIG_DFL;
    s->restore_mask = false;
    sigmask_t own = action->flags & SA_NODEFER ? 0 : SIGMASK(sig);
    long answer = (long)action->handler;
    bool has_changed_stack = c->arg[3];
    if (has_changed_stack && !(action->flags & SA_ONSTACK)) {
        answer |= 1L << STUB_MOVE_FRAME_BIT;
        s->returning = true;
    }
    signal_set_mask(t, s->mask | action->mask | own);
    signal_kick(t);
    return answer;
}

/* That it comes is all: see dispatch() and signal_returned(). */
long sys_glovebox_moved(struct call *c)
{
    return 0;
}

/* ---- what is due ---- */

/* One signal that was taken: the answer, or CALL_PARKED when there is none yet. */
static long act(struct call *c, const siginfo_t *info)
{
    struct thread *t = c->thread;
    struct process *p = t->process;
    int sig = info->si_signo;
    struct signal_action action = p->actions->action[sig];
    if (action.handler == (uint64_t)SIG_IGN)
        return CALL_PARKED;
    if (action.handler != (uint64_t)SIG_DFL)
        return enter_handler(c, info, &action);
    switch (signal_default_action(sig)) {
    case DEFAULT_TERMINATE:
        return die(p, sig);
    case DEFAULT_STOP:
        signal_stop_begin(p, t, sig);
        return CALL_PARKED;
    case DEFAULT_IGNORE:
        break;
    }
    return CALL_PARKED;
}

/* Where private files lie there is no room for another page. */
static bool is_disk_full(void)
{
    struct statfs s;
    return hostfd_is_open(kernel.store_dir) && fstatfs(kernel.store_dir.n, &s) == 0 &&
           s.f_bavail * (uint64_t)s.f_bsize < FULL_BYTES;
}

/* A mapped file's page that the disk has no room for is SIGBUS; no call could have failed. */
static long die_of_fault(struct process *p, int sig)
{
    if (sig == SIGBUS && is_disk_full())
        p->end_reason = CONTROL_BY_DISK;
    return die(p, sig);
}

/*
 * A fault of the thread itself, described by the host's siginfo. It can't be put off: blocked or
 * ignored it is deadly (force_sig_info_to_task() of Linux).
 */
static long act_on_fault(struct call *c, int sig)
{
    struct thread *t = c->thread;
    struct process *p = t->process;
    struct signal_action action = p->actions->action[sig];
    siginfo_t info;
    if (call_read(c, &info, call_addr(c, 1), sizeof(info)) < 0)
        return die_of_fault(p, sig);
    info.si_signo = sig;
    if (signal_in(t->signals.mask, sig) || action.handler == (uint64_t)SIG_IGN ||
        action.handler == (uint64_t)SIG_DFL)
        return die_of_fault(p, sig);
    return enter_handler(c, &info, &action);
}

long sys_glovebox_signal(struct call *c)
{
    struct thread *t = c->thread;
    struct process *p = t->process;
    struct signal_thread *s = &t->signals;
    int host_sig = call_int(c, 0);
    siginfo_t info;

    s->stopped = NULL;
    if (host_sig == SIGNAL_KICK)
        s->kicked = false;
    if (p->exiting)
        return CALL_DROP;
    if (p->group_stopped)
        return hold(c);
    /* A call that was held by a stop comes here again: its fault is not to happen twice. */
    bool is_fault = signal_is_valid(host_sig) && signal_in(SIGMASK_SYNCHRONOUS, host_sig);
    if (is_fault && c->state_word == 0) {
        c->state_word = 1;
        return act_on_fault(c, host_sig);
    }
    for (;;) {
        sigmask_t due = signal_deliverable(t);
        if (!due || !signal_take(t, due, &info))
            break;
        long r = act(c, &info);
        if (r != CALL_PARKED)
            return r;
        if (p->group_stopped)
            return hold(c);
    }
    /* Interrupted for nothing: the call is restarted and sets its mask again. */
    signal_end_temporary_mask(t);
    /* The way back takes the mask from the frame, where the host has put its own, empty one. */
    if (call_write(c, gaddr_plus(call_addr(c, 2), FRAME_SIGMASK_OFFSET), &s->mask,
                   sizeof(s->mask)) < 0)
        return die(p, SIGSEGV);
    s->returning = true;
    return 0;
}

/* ---- the way back ---- */

/* The stack pointer of a task that waits for us: /proc/TID/syscall, proc(5). */
static int read_stack_pointer(const struct thread *t, uint64_t *ret)
{
    char name[32], text[256];
    unsigned long long sp;
    snprintf(name, sizeof(name), "%d/syscall", t->host_tid);
    ssize_t n = host->read_proc(name, text, sizeof(text));
    if (n < 0)
        return (int)n;
    if (sscanf(text, "%*d %*x %*x %*x %*x %*x %*x %llx", &sp) != 1)
        return -EINVAL;
    *ret = sp;
    return 0;
}

/* Our restorer passes the frame's place; others' code that calls rt_sigreturn does not. */
static int find_frame(const struct call *c, uint64_t *ret)
{
    const struct address_space *space = c->thread->process->space;
    if (space && c->ip >= space->restorer && c->ip < space->restorer + FRAME_RESTORER_BYTES) {
        *ret = c->arg[0];
        return 0;
    }
    return read_stack_pointer(c->thread, ret);
}

long sys_rt_sigreturn(struct call *c)
{
    static const sigmask_t none;
    uint64_t frame;
    sigmask_t mask;
    /* A frame that can't be read faults on the host too: SIGSEGV comes from there. */
    if (find_frame(c, &frame) < 0)
        return CALL_HOST;
    struct gaddr at = gaddr_at(frame + FRAME_SIGMASK_OFFSET);
    if (call_read(c, &mask, at, sizeof(mask)) < 0)
        return CALL_HOST;
    if (mask != 0)
        call_write(c, at, &none, sizeof(none));
    signal_set_mask(c->thread, mask);
    return CALL_HOST;
}
