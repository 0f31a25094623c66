// SPDX-License-Identifier: Apache-2.0
#include "lib/tls/tickets.h"

#include "lib/base/list.h"
#include "lib/tls/internal.h"

struct ticket {
    struct list link;
    SSL_SESSION *session;
    int64_t until_s;
    uint16_t port;
    char name[];
};

struct tls_tickets {
    struct list all; /* the latest first */
    size_t count;
    uint64_t generation;
};

struct tls_tickets *tls_tickets_new(void)
{
    struct tls_tickets *t = calloc(1, sizeof(*t));
    if (t)
        list_init(&t->all);
    return t;
}

static void drop(struct tls_tickets *t, struct ticket *one)
{
    list_remove(&one->link);
    t->count--;
    SSL_SESSION_free(one->session);
    free(one);
}

void tls_tickets_forget_all(struct tls_tickets *t)
{
    t->generation++;
    while (!list_is_empty(&t->all))
        drop(t, list_first(&t->all, struct ticket, link));
}

void tls_tickets_free(struct tls_tickets *t)
{
    if (!t)
        return;
    tls_tickets_forget_all(t);
    free(t);
}

uint64_t tls_tickets_generation(const struct tls_tickets *t)
{
    return t->generation;
}

/* The latest for that place behind `behind`; NULL: there is none. */
static struct ticket *find(struct tls_tickets *t, struct list *behind, const char *name,
                           uint16_t port)
{
    for (struct list *l = behind->next; l != &t->all; l = l->next) {
        struct ticket *one = list_entry(l, struct ticket, link);
        if (one->port == port && !strcmp(one->name, name))
            return one;
    }
    return NULL;
}

void tls_tickets_forget(struct tls_tickets *t, const char *name, uint16_t port)
{
    struct ticket *one;
    while ((one = find(t, &t->all, name, port)))
        drop(t, one);
}

/* Room for one more, there and at all. */
static void make_room(struct tls_tickets *t, const char *name, uint16_t port)
{
    size_t count = 0;
    struct ticket *oldest = NULL;
    for (struct ticket *one = find(t, &t->all, name, port); one;
         one = find(t, &one->link, name, port)) {
        oldest = one;
        count++;
    }
    if (count >= TLS_TICKETS_HERE_MAX)
        drop(t, oldest);
    else if (t->count >= TLS_TICKETS_MAX)
        drop(t, list_entry(t->all.prev, struct ticket, link));
}

bool tls_tickets_put(struct tls_tickets *t, const char *name, uint16_t port, SSL_SESSION *session,
                     int64_t until_s)
{
    size_t size = strlen(name) + 1;
    struct ticket *one = malloc(sizeof(*one) + size);
    if (!one)
        return false;
    make_room(t, name, port);
    *one = (struct ticket){.session = session, .until_s = until_s, .port = port};
    memcpy(one->name, name, size);
    list_prepend(&t->all, &one->link);
    t->count++;
    return true;
}

/* A clock that went back is no reason to believe for longer. */
static bool is_fresh(const struct ticket *one, int64_t now_s)
{
    return now_s < one->until_s && one->until_s - now_s <= TLS_TICKET_MAX_S;
}

SSL_SESSION *tls_tickets_take(struct tls_tickets *t, const char *name, uint16_t port, int64_t now_s,
                              int64_t *ret_until_s)
{
    struct ticket *one;
    while ((one = find(t, &t->all, name, port))) {
        SSL_SESSION *session = one->session;
        bool is_usable = is_fresh(one, now_s) && SSL_SESSION_is_resumable(session);
        if (is_usable) {
            *ret_until_s = one->until_s;
            SSL_SESSION_up_ref(session);
        }
        if (!is_usable || SSL_SESSION_get_protocol_version(session) >= TLS1_3_VERSION)
            drop(t, one);
        if (is_usable)
            return session;
    }
    return NULL;
}
