// SPDX-License-Identifier: Apache-2.0
#include "kernel/net/rights.h"

#include "kernel/core/kernel.h"
#include "kernel/core/timer.h"
#include "kernel/net/message.h"
#include "kernel/net/socket.h"
#include "lib/base/map.h"

#define COLLECT_DELAY_NS NSEC_PER_MSEC
#define COLLECT_SHARE    32 /* collections take at most this part of the time */

static struct list doomed = {&doomed, &doomed};
static bool dropping;

static struct list flying_sockets = {&flying_sockets, &flying_sockets};
static size_t files_in_flight;
static struct map files_by_user; /* uid -> number, as a pointer */

struct rights *rights_new(size_t capacity)
{
    struct rights *r = malloc(sizeof(*r) + capacity * sizeof(r->files[0]));
    if (!r)
        return NULL;
    *r = (struct rights){.capacity = capacity};
    list_init(&r->link);
    return r;
}

/*
 * A file that is dropped may be the last of a socket whose queue holds more files, and so on: they
 * are put on a list and dropped one after the other, never one within the other.
 */
void rights_free(struct rights *r)
{
    if (!r)
        return;
    if (r->in_flight)
        rights_land(r);
    list_append(&doomed, &r->link);
    if (dropping)
        return;
    dropping = true;
    while ((r = list_first(&doomed, struct rights, link))) {
        list_remove(&r->link);
        for (size_t i = 0; i < r->count; i++)
            file_put(r->files[i]);
        free(r);
    }
    dropping = false;
}

int rights_add(struct rights *r, struct file *f)
{
    if (r->count == r->capacity)
        return -EINVAL;
    r->files[r->count++] = file_get(f);
    return 0;
}

struct rights *rights_copy(const struct rights *r)
{
    struct rights *copy = rights_new(r->count);
    if (!copy)
        return NULL;
    for (size_t i = 0; i < r->count; i++)
        rights_add(copy, r->files[i]);
    return copy;
}

/* Only unix sockets can hold files, so only they can form cycles. */
static struct socket *unix_socket(const struct file *f)
{
    struct socket *s = socket_of(f);
    return s && s->family == AF_UNIX ? s : NULL;
}

static size_t user_count(uid_t user)
{
    return (size_t)(uintptr_t)map_get(&files_by_user, user);
}

static int user_set_count(uid_t user, size_t count)
{
    if (count > 0)
        return map_set(&files_by_user, user, (void *)(uintptr_t)count);
    map_remove(&files_by_user, user);
    return 0;
}

int rights_launch(struct rights *r, uid_t user, size_t soft_limit, bool privileged)
{
    size_t of_user = user_count(user);
    if (of_user > soft_limit && !privileged)
        return -ETOOMANYREFS;
    if (files_in_flight + r->count > LIMIT_FILES_IN_FLIGHT)
        return -ETOOMANYREFS;
    int error = user_set_count(user, of_user + r->count);
    if (error < 0)
        return error;
    files_in_flight += r->count;
    r->user = user;
    r->in_flight = true;
    for (size_t i = 0; i < r->count; i++) {
        struct socket *s = unix_socket(r->files[i]);
        if (s && s->in_flight++ == 0)
            list_append(&flying_sockets, &s->flight_link);
    }
    return 0;
}

void rights_land(struct rights *r)
{
    /* Lowering a count that is in the map needs no memory. */
    user_set_count(r->user, user_count(r->user) - r->count);
    files_in_flight -= r->count;
    r->in_flight = false;
    for (size_t i = 0; i < r->count; i++) {
        struct socket *s = unix_socket(r->files[i]);
        if (s && --s->in_flight == 0)
            list_remove(&s->flight_link);
    }
}

/* A collection looks at all that is in flight: what it took decides how soon the next one is. */
static int64_t collect_delay_ns = COLLECT_DELAY_NS, collected_ns;

static void collect(void);

static void on_collect(struct timer *t)
{
    int64_t began = clock_monotonic_ns();
    collect();
    collected_ns = clock_monotonic_ns();
    collect_delay_ns = MAX(COLLECT_SHARE * (collected_ns - began), (int64_t)COLLECT_DELAY_NS);
}

void rights_collect(void)
{
    if (collected_ns == 0 || clock_monotonic_ns() - collected_ns >= collect_delay_ns)
        on_collect(NULL);
}

void rights_collect_soon(void)
{
    static struct timer timer = {.expire = on_collect};
    /* Out of memory: the next closed descriptor tries again. */
    if (!list_is_empty(&flying_sockets) && !timer_is_armed(&timer))
        timer_arm(&timer, clock_monotonic_ns() + collect_delay_ns);
}

typedef void (*visit_rights)(struct message *m, struct list *context);

static void visit_queue(const struct message_queue *q, visit_rights visit, struct list *context)
{
    struct message *m;
    list_for_each(m, &q->messages, link) if (m->rights) visit(m, context);
}

/* All sets of files that s keeps alive: its own and those of connections nobody has accepted. */
static void visit_socket(struct socket *s, visit_rights visit, struct list *context)
{
    struct socket *child;
    visit_queue(&s->receive, visit, context);
    list_for_each(child, &s->accept_queue, accept_link)
        visit_queue(&child->receive, visit, context);
}

static void discount(struct message *m, struct list *context)
{
    for (size_t i = 0; i < m->rights->count; i++) {
        struct socket *s = unix_socket(m->rights->files[i]);
        if (s && s->suspect)
            s->outside_references--;
    }
}

/* What a reachable socket holds is reachable: it moves to the list of those to look into. */
static void acquit(struct message *m, struct list *reachable)
{
    for (size_t i = 0; i < m->rights->count; i++) {
        struct socket *s = unix_socket(m->rights->files[i]);
        if (!s || !s->suspect)
            continue;
        s->suspect = false;
        list_append(reachable, &s->collect_link);
    }
}

static void condemn(struct message *m, struct list *garbage)
{
    list_append(garbage, &m->rights->link);
    m->rights = NULL;
}

/*
 * Suspects are the sockets in flight that have no other reference than those from queues. Of these,
 * one that a queue of a non-suspect refers to is reachable, and all that it holds.
 */
static void collect(void)
{
    struct list reachable, garbage;
    struct socket *s;
    list_init(&reachable);
    list_init(&garbage);
    list_for_each(s, &flying_sockets, flight_link)
    {
        s->suspect = s->file && s->file->refs == s->in_flight;
        s->outside_references = s->in_flight;
    }
    list_for_each(s, &flying_sockets, flight_link) if (s->suspect) visit_socket(s, discount, NULL);
    list_for_each(s, &flying_sockets, flight_link)
    {
        if (!s->suspect || s->outside_references == 0)
            continue;
        s->suspect = false;
        list_append(&reachable, &s->collect_link);
    }
    while ((s = list_first(&reachable, struct socket, collect_link))) {
        list_remove(&s->collect_link);
        visit_socket(s, acquit, &reachable);
    }
    list_for_each(s, &flying_sockets, flight_link) if (s->suspect)
        visit_socket(s, condemn, &garbage);
    struct rights *r;
    while ((r = list_first(&garbage, struct rights, link))) {
        list_remove(&r->link);
        rights_free(r);
    }
}
