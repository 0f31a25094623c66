// SPDX-License-Identifier: Apache-2.0
#include "kernel/core/held.h"

static struct list all = {&all, &all};

void held_memory_add(struct held_memory *h)
{
    if (!h->link.next)
        list_append(&all, &h->link);
}

uint64_t held_memory_bytes(void)
{
    const struct held_memory *h;
    uint64_t sum = 0;
    list_for_each(h, &all, link) sum += h->bytes();
    return sum;
}
