// SPDX-License-Identifier: Apache-2.0
#include "courier/courier.h"

#include "lib/dns/dns.h"
#include "lib/policy/floor.h"
#include "lib/resolver/resolver.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#define ASK_TRIES 2
#define SMTP_PORT 25

static struct resolver *resolver;

int dial_start(const struct courier *c)
{
    const char *why;
    int r = resolver_new(&resolver, NULL, 0, ASK_TRIES, &why);
    return r < 0 ? courier_fail(c, r, "names: %s", why) : 0;
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

static void ask(const struct courier *c, struct question *q)
{
    resolver_ask(resolver, q->name, q->type, &q->question);
    while (!q->is_over && courier_left_ms(c) > 0) {
        struct pollfd p[RESOLVER_SOCKETS_MAX];
        size_t count = resolver_fill_poll(resolver, p);
        int left = courier_left_ms(c), wait = resolver_wait_ms(resolver);
        if (poll(p, count, wait < 0 ? left : MIN(left, wait)) < 0)
            count = 0;
        resolver_step(resolver, p, count);
    }
    if (!q->is_over)
        resolver_cancel(resolver);
}

/* ---- addresses ---- */

static bool is_allowed(const struct courier *c, const struct in6_addr *address)
{
    enum policy_group class = policy_floor_class(&c->operator, address);
    return class == POLICY_GROUP_PUBLIC || policy_floor_is_exempt(&c->operator, address, class);
}

/* A connected socket, or -errno. */
static int try(const struct courier *c, const struct in6_addr *address)
{
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(c->url.port), .sin6_addr = *address};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(c->url.port)};
    bool is_v4 = IN6_IS_ADDR_V4MAPPED(address);
    memcpy(&v4.sin_addr, address->s6_addr + 12, sizeof(v4.sin_addr));
    _cleanup_close_ int fd =
        socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int r = fd < 0 ? -1
                   : connect(fd, is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6,
                             is_v4 ? sizeof(v4) : sizeof(v6));
    if (r < 0 && errno != EINPROGRESS)
        return -errno;
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int error = 0;
    socklen_t size = sizeof(error);
    if (poll(&p, 1, courier_left_ms(c)) <= 0)
        return -ETIMEDOUT;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 || error)
        return error ? -error : -errno;
    return TAKE_FD(fd);
}

static int try_all(const struct courier *c, const struct dns_addresses *list)
{
    int r = 0;
    size_t tried = 0;
    for (size_t i = 0; i < list->count && courier_left_ms(c) > 0; i++) {
        if (!is_allowed(c, &list->list[i].address))
            continue;
        tried++;
        r = try(c, &list->list[i].address);
        if (r >= 0)
            return r;
    }
    if (list->count == 0)
        return courier_fail(c, -ENOENT, "%s: no such name, or nobody answers for it", c->url.host);
    if (tried == 0 && courier_left_ms(c) == 0)
        return courier_fail(c, -ETIMEDOUT, "%s: its name took %d s", c->url.host, COURIER_S);
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

int dial(const struct courier *c)
{
    struct dns_addresses all;
    struct question v4 = {{on_reply}, .name = c->url.host, .type = DNS_TYPE_A},
                    v6 = {{on_reply}, .name = c->url.host, .type = DNS_TYPE_AAAA};
    if (c->url.port == SMTP_PORT)
        return courier_fail(c, -EACCES, "port 25 is not for messages of this kind");
    if (read_literal(c->url.host, &all))
        return try_all(c, &all);
    ask(c, &v4);
    ask(c, &v6);
    for (size_t i = 0; i < v6.found.count && v4.found.count < ARRAY_SIZE(v4.found.list); i++)
        v4.found.list[v4.found.count++] = v6.found.list[i];
    resolver_free(TAKE_PTR(resolver));
    return try_all(c, &v4.found);
}
