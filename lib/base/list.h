// SPDX-License-Identifier: Apache-2.0
/*
 * Intrusive doubly linked list. A node that is on no list points at itself, so that
 * list_remove() may be called twice and list_is_linked() can be asked of a node.
 */
#pragma once

#include "lib/base/base.h"

struct list {
    struct list *next, *prev;
};

#define LIST_INIT(name)  \
    (struct list)        \
    {                    \
        &(name), &(name) \
    }

static inline void list_init(struct list *l)
{
    l->next = l->prev = l;
}

static inline bool list_is_empty(const struct list *l)
{
    return l->next == l;
}

static inline bool list_is_linked(const struct list *node)
{
    return node->next != node;
}

static inline void list_insert_between(struct list *node, struct list *prev, struct list *next)
{
    node->next = next;
    node->prev = prev;
    prev->next = node;
    next->prev = node;
}

static inline void list_append(struct list *head, struct list *node)
{
    list_insert_between(node, head->prev, head);
}

static inline void list_prepend(struct list *head, struct list *node)
{
    list_insert_between(node, head, head->next);
}

static inline void list_remove(struct list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

/* Moves all of from to the end of to; from is empty afterwards. */
static inline void list_splice(struct list *to, struct list *from)
{
    if (list_is_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    list_init(from);
}

#define list_entry(node, type, member) container_of(node, type, member)

#define list_first(head, type, member) \
    (list_is_empty(head) ? NULL : list_entry((head)->next, type, member))

#define list_for_each(var, head, member)                                                   \
    for (var = list_entry((head)->next, __typeof__(*var), member); &var->member != (head); \
         var = list_entry(var->member.next, __typeof__(*var), member))

/* The current entry may be removed or freed in the body, no other one. */
#define list_for_each_safe(var, tmp, head, member)                    \
    for (var = list_entry((head)->next, __typeof__(*var), member),    \
        tmp = list_entry(var->member.next, __typeof__(*var), member); \
         &var->member != (head);                                      \
         var = tmp, tmp = list_entry(tmp->member.next, __typeof__(*tmp), member))
