// SPDX-License-Identifier: Apache-2.0
/*
 * shmget(2), shmat(2), shmdt(2), shmctl(2).
 */
#include "kernel/event/sysv_shm.h"

#include "kernel/proc/process.h"
#include "kernel/sys/handlers.h"

#include <linux/capability.h>

long sys_shmget(struct call *c)
{
    return shm_get(call_int(c, 0), c->arg[1], call_int(c, 2), c->thread->cred,
                   c->thread->process->pid);
}

/* The host attaches: its segments are as large as ours say, and all of the sandbox's. */
long sys_shmat(struct call *c)
{
    int flags = call_int(c, 2);
    struct shm_segment *s = shm_find(call_int(c, 0));
    if (!s)
        return -EINVAL;
    if (flags & SHM_EXEC)
        return -EACCES;
    int wanted = flags & SHM_RDONLY ? IPC_READ : IPC_READ | IPC_WRITE;
    int r = ipc_permission(shm_object(s), c->thread->cred, wanted);
    return r < 0 ? r : CALL_HOST;
}

/* Names only an address in the task's own memory. */
long sys_shmdt(struct call *c)
{
    return CALL_HOST;
}

static long write_stat(struct call *c, struct shm_segment *s, long result)
{
    struct shmid_ds ds;
    shm_stat(s, &ds);
    const struct thread *last = thread_find_host(ds.shm_lpid);
    ds.shm_lpid = last ? last->process->pid : 0;
    int r = call_write(c, call_addr(c, 2), &ds, sizeof(ds));
    return r < 0 ? r : result;
}

static long stat_segment(struct call *c, int command)
{
    int id = call_int(c, 0);
    bool by_index = command != IPC_STAT;
    struct shm_segment *s = by_index ? shm_find_index(id) : shm_find(id);
    if (!s)
        return -EINVAL;
    int r = command == SHM_STAT_ANY ? 0 : ipc_permission(shm_object(s), c->thread->cred, IPC_READ);
    return r < 0 ? r : write_stat(c, s, by_index ? shm_object(s)->id : 0);
}

static long limits(struct call *c)
{
    struct shminfo si;
    long last = shm_limits(&si);
    int r = call_write(c, call_addr(c, 2), &si, sizeof(si));
    return r < 0 ? r : last;
}

static long usage(struct call *c)
{
    struct shm_info si;
    long last = shm_usage(&si);
    int r = call_write(c, call_addr(c, 2), &si, sizeof(si));
    return r < 0 ? r : last;
}

static long change(struct call *c, int command)
{
    struct shmid_ds ds;
    if (command == IPC_SET) {
        int r = call_read(c, &ds, call_addr(c, 2), sizeof(ds));
        if (r < 0)
            return r;
    }
    struct shm_segment *s = shm_find(call_int(c, 0));
    if (!s)
        return -EINVAL;
    bool locks = command == SHM_LOCK || command == SHM_UNLOCK;
    int r = locks && cred_has_cap(c->thread->cred, CAP_IPC_LOCK)
                ? 0
                : ipc_may_control(shm_object(s), c->thread->cred);
    if (r < 0)
        return r;
    if (command == IPC_SET)
        return shm_set(s, &ds);
    if (locks)
        shm_set_locked(s, command == SHM_LOCK);
    else
        shm_remove(s);
    return 0;
}

long sys_shmctl(struct call *c)
{
    int command = call_int(c, 1);
    if (call_int(c, 0) < 0 || command < 0)
        return -EINVAL;
    switch (command) {
    case IPC_INFO:
        return limits(c);
    case SHM_INFO:
        return usage(c);
    case IPC_STAT:
    case SHM_STAT:
    case SHM_STAT_ANY:
        return stat_segment(c, command);
    case IPC_SET:
    case IPC_RMID:
    case SHM_LOCK:
    case SHM_UNLOCK:
        return change(c, command);
    default:
        return -EINVAL;
    }
}
