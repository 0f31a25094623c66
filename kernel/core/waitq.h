// SPDX-License-Identifier: Apache-2.0
/*
 * Wait queues: who wants to know when an object changes.
 *
 * An object owns a struct waitq; whoever waits links a struct wait_entry with a function into it.
 * waitq_wake() calls those functions; they only note that something is to be done (put a call on
 * the run queue, mark an epoll item ready): they never run a handler and never free the queue.
 */
#pragma once

#include "lib/base/list.h"

#include <sys/epoll.h>

struct waitq {
    struct list entries;
};

struct wait_entry {
    struct list link;
    /* events: EPOLL* bits that may have become true, or 0 for "look yourself". */
    void (*wake)(struct wait_entry *entry, uint32_t events);
    bool exclusive; /* of these only the first that takes the wake-up is woken, as EPOLLEXCLUSIVE */
    bool declined;  /* set by the wake of an exclusive one that had no use for it: the next is asked
                     */
};

static inline void waitq_init(struct waitq *q)
{
    list_init(&q->entries);
}

static inline void waitq_add(struct waitq *q, struct wait_entry *entry)
{
    list_append(&q->entries, &entry->link);
}

/* May be called for an entry that is on no queue (after list_init of its link). */
static inline void waitq_remove(struct wait_entry *entry)
{
    list_remove(&entry->link);
}

/* Calls every entry (exclusive ones: the first only). Entries may remove themselves. */
void waitq_wake(struct waitq *q, uint32_t events);
/* Likewise each exclusive one: q is that of more than one object. */
void waitq_wake_all(struct waitq *q, uint32_t events);

/*
 * The owner of q is about to be freed: calls every entry and unlinks it. Whoever still has an entry
 * must find the object gone when it looks.
 */
void waitq_done(struct waitq *q);

/*
 * What a poll operation is handed to say which queues its answer depends on. NULL: only the state
 * is asked for.
 */
struct poll_table {
    void (*add)(struct poll_table *table, struct waitq *q);
};

static inline void poll_table_add(struct poll_table *table, struct waitq *q)
{
    if (table)
        table->add(table, q);
}
