// SPDX-License-Identifier: Apache-2.0
#include "kernel/fs/tty/pair.h"

#include "kernel/core/kernel.h"
#include "kernel/proc/process.h"

#include <linux/capability.h>

static struct tty *ptys[LIMIT_PTYS];

struct tty *tty_get(struct tty *t)
{
    t->refs++;
    return t;
}

/* Whoever still waits on the queue of something that goes finds nothing there when it looks again.
 */
static void end_queue(struct waitq *q)
{
    waitq_wake(q, EPOLLHUP);
    while (!list_is_empty(&q->entries))
        list_remove(q->entries.next);
}

void tty_put(struct tty *t)
{
    if (!t || --t->refs > 0)
        return;
    timer_disarm(&t->interbyte);
    end_queue(&t->slave_wait);
    end_queue(&t->master_wait);
    ptys[t->index] = NULL;
    free(t);
}

void pair_wake_master(struct tty *t, uint32_t events)
{
    waitq_wake(&t->master_wait, events);
    if (t->changed)
        t->changed(t, t->context);
}

void pair_set_packet_status(struct tty *t, uint8_t clear, uint8_t set)
{
    if (!t->packet)
        return;
    t->packet_status = (uint8_t)((t->packet_status & ~clear) | set);
    pair_wake_master(t, EPOLLIN | EPOLLRDNORM | EPOLLPRI);
}

/* ---- what the discipline tells ---- */

static void on_signal(struct discipline *d, int sig)
{
    tty_signal_foreground(container_of(d, struct tty, discipline), sig);
}

static void wake_writers(struct tty *t)
{
    if (discipline_room(&t->discipline) > 0)
        waitq_wake(&t->slave_wait, EPOLLOUT | EPOLLWRNORM);
}

static void on_readable(struct tty *t)
{
    t->interbyte_over = false;
    if (timer_is_armed(&t->interbyte))
        timer_arm(&t->interbyte,
                  clock_monotonic_ns() + t->discipline.termios.cc[VTIME] * NSEC_PER_SEC / 10);
    waitq_wake(&t->slave_wait, EPOLLIN | EPOLLRDNORM);
}

static void on_event(struct discipline *d, uint32_t events)
{
    struct tty *t = container_of(d, struct tty, discipline);
    if (events & DISCIPLINE_READABLE)
        on_readable(t);
    if (events & DISCIPLINE_OUTPUT)
        pair_wake_master(t, EPOLLIN | EPOLLRDNORM);
    if (events & DISCIPLINE_STOPPED)
        pair_set_packet_status(t, TIOCPKT_START, TIOCPKT_STOP);
    if (events & DISCIPLINE_STARTED)
        pair_set_packet_status(t, TIOCPKT_STOP, TIOCPKT_START);
    if (events & DISCIPLINE_INPUT_FLUSHED)
        pair_set_packet_status(t, 0, TIOCPKT_FLUSHREAD);
    if (events & DISCIPLINE_OUTPUT_FLUSHED)
        pair_set_packet_status(t, 0, TIOCPKT_FLUSHWRITE);
    if (events & (DISCIPLINE_STARTED | DISCIPLINE_OUTPUT_FLUSHED))
        wake_writers(t);
}

static const struct discipline_ops pair_discipline_ops = {
    .signal = on_signal,
    .event = on_event,
};

static void on_interbyte(struct timer *timer)
{
    struct tty *t = container_of(timer, struct tty, interbyte);
    t->interbyte_over = true;
    waitq_wake(&t->slave_wait, EPOLLIN | EPOLLRDNORM);
}

/* ---- making, opening, ending ---- */

int pair_new(uid_t uid, struct tty **ret)
{
    unsigned index = 0;
    while (index < LIMIT_PTYS && ptys[index])
        index++;
    if (index == LIMIT_PTYS)
        return -ENOSPC;
    struct tty *t = calloc(1, sizeof(*t));
    if (!t)
        return -ENOMEM;
    t->refs = 1;
    t->index = index;
    t->locked = true;
    t->interbyte = TIMER_INIT(on_interbyte);
    waitq_init(&t->slave_wait);
    waitq_init(&t->master_wait);
    ring_init(&t->to_slave, t->to_slave_data, sizeof(t->to_slave_data));
    discipline_init(&t->discipline, &pair_discipline_ops);
    int r = devpts_add(t, uid);
    if (r < 0) {
        free(t);
        return r;
    }
    ptys[index] = t;
    *ret = t;
    return 0;
}

void pair_hang_up(struct tty *t)
{
    if (t->hung_up)
        return;
    t->hung_up = true;
    t->changed = NULL;
    devpts_remove(t);
    tty_hang_up_session(t);
    waitq_wake(&t->slave_wait,
               EPOLLIN | EPOLLOUT | EPOLLHUP | EPOLLERR | EPOLLRDNORM | EPOLLWRNORM);
}

static bool may_share(const struct tty *t)
{
    if (!t->exclusive)
        return true;
    return !call_current || cred_has_cap(call_current->thread->cred, CAP_SYS_ADMIN);
}

int pair_open_slave(struct tty *t, struct file *f)
{
    if (!t || t->hung_up)
        return -EIO;
    if (!may_share(t))
        return -EBUSY;
    if (t->locked)
        return -EIO;
    f->private = tty_get(t);
    f->ops = &tty_slave_ops;
    t->slave_files++;
    t->slave_closed = false;
    if (!(f->flags & O_NOCTTY))
        tty_open_controlling(t, f);
    return 0;
}

int pair_open_peer(struct tty *t, int flags, struct file **ret)
{
    struct path p;
    int r = devpts_path(t, &p);
    if (r < 0)
        return r;
    r = file_new(p, p.dentry->inode, flags, NULL, ret);
    path_put(&p);
    return r;
}

/* ---- bytes ---- */

size_t pair_input_room(const struct tty *t)
{
    return t->master_stopped ? 0 : t->to_slave.capacity - t->to_slave.count;
}

void pair_pump_input(struct tty *t)
{
    const uint8_t *data;
    size_t size, taken = 0;
    bool moved = false;
    /* A signal may end a call that held the last file of the pair. */
    tty_get(t);
    while ((size = ring_front(&t->to_slave, &data)) > 0) {
        taken = discipline_receive(&t->discipline, data, size);
        ring_drop(&t->to_slave, taken);
        moved = moved || taken > 0;
        if (taken < size)
            break;
    }
    if (moved && pair_input_room(t) > 0)
        pair_wake_master(t, EPOLLOUT | EPOLLWRNORM);
    tty_put(t);
}

void pair_output_taken(struct tty *t)
{
    discipline_flush_echoes(&t->discipline);
    wake_writers(t);
}
