// SPDX-License-Identifier: Apache-2.0
#include "gateway/names.h"

#include "gateway/kept.h"
#include "lib/base/list.h"

#include <ares.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/time.h>

#define ASK_TIMEOUT_MS 2000 /* of the first try; c-ares doubles it */
#define ASK_TRIES      3
/* For the family that matters less: "Resolution Delay" of RFC 8305, 3. */
#define OTHER_FAMILY_MS 50
#define EDNS_BYTES      1232 /* of an answer over UDP: what no network cuts into fragments */

struct lookup {
    struct list link;    /* of the hurried */
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

static ares_channel channel;
static struct list hurried = {&hurried, &hurried}; /* look-ups: the first to end first */
static struct list told = {&told, &told};          /* the latest last */
static size_t told_count;

static int set_servers(const struct policy_dns *dns)
{
    struct ares_addr_node nodes[8] = {{0}};
    size_t count = MIN(dns->resolver_count, ARRAY_SIZE(nodes));
    for (size_t i = 0; i < count; i++) {
        const struct in6_addr *a = &dns->resolvers[i];
        bool is_v4 = IN6_IS_ADDR_V4MAPPED(a);
        nodes[i].family = is_v4 ? AF_INET : AF_INET6;
        nodes[i].next = i + 1 < count ? &nodes[i + 1] : NULL;
        if (is_v4)
            memcpy(&nodes[i].addr.addr4, a->s6_addr + 12, 4);
        else
            memcpy(&nodes[i].addr.addr6, a, sizeof(*a));
    }
    return count ? ares_set_servers(channel, nodes) : ARES_SUCCESS;
}

int names_start(const char **ret_why)
{
    char lookups[] = "b"; /* name servers alone */
    struct ares_options options = {
        .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_EDNS,
        .ednspsz = EDNS_BYTES,
        .timeout = ASK_TIMEOUT_MS,
        .tries = ASK_TRIES,
        .lookups = lookups,
    };
    const int set =
        ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS | ARES_OPT_EDNSPSZ;
    int r = ares_library_init(ARES_LIB_INIT_ALL);
    if (r == ARES_SUCCESS)
        r = ares_init_options(&channel, &options, set);
    if (r == ARES_SUCCESS)
        r = set_servers(&gateway.document->dns);
    if (r == ARES_SUCCESS)
        return 0;
    *ret_why = ares_strerror(r);
    return -EIO;
}

void names_end(void)
{
    ares_destroy(channel);
    ares_library_cleanup();
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

static void take(struct lookup *l, unsigned family, const unsigned char *reply, int size)
{
    struct dns_addresses found;
    uint16_t type = family == NAMES_V6 ? DNS_TYPE_AAAA : DNS_TYPE_A;
    if (dns_addresses_parse(reply, (size_t)size, l->name, type, &found) < 0)
        return;
    add(l, &found);
    if (family == l->first && found.count > 0) {
        l->until_ns = gateway_now_ns() + OTHER_FAMILY_MS * NSEC_PER_MSEC;
        list_remove(&l->link);
        list_append(&hurried, &l->link);
    }
}

/* Whether c-ares has taken a message from the server for an answer to what was asked. */
static bool is_reply(int status, const unsigned char *reply, int size)
{
    return reply && size > 0 &&
           (status == ARES_SUCCESS || status == ARES_ENOTFOUND || status == ARES_ENODATA);
}

static void on_reply(struct lookup *l, unsigned family, int status, const unsigned char *reply,
                     int size)
{
    l->open &= ~family;
    if (l->done && is_reply(status, reply, size))
        take(l, family, reply, size);
    if (l->open == 0 && l->done)
        finish(l);
    if (l->open == 0 && !l->is_at_once)
        free(l);
}

static void on_v4(void *arg, int status, int timeouts, unsigned char *reply, int size)
{
    on_reply(arg, NAMES_V4, status, reply, size);
}

static void on_v6(void *arg, int status, int timeouts, unsigned char *reply, int size)
{
    on_reply(arg, NAMES_V6, status, reply, size);
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
        ares_query(channel, name, DNS_CLASS_IN, DNS_TYPE_A, on_v4, l);
    if (wanted & NAMES_V6)
        ares_query(channel, name, DNS_CLASS_IN, DNS_TYPE_AAAA, on_v6, l);
    l->is_at_once = false;
    if (l->open)
        return l->done ? l : NULL;
    free(l);
    return NULL;
}

/* c-ares has no way to forget a single query: its answer is thrown away. */
void names_cancel(struct lookup *l)
{
    if (!l)
        return;
    l->done = NULL;
    list_remove(&l->link);
}

/* ---- other records than addresses ---- */

struct asked {
    names_reply_fn done;
    void *context;
};

static void on_asked(void *arg, int status, int timeouts, unsigned char *reply, int size)
{
    struct asked *a = arg;
    bool is_there = is_reply(status, reply, size);
    a->done(a->context, is_there ? reply : NULL, is_there ? (size_t)size : 0);
    free(a);
}

void names_ask(const char *name, uint16_t type, names_reply_fn done, void *context)
{
    struct asked *a = malloc(sizeof(*a));
    if (!a) {
        done(context, NULL, 0);
        return;
    }
    *a = (struct asked){done, context};
    ares_query(channel, name, DNS_CLASS_IN, type, on_asked, a);
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

size_t names_fill_poll(struct pollfd p[NAMES_SOCKETS_MAX])
{
    ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
    /* Its own macros for the bits shift an int by 31. */
    unsigned bits = (unsigned)ares_getsock(channel, sockets, ARES_GETSOCK_MAXNUM);
    size_t count = 0;
    for (int i = 0; i < ARES_GETSOCK_MAXNUM; i++) {
        short events = (short)((bits >> i & 1 ? POLLIN : 0) |
                               (bits >> (i + ARES_GETSOCK_MAXNUM) & 1 ? POLLOUT : 0));
        if (events)
            p[count++] = (struct pollfd){.fd = sockets[i], .events = events};
    }
    return count;
}

static int ms_until(int64_t at_ns)
{
    return (int)(MAX(at_ns - gateway_now_ns(), (int64_t)0) / NSEC_PER_MSEC) + 1;
}

int names_wait_ms(void)
{
    struct timeval left;
    const struct lookup *l = list_first(&hurried, struct lookup, link);
    int hurry = l ? ms_until(l->until_ns) : INT_MAX;
    if (!ares_timeout(channel, NULL, &left))
        return l ? hurry : -1;
    return MIN(hurry, (int)(left.tv_sec * 1000 + left.tv_usec / 1000 + 1));
}

void names_step(const struct pollfd *p, size_t count)
{
    struct lookup *l;
    for (size_t i = 0; i < count; i++)
        if (p[i].revents)
            ares_process_fd(channel, p[i].revents & ~POLLOUT ? p[i].fd : ARES_SOCKET_BAD,
                            p[i].revents & POLLOUT ? p[i].fd : ARES_SOCKET_BAD);
    ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD); /* what is overdue */
    while ((l = list_first(&hurried, struct lookup, link)) && l->until_ns <= gateway_now_ns())
        finish(l);
}
