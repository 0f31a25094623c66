// SPDX-License-Identifier: Apache-2.0
/*
 * wait4(2), waitid(2), pidfd_open(2), pidfd_send_signal(2).
 */
#include "kernel/fs/proc/proc.h"
#include "kernel/proc/account.h"
#include "kernel/proc/pidfd.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"

#include <sys/wait.h>

#define WAIT4_OPTIONS (WNOHANG | WUNTRACED | WCONTINUED | __WNOTHREAD | __WCLONE | __WALL)
#define WAITID_OPTIONS \
    (WNOHANG | WNOWAIT | WEXITED | WSTOPPED | WCONTINUED | __WNOTHREAD | __WCLONE | __WALL)

enum which { WHICH_ANY, WHICH_PID, WHICH_GROUP, WHICH_PROCESS };

struct selection {
    enum which which;
    pid_t id;
    const struct process *process; /* WHICH_PROCESS */
    int options;                   /* as waitid(2) has them */
};

struct report {
    struct process *child;
    int status; /* as wait4 gives it */
    int code;   /* CLD_* */
    int value;  /* exit code or signal */
};

static bool is_selected(const struct process *child, const struct selection *s)
{
    if (!(s->options & __WALL) && (child->exit_signal != SIGCHLD) != !!(s->options & __WCLONE))
        return false;
    switch (s->which) {
    case WHICH_PID:
        return child->pid == s->id;
    case WHICH_GROUP:
        return child->group && child->group->id == s->id;
    case WHICH_PROCESS:
        return child == s->process;
    default:
        return true;
    }
}

/* What child has to report under these options, if anything. */
static bool has_report(struct process *child, int options, struct report *ret)
{
    *ret = (struct report){.child = child};
    if (child->state == PROCESS_ZOMBIE) {
        int status = child->wait_status;
        ret->status = status;
        ret->code = WIFEXITED(status) ? CLD_EXITED : WCOREDUMP(status) ? CLD_DUMPED : CLD_KILLED;
        ret->value = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
        return options & WEXITED;
    }
    if ((options & WSTOPPED) && child->group_stopped && !child->stop_reported) {
        ret->status = child->stop_signal << 8 | 0x7f;
        ret->code = CLD_STOPPED;
        ret->value = child->stop_signal;
        return true;
    }
    if ((options & WCONTINUED) && child->continue_pending) {
        ret->status = 0xffff;
        ret->code = CLD_CONTINUED;
        ret->value = SIGCONT;
        return true;
    }
    return false;
}

static void consume(const struct report *r)
{
    if (r->code == CLD_STOPPED)
        r->child->stop_reported = true;
    else if (r->code == CLD_CONTINUED)
        r->child->continue_pending = false;
    else
        process_reap(r->child);
}

/* 1: *ret is what to report. 0: nothing now. -ECHILD. */
static int find_report(struct process *parent, const struct selection *s, struct report *ret)
{
    bool any = false;
    struct process *child;
    /* Looking costs; who can wait is told when the child that is on its way shows up. */
    if (s->options & WNOHANG)
        process_settle_embryo(parent);
    list_for_each(child, &parent->children, sibling)
    {
        if (!is_selected(child, s))
            continue;
        if (has_report(child, s->options, ret))
            return 1;
        /* One that has ended and is not asked for will never report: it is no child at all. */
        any = any || child->state != PROCESS_ZOMBIE;
    }
    /* A child that has not shown up yet may be the one. */
    if (!any && parent->embryo)
        return 0;
    return any ? 0 : -ECHILD;
}

static long wait_for_child(struct call *c, const struct selection *s, struct report *ret)
{
    struct process *parent = c->thread->process;
    int r = find_report(parent, s, ret);
    if (r != 0 || (s->options & WNOHANG))
        return r;
    r = call_wait_on(c, &parent->child_wait);
    return r < 0 ? r : call_park(c, RESTART_SYS);
}

long sys_wait4(struct call *c)
{
    pid_t pid = call_int(c, 0);
    int options = call_int(c, 2);
    if (options & ~WAIT4_OPTIONS)
        return -EINVAL;
    if (pid == INT32_MIN)
        return -ESRCH;
    struct selection s = {.options = options | WEXITED};
    if (pid > 0)
        s = (struct selection){WHICH_PID, pid, NULL, s.options};
    else if (pid == 0)
        s = (struct selection){WHICH_GROUP, c->thread->process->group->id, NULL, s.options};
    else if (pid < -1)
        s = (struct selection){WHICH_GROUP, -pid, NULL, s.options};

    struct report report;
    long r = wait_for_child(c, &s, &report);
    if (r != 1)
        return r;
    struct rusage usage = account_whole(report.child);
    pid = report.child->pid;
    if (c->arg[1] && call_write(c, call_addr(c, 1), &report.status, sizeof(report.status)) < 0)
        return -EFAULT;
    if (c->arg[3] && call_write(c, call_addr(c, 3), &usage, sizeof(usage)) < 0)
        return -EFAULT;
    consume(&report);
    return pid;
}

static long select_by_pidfd(struct call *c, struct selection *s)
{
    bool is_pidfd;
    struct file *f = args_file(c, call_int(c, 1));
    if (!f)
        return -EBADF;
    s->which = WHICH_PROCESS;
    s->process = pidfd_process(f, &is_pidfd);
    if (!is_pidfd)
        return -EBADF;
    if (!s->process)
        return -ECHILD;
    if ((f->flags & O_NONBLOCK))
        s->options |= WNOHANG;
    return 0;
}

static long parse_waitid(struct call *c, struct selection *s)
{
    pid_t id = call_int(c, 1);
    s->id = id;
    switch (call_int(c, 0)) {
    case P_ALL:
        s->which = WHICH_ANY;
        return 0;
    case P_PID:
        s->which = WHICH_PID;
        return id <= 0 ? -EINVAL : 0;
    case P_PGID:
        s->which = WHICH_GROUP;
        if (id == 0)
            s->id = c->thread->process->group->id;
        return id < 0 ? -EINVAL : 0;
    case P_PIDFD:
        return id < 0 ? -EINVAL : select_by_pidfd(c, s);
    default:
        return -EINVAL;
    }
}

long sys_waitid(struct call *c)
{
    int options = call_int(c, 3);
    if ((options & ~WAITID_OPTIONS) || !(options & (WEXITED | WSTOPPED | WCONTINUED)))
        return -EINVAL;
    struct selection s = {.options = options};
    long r = parse_waitid(c, &s);
    if (r < 0)
        return r;
    struct report report;
    r = wait_for_child(c, &s, &report);
    if (r < 0)
        return r;
    siginfo_t info;
    struct rusage usage = {0};
    memset(&info, 0, sizeof(info));
    if (r == 1) {
        info.si_signo = SIGCHLD;
        info.si_code = report.code;
        info.si_pid = report.child->pid;
        info.si_status = report.value;
        usage = account_whole(report.child);
        const struct cred *cred = process_cred(report.child);
        info.si_uid = cred ? cred->uid : 0;
    } else if (!(options & WNOHANG)) {
        return -EAGAIN; /* a non-blocking pidfd */
    }
    if (c->arg[2] && call_write(c, call_addr(c, 2), &info, sizeof(info)) < 0)
        return -EFAULT;
    if (r == 1 && c->arg[4] && call_write(c, call_addr(c, 4), &usage, sizeof(usage)) < 0)
        return -EFAULT;
    if (r == 1 && !(options & WNOWAIT))
        consume(&report);
    return 0;
}

long sys_pidfd_open(struct call *c)
{
    pid_t pid = call_int(c, 0);
    unsigned flags = call_uint(c, 1);
    if ((flags & ~(unsigned)O_NONBLOCK) || pid <= 0)
        return -EINVAL;
    if (!process_find(pid))
        process_settle_all();
    struct process *p = process_find(pid);
    if (!p)
        return thread_find(pid) ? -EINVAL : -ESRCH;
    struct file *f;
    int r = pidfd_create(p, (int)flags, &f);
    if (r < 0)
        return r;
    r = fdtable_install(c->thread->files, f, 0, process_limit(c->thread->process, RLIMIT_NOFILE),
                        true);
    if (r < 0)
        file_put(f);
    return r;
}

long sys_pidfd_send_signal(struct call *c)
{
    struct thread *t = c->thread;
    int sig = call_int(c, 1);
    bool is_pidfd;
    if (c->arg[3])
        return -EINVAL;
    struct file *f = args_file(c, call_int(c, 0));
    if (!f)
        return -EBADF;
    struct process *target = pidfd_process(f, &is_pidfd);
    if (!is_pidfd && !proc_is_process_directory(f, &target))
        return -EBADF;
    siginfo_t info = signal_info_user(sig, t->process);
    if (c->arg[2]) {
        if (call_read(c, &info, call_addr(c, 2), sizeof(info)) < 0)
            return -EFAULT;
        if (info.si_signo != sig)
            return -EINVAL;
        if (target != t->process && (info.si_code >= 0 || info.si_code == SI_TKILL))
            return -EPERM;
    }
    if (sig < 0 || sig > SIGNAL_COUNT)
        return -EINVAL;
    if (!target)
        return -ESRCH;
    if (!signal_may_send(t, target, sig))
        return -EPERM;
    return sig ? signal_send_process(target, sig, &info) : 0;
}
