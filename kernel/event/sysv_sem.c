// SPDX-License-Identifier: Apache-2.0
/* host calls: time */
#include "kernel/event/sysv_sem.h"

#include "kernel/core/call.h"
#include "kernel/core/kernel.h"

#define UNDO_MAX 32767 /* SEMAEM */

struct semaphore {
    int value;
    pid_t pid; /* of the last operation */
};

struct sem_set {
    struct ipc_object object;
    size_t count;
    time_t otime, ctime;
    struct waitq wait;
    struct list waiters; /* sem_waiter.link */
    struct list undos;   /* undo.set_link */
    struct semaphore semaphores[];
};

/* What a process's end adds to the semaphores of one set. */
struct undo {
    struct list set_link, process_link;
    struct sem_set *set;
    struct undo_list *owner;
    int values[];
};

/* Of one process: made at its first SEM_UNDO, told of its end by its exit_wait. */
struct undo_list {
    struct process *process;
    struct wait_entry end;
    struct list undos;
    struct map by_set; /* address of the set -> struct undo */
};

static struct ipc_table sets = {.max_count = LIMIT_SEM_SETS};
static struct map undo_lists; /* address of the process -> struct undo_list */
static size_t semaphore_total, undo_total;

static struct sem_set *set_of(struct ipc_object *o)
{
    return o ? container_of(o, struct sem_set, object) : NULL;
}

static struct sem_set *set_new(size_t count)
{
    struct sem_set *s = calloc(1, sizeof(*s) + count * sizeof(s->semaphores[0]));
    if (!s)
        return NULL;
    s->count = count;
    s->ctime = time(NULL);
    waitq_init(&s->wait);
    list_init(&s->waiters);
    list_init(&s->undos);
    return s;
}

int sem_get(key_t key, int count, int flags, const struct cred *cred)
{
    struct ipc_object *o;
    if (count < 0 || count > LIMIT_SEM_PER_SET)
        return -EINVAL;
    int r = ipc_get(&sets, key, flags, &o);
    if (r == 0) {
        r = (size_t)count > set_of(o)->count ? -EINVAL : ipc_permission(o, cred, flags);
        return r < 0 ? r : o->id;
    }
    if (r < 0)
        return r;
    if (count == 0)
        return -EINVAL;
    if (semaphore_total + (size_t)count > LIMIT_SEM_TOTAL)
        return -ENOSPC;
    struct sem_set *s = set_new((size_t)count);
    if (!s)
        return -ENOMEM;
    r = ipc_add(&sets, &s->object, -1, key, flags, cred);
    if (r < 0) {
        free(s);
        return r;
    }
    semaphore_total += s->count;
    return s->object.id;
}

struct sem_set *sem_find(int id)
{
    return set_of(ipc_find(&sets, id));
}

struct sem_set *sem_find_index(int index)
{
    return set_of(ipc_at(&sets, index));
}

struct ipc_object *sem_object(struct sem_set *s)
{
    return &s->object;
}

size_t sem_count(const struct sem_set *s)
{
    return s->count;
}

struct waitq *sem_wait_queue(struct sem_set *s)
{
    return &s->wait;
}

void sem_waiter_add(struct sem_set *s, struct sem_waiter *w)
{
    list_append(&s->waiters, &w->link);
}

/* ---- undo ---- */

static uint64_t process_key(const struct process *p)
{
    return (uint64_t)(uintptr_t)p;
}

static uint64_t set_key(const struct sem_set *s)
{
    return (uint64_t)(uintptr_t)s;
}

static struct undo *undo_find(struct sem_set *s, struct process *p)
{
    const struct undo_list *l = map_get(&undo_lists, process_key(p));
    return l ? map_get(&l->by_set, set_key(s)) : NULL;
}

static void on_process_end(struct wait_entry *entry, uint32_t events);

static struct undo_list *undo_list_of(struct process *p)
{
    struct undo_list *l = map_get(&undo_lists, process_key(p));
    if (l)
        return l;
    l = calloc(1, sizeof(*l));
    if (!l)
        return NULL;
    l->process = p;
    l->end.wake = on_process_end;
    list_init(&l->undos);
    if (map_set(&undo_lists, process_key(p), l) < 0) {
        free(l);
        return NULL;
    }
    waitq_add(&p->exit_wait, &l->end);
    return l;
}

static struct undo *undo_make(struct sem_set *s, struct process *p)
{
    struct undo *u = undo_find(s, p);
    if (u)
        return u;
    struct undo_list *l = undo_list_of(p);
    if (!l || undo_total + s->count > LIMIT_SEM_UNDOS)
        return NULL;
    u = calloc(1, sizeof(*u) + s->count * sizeof(u->values[0]));
    if (!u)
        return NULL;
    u->set = s;
    u->owner = l;
    if (map_set(&l->by_set, set_key(s), u) < 0) {
        free(u);
        return NULL;
    }
    undo_total += s->count;
    list_append(&l->undos, &u->process_link);
    list_append(&s->undos, &u->set_link);
    return u;
}

static void undo_free(struct undo *u)
{
    map_remove(&u->owner->by_set, set_key(u->set));
    list_remove(&u->set_link);
    list_remove(&u->process_link);
    undo_total -= u->set->count;
    free(u);
}

static void undo_apply(struct undo *u, pid_t pid)
{
    struct sem_set *s = u->set;
    for (size_t i = 0; i < s->count; i++) {
        struct semaphore *sem = &s->semaphores[i];
        if (u->values[i] == 0)
            continue;
        sem->value = MIN(MAX(sem->value + u->values[i], 0), SEM_VALUE_MAX);
        sem->pid = pid;
    }
    s->otime = time(NULL);
    undo_free(u);
    waitq_wake(&s->wait, 0);
}

static void on_process_end(struct wait_entry *entry, uint32_t events)
{
    struct undo_list *l = container_of(entry, struct undo_list, end);
    struct undo *u;
    waitq_remove(&l->end);
    map_remove(&undo_lists, process_key(l->process));
    while ((u = list_first(&l->undos, struct undo, process_link)))
        undo_apply(u, l->process->pid);
    map_done(&l->by_set);
    free(l);
}

/* ---- operations ---- */

/* One operation: 0, 1 it has to wait, -ERANGE. Nothing has changed unless it answers 0. */
static int apply(struct sem_set *s, struct undo *u, const struct sembuf *op)
{
    struct semaphore *sem = &s->semaphores[op->sem_num];
    int value = sem->value + op->sem_op;
    if ((op->sem_op == 0 && sem->value != 0) || value < 0)
        return 1;
    if (value > SEM_VALUE_MAX)
        return -ERANGE;
    if (op->sem_flg & SEM_UNDO) {
        int undo = u->values[op->sem_num] - op->sem_op;
        if (undo < -UNDO_MAX - 1 || undo > UNDO_MAX)
            return -ERANGE;
        u->values[op->sem_num] = undo;
    }
    sem->value = value;
    return 0;
}

static void take_back(struct sem_set *s, struct undo *u, const struct sembuf *op)
{
    s->semaphores[op->sem_num].value -= op->sem_op;
    if (op->sem_flg & SEM_UNDO)
        u->values[op->sem_num] += op->sem_op;
}

/*
 * Those who may go on with the values as they are. One with several operations always looks: what
 * it waits for, or its error, may be another now.
 */
static void wake_concerned(struct sem_set *s)
{
    const struct sem_waiter *w;
    list_for_each(w, &s->waiters, link)
    {
        int value = s->semaphores[w->number].value;
        if (w->needed < 0 || (w->for_zero ? value == 0 : value >= w->needed))
            call_wake(w->call);
    }
}

int sem_operate(struct sem_set *s, struct process *p, const struct sembuf *ops, size_t count,
                struct sem_waiter *ret_waiter)
{
    bool undoes = false, changes = false;
    struct undo *u = NULL;
    for (size_t i = 0; i < count; i++) {
        undoes |= ops[i].sem_flg & SEM_UNDO;
        changes |= ops[i].sem_op != 0;
    }
    if (undoes) {
        u = undo_make(s, p);
        if (!u)
            return -ENOSPC;
    }
    for (size_t i = 0; i < count; i++) {
        int r = apply(s, u, &ops[i]);
        if (r == 0)
            continue;
        for (size_t done = i; done > 0; done--)
            take_back(s, u, &ops[done - 1]);
        ret_waiter->number = ops[i].sem_num;
        ret_waiter->for_zero = ops[i].sem_op == 0;
        ret_waiter->needed = count == 1 ? -ops[i].sem_op : -1;
        return r == 1 && (ops[i].sem_flg & IPC_NOWAIT) ? -EAGAIN : r;
    }
    for (size_t i = 0; i < count; i++)
        s->semaphores[ops[i].sem_num].pid = p->pid;
    s->otime = time(NULL);
    if (changes)
        wake_concerned(s);
    return 0;
}

/* ---- control ---- */

int sem_value(const struct sem_set *s, size_t number)
{
    return s->semaphores[number].value;
}

pid_t sem_pid(const struct sem_set *s, size_t number)
{
    return s->semaphores[number].pid;
}

int sem_waiting(const struct sem_set *s, size_t number, bool for_zero)
{
    const struct sem_waiter *w;
    int count = 0;
    list_for_each(w, &s->waiters, link) count += w->number == number && w->for_zero == for_zero;
    return count;
}

void sem_set_value(struct sem_set *s, size_t number, int value, pid_t pid)
{
    struct undo *u;
    list_for_each(u, &s->undos, set_link) u->values[number] = 0;
    s->semaphores[number] = (struct semaphore){.value = value, .pid = pid};
}

void sem_set_values(struct sem_set *s, const unsigned short *values, pid_t pid)
{
    struct undo *u;
    /* One after the other: by semaphore, a million values would be as many misses of the cache. */
    list_for_each(u, &s->undos, set_link) memset(u->values, 0, s->count * sizeof(u->values[0]));
    for (size_t i = 0; i < s->count; i++)
        s->semaphores[i] = (struct semaphore){.value = values[i], .pid = pid};
}

void sem_changed(struct sem_set *s)
{
    s->ctime = time(NULL);
    waitq_wake(&s->wait, 0);
}

void sem_stat(struct sem_set *s, struct semid_ds *ret)
{
    memset(ret, 0, sizeof(*ret));
    ipc_stat(&s->object, &ret->sem_perm);
    ret->sem_otime = s->otime;
    ret->sem_ctime = s->ctime;
    ret->sem_nsems = s->count;
}

void sem_remove(struct sem_set *s)
{
    struct undo *u;
    struct sem_waiter *w;
    ipc_remove(&sets, &s->object);
    semaphore_total -= s->count;
    while ((u = list_first(&s->undos, struct undo, set_link)))
        undo_free(u);
    while ((w = list_first(&s->waiters, struct sem_waiter, link)))
        list_remove(&w->link);
    waitq_done(&s->wait);
    free(s);
}

int sem_info(struct seminfo *ret, bool usage)
{
    *ret = (struct seminfo){
        .semmap = LIMIT_SEM_TOTAL,
        .semmni = LIMIT_SEM_SETS,
        .semmns = LIMIT_SEM_TOTAL,
        .semmnu = LIMIT_SEM_UNDOS,
        .semmsl = LIMIT_SEM_PER_SET,
        .semopm = LIMIT_SEM_OPS,
        .semume = LIMIT_SEM_OPS,
        .semusz = usage ? (int)sets.count : 20,
        .semvmx = SEM_VALUE_MAX,
        .semaem = usage ? (int)semaphore_total : UNDO_MAX,
    };
    return ipc_last_index(&sets);
}
