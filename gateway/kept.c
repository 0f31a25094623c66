// SPDX-License-Identifier: Apache-2.0
#include "gateway/kept.h"

#include "lib/base/list.h"

#include <stdio.h>

struct kept {
    struct list link; /* the latest first */
    int64_t until_ns;
    size_t count;
    struct dns_address list[DNS_FOUND_MAX];
    char name[POLICY_NAME_MAX_BYTES + 1];
};

static struct list all = {&all, &all};
static size_t all_count;

static void drop(struct kept *k)
{
    list_remove(&k->link);
    all_count--;
    free(k);
}

static struct kept *find(const char *name)
{
    struct kept *k;
    list_for_each(k, &all, link)
    {
        if (!strcmp(k->name, name))
            return k;
    }
    return NULL;
}

void kept_forget(const char *name)
{
    struct kept *k = find(name);
    if (k)
        drop(k);
}

void kept_forget_all(void)
{
    while (!list_is_empty(&all))
        drop(list_first(&all, struct kept, link));
}

void kept_put(const char *name, const struct dns_addresses *found)
{
    uint32_t seconds = KEPT_MAX_S;
    for (size_t i = 0; i < found->count; i++)
        seconds = MIN(seconds, found->list[i].ttl);
    kept_forget(name);
    if (found->rcode != DNS_NOERROR || found->count == 0 || seconds == 0)
        return;
    struct kept *k = calloc(1, sizeof(*k));
    if (!k)
        return;
    if (all_count == KEPT_NAMES_MAX)
        drop(list_entry(all.prev, struct kept, link));
    k->until_ns = gateway_now_ns() + seconds * NSEC_PER_SEC;
    k->count = found->count;
    memcpy(k->list, found->list, found->count * sizeof(*k->list));
    snprintf(k->name, sizeof(k->name), "%s", name);
    list_prepend(&all, &k->link);
    all_count++;
}

bool kept_find(const char *name, struct dns_addresses *ret)
{
    struct kept *k = find(name);
    if (k && gateway_now_ns() >= k->until_ns) {
        drop(k);
        k = NULL;
    }
    if (!k)
        return false;
    *ret = (struct dns_addresses){.rcode = DNS_NOERROR, .count = k->count};
    memcpy(ret->list, k->list, k->count * sizeof(*k->list));
    return true;
}
