// SPDX-License-Identifier: Apache-2.0
/*
 * System calls about signals: sigaction(2), sigprocmask(2), kill(2), sigqueue(3) and kin.
 * rt_sigreturn is in proc/signal_deliver.c.
 */
#include "kernel/sys/handlers.h"

#include "kernel/proc/embryo.h"
#include "kernel/proc/exec.h"
#include "kernel/proc/process.h"
#include "kernel/proc/signal_queue.h"

#include <linux/capability.h>

/* UAPI_SA_FLAGS of Linux: what sigaction(2) keeps of sa_flags. */
#define SA_FLAGS_KNOWN                                                                           \
    ((uint32_t)SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER | \
     SA_RESETHAND | 0x800u /* SA_EXPOSE_TAGBITS */ | 0x04000000u /* SA_RESTORER */)

/* Every call with a mask is told its size. */
static bool is_mask_size(uint64_t size)
{
    return size == sizeof(sigmask_t);
}

long sys_rt_sigaction(struct call *c)
{
    int sig = call_int(c, 0);
    struct gaddr new_at = call_addr(c, 1), old_at = call_addr(c, 2);
    struct process *p = c->thread->process;
    struct signal_action new;
    if (!is_mask_size(c->arg[3]))
        return -EINVAL;
    if (new_at.v && call_read(c, &new, new_at, sizeof(new)) < 0)
        return -EFAULT;
    if (!signal_is_valid(sig) || (new_at.v && signal_in(SIGMASK_UNBLOCKABLE, sig)))
        return -EINVAL;
    struct signal_action old = p->actions->action[sig];
    if (new_at.v) {
        new.flags &= SA_FLAGS_KNOWN;
        new.mask &= ~SIGMASK_UNBLOCKABLE;
        p->actions->action[sig] = new;
        /* POSIX: an action of "ignore" discards what is pending, blocked or not. */
        if (signal_is_ignored(p, sig))
            signal_forget(p, sig);
    }
    if (old_at.v && call_write(c, old_at, &old, sizeof(old)) < 0)
        return -EFAULT;
    return 0;
}

long sys_rt_sigprocmask(struct call *c)
{
    struct thread *t = c->thread;
    struct gaddr new_at = call_addr(c, 1), old_at = call_addr(c, 2);
    sigmask_t old = t->signals.mask, new;
    /* The loader stub unblocks what its predecessor has managed to block on the host. */
    if (t->exec && t->exec->loading)
        return CALL_HOST;
    if (!is_mask_size(c->arg[3]))
        return -EINVAL;
    if (new_at.v) {
        if (call_read(c, &new, new_at, sizeof(new)) < 0)
            return -EFAULT;
        new &= ~SIGMASK_UNBLOCKABLE;
        switch (call_int(c, 0)) {
        case SIG_BLOCK:
            new |= old;
            break;
        case SIG_UNBLOCK:
            new = old & ~new;
            break;
        case SIG_SETMASK:
            break;
        default:
            return -EINVAL;
        }
        signal_set_mask(t, new);
    }
    if (old_at.v && call_write(c, old_at, &old, sizeof(old)) < 0)
        return -EFAULT;
    return 0;
}

long sys_rt_sigpending(struct call *c)
{
    const struct thread *t = c->thread;
    sigmask_t set = signal_pending(t) & t->signals.mask;
    uint64_t size = c->arg[1];
    if (size > sizeof(set))
        return -EINVAL;
    return call_write(c, call_addr(c, 0), &set, size);
}

/* ---- waiting ---- */

static int read_timeout(struct call *c, struct gaddr at, int64_t *ret_ns)
{
    struct timespec t;
    if (call_read(c, &t, at, sizeof(t)) < 0)
        return -EFAULT;
    if (t.tv_sec < 0 || t.tv_nsec < 0 || t.tv_nsec >= NSEC_PER_SEC)
        return -EINVAL;
    if (__builtin_mul_overflow(t.tv_sec, NSEC_PER_SEC, ret_ns) ||
        __builtin_add_overflow(*ret_ns, t.tv_nsec, ret_ns))
        *ret_ns = -1; /* for ever */
    return 0;
}

static void forget_awaited(struct call *c)
{
    c->thread->signals.awaited = 0;
}

long sys_rt_sigtimedwait(struct call *c)
{
    struct thread *t = c->thread;
    struct gaddr info_at = call_addr(c, 1), timeout_at = call_addr(c, 2);
    sigmask_t set;
    siginfo_t info;
    int64_t timeout = -1;

    t->signals.awaited = 0;
    if (!is_mask_size(c->arg[3]))
        return -EINVAL;
    if (call_read(c, &set, call_addr(c, 0), sizeof(set)) < 0)
        return -EFAULT;
    if (timeout_at.v) {
        int r = read_timeout(c, timeout_at, &timeout);
        if (r < 0)
            return r;
    }
    set &= ~SIGMASK_UNBLOCKABLE;
    if (signal_take(t, set, &info)) {
        if (info_at.v && call_write(c, info_at, &info, sizeof(info)) < 0)
            return -EFAULT;
        return info.si_signo;
    }
    if (timeout == 0 || c->timed_out)
        return -EAGAIN;
    call_set_timeout(c, timeout);
    int r = call_wait_on(c, &t->signals.wait);
    if (r < 0)
        return r;
    t->signals.awaited = set;
    c->release = forget_awaited;
    return call_park(c, RESTART_NEVER);
}

long sys_rt_sigsuspend(struct call *c)
{
    sigmask_t mask;
    if (!is_mask_size(c->arg[1]))
        return -EINVAL;
    if (call_read(c, &mask, call_addr(c, 0), sizeof(mask)) < 0)
        return -EFAULT;
    signal_begin_temporary_mask(c->thread, mask);
    return call_park(c, RESTART_NOHAND);
}

long sys_pause(struct call *c)
{
    return call_park(c, RESTART_NOHAND);
}

/* ---- sending ---- */

/* Also when it was only just made and has not called yet. */
static struct thread *find_thread(pid_t tid)
{
    struct thread *t = thread_find(tid);
    if (t)
        return t;
    process_settle_all();
    return thread_find(tid);
}

/* A thread's number stands for its process, as find_vpid() of Linux has it. A zombie has no
 * threads. */
static struct process *find_process(pid_t pid)
{
    struct process *p = process_find(pid);
    if (p)
        return p;
    struct thread *t = find_thread(pid);
    return t ? t->process : NULL;
}

static bool is_signal_or_none(int sig)
{
    return sig == 0 || signal_is_valid(sig);
}

/* One target: checked as kill(2) does, sent unless sig is 0. */
static int send_to_process(struct call *c, struct process *p, int sig, const siginfo_t *info)
{
    if (!is_signal_or_none(sig))
        return -EINVAL;
    if (!signal_may_send(c->thread, p, sig))
        return -EPERM;
    return sig ? signal_send_process(p, sig, info) : 0;
}

static int kill_group(struct call *c, pid_t id, int sig, const siginfo_t *info)
{
    struct process *p, *next;
    struct process_group *g = process_group_find(id);
    int last = -ESRCH;
    bool any = false;
    if (!g)
        return -ESRCH;
    list_for_each_safe(p, next, &g->members, group_link)
    {
        last = send_to_process(c, p, sig, info);
        any |= last == 0;
    }
    any |= is_signal_or_none(sig) && embryo_signal(g, sig, info, c->thread);
    return any ? 0 : last;
}

/* Everyone but init and the caller's own process: the Linux reading of POSIX. */
static int kill_all(struct call *c, int sig, const siginfo_t *info)
{
    struct process *p, *next;
    int result = -ESRCH;
    list_for_each_safe(p, next, &process_all, all_link)
    {
        if (p == process_init || p == c->thread->process)
            continue;
        int r = send_to_process(c, p, sig, info);
        if (r != -EPERM)
            result = r;
        else if (result == -ESRCH)
            result = 0; /* somebody is there: kernel/signal.c of Linux answers 0 */
    }
    if (is_signal_or_none(sig) && embryo_signal(NULL, sig, info, c->thread) && result == -ESRCH)
        result = 0;
    return result;
}

long sys_kill(struct call *c)
{
    struct process *self = c->thread->process;
    pid_t pid = call_int(c, 0);
    int sig = call_int(c, 1);
    siginfo_t info = signal_info_user(sig, self);
    info.si_uid = c->thread->cred->uid;
    if (pid > 0) {
        struct process *p = find_process(pid);
        return p ? send_to_process(c, p, sig, &info) : -ESRCH;
    }
    if (pid == INT32_MIN)
        return -ESRCH;
    process_settle_all();
    if (pid == -1)
        return kill_all(c, sig, &info);
    return kill_group(c, pid == 0 ? self->group->id : -pid, sig, &info);
}

/* tgid 0: whatever process the thread is of. */
static long send_to_thread(struct call *c, pid_t tgid, pid_t tid, int sig, const siginfo_t *info)
{
    struct thread *t = find_thread(tid);
    if (!t || (tgid && t->process->pid != tgid))
        return -ESRCH;
    if (sig < 0 || sig > SIGNAL_COUNT)
        return -EINVAL;
    if (!signal_may_send(c->thread, t->process, sig))
        return -EPERM;
    return sig && !t->dead ? signal_send_thread(t, sig, info) : 0;
}

static siginfo_t thread_info(struct call *c, int sig)
{
    siginfo_t info = signal_info_user(sig, c->thread->process);
    info.si_code = SI_TKILL;
    info.si_uid = c->thread->cred->uid;
    return info;
}

long sys_tkill(struct call *c)
{
    pid_t tid = call_int(c, 0);
    int sig = call_int(c, 1);
    siginfo_t info = thread_info(c, sig);
    if (tid <= 0)
        return -EINVAL;
    return send_to_thread(c, 0, tid, sig, &info);
}

long sys_tgkill(struct call *c)
{
    pid_t tgid = call_int(c, 0), tid = call_int(c, 1);
    int sig = call_int(c, 2);
    siginfo_t info = thread_info(c, sig);
    if (tgid <= 0 || tid <= 0)
        return -EINVAL;
    return send_to_thread(c, tgid, tid, sig, &info);
}

/* Only to itself may a process pretend that a signal came from the kernel or from kill(2). */
static bool is_forged(const siginfo_t *info)
{
    return info->si_code >= 0 || info->si_code == SI_TKILL;
}

long sys_rt_sigqueueinfo(struct call *c)
{
    pid_t pid = call_int(c, 0);
    int sig = call_int(c, 1);
    siginfo_t info;
    if (call_read(c, &info, call_addr(c, 2), sizeof(info)) < 0)
        return -EFAULT;
    if (is_forged(&info) && pid != c->thread->process->pid)
        return -EPERM;
    info.si_signo = sig;
    struct process *p = pid > 0 ? find_process(pid) : NULL;
    return p ? send_to_process(c, p, sig, &info) : -ESRCH;
}

long sys_rt_tgsigqueueinfo(struct call *c)
{
    pid_t tgid = call_int(c, 0), tid = call_int(c, 1);
    int sig = call_int(c, 2);
    siginfo_t info;
    if (call_read(c, &info, call_addr(c, 3), sizeof(info)) < 0)
        return -EFAULT;
    if (tgid <= 0 || tid <= 0)
        return -EINVAL;
    if (is_forged(&info) && tid != c->thread->tid)
        return -EPERM;
    info.si_signo = sig;
    return send_to_thread(c, tgid, tid, sig, &info);
}
