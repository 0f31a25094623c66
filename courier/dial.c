// SPDX-License-Identifier: Apache-2.0
#include "courier/courier.h"

#include "lib/dns/dns.h"
#include "lib/policy/floor.h"

#include <ares.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#define ASK_TIMEOUT_MS 2000 /* of the first try; c-ares doubles it */
#define ASK_TRIES      2
#define EDNS_BYTES     1232
#define DNS_CLASS_IN   1
#define SMTP_PORT      25

static ares_channel channel;

int dial_start(const struct courier *c)
{
    char lookups[] = "b"; /* name servers alone: /etc/hosts is for this machine's own programs */
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
    return r == ARES_SUCCESS ? 0 : courier_fail(c, -EIO, "names: %s", ares_strerror(r));
}

/* ---- names ---- */

struct question {
    const char *name;
    uint16_t type;
    bool is_over;
    struct dns_addresses found;
};

static void on_reply(void *argument, int status _unused_, int timeouts _unused_,
                     unsigned char *reply, int size)
{
    struct question *q = argument;
    q->is_over = true;
    if (!reply || size <= 0 ||
        dns_addresses_parse(reply, (size_t)size, q->name, q->type, &q->found) < 0)
        q->found = (struct dns_addresses){0};
}

static void wait_for(const struct courier *c, const struct question *q)
{
    while (!q->is_over && courier_left_ms(c) > 0) {
        ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
        struct pollfd p[ARES_GETSOCK_MAXNUM];
        nfds_t count = 0;
        int bits = ares_getsock(channel, sockets, ARES_GETSOCK_MAXNUM);
        for (int i = 0; i < ARES_GETSOCK_MAXNUM; i++)
            if (ARES_GETSOCK_READABLE(bits, i) || ARES_GETSOCK_WRITABLE(bits, i))
                p[count++] = (struct pollfd){
                    .fd = sockets[i],
                    .events = (short)((ARES_GETSOCK_READABLE(bits, i) ? POLLIN : 0) |
                                      (ARES_GETSOCK_WRITABLE(bits, i) ? POLLOUT : 0))};
        poll(p, count, MIN(courier_left_ms(c), 100));
        for (nfds_t i = 0; i < count; i++)
            ares_process_fd(channel,
                            p[i].revents & (POLLIN | POLLERR | POLLHUP) ? p[i].fd : ARES_SOCKET_BAD,
                            p[i].revents & POLLOUT ? p[i].fd : ARES_SOCKET_BAD);
        ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD); /* what is late */
    }
}

static void ask(const struct courier *c, struct question *q)
{
    ares_query(channel, q->name, DNS_CLASS_IN, q->type, on_reply, q);
    wait_for(c, q);
    if (!q->is_over)
        ares_cancel(channel);
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
    struct question v4 = {.name = c->url.host, .type = DNS_TYPE_A},
                    v6 = {.name = c->url.host, .type = DNS_TYPE_AAAA};
    if (c->url.port == SMTP_PORT)
        return courier_fail(c, -EACCES, "port 25 is not for messages of this kind");
    if (read_literal(c->url.host, &all))
        return try_all(c, &all);
    ask(c, &v4);
    ask(c, &v6);
    for (size_t i = 0; i < v6.found.count && v4.found.count < ARRAY_SIZE(v4.found.list); i++)
        v4.found.list[v4.found.count++] = v6.found.list[i];
    ares_destroy(channel);
    return try_all(c, &v4.found);
}
