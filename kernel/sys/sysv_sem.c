// SPDX-License-Identifier: Apache-2.0
/*
 * semget(2), semop(2), semtimedop(2), semctl(2).
 */
#include "kernel/event/sysv_sem.h"

#include "kernel/core/kernel.h"
#include "kernel/sys/handlers.h"
#include "kernel/sys/waiting.h"

long sys_semget(struct call *c)
{
    return sem_get(call_int(c, 0), call_int(c, 1), call_int(c, 2), c->thread->cred);
}

/* ---- operations ---- */

struct semop_state {
    struct sem_waiter waiter;
    size_t count;
    struct sembuf ops[];
};

static void semop_release(struct call *c)
{
    struct semop_state *s = c->state;
    list_remove(&s->waiter.link);
    free(s);
}

static long semop_run(struct call *c, bool first)
{
    struct semop_state *s = c->state;
    struct sem_set *set = sem_find(call_int(c, 0));
    int wanted = IPC_READ;
    list_remove(&s->waiter.link);
    if (!set)
        return first ? -EINVAL : -EIDRM;
    for (size_t i = 0; i < s->count; i++) {
        if (s->ops[i].sem_num >= sem_count(set))
            return -EFBIG;
        if (s->ops[i].sem_op != 0)
            wanted = IPC_WRITE;
    }
    int r = first ? ipc_permission(sem_object(set), c->thread->cred, wanted) : 0;
    if (r == 0)
        r = sem_operate(set, c->thread->process, s->ops, s->count, &s->waiter);
    if (r <= 0)
        return r;
    if (c->timed_out || c->deadline_ns <= clock_monotonic_ns())
        return -EAGAIN;
    r = call_wait_on(c, sem_wait_queue(set));
    if (r < 0)
        return r;
    sem_waiter_add(set, &s->waiter);
    return call_park(c, RESTART_NEVER);
}

/* wrong: what is wrong with the timeout, which is told behind what can't be read. */
static long semop_start(struct call *c, int64_t timeout, int wrong)
{
    size_t count = call_uint(c, 2);
    if (count > LIMIT_SEM_OPS)
        return -E2BIG;
    struct semop_state *s = calloc(1, sizeof(*s) + count * sizeof(s->ops[0]));
    if (!s)
        return -ENOMEM;
    list_init(&s->waiter.link);
    s->waiter.call = c;
    s->count = count;
    c->state = s;
    c->release = semop_release;
    int r = call_read(c, s->ops, call_addr(c, 1), count * sizeof(s->ops[0]));
    if (r == 0 && (count < 1 || call_int(c, 0) < 0))
        r = -EINVAL;
    if (r < 0 || wrong)
        return r < 0 ? r : wrong;
    call_set_timeout(c, timeout);
    return semop_run(c, true);
}

long sys_semop(struct call *c)
{
    return c->state ? semop_run(c, false) : semop_start(c, WAITING_FOREVER, 0);
}

long sys_semtimedop(struct call *c)
{
    int64_t timeout;
    if (c->state)
        return semop_run(c, false);
    int r = waiting_read_timespec(c, call_addr(c, 3), &timeout);
    return r == -EFAULT ? r : semop_start(c, timeout, r);
}

/* ---- control ---- */

static long get_all(struct call *c, struct sem_set *set)
{
    size_t count = sem_count(set);
    _cleanup_free_ unsigned short *values = calloc(count, sizeof(*values));
    if (!values)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        values[i] = (unsigned short)sem_value(set, i);
    return call_write(c, call_addr(c, 3), values, count * sizeof(*values));
}

static long set_all(struct call *c, struct sem_set *set)
{
    size_t count = sem_count(set);
    _cleanup_free_ unsigned short *values = calloc(count, sizeof(*values));
    if (!values)
        return -ENOMEM;
    int r = call_read(c, values, call_addr(c, 3), count * sizeof(*values));
    if (r < 0)
        return r;
    for (size_t i = 0; i < count; i++)
        if (values[i] > SEM_VALUE_MAX)
            return -ERANGE;
    sem_set_values(set, values, c->thread->process->pid);
    sem_changed(set);
    return 0;
}

/* Its value is looked at first, and its right last, other than those of its kin. */
static long set_one(struct call *c)
{
    int number = call_int(c, 1), value = call_int(c, 3);
    if (value < 0 || value > SEM_VALUE_MAX)
        return -ERANGE;
    struct sem_set *set = sem_find(call_int(c, 0));
    if (!set || number < 0 || (size_t)number >= sem_count(set))
        return -EINVAL;
    int r = ipc_permission(sem_object(set), c->thread->cred, IPC_WRITE);
    if (r < 0)
        return r;
    sem_set_value(set, (size_t)number, value, c->thread->process->pid);
    sem_changed(set);
    return 0;
}

/* The commands that look at one semaphore. */
static long control_one(struct call *c, struct sem_set *set, int command)
{
    int number = call_int(c, 1);
    if (number < 0 || (size_t)number >= sem_count(set))
        return -EINVAL;
    switch (command) {
    case GETVAL:
        return sem_value(set, (size_t)number);
    case GETPID:
        return sem_pid(set, (size_t)number);
    case GETNCNT:
        return sem_waiting(set, (size_t)number, false);
    default:
        return sem_waiting(set, (size_t)number, true);
    }
}

static long write_stat(struct call *c, struct sem_set *set, long result)
{
    struct semid_ds ds;
    sem_stat(set, &ds);
    int r = call_write(c, call_addr(c, 3), &ds, sizeof(ds));
    return r < 0 ? r : result;
}

static long info(struct call *c, int command)
{
    struct seminfo si;
    long last = sem_info(&si, command == SEM_INFO);
    int r = call_write(c, call_addr(c, 3), &si, sizeof(si));
    return r < 0 ? r : last;
}

static long stat_by_index(struct call *c, int command)
{
    struct sem_set *set = sem_find_index(call_int(c, 0));
    if (!set)
        return -EINVAL;
    int r =
        command == SEM_STAT_ANY ? 0 : ipc_permission(sem_object(set), c->thread->cred, IPC_READ);
    return r < 0 ? r : write_stat(c, set, sem_object(set)->id);
}

static long change(struct call *c, int command)
{
    struct semid_ds ds;
    if (command == IPC_SET) {
        int r = call_read(c, &ds, call_addr(c, 3), sizeof(ds));
        if (r < 0)
            return r;
    }
    struct sem_set *set = sem_find(call_int(c, 0));
    if (!set)
        return -EINVAL;
    int r = ipc_may_control(sem_object(set), c->thread->cred);
    if (r < 0)
        return r;
    if (command == IPC_RMID) {
        sem_remove(set);
        return 0;
    }
    r = ipc_set(sem_object(set), &ds.sem_perm);
    if (r == 0)
        sem_changed(set);
    return r;
}

static long control_set(struct call *c, int command)
{
    struct sem_set *set = sem_find(call_int(c, 0));
    int wanted = command == SETALL ? IPC_WRITE : IPC_READ;
    if (!set)
        return -EINVAL;
    int r = ipc_permission(sem_object(set), c->thread->cred, wanted);
    if (r < 0)
        return r;
    switch (command) {
    case IPC_STAT:
        return write_stat(c, set, 0);
    case GETALL:
        return get_all(c, set);
    case SETALL:
        return set_all(c, set);
    default:
        return control_one(c, set, command);
    }
}

long sys_semctl(struct call *c)
{
    int command = call_int(c, 2);
    if (call_int(c, 0) < 0)
        return -EINVAL;
    switch (command) {
    case IPC_INFO:
    case SEM_INFO:
        return info(c, command);
    case SEM_STAT:
    case SEM_STAT_ANY:
        return stat_by_index(c, command);
    case IPC_SET:
    case IPC_RMID:
        return change(c, command);
    case IPC_STAT:
    case GETALL:
    case SETALL:
    case GETVAL:
    case GETPID:
    case GETNCNT:
    case GETZCNT:
        return control_set(c, command);
    case SETVAL:
        return set_one(c);
    default:
        return -EINVAL;
    }
}
