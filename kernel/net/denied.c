// SPDX-License-Identifier: Apache-2.0
#include "kernel/net/denied.h"

#include "kernel/core/timer.h"
#include "kernel/net/inet.h"
#include "kernel/net/resolver.h"

#include <arpa/inet.h>
#include <stdio.h>

void (*denied_tell)(int32_t value, unsigned protocol, const char *what);

static int64_t since_ns; /* of told_count and last */
static unsigned told_count;
static int32_t untold_count;
static char last[RESOLVER_NAME_MAX + 32];

static void tell_untold(void)
{
    if (untold_count > 0)
        denied_tell(untold_count, 0, NULL);
    untold_count = 0;
}

static void tell(uint16_t port, unsigned protocol, const char *what)
{
    char text[sizeof(last)];
    int64_t now = clock_monotonic_ns();
    if (!denied_tell)
        return;
    snprintf(text, sizeof(text), "%u %u %s", protocol, port, what);
    if (now - since_ns >= NSEC_PER_SEC) {
        since_ns = now;
        told_count = 0;
        last[0] = '\0';
    }
    /* For each name, resolvers ask twice: for addresses of both kinds. */
    if (!strcmp(text, last))
        return;
    snprintf(last, sizeof(last), "%s", text);
    if (told_count++ >= DENIED_PER_S) {
        untold_count += untold_count < INT32_MAX;
        return;
    }
    tell_untold();
    denied_tell(port, protocol, what);
}

void denied_address(const struct socket *s, const struct inet_endpoint *to)
{
    char text[INET6_ADDRSTRLEN];
    const struct in6_addr *a = &to->address;
    bool is_v4 = IN6_IS_ADDR_V4MAPPED(a);
    if (inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? &a->s6_addr32[3] : (const void *)a, text,
                  sizeof(text)))
        tell(to->port, s->type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP, text);
}

void denied_query(const uint8_t *query, size_t size)
{
    char name[RESOLVER_NAME_MAX + 1];
    if (resolver_get_name(query, size, name))
        tell(0, 0, name);
}

void denied_end(void)
{
    if (denied_tell)
        tell_untold();
}
