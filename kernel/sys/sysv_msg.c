// SPDX-License-Identifier: Apache-2.0
/*
 * msgget(2), msgsnd(2), msgrcv(2), msgctl(2).
 */
#include "kernel/event/sysv_msg.h"

#include "kernel/core/kernel.h"
#include "kernel/proc/process.h"
#include "kernel/sys/handlers.h"

#include <linux/capability.h>

long sys_msgget(struct call *c)
{
    return msg_get(call_int(c, 0), call_int(c, 1), c->thread->cred);
}

/* ---- sending: c->state is the message, copied in by the first run ---- */

static void release_message(struct call *c)
{
    msg_item_free(c->state);
}

static long send_run(struct call *c, bool first)
{
    struct msg_queue *q = msg_find(call_int(c, 0));
    if (!q)
        return first ? -EINVAL : -EIDRM;
    int r = ipc_permission(msg_object(q), c->thread->cred, IPC_WRITE);
    if (r < 0)
        return r;
    if (msg_put(q, c->state, c->thread->process->pid)) {
        c->state = NULL; /* the queue's */
        return 0;
    }
    if (call_int(c, 3) & IPC_NOWAIT)
        return -EAGAIN;
    r = call_wait_on(c, msg_senders(q));
    return r < 0 ? r : call_park(c, RESTART_NOHAND);
}

long sys_msgsnd(struct call *c)
{
    size_t size = c->arg[2];
    struct gaddr at = call_addr(c, 1);
    int64_t type;
    if (c->state)
        return send_run(c, false);
    int r = call_read(c, &type, at, sizeof(type));
    if (r < 0)
        return r;
    if (size > LIMIT_MSG_BYTES || call_int(c, 0) < 0 || type < 1)
        return -EINVAL;
    struct msg_item *m = msg_item_new(type, size);
    if (!m)
        return -ENOMEM;
    c->state = m;
    c->release = release_message;
    r = size > 0 ? call_read(c, m->text, gaddr_plus(at, sizeof(type)), size) : 0;
    return r < 0 ? r : send_run(c, true);
}

/* ---- receiving ---- */

static long deliver(struct call *c, const struct msg_item *m, size_t room)
{
    struct gaddr at = call_addr(c, 1);
    int64_t type = m->type;
    size_t size = MIN(m->size, room);
    int r = call_write(c, at, &type, sizeof(type));
    if (r == 0 && size > 0)
        r = call_write(c, gaddr_plus(at, sizeof(type)), m->text, size);
    return r < 0 ? r : (long)size;
}

/* -EINVAL: flags that don't go together. */
static int check_receive(const struct call *c)
{
    int flags = call_int(c, 4);
    if (call_int(c, 0) < 0 || (ssize_t)c->arg[2] < 0)
        return -EINVAL;
    if ((flags & MSG_COPY) && ((flags & MSG_EXCEPT) || !(flags & IPC_NOWAIT)))
        return -EINVAL;
    return 0;
}

static long receive(struct call *c, struct msg_queue *q, struct msg_item *m)
{
    size_t room = c->arg[2];
    int flags = call_int(c, 4);
    if (m->size > room && !(flags & MSG_NOERROR))
        return -E2BIG;
    if (flags & MSG_COPY) /* copy_msg() of Linux: a copy is whole */
        return m->size > room ? -EINVAL : deliver(c, m, room);
    /* As on Linux, a bad address costs the message. */
    msg_take(q, m, c->thread->process->pid);
    long r = deliver(c, m, room);
    msg_item_free(m);
    return r;
}

long sys_msgrcv(struct call *c)
{
    int flags = call_int(c, 4);
    int r = check_receive(c);
    if (r < 0)
        return r;
    struct msg_queue *q = msg_find(call_int(c, 0));
    if (!q)
        return c->state_word ? -EIDRM : -EINVAL;
    r = ipc_permission(msg_object(q), c->thread->cred, IPC_READ);
    if (r < 0)
        return r;
    /* A run that follows looks at what has come since: nothing that was there suits it. */
    uint64_t first = c->state_word ? c->state_word - 1 : 0;
    struct msg_item *m = msg_choose(q, (long)c->arg[3], flags, first);
    if (m)
        return receive(c, q, m);
    if (flags & IPC_NOWAIT)
        return -ENOMSG;
    c->state_word = msg_next_number(q) + 1; /* not 0: the queue was there */
    r = call_wait_on(c, msg_receivers(q));
    return r < 0 ? r : call_park(c, RESTART_NOHAND);
}

/* ---- control ---- */

static long write_stat(struct call *c, struct msg_queue *q, long result)
{
    struct msqid_ds ds;
    msg_stat(q, &ds);
    int r = call_write(c, call_addr(c, 2), &ds, sizeof(ds));
    return r < 0 ? r : result;
}

static long stat_queue(struct call *c, int command)
{
    int id = call_int(c, 0);
    bool by_index = command != IPC_STAT;
    struct msg_queue *q = by_index ? msg_find_index(id) : msg_find(id);
    if (!q)
        return -EINVAL;
    int r = command == MSG_STAT_ANY ? 0 : ipc_permission(msg_object(q), c->thread->cred, IPC_READ);
    return r < 0 ? r : write_stat(c, q, by_index ? msg_object(q)->id : 0);
}

static long info(struct call *c, int command)
{
    struct msginfo mi;
    long last = msg_info(&mi, command == MSG_INFO);
    int r = call_write(c, call_addr(c, 2), &mi, sizeof(mi));
    return r < 0 ? r : last;
}

static long change(struct call *c, int command)
{
    struct msqid_ds ds;
    if (command == IPC_SET) {
        int r = call_read(c, &ds, call_addr(c, 2), sizeof(ds));
        if (r < 0)
            return r;
    }
    struct msg_queue *q = msg_find(call_int(c, 0));
    if (!q)
        return -EINVAL;
    int r = ipc_may_control(msg_object(q), c->thread->cred);
    if (r < 0)
        return r;
    if (command == IPC_SET)
        return msg_set(q, &ds, cred_has_cap(c->thread->cred, CAP_SYS_RESOURCE));
    msg_remove(q);
    return 0;
}

long sys_msgctl(struct call *c)
{
    int command = call_int(c, 1);
    if (call_int(c, 0) < 0 || command < 0)
        return -EINVAL;
    switch (command) {
    case IPC_INFO:
    case MSG_INFO:
        return info(c, command);
    case IPC_STAT:
    case MSG_STAT:
    case MSG_STAT_ANY:
        return stat_queue(c, command);
    case IPC_SET:
    case IPC_RMID:
        return change(c, command);
    default:
        return -EINVAL;
    }
}
