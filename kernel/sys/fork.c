// SPDX-License-Identifier: Apache-2.0
/*
 * clone(2), fork(2), vfork(2). The host runs them; the flags are a register, so what was checked
 * here is what is run.
 */
#include "kernel/core/kernel.h"
#include "kernel/proc/embryo.h"
#include "kernel/sys/handlers.h"

#include <linux/capability.h>
#include <sched.h>

#define CLONE_NAMESPACES                                                                          \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
     CLONE_NEWNET)
#define CLONE_REFUSED (CLONE_PARENT | CLONE_PTRACE | CLONE_UNTRACED | CLONE_PIDFD)
#define CLONE_SIGNAL  0xffu

static long check_flags(uint64_t flags)
{
    unsigned sig = flags & CLONE_SIGNAL;
    if (flags & CLONE_NAMESPACES)
        return -EPERM;
    if (flags & CLONE_REFUSED)
        return -EINVAL;
    if ((flags & CLONE_SIGHAND) && !(flags & CLONE_VM))
        return -EINVAL;
    if ((flags & CLONE_THREAD) && !(flags & CLONE_SIGHAND))
        return -EINVAL;
    /* The host reaps by itself only what ends with SIGCHLD. */
    if (!(flags & CLONE_THREAD) && sig != 0 && sig != SIGCHLD)
        return -EINVAL;
    return 0;
}

/* RLIMIT_NPROC is of all tasks of a real user, and of root there may be as many as he likes:
 * getrlimit(2). They are counted only when there are so many of all. */
static bool is_below_own_limit(const struct thread *t, size_t total)
{
    uint64_t limit = process_limit(t->process, RLIMIT_NPROC);
    return total < limit || t->cred->uid == 0 || cred_has_cap(t->cred, CAP_SYS_RESOURCE) ||
           cred_has_cap(t->cred, CAP_SYS_ADMIN) || process_count_tasks_of(t->cred->uid) < limit;
}

/* The init makes the programs that are asked for from outside. */
static bool may_add_task(const struct thread *t)
{
    size_t total = process_count_tasks();
    return total < kernel.config.thread_count &&
           (t->process == process_init || is_below_own_limit(t, total));
}

static long clone_thread(struct call *c, uint64_t flags)
{
    struct thread *t = c->thread;
    struct process *p = t->process;
    long r = check_flags(flags);
    if (r < 0)
        return r;
    if (!may_add_task(t))
        return -EAGAIN;
    process_settle_embryo(p);
    struct waitq *wait = embryo_in_the_way(p, flags);
    if (wait) {
        r = call_wait_on(c, wait);
        return r < 0 ? r : call_park(c, RESTART_NONE);
    }
    r = embryo_new(t, flags);
    return r < 0 ? r : CALL_HOST;
}

long sys_clone(struct call *c)
{
    /* The host looks at the low half only. */
    return clone_thread(c, call_uint(c, 0));
}

long sys_fork(struct call *c)
{
    return clone_thread(c, SIGCHLD);
}

long sys_vfork(struct call *c)
{
    return clone_thread(c, CLONE_VFORK | CLONE_VM | SIGCHLD);
}

long sys_set_robust_list(struct call *c)
{
    /* struct robust_list_head: the host walks it when the thread ends. */
    if (c->arg[1] != 24)
        return -EINVAL;
    c->thread->robust_list = c->arg[0];
    c->thread->robust_list_size = c->arg[1];
    return CALL_HOST;
}

long sys_get_robust_list(struct call *c)
{
    struct thread *t = call_int(c, 0) == 0 ? c->thread : thread_find(call_int(c, 0));
    if (!t || t->dead)
        return -ESRCH;
    if (t->process != c->thread->process && !cred_has_cap(c->thread->cred, CAP_SYS_PTRACE))
        return -EPERM;
    uint64_t size = 24;
    if (call_write(c, call_addr(c, 2), &size, sizeof(size)) < 0)
        return -EFAULT;
    return call_write(c, call_addr(c, 1), &t->robust_list, sizeof(t->robust_list));
}
