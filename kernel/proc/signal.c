// SPDX-License-Identifier: Apache-2.0
/*
 * Sending: who gets a signal, what becomes of it at once, whom it wakes. What happens when a thread
 * comes to act on it is in signal_deliver.c.
 *
 * A signal is looked at in this order, as kernel/signal.c of Linux does: stop and continue signals
 * cancel each other; an ignored one vanishes unless it is blocked; it is queued; a thread that does
 * not block it is found; if it is deadly the process ends here and now; else that thread is kicked.
 */
#include "kernel/proc/signal_queue.h"

#include "kernel/core/limits.h"
#include "kernel/host/host.h"
#include "kernel/proc/embryo.h"
#include "kernel/proc/jobs.h"
#include "kernel/proc/process.h"
#include "kernel/proc/timers.h"

#include <linux/capability.h>
#include <sys/wait.h>

void signal_thread_init(struct signal_thread *s)
{
    memset(s, 0, sizeof(*s));
    signal_queue_init(&s->pending);
    waitq_init(&s->wait);
}

siginfo_t signal_info_kernel(int sig)
{
    siginfo_t info;
    memset(&info, 0, sizeof(info));
    info.si_signo = sig;
    info.si_code = SI_KERNEL;
    return info;
}

static uid_t real_uid(const struct process *p)
{
    const struct cred *cred = process_cred(p);
    return cred ? cred->uid : 0;
}

siginfo_t signal_info_user(int sig, const struct process *sender)
{
    siginfo_t info = signal_info_kernel(sig);
    info.si_code = SI_USER;
    if (sender) {
        info.si_pid = sender->pid;
        info.si_uid = real_uid(sender);
    }
    return info;
}

/* ---- actions ---- */

enum signal_default signal_default_action(int sig)
{
    if (signal_in(SIGMASK_DEFAULT_IGNORED, sig))
        return DEFAULT_IGNORE;
    return signal_in(SIGMASK_STOP, sig) ? DEFAULT_STOP : DEFAULT_TERMINATE;
}

static uint64_t handler_of(const struct process *p, int sig)
{
    return p->actions->action[sig].handler;
}

bool signal_is_ignored(const struct process *p, int sig)
{
    uint64_t handler = handler_of(p, sig);
    if (handler == (uint64_t)SIG_DFL)
        return signal_default_action(sig) == DEFAULT_IGNORE;
    return handler == (uint64_t)SIG_IGN;
}

static bool is_deadly(const struct process *p, int sig)
{
    return handler_of(p, sig) == (uint64_t)SIG_DFL &&
           signal_default_action(sig) == DEFAULT_TERMINATE;
}

static bool has_handler(const struct process *p, int sig)
{
    return handler_of(p, sig) != (uint64_t)SIG_DFL && handler_of(p, sig) != (uint64_t)SIG_IGN;
}

/* ---- what is pending ---- */

sigmask_t signal_pending(const struct thread *t)
{
    return t->signals.pending.set | t->process->pending.set;
}

sigmask_t signal_deliverable(const struct thread *t)
{
    sigmask_t set = signal_pending(t) & ~t->signals.mask & ~t->signals.awaited;
    for (sigmask_t rest = set; rest; rest &= rest - 1) {
        int sig = __builtin_ctzll(rest) + 1;
        if (signal_is_ignored(t->process, sig))
            set &= ~SIGMASK(sig);
    }
    return set;
}

bool signal_is_deliverable(const struct thread *t)
{
    return signal_deliverable(t) != 0;
}

static void drop_everywhere(struct process *p, sigmask_t set)
{
    struct thread *t;
    signal_queue_drop(&p->pending, set);
    list_for_each(t, &p->threads, process_link) signal_queue_drop(&t->signals.pending, set);
}

void signal_forget(struct process *p, int sig)
{
    drop_everywhere(p, SIGMASK(sig));
}

bool signal_take(struct thread *t, sigmask_t set, siginfo_t *ret)
{
    struct process *p = t->process;
    struct signal_queued *timer;
    bool of_thread = t->signals.pending.set & set;
    struct signal_queue *q = of_thread ? &t->signals.pending : &p->pending;
    if (!(q->set & set))
        return false;
    int sig = signal_first(q->set & set);
    signal_queue_take(q, sig, ret, &timer);
    if (timer)
        timer_signal_taken(timer, ret);
    else if (sig == SIGALRM && !of_thread)
        timers_alarm_taken(p);
    return true;
}

/* ---- kicking a thread ---- */

/*
 * The program of t can be asked: its stub's handler is installed. Before that (and from execve on)
 * a kick would be lost; whoever starts the program kicks again.
 */
static bool can_be_kicked(const struct thread *t)
{
    const struct process *p = t->process;
    return !t->dead && !p->executing && !t->signals.stopped && !t->signals.returning && p->space &&
           p->space->handler;
}

/* What the parked call of t is answered depends on the first handler that will run, if any. */
static void interrupt_call(struct thread *t, sigmask_t set)
{
    const struct signal_action *first = NULL;
    for (sigmask_t rest = set; rest && !first; rest &= rest - 1) {
        int sig = __builtin_ctzll(rest) + 1;
        if (has_handler(t->process, sig))
            first = &t->process->actions->action[sig];
    }
    if (t->call && t->call->parked)
        call_interrupt(t->call, first != NULL, first && (first->flags & SA_RESTART));
}

/* It runs, or sleeps in the host: a kick would end the sleep with EINTR. */
static bool is_left_to_host(const struct thread *t)
{
    return !t->call && !t->signals.kicked;
}

void signal_kick(struct thread *t)
{
    struct process *p = t->process;
    if (p->state != PROCESS_ALIVE || p->exiting || p == process_init)
        return;
    sigmask_t set = signal_deliverable(t);
    if (!set && !p->group_stopped)
        return;
    if (set && !p->group_stopped && is_deadly(p, signal_first(set))) {
        process_kill(p, signal_first(set));
        return;
    }
    if (p->group_stopped ? !p->stop_settled : set & SIGMASK_STOP)
        signal_stop_watch();
    if (!can_be_kicked(t) || (is_left_to_host(t) && signal_stop_on_host(t)))
        return;
    if (!t->signals.kicked && host->signal_thread(p->host_pid, t->host_tid, SIGNAL_KICK) < 0)
        return;
    t->signals.kicked = true;
    interrupt_call(t, set);
}

void signal_returned(struct thread *t)
{
    t->signals.returning = false;
    signal_kick(t);
}

/* ---- sending ---- */

static bool wants(const struct thread *t, int sig)
{
    return !t->dead && !signal_in(t->signals.mask, sig) && !t->process->group_stopped;
}

/* A thread that a signal of the whole process can go to: the main one, or any that does not block
 * it. */
static struct thread *pick_thread(struct process *p, int sig)
{
    struct thread *t;
    list_for_each(t, &p->threads, process_link)
    {
        if (wants(t, sig))
            return t;
    }
    return NULL;
}

void signal_kick_pending(struct process *p)
{
    struct thread *t;
    list_for_each(t, &p->threads, process_link)
    {
        if (t->signals.pending.set)
            signal_kick(t);
    }
    for (sigmask_t set = p->pending.set; set; set &= set - 1) {
        t = pick_thread(p, __builtin_ctzll(set) + 1);
        if (t)
            signal_kick(t);
    }
}

static void cancel_opposites(struct process *p, int sig)
{
    if (signal_in(SIGMASK_STOP, sig)) {
        drop_everywhere(p, SIGMASK(SIGCONT));
    } else if (sig == SIGCONT) {
        drop_everywhere(p, SIGMASK_STOP);
        signal_stop_end(p);
    }
}

static void wake_waiters(struct process *p, struct thread *t)
{
    if (t) {
        waitq_wake(&t->signals.wait, EPOLLIN);
        return;
    }
    list_for_each(t, &p->threads, process_link) waitq_wake(&t->signals.wait, EPOLLIN);
}

/* sig was queued: for thread t, or for the process if t is NULL, and for `near` of it first. */
static void complete(struct process *p, struct thread *t, struct thread *near, int sig)
{
    struct thread *target = t ? t : near && wants(near, sig) ? near : pick_thread(p, sig);
    if (target && wants(target, sig) && is_deadly(p, sig)) {
        process_kill(p, sig);
        return;
    }
    if (target)
        signal_kick(target);
}

/*
 * The part before the queue; false: there is nothing to queue. The sandbox's init takes no signal
 * from inside, whatever it is.
 */
static bool prepare(struct process *p, const struct thread *t, int sig)
{
    if (p->state != PROCESS_ALIVE || p == process_init || list_is_empty(&p->threads))
        return false;
    if (sig == SIGKILL) {
        process_kill(p, sig);
        return false;
    }
    if (p->exiting)
        return false;
    cancel_opposites(p, sig);
    const struct thread *looked_at = t ? t : process_leader(p);
    return signal_in(looked_at->signals.mask, sig) || !signal_is_ignored(p, sig);
}

static int send(struct process *p, struct thread *t, struct thread *near, int sig,
                const siginfo_t *info)
{
    if (!prepare(p, t, sig))
        return 0;
    /* Only who sends a value with the signal is told that it did not fit: sigqueue(3). */
    bool must_queue =
        sig >= SIGNAL_REALTIME_MIN && info->si_code != SI_USER && info->si_code != SI_KERNEL;
    size_t limit = MIN((size_t)LIMIT_SIGNALS_OF_PROCESS, process_limit(p, RLIMIT_SIGPENDING));
    struct signal_queue *q = t ? &t->signals.pending : &p->pending;
    /* A standard signal is there once: who waits for it has been told. */
    bool is_there = sig < SIGNAL_REALTIME_MIN && signal_in(q->set, sig);
    int r = is_there ? 0 : signal_queue_add(q, sig, info, limit, must_queue);
    if (r < 0)
        return r;
    if (!is_there)
        wake_waiters(p, t);
    complete(p, t, near, sig);
    return 0;
}

int signal_send_process(struct process *p, int sig, const siginfo_t *info)
{
    return send(p, NULL, NULL, sig, info);
}

int signal_send_thread(struct thread *t, int sig, const siginfo_t *info)
{
    return send(t->process, t, NULL, sig, info);
}

int signal_send_near(struct thread *near, int sig, const siginfo_t *info)
{
    return send(near->process, NULL, near, sig, info);
}

int signal_send_group(struct process_group *g, int sig, const siginfo_t *info)
{
    struct process *p, *next;
    int last = -ESRCH;
    bool any = false;
    /*
     * A terminal's Ctrl-C is to reach a child that was forked a moment before. The group may have
     * had nobody else, and that one may be gone.
     */
    process_group_get(g);
    process_settle_all();
    list_for_each_safe(p, next, &g->members, group_link)
    {
        last = signal_send_process(p, sig, info);
        any |= last == 0;
    }
    any |= embryo_signal(g, sig, info, NULL);
    process_group_put(g);
    return any ? 0 : last;
}

bool signal_send_timer(struct process *p, struct thread *t, struct signal_queued *entry)
{
    int sig = entry->info.si_signo;
    if (!prepare(p, t, sig))
        return false;
    signal_queue_add_timer(t ? &t->signals.pending : &p->pending, entry);
    wake_waiters(p, t);
    complete(p, t, NULL, sig);
    return true;
}

bool signal_may_send_to(const struct thread *sender, const struct cred *b,
                        const struct process_group *group, int sig)
{
    const struct process_group *from = sender->process->group;
    const struct cred *a = sender->cred;
    if (cred_has_cap(a, CAP_KILL) || !b)
        return true;
    if (a->euid == b->suid || a->euid == b->uid || a->uid == b->suid || a->uid == b->uid)
        return true;
    return sig == SIGCONT && from && group && from->session == group->session;
}

bool signal_may_send(const struct thread *sender, const struct process *target, int sig)
{
    return sender->process == target ||
           signal_may_send_to(sender, process_cred(target), target->group, sig);
}

/* ---- masks ---- */

/* t does not take the process's signals of set any more: another thread may. */
static void retarget(struct thread *t, sigmask_t set)
{
    struct process *p = t->process;
    for (set &= p->pending.set; set; set &= set - 1) {
        struct thread *other = pick_thread(p, __builtin_ctzll(set) + 1);
        if (other && other != t)
            signal_kick(other);
    }
}

void signal_set_mask(struct thread *t, sigmask_t mask)
{
    sigmask_t old = t->signals.mask;
    mask &= ~SIGMASK_UNBLOCKABLE;
    t->signals.mask = mask;
    retarget(t, mask & ~old);
    sigmask_t freed = old & ~mask & signal_pending(t);
    if (!freed)
        return;
    /* What was kept only because it was blocked goes as if it had been ignored on arrival. */
    for (sigmask_t rest = freed; rest; rest &= rest - 1) {
        int sig = __builtin_ctzll(rest) + 1;
        if (signal_is_ignored(t->process, sig)) {
            signal_queue_drop(&t->signals.pending, SIGMASK(sig));
            signal_queue_drop(&t->process->pending, SIGMASK(sig));
        }
    }
    signal_kick(t);
}

void signal_begin_temporary_mask(struct thread *t, sigmask_t mask)
{
    /* A handler that is run again after a wake-up begins again: the first mask is the one to keep.
     */
    if (!t->signals.restore_mask)
        t->signals.saved_mask = t->signals.mask;
    t->signals.restore_mask = true;
    signal_set_mask(t, mask);
}

void signal_end_temporary_mask(struct thread *t)
{
    if (!t->signals.restore_mask)
        return;
    t->signals.restore_mask = false;
    signal_set_mask(t, t->signals.saved_mask);
}

void signal_call_ended(struct call *c, long result)
{
    struct signal_thread *s = &c->thread->signals;
    /* An interrupted call's mask stands until its thread asks: the handler's frame gets the other.
     */
    bool interrupted = result == -EINTR || result == -ERESTARTSYS || result == -ERESTARTNOHAND;
    if (!interrupted || !s->kicked)
        signal_end_temporary_mask(c->thread);
}

/* ---- life ---- */

void signal_exec(struct process *p)
{
    if (p->actions->refs > 1) {
        struct signal_actions *own = signal_actions_copy(p->actions);
        if (!own) {
            process_kill(p, SIGKILL);
            return;
        }
        signal_actions_put(p->actions);
        p->actions = own;
    }
    for (int sig = 1; sig <= SIGNAL_COUNT; sig++) {
        struct signal_action *a = &p->actions->action[sig];
        uint64_t kept = a->handler == (uint64_t)SIG_IGN ? a->handler : (uint64_t)SIG_DFL;
        *a = (struct signal_action){.handler = kept};
    }
    timers_exec(p);
}

void signal_thread_done(struct signal_thread *s)
{
    struct thread *t = container_of(s, struct thread, signals);
    s->stopped = NULL;
    waitq_done(&s->wait);
    signal_queue_clear(&s->pending);
    if (!t->process || t->process->state != PROCESS_ALIVE)
        return;
    s->mask = ~0ULL;
    retarget(t, ~0ULL);
    signal_stop_settle(t->process);
}

void process_kill(struct process *p, int sig)
{
    if (p->state != PROCESS_ALIVE || p == process_init)
        return;
    process_note_end(p, sig);
    host->signal_process(p->end_watch.fd, SIGKILL);
}

static void fill_child_times(siginfo_t *info, const struct process *p)
{
    int64_t user = 0, system = 0;
    long ticks = sysconf(_SC_CLK_TCK);
    if (p->state == PROCESS_ZOMBIE) {
        user = p->usage.ru_utime.tv_sec * NSEC_PER_SEC + p->usage.ru_utime.tv_usec * NSEC_PER_USEC;
        system =
            p->usage.ru_stime.tv_sec * NSEC_PER_SEC + p->usage.ru_stime.tv_usec * NSEC_PER_USEC;
    } else {
        process_cpu_time(p, &user, &system);
    }
    info->si_utime = user / (NSEC_PER_SEC / ticks);
    info->si_stime = system / (NSEC_PER_SEC / ticks);
}

void signal_child_changed(struct process *p, int code, int status)
{
    struct process *parent = p->parent;
    if (p->state == PROCESS_ZOMBIE) {
        code = WIFEXITED(p->wait_status) ? CLD_EXITED : CLD_KILLED;
        status = WIFEXITED(p->wait_status) ? WEXITSTATUS(p->wait_status) : WTERMSIG(p->wait_status);
    }
    bool ended = code != CLD_STOPPED && code != CLD_CONTINUED;
    int sig = ended ? p->exit_signal : SIGCHLD;
    bool send_it = sig != 0;
    if (!parent || parent->state != PROCESS_ALIVE)
        return;
    const struct signal_action *a = parent->actions ? &parent->actions->action[SIGCHLD] : NULL;
    if (a && sig == SIGCHLD) {
        bool ignored = a->handler == (uint64_t)SIG_IGN;
        p->autoreap |= ended && (ignored || (a->flags & SA_NOCLDWAIT));
        send_it = !ignored && (ended || !(a->flags & SA_NOCLDSTOP));
    }
    if (send_it) {
        siginfo_t info = signal_info_kernel(sig);
        info.si_code = code;
        info.si_pid = p->pid;
        info.si_uid = real_uid(p);
        info.si_status = status;
        fill_child_times(&info, p);
        signal_send_process(parent, sig, &info);
    }
    waitq_wake(&parent->child_wait, 0);
}
