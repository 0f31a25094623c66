// SPDX-License-Identifier: Apache-2.0
#include "kernel/core/waitq.h"

/*
 * Entries may remove themselves (or others) while they are called, so no place in the list is kept:
 * the queue is turned once, first to last. If some left meanwhile, others are called twice, which
 * does no harm: a wake-up only says "look again".
 */
static void wake(struct waitq *q, uint32_t events, bool all)
{
    size_t count = 0;
    bool exclusive_done = false;
    for (const struct list *l = q->entries.next; l != &q->entries; l = l->next)
        count++;
    for (; count > 0 && !list_is_empty(&q->entries); count--) {
        struct wait_entry *entry = list_first(&q->entries, struct wait_entry, link);
        list_remove(&entry->link);
        list_append(&q->entries, &entry->link);
        if (entry->exclusive && exclusive_done && !all)
            continue;
        bool exclusive = entry->exclusive;
        entry->declined = false;
        entry->wake(entry, events);
        /* One that is not exclusive may have freed itself. */
        if (exclusive && !entry->declined)
            exclusive_done = true;
    }
}

void waitq_wake(struct waitq *q, uint32_t events)
{
    wake(q, events, false);
}

void waitq_wake_all(struct waitq *q, uint32_t events)
{
    wake(q, events, true);
}

void waitq_done(struct waitq *q)
{
    while (!list_is_empty(&q->entries)) {
        struct wait_entry *entry = list_first(&q->entries, struct wait_entry, link);
        list_remove(&entry->link);
        entry->wake(entry, EPOLLHUP);
    }
}
