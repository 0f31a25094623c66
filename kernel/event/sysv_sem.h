// SPDX-License-Identifier: Apache-2.0
/*
 * System V semaphores: semget(2), semop(2), semctl(2). What SEM_UNDO asks for is done when the
 * process has ended, whoever ended it: the set waits on process.exit_wait.
 */
#pragma once

#include "kernel/event/sysv_ipc.h"
#include "kernel/proc/process.h"

#include <sys/sem.h>

#define SEM_VALUE_MAX 32767 /* SEMVMX */

struct sem_set;

/* The set's id. -EINVAL: count is over the limit, 0 for a new one, or more than the set that is
 * there. */
int sem_get(key_t key, int count, int flags, const struct cred *cred);

struct sem_set *sem_find(int id); /* NULL: -EINVAL */
struct sem_set *sem_find_index(int index);
struct ipc_object *sem_object(struct sem_set *s);
size_t sem_count(const struct sem_set *s);
struct waitq *sem_wait_queue(struct sem_set *s);

/* A call that waits for a set: linked while the call is parked, unlinked by the set's end. */
struct sem_waiter {
    struct list link;
    struct call *call;
    unsigned short number; /* of the semaphore that it waits for */
    bool for_zero;
    int needed; /* the value from which on its only operation can be done; -1: it has several */
};
void sem_waiter_add(struct sem_set *s, struct sem_waiter *w);

/*
 * All operations, or none. 0; 1: it has to wait, *ret_waiter says for what; -EAGAIN (IPC_NOWAIT),
 * -ERANGE, -ENOSPC (no room for undo values). Every number is below sem_count().
 */
int sem_operate(struct sem_set *s, struct process *p, const struct sembuf *ops, size_t count,
                struct sem_waiter *ret_waiter);

/* semctl(2)'s. Values were checked; the undo values of what is set are forgotten. */
int sem_value(const struct sem_set *s, size_t number);
pid_t sem_pid(const struct sem_set *s, size_t number);
int sem_waiting(const struct sem_set *s, size_t number, bool for_zero);
void sem_set_value(struct sem_set *s, size_t number, int value, pid_t pid);
/* sem_count() values. */
void sem_set_values(struct sem_set *s, const unsigned short *values, pid_t pid);
void sem_changed(struct sem_set *s); /* ctime, and waiters look again */
void sem_stat(struct sem_set *s, struct semid_ds *ret);
/* Ends the set: waiting calls find it gone. */
void sem_remove(struct sem_set *s);
/* IPC_INFO, or SEM_INFO when usage is wanted. Returns the highest index. */
int sem_info(struct seminfo *ret, bool usage);
