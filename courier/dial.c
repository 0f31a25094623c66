// SPDX-License-Identifier: Apache-2.0
#include "courier/courier.h"

#include "lib/caller/caller.h"
#include "lib/caller/connect.h"
#include "lib/dns/dns.h"
#include "lib/policy/floor.h"
#include "lib/resolver/resolver.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#define ASK_TRIES       2
#define SMTP_PORT       25
#define OTHER_FAMILY_MS 250 /* for the answer of the other family */

static struct resolver *resolver;

int dial_start(const struct courier *c)
{
    const char *why;
    int r = resolver_new(&resolver, NULL, 0, ASK_TRIES, &why);
    return r < 0 ? courier_fail(c, r, "names: %s", why) : 0;
}

static int left_ms(int64_t until_ns)
{
    int64_t left_ns = until_ns - caller_now_ns();
    return left_ns > 0 ? (int)(left_ns / NSEC_PER_MSEC) + 1 : 0;
}

/* ---- names ---- */

struct question {
    struct resolver_question question;
    const char *name;
    uint16_t type;
    bool is_over;
    struct dns_addresses found;
};

static void on_reply(struct resolver_question *question, const uint8_t *reply, size_t size)
{
    struct question *q = container_of(question, struct question, question);
    q->is_over = true;
    if (!reply || dns_addresses_parse(reply, size, q->name, q->type, &q->found) < 0)
        q->found = (struct dns_addresses){0};
}

/* Of both families at once. Where one has answered the other gets a moment more (RFC 8305, 3). */
static void ask_both(const struct courier *c, struct question *v4, struct question *v6)
{
    int64_t until_ns = c->deadline_ns;
    resolver_ask(resolver, v4->name, v4->type, &v4->question);
    resolver_ask(resolver, v6->name, v6->type, &v6->question);
    while (!v4->is_over || !v6->is_over) {
        struct pollfd p[RESOLVER_SOCKETS_MAX];
        if (v4->found.count > 0 || v6->found.count > 0)
            until_ns = MIN(until_ns, caller_now_ns() + OTHER_FAMILY_MS * NSEC_PER_MSEC);
        int left = left_ms(until_ns), wait = resolver_wait_ms(resolver);
        if (left == 0)
            break;
        size_t count = resolver_fill_poll(resolver, p);
        if (poll(p, count, wait < 0 ? left : MIN(left, wait)) < 0)
            count = 0;
        resolver_step(resolver, p, count);
    }
    resolver_cancel(resolver);
}

/* ---- addresses ---- */

static bool is_allowed(const struct courier *c, const struct in6_addr *address)
{
    enum policy_group class = policy_floor_class(&c->operator, address);
    return class == POLICY_GROUP_PUBLIC || policy_floor_is_exempt(&c->operator, address, class);
}

static struct caller_address address_of(const struct courier *c, const struct in6_addr *address)
{
    struct caller_address a = {.size = sizeof(a.v6)};
    if (IN6_IS_ADDR_V4MAPPED(address)) {
        a.size = sizeof(a.v4);
        a.v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(c->url.port)};
        memcpy(&a.v4.sin_addr, address->s6_addr + 12, sizeof(a.v4.sin_addr));
    } else {
        a.v6 = (struct sockaddr_in6){
            .sin6_family = AF_INET6, .sin6_port = htons(c->url.port), .sin6_addr = *address};
    }
    return a;
}

static int try_all(const struct courier *c, const struct dns_addresses *list)
{
    struct caller_address allowed[DNS_FOUND_MAX];
    size_t tried = 0;
    for (size_t i = 0; i < list->count; i++)
        if (is_allowed(c, &list->list[i].address))
            allowed[tried++] = address_of(c, &list->list[i].address);
    int r = caller_connect(allowed, tried, c->deadline_ns);
    if (r >= 0)
        return r;
    if (list->count == 0 && courier_left_ms(c) == 0)
        return courier_fail(c, -ETIMEDOUT, "%s: its name took %d s", c->url.host, COURIER_S);
    if (list->count == 0)
        return courier_fail(c, -ENOENT, "%s: no such name, or nobody answers for it", c->url.host);
    if (tried == 0)
        return courier_fail(c, -EACCES,
                            "%s: its address is not public; the operator may allow it with "
                            "--webhook-network",
                            c->url.host);
    return courier_fail(c, r, "%s: %s", c->url.host, strerror(-r));
}

/* The address that the host is, as a list of one. */
static bool read_literal(const char *host, struct dns_addresses *ret)
{
    char text[HTTP_HOST_MAX_BYTES + 1];
    struct in_addr v4;
    size_t size = strlen(host);
    snprintf(text, sizeof(text), "%s", host);
    *ret = (struct dns_addresses){.count = 1};
    if (inet_pton(AF_INET, text, &v4) == 1) {
        ret->list[0].address = policy_address_from_ipv4(v4);
        return true;
    }
    if (text[0] != '[' || text[size - 1] != ']')
        return false;
    text[size - 1] = '\0';
    return inet_pton(AF_INET6, text + 1, &ret->list[0].address) == 1;
}

/* One of each in turns, so that a family without a way out costs a moment (RFC 8305, 4). */
static void interleave(const struct dns_addresses *a, const struct dns_addresses *b,
                       struct dns_addresses *ret)
{
    *ret = (struct dns_addresses){0};
    for (size_t i = 0; i < MAX(a->count, b->count); i++) {
        if (i < a->count && ret->count < ARRAY_SIZE(ret->list))
            ret->list[ret->count++] = a->list[i];
        if (i < b->count && ret->count < ARRAY_SIZE(ret->list))
            ret->list[ret->count++] = b->list[i];
    }
}

int dial(const struct courier *c)
{
    struct dns_addresses all;
    struct question v4 = {{on_reply}, .name = c->url.host, .type = DNS_TYPE_A},
                    v6 = {{on_reply}, .name = c->url.host, .type = DNS_TYPE_AAAA};
    if (c->url.port == SMTP_PORT)
        return courier_fail(c, -EACCES, "port 25 is not for messages of this kind");
    if (read_literal(c->url.host, &all))
        return try_all(c, &all);
    ask_both(c, &v4, &v6);
    interleave(&v6.found, &v4.found, &all);
    resolver_free(TAKE_PTR(resolver));
    return try_all(c, &all);
}
