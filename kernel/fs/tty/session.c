// SPDX-License-Identifier: Apache-2.0
/*
 * Controlling terminals and job control: ioctl_tty(2), credentials(7), POSIX 11.1.3 and 11.1.4.
 *
 * session->tty and tty->session name each other, or neither does; with one exception: after a
 * hang-up the session keeps the dead terminal, which is no terminal for anybody, so that its
 * leader's end can still tell the group that was in the foreground (as Linux's tty_old_pgrp).
 */
#include "kernel/fs/tty/pair.h"
#include "kernel/proc/jobs.h"

#include <linux/capability.h>

static struct process *current_process(void)
{
    return call_current ? call_current->thread->process : NULL;
}

static struct session *session_of(const struct process *p)
{
    return p && p->group ? p->group->session : NULL;
}

static bool is_leader(const struct process *p)
{
    struct session *s = session_of(p);
    return s && s->id == p->pid;
}

struct tty *tty_of_process(const struct process *p)
{
    struct session *s = session_of(p);
    if (!s || p->tty_dropped || !s->tty || s->tty->hung_up)
        return NULL;
    return s->tty;
}

uint64_t tty_device(const struct tty *t)
{
    /* The kernel's encoding of a device number, which for small ones is that of makedev(3). */
    const unsigned major = 136;
    return t && !t->hung_up ? major << 8 | t->index : 0;
}

/* The session gives up its terminal. */
static void detach(struct session *s)
{
    struct tty *t = s->tty;
    s->tty = NULL;
    if (!t)
        return;
    if (t->session == s) {
        t->session = NULL;
        t->foreground = 0;
    }
    tty_put(t);
}

static void send_to_group(struct process_group *g, int sig)
{
    siginfo_t info = signal_info_kernel(sig);
    if (!g)
        return;
    process_group_get(g);
    signal_send_group(g, sig, &info);
    process_group_put(g);
}

/* Its number may be that of a group of another session by now, if all its members have ended. */
static struct process_group *foreground_group(const struct tty *t)
{
    struct process_group *g = t->foreground ? process_group_find(t->foreground) : NULL;
    return g && g->session == t->session ? g : NULL;
}

void tty_signal_foreground(struct tty *t, int sig)
{
    send_to_group(foreground_group(t), sig);
}

/* jobs_detach_tty: the session has forgotten its terminal already. */
static pid_t on_detach(struct tty *t, struct session *s)
{
    const struct process_group *g = foreground_group(t);
    pid_t foreground = g ? g->id : 0;
    s->tty = t;
    detach(s);
    return foreground;
}

void tty_make_controlling(struct tty *t, struct process *p)
{
    struct session *s = session_of(p);
    if (!s)
        return;
    /* Sessions that have a terminal are made here, and only here. */
    jobs_detach_tty = on_detach;
    tty_get(t);
    detach(s);
    if (t->session)
        detach(t->session);
    s->tty = t;
    t->session = s;
    t->foreground = p->group->id;
    p->tty_dropped = false;
}

void tty_open_controlling(struct tty *t, const struct file *f)
{
    struct process *p = current_process();
    /* Who may only write to a terminal (write(1)) must not come by it this way. */
    if (p && f->can_read && is_leader(p) && !tty_of_process(p) && !t->session)
        tty_make_controlling(t, p);
}

void tty_hang_up_session(struct tty *t)
{
    struct session *s = t->session;
    if (!s)
        return;
    struct process *leader = process_find(s->id);
    if (!leader)
        return;
    siginfo_t hup = signal_info_kernel(SIGHUP), cont = signal_info_kernel(SIGCONT);
    signal_send_process(leader, SIGHUP, &hup);
    signal_send_process(leader, SIGCONT, &cont);
}

/* ---- access of background groups ---- */

static bool ignores(const struct thread *thread, int sig)
{
    return (thread->signals.mask & SIGMASK(sig)) ||
           thread->process->actions->action[sig].handler == (uintptr_t)SIG_IGN;
}

long tty_check_change(struct tty *t, int sig)
{
    struct process *p = current_process();
    if (!p || tty_of_process(p) != t || !t->foreground || t->foreground == p->group->id)
        return 0;
    if (ignores(call_current->thread, sig))
        return sig == SIGTTIN ? -EIO : 0;
    if (process_group_is_orphaned(p->group))
        return -EIO;
    send_to_group(p->group, sig);
    return -EAGAIN;
}

/* ---- requests ---- */

/* TIOCSCTTY: 1 as argument steals it from its session, which root may. */
static long set_controlling(struct tty *t, const struct file *f, uint64_t steal)
{
    struct process *p = current_process();
    const struct cred *cred = call_current->thread->cred;
    if (is_leader(p) && session_of(p) == t->session)
        return 0;
    if (!is_leader(p) || tty_of_process(p))
        return -EPERM;
    if (t->session && !(steal == 1 && cred_has_cap(cred, CAP_SYS_ADMIN)))
        return -EPERM;
    if (!f->can_read && !cred_has_cap(cred, CAP_SYS_ADMIN))
        return -EPERM;
    tty_make_controlling(t, p);
    return 0;
}

/* TIOCNOTTY: of the leader for all of the session, else for the process alone. */
static long give_up_controlling(struct tty *t)
{
    struct process *p = current_process();
    struct process_group *foreground = foreground_group(t);
    if (tty_of_process(p) != t)
        return -ENOTTY;
    if (!is_leader(p)) {
        p->tty_dropped = true;
        return 0;
    }
    detach(p->group->session);
    send_to_group(foreground, SIGHUP);
    send_to_group(foreground, SIGCONT);
    return 0;
}

static bool is_visible(const struct tty *t, bool from_master)
{
    return from_master || tty_of_process(current_process()) == t;
}

static long get_foreground(struct tty *t, bool from_master, struct call *c, struct gaddr argument)
{
    if (!is_visible(t, from_master))
        return -ENOTTY;
    return call_write(c, argument, &t->foreground, sizeof(t->foreground));
}

/* The session of a group, or of a process that leads none. */
static struct session *session_of_id(pid_t id)
{
    struct process_group *g = process_group_find(id);
    return g ? g->session : session_of(process_find(id));
}

static long set_foreground(struct tty *t, struct call *c, struct gaddr argument)
{
    struct process *p = current_process();
    pid_t id;
    long check = tty_check_change(t, SIGTTOU);
    if (check == -EIO)
        return -ENOTTY;
    if (check < 0)
        return check;
    int r = call_read(c, &id, argument, sizeof(id));
    if (r < 0)
        return r;
    if (id < 0)
        return -EINVAL;
    if (tty_of_process(p) != t || t->session != session_of(p))
        return -ENOTTY;
    struct session *s = session_of_id(id);
    if (!s)
        return -ESRCH;
    if (s != t->session)
        return -EPERM;
    t->foreground = id;
    waitq_wake(&t->slave_wait, EPOLLIN | EPOLLOUT);
    return 0;
}

static long get_session(struct tty *t, bool from_master, struct call *c, struct gaddr argument)
{
    if (!is_visible(t, from_master) || !t->session)
        return -ENOTTY;
    return call_write(c, argument, &t->session->id, sizeof(t->session->id));
}

long tty_session_ioctl(struct tty *t, struct file *f, bool from_master, struct call *c,
                       unsigned request, struct gaddr argument)
{
    switch (request) {
    case TIOCSCTTY:
        return set_controlling(t, f, argument.v);
    case TIOCNOTTY:
        return from_master ? -ENOTTY : give_up_controlling(t);
    case TIOCGPGRP:
        return get_foreground(t, from_master, c, argument);
    case TIOCSPGRP:
        return set_foreground(t, c, argument);
    case TIOCGSID:
        return get_session(t, from_master, c, argument);
    default:
        return -ENOTTY;
    }
}
