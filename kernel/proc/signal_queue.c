// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/signal_queue.h"

#include "kernel/core/limits.h"
#include "kernel/proc/process.h"
#include "kernel/proc/timers.h"

static size_t queued_total;

struct signal_actions *signal_actions_new(void)
{
    struct signal_actions *a = calloc(1, sizeof(*a));
    if (a)
        a->refs = 1;
    return a;
}

struct signal_actions *signal_actions_copy(const struct signal_actions *a)
{
    struct signal_actions *copy = malloc(sizeof(*copy));
    if (!copy)
        return NULL;
    *copy = *a;
    copy->refs = 1;
    return copy;
}

struct signal_actions *signal_actions_get(struct signal_actions *a)
{
    a->refs++;
    return a;
}

void signal_actions_put(struct signal_actions *a)
{
    if (a && --a->refs == 0)
        free(a);
}

int signal_first(sigmask_t set)
{
    sigmask_t synchronous = set & SIGMASK_SYNCHRONOUS;
    return __builtin_ctzll(synchronous ? synchronous : set) + 1;
}

void signal_queue_init(struct signal_queue *q)
{
    q->set = 0;
    q->count = 0;
    list_init(&q->queued);
}

void signal_queue_clear(struct signal_queue *q)
{
    struct signal_queued *e, *next;
    list_for_each_safe(e, next, &q->queued, link)
    {
        list_remove(&e->link);
        if (e->timer)
            continue;
        free(e);
        queued_total--;
    }
    signal_queue_init(q);
}

static struct signal_queued *find(const struct signal_queue *q, int sig)
{
    struct signal_queued *e;
    list_for_each(e, &q->queued, link)
    {
        if (e->info.si_signo == sig)
            return e;
    }
    return NULL;
}

int signal_queue_add(struct signal_queue *q, int sig, const siginfo_t *info, size_t limit,
                     bool must_queue)
{
    struct signal_queued *e = NULL;
    if (sig < SIGNAL_REALTIME_MIN && signal_in(q->set, sig))
        return 0;
    /* The few standard ones have no limit of their own. */
    if ((q->count < limit || sig < SIGNAL_REALTIME_MIN) && queued_total < LIMIT_SIGNALS)
        e = malloc(sizeof(*e));
    if (!e && must_queue)
        return -EAGAIN;
    q->set |= SIGMASK(sig);
    if (!e)
        return 0;
    e->timer = NULL;
    e->info = *info;
    e->info.si_signo = sig;
    list_append(&q->queued, &e->link);
    q->count++;
    queued_total++;
    return 0;
}

void signal_queue_add_timer(struct signal_queue *q, struct signal_queued *entry)
{
    q->set |= SIGMASK(entry->info.si_signo);
    list_append(&q->queued, &entry->link);
}

/* Unlinks e; NULL, or e itself when a timer owns it. */
static struct signal_queued *unlink_entry(struct signal_queue *q, struct signal_queued *e)
{
    list_remove(&e->link);
    if (e->timer)
        return e;
    free(e);
    q->count--;
    queued_total--;
    return NULL;
}

void signal_queue_remove(struct signal_queue *q, struct signal_queued *entry)
{
    int sig = entry->info.si_signo;
    list_remove(&entry->link);
    if (!find(q, sig))
        q->set &= ~SIGMASK(sig);
}

void signal_queue_take(struct signal_queue *q, int sig, siginfo_t *ret,
                       struct signal_queued **ret_timer)
{
    struct signal_queued *e = find(q, sig);
    *ret_timer = NULL;
    if (e) {
        *ret = e->info;
        *ret_timer = unlink_entry(q, e);
    } else {
        memset(ret, 0, sizeof(*ret));
        ret->si_signo = sig;
    }
    if (!find(q, sig))
        q->set &= ~SIGMASK(sig);
}

void signal_queue_drop(struct signal_queue *q, sigmask_t set)
{
    struct signal_queued *e, *next;
    if (!(q->set & set))
        return;
    q->set &= ~set;
    list_for_each_safe(e, next, &q->queued, link)
    {
        if (!signal_in(set, e->info.si_signo))
            continue;
        struct signal_queued *of_timer = unlink_entry(q, e);
        if (of_timer)
            timer_signal_taken(of_timer, NULL);
    }
}
