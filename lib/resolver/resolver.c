// SPDX-License-Identifier: Apache-2.0
#include "lib/resolver/resolver.h"

#include "lib/dns/dns.h"

#include <ares.h>
#include <sys/time.h>

#define ASK_TIMEOUT_MS 2000 /* of the first try; c-ares doubles it */
#define EDNS_BYTES     1232 /* of an answer over UDP: what no network cuts into fragments */

_Static_assert(RESOLVER_SOCKETS_MAX == ARES_GETSOCK_MAXNUM, "sockets of c-ares");

struct resolver {
    ares_channel channel;
};

static int set_servers(struct resolver *r, const struct in6_addr *servers, size_t count)
{
    struct ares_addr_node nodes[RESOLVER_SERVERS_MAX] = {{0}};
    count = MIN(count, ARRAY_SIZE(nodes));
    for (size_t i = 0; i < count; i++) {
        const struct in6_addr *a = &servers[i];
        bool is_v4 = IN6_IS_ADDR_V4MAPPED(a);
        nodes[i].family = is_v4 ? AF_INET : AF_INET6;
        nodes[i].next = i + 1 < count ? &nodes[i + 1] : NULL;
        if (is_v4)
            memcpy(&nodes[i].addr.addr4, a->s6_addr + 12, 4);
        else
            memcpy(&nodes[i].addr.addr6, a, sizeof(*a));
    }
    return count ? ares_set_servers(r->channel, nodes) : ARES_SUCCESS;
}

static int open_channel(struct resolver *r, int tries)
{
    char lookups[] = "b"; /* name servers alone: /etc/hosts is for this machine's own programs */
    struct ares_options options = {
        .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_EDNS,
        .ednspsz = EDNS_BYTES,
        .timeout = ASK_TIMEOUT_MS,
        .tries = tries,
        .lookups = lookups,
    };
    const int set =
        ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS | ARES_OPT_EDNSPSZ;
    return ares_init_options(&r->channel, &options, set);
}

int resolver_new(struct resolver **ret, const struct in6_addr *servers, size_t count, int tries,
                 const char **ret_why)
{
    struct resolver *r = calloc(1, sizeof(*r));
    int status = r ? ares_library_init(ARES_LIB_INIT_ALL) : ARES_ENOMEM;
    if (status != ARES_SUCCESS)
        goto fail;
    status = open_channel(r, tries);
    if (status != ARES_SUCCESS)
        goto fail_library;
    status = set_servers(r, servers, count);
    if (status == ARES_SUCCESS) {
        *ret = r;
        return 0;
    }
    ares_destroy(r->channel);
fail_library:
    ares_library_cleanup();
fail:
    free(r);
    *ret_why = ares_strerror(status);
    return status == ARES_ENOMEM ? -ENOMEM : -EIO;
}

void resolver_free(struct resolver *r)
{
    if (!r)
        return;
    ares_destroy(r->channel);
    ares_library_cleanup();
    free(r);
}

/* Whether c-ares has taken a message from the server for an answer to what was asked. */
static bool is_reply(int status, const unsigned char *reply, int size)
{
    return reply && size > 0 &&
           (status == ARES_SUCCESS || status == ARES_ENOTFOUND || status == ARES_ENODATA);
}

static void on_reply(void *arg, int status, int timeouts _unused_, unsigned char *reply, int size)
{
    struct resolver_question *q = arg;
    bool is_there = is_reply(status, reply, size);
    q->done(q, is_there ? reply : NULL, is_there ? (size_t)size : 0);
}

void resolver_ask(struct resolver *r, const char *name, uint16_t type, struct resolver_question *q)
{
    ares_query(r->channel, name, DNS_CLASS_IN, type, on_reply, q);
}

void resolver_cancel(struct resolver *r)
{
    ares_cancel(r->channel);
}

size_t resolver_fill_poll(const struct resolver *r, struct pollfd p[RESOLVER_SOCKETS_MAX])
{
    ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
    /* Its own macros for the bits shift an int by 31. */
    unsigned bits = (unsigned)ares_getsock(r->channel, sockets, ARES_GETSOCK_MAXNUM);
    size_t count = 0;
    for (int i = 0; i < ARES_GETSOCK_MAXNUM; i++) {
        short events = (short)((bits >> i & 1 ? POLLIN : 0) |
                               (bits >> (i + ARES_GETSOCK_MAXNUM) & 1 ? POLLOUT : 0));
        if (events)
            p[count++] = (struct pollfd){.fd = sockets[i], .events = events};
    }
    return count;
}

int resolver_wait_ms(const struct resolver *r)
{
    struct timeval left;
    if (!ares_timeout(r->channel, NULL, &left))
        return -1;
    return (int)(left.tv_sec * 1000 + left.tv_usec / 1000 + 1);
}

void resolver_step(struct resolver *r, const struct pollfd *p, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (p[i].revents)
            ares_process_fd(r->channel, p[i].revents & ~POLLOUT ? p[i].fd : ARES_SOCKET_BAD,
                            p[i].revents & POLLOUT ? p[i].fd : ARES_SOCKET_BAD);
    ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD); /* what is overdue */
}
