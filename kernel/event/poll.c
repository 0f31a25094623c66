// SPDX-License-Identifier: Apache-2.0
#include "kernel/event/poll.h"

#include "kernel/core/kernel.h"

static size_t held_total;

struct call_table {
    struct poll_table table;
    struct call *call;
    int error;
};

static void add_wait(struct poll_table *table, struct waitq *q)
{
    struct call_table *t = container_of(table, struct call_table, table);
    int r = call_wait_on(t->call, q);
    if (r < 0)
        t->error = r;
}

int poll_hold_file(struct poll_hold *h, struct call *c, struct file *f, size_t capacity)
{
    struct call_table t = {.table = {.add = add_wait}, .call = c};
    if (held_total >= LIMIT_POLL_WAITS)
        return -ENOMEM;
    if (!h->files) {
        h->files = calloc(capacity, sizeof(struct file *));
        if (!h->files)
            return -ENOMEM;
        h->capacity = capacity;
    }
    if (h->count >= h->capacity)
        return -ENOMEM;
    h->files[h->count++] = file_get(f);
    held_total++;
    file_poll(f, &t.table);
    return t.error;
}

void poll_hold_clear(struct poll_hold *h)
{
    while (h->count > 0) {
        file_put(h->files[--h->count]);
        held_total--;
    }
}

void poll_hold_done(struct poll_hold *h)
{
    poll_hold_clear(h);
    free(h->files);
    h->files = NULL;
    h->capacity = 0;
}
