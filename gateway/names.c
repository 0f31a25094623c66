// SPDX-License-Identifier: Apache-2.0
#include "gateway/names.h"

#include "gateway/kept.h"
#include "lib/base/list.h"

#include <limits.h>
#include <stdio.h>

#define ASK_TRIES 3
/* For the family that matters less: "Resolution Delay" of RFC 8305, 3. */
#define OTHER_FAMILY_MS 50

struct lookup {
    struct list link; /* of the hurried */
    struct resolver_question v4, v6;
    lookup_done_fn done; /* NULL: called, or cancelled */
    void *context;
    bool is_at_once; /* names_look_up() has not returned */
    bool is_to_keep;
    unsigned open, first; /* families: not answered yet; that matter most */
    bool is_answered;
    int64_t until_ns;
    struct dns_addresses found;
    char name[POLICY_NAME_MAX_BYTES + 1];
};

struct told {
    struct list link;
    struct in6_addr address;
    char name[POLICY_NAME_MAX_BYTES + 1];
};

static struct resolver *resolver;
static struct list hurried = {&hurried, &hurried}; /* look-ups: the first to end first */
static struct list told = {&told, &told};          /* the latest last */
static size_t told_count;

int names_start(const char **ret_why)
{
    const struct policy_dns *dns = &gateway.document->dns;
    return resolver_new(&resolver, dns->resolvers, dns->resolver_count, ASK_TRIES, ret_why);
}

void names_end(void)
{
    resolver_free(TAKE_PTR(resolver));
}

/* ---- look-ups ---- */

static void finish(struct lookup *l)
{
    lookup_done_fn done = l->done;
    list_remove(&l->link);
    l->done = NULL;
    if (l->is_to_keep && l->is_answered && l->open == 0)
        kept_put(l->name, &l->found);
    if (done)
        done(l->context, l->is_answered ? &l->found : NULL);
}

/* Adds those of one family. A code counts only where there are no addresses. */
static void add(struct lookup *l, const struct dns_addresses *more)
{
    struct dns_addresses *to = &l->found;
    if (!l->is_answered || to->count == 0)
        to->rcode = !l->is_answered || more->rcode == DNS_NOERROR ? more->rcode : to->rcode;
    for (size_t i = 0; i < more->count && to->count < ARRAY_SIZE(to->list); i++)
        to->list[to->count++] = more->list[i];
    l->is_answered = true;
}

static void take(struct lookup *l, unsigned family, const uint8_t *reply, size_t size)
{
    struct dns_addresses found;
    uint16_t type = family == NAMES_V6 ? DNS_TYPE_AAAA : DNS_TYPE_A;
    if (dns_addresses_parse(reply, size, l->name, type, &found) < 0)
        return;
    add(l, &found);
    if (family == l->first && found.count > 0) {
        l->until_ns = gateway_now_ns() + OTHER_FAMILY_MS * NSEC_PER_MSEC;
        list_remove(&l->link);
        list_append(&hurried, &l->link);
    }
}

static void on_reply(struct lookup *l, unsigned family, const uint8_t *reply, size_t size)
{
    l->open &= ~family;
    if (l->done && reply)
        take(l, family, reply, size);
    if (l->open == 0 && l->done)
        finish(l);
    if (l->open == 0 && !l->is_at_once)
        free(l);
}

static void on_v4(struct resolver_question *q, const uint8_t *reply, size_t size)
{
    on_reply(container_of(q, struct lookup, v4), NAMES_V4, reply, size);
}

static void on_v6(struct resolver_question *q, const uint8_t *reply, size_t size)
{
    on_reply(container_of(q, struct lookup, v6), NAMES_V6, reply, size);
}

static const struct policy_hosts_entry *find_pinned(const char *name)
{
    const struct policy_dns *dns = &gateway.document->dns;
    for (size_t i = 0; i < dns->host_count; i++)
        if (!strcmp(dns->hosts[i].name, name))
            return &dns->hosts[i];
    return NULL;
}

bool names_is_pinned(const char *name)
{
    return find_pinned(name);
}

/* Names that the policy gives addresses itself. */
static bool find_in_policy(const char *name, unsigned wanted, struct dns_addresses *ret)
{
    const struct policy_hosts_entry *h = find_pinned(name);
    if (!h)
        return false;
    *ret = (struct dns_addresses){.rcode = DNS_NOERROR};
    for (size_t n = 0; n < h->address_count && ret->count < DNS_ADDRESSES_MAX; n++)
        if (wanted & (IN6_IS_ADDR_V4MAPPED(&h->addresses[n]) ? NAMES_V4 : NAMES_V6))
            ret->list[ret->count++] =
                (struct dns_address){.address = h->addresses[n], .ttl = UINT32_MAX};
    return true;
}

struct lookup *names_look_up(const char *name, unsigned wanted, unsigned first, lookup_done_fn done,
                             void *context)
{
    struct dns_addresses found;
    bool is_ours = find_in_policy(name, wanted, &found);
    struct lookup *l = is_ours ? NULL : calloc(1, sizeof(*l));
    if (!l) {
        done(context, is_ours ? &found : NULL);
        return NULL;
    }
    *l = (struct lookup){
        .v4 = {on_v4},
        .v6 = {on_v6},
        .done = done,
        .context = context,
        .is_at_once = true,
        .is_to_keep = wanted & NAMES_KEEP,
        .open = wanted & (NAMES_V4 | NAMES_V6),
        .first = first,
    };
    list_init(&l->link);
    snprintf(l->name, sizeof(l->name), "%s", name);
    if (wanted & NAMES_V4)
        resolver_ask(resolver, name, DNS_TYPE_A, &l->v4);
    if (wanted & NAMES_V6)
        resolver_ask(resolver, name, DNS_TYPE_AAAA, &l->v6);
    l->is_at_once = false;
    if (l->open)
        return l->done ? l : NULL;
    free(l);
    return NULL;
}

/* The resolver can't forget a single question: its answer is thrown away. */
void names_cancel(struct lookup *l)
{
    if (!l)
        return;
    l->done = NULL;
    list_remove(&l->link);
}

/* ---- other records than addresses ---- */

struct asked {
    struct resolver_question question;
    names_reply_fn done;
    void *context;
};

static void on_asked(struct resolver_question *q, const uint8_t *reply, size_t size)
{
    struct asked *a = container_of(q, struct asked, question);
    a->done(a->context, reply, size);
    free(a);
}

void names_ask(const char *name, uint16_t type, names_reply_fn done, void *context)
{
    struct asked *a = malloc(sizeof(*a));
    if (!a) {
        done(context, NULL, 0);
        return;
    }
    *a = (struct asked){{on_asked}, done, context};
    resolver_ask(resolver, name, type, &a->question);
}

/* ---- what the sandbox was told ---- */

static struct told *find_told(const char *name, const struct in6_addr *address)
{
    struct told *t;
    list_for_each(t, &told, link)
    {
        if (IN6_ARE_ADDR_EQUAL(&t->address, address) && !strcmp(t->name, name))
            return t;
    }
    return NULL;
}

void names_remember(const char *name, const struct in6_addr *address)
{
    struct told *t = find_told(name, address);
    if (!t && told_count >= NAMES_REMEMBERED_MAX)
        t = list_first(&told, struct told, link);
    if (!t) {
        t = malloc(sizeof(*t));
        if (!t)
            return; /* a later connect is judged as one without a name */
        list_init(&t->link);
        told_count++;
    }
    t->address = *address;
    snprintf(t->name, sizeof(t->name), "%s", name);
    list_remove(&t->link);
    list_append(&told, &t->link);
}

size_t names_of(const struct in6_addr *address, const char *ret[POLICY_RESOLVED_MAX])
{
    size_t count = 0;
    struct told *t;
    list_for_each(t, &told, link)
    {
        if (!IN6_ARE_ADDR_EQUAL(&t->address, address))
            continue;
        if (count == POLICY_RESOLVED_MAX)
            memmove(ret, ret + 1, --count * sizeof(*ret));
        ret[count++] = t->name;
    }
    return count;
}

/* ---- the loop ---- */

size_t names_fill_poll(struct pollfd p[RESOLVER_SOCKETS_MAX])
{
    return resolver_fill_poll(resolver, p);
}

static int ms_until(int64_t at_ns)
{
    return (int)(MAX(at_ns - gateway_now_ns(), (int64_t)0) / NSEC_PER_MSEC) + 1;
}

int names_wait_ms(void)
{
    const struct lookup *l = list_first(&hurried, struct lookup, link);
    int hurry = l ? ms_until(l->until_ns) : INT_MAX, wait = resolver_wait_ms(resolver);
    if (wait < 0)
        return l ? hurry : -1;
    return MIN(hurry, wait);
}

void names_step(const struct pollfd *p, size_t count)
{
    struct lookup *l;
    resolver_step(resolver, p, count);
    while ((l = list_first(&hurried, struct lookup, link)) && l->until_ns <= gateway_now_ns())
        finish(l);
}
