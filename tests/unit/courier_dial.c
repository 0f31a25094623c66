// SPDX-License-Identifier: Apache-2.0
/* Which of a name's addresses a courier connects to. Those are of loopback, the name server is made
 * up. */
#include "courier/courier.h"

#include "lib/caller/caller.h"
#include "lib/dns/dns.h"
#include "lib/policy/net.h"
#include "lib/resolver/resolver.h"
#include "tests/harness/harness.h"

#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

static struct resolver_question *open_questions[2];
static char words[256];

/* The last bytes of addresses 127.0.0.N, or of ::N; NULL: no answer comes. */
static const char *answers[2];

int64_t caller_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

int courier_left_ms(const struct courier *c)
{
    return (int)MAX((c->deadline_ns - caller_now_ns()) / NSEC_PER_MSEC, (int64_t)0);
}

int courier_fail(const struct courier *c _unused_, int error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    return error;
}

int resolver_new(struct resolver **ret _unused_, const struct in6_addr *servers _unused_,
                 size_t count _unused_, int tries _unused_, const char **why _unused_)
{
    return 0;
}

void resolver_free(struct resolver *r _unused_)
{
}

size_t resolver_fill_poll(const struct resolver *r _unused_,
                          struct pollfd p[RESOLVER_SOCKETS_MAX] _unused_)
{
    return 0;
}

int resolver_wait_ms(const struct resolver *r _unused_)
{
    return -1;
}

void resolver_step(struct resolver *r _unused_, const struct pollfd *p _unused_,
                   size_t count _unused_)
{
}

/* a.test, and what answers[] says. */
static size_t write_reply(uint16_t type, uint8_t *out)
{
    const char *list = answers[type == DNS_TYPE_AAAA];
    static const uint8_t name[] = {1, 'a', 4, 't', 'e', 's', 't', 0};
    size_t size = 12, data_size = type == DNS_TYPE_A ? 4 : 16;
    memset(out, 0, 12);
    memcpy(out, (uint8_t[]){0, 1, 0x81, 0x80, 0, 1, 0, (uint8_t)strlen(list)}, 8);
    memcpy(out + size, name, sizeof(name));
    size += sizeof(name);
    memcpy(out + size, (uint8_t[]){0, (uint8_t)type, 0, 1}, 4);
    size += 4;
    for (const char *n = list; *n; n++) {
        uint8_t record[12 + 16] = {0xc0, 12, 0, (uint8_t)type,     0, 1, 0, 0,
                                   0,    9,  0, (uint8_t)data_size};
        if (type == DNS_TYPE_A)
            record[12] = 127;
        record[12 + data_size - 1] = (uint8_t)(*n - '0');
        memcpy(out + size, record, 12 + data_size);
        size += 12 + data_size;
    }
    return size;
}

void resolver_ask(struct resolver *r _unused_, const char *name, uint16_t type,
                  struct resolver_question *q)
{
    uint8_t reply[1024];
    EXPECT_STR(name, "a.test");
    if (!answers[type == DNS_TYPE_AAAA]) {
        open_questions[type == DNS_TYPE_AAAA] = q;
        return;
    }
    size_t size = write_reply(type, reply);
    q->done(q, reply, size);
}

void resolver_cancel(struct resolver *r _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(open_questions); i++) {
        struct resolver_question *q = open_questions[i];
        open_questions[i] = NULL;
        if (q)
            q->done(q, NULL, 0);
    }
}

static int listen_at(int n, uint16_t *port, int backlog)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(*port)};
    socklen_t size = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    a.sin_addr.s_addr = htonl(0x7f000000u + (uint32_t)n);
    if (bind(fd, (struct sockaddr *)&a, size) < 0 || listen(fd, backlog) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &size) < 0)
        EXPECT_EQ(errno, 0);
    *port = ntohs(a.sin_port);
    return fd;
}

/* Its queue is full: what comes now is not answered. */
static void fill(int n, uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    a.sin_addr.s_addr = htonl(0x7f000000u + (uint32_t)n);
    for (int i = 0; i < 8; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        EXPECT_TRUE(connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 && errno == EINPROGRESS);
    }
}

static const struct policy_net loopback[] = {
    {{{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 0}}}, 104},
    {{{{0}}}, 96},
};

/* The last byte of the address that it is connected to, or the error. */
static int dial_to(const char *v4, const char *v6, uint16_t port, int s)
{
    struct courier c = {.url = {.port = port},
                        .operator= {.exempt = loopback, .exempt_count = 2},
                        .deadline_ns = caller_now_ns() + s * NSEC_PER_SEC};
    struct sockaddr_in to;
    socklen_t size = sizeof(to);
    answers[0] = v4;
    answers[1] = v6;
    snprintf(c.url.host, sizeof(c.url.host), "a.test");
    words[0] = '\0';
    int fd = dial(&c);
    if (fd < 0)
        return fd;
    EXPECT_EQ(getpeername(fd, (struct sockaddr *)&to, &size), 0);
    close(fd);
    return (int)(ntohl(to.sin_addr.s_addr) & 0xff);
}

/* Longer than any test may take: who waits for the first one alone is killed by the harness. */
#define LONG_S 3600

TEST(an_address_that_does_not_answer_is_not_waited_for)
{
    uint16_t port = 0;
    listen_at(2, &port, 0);
    fill(2, port);
    listen_at(3, &port, 8);
    EXPECT_EQ(dial_to("23", "", port, LONG_S), 3);
    EXPECT_EQ(dial_to("22222223", "", port, LONG_S), 3);
}

TEST(one_that_refuses_is_followed_by_the_next)
{
    uint16_t port = 0;
    listen_at(3, &port, 8);
    EXPECT_EQ(dial_to("4563", "2", port, LONG_S), 3);
    EXPECT_EQ(dial_to("45", "", port, LONG_S), -ECONNREFUSED);
}

TEST(a_family_that_nobody_answers_for_is_not_waited_for)
{
    uint16_t port = 0;
    listen_at(3, &port, 8);
    EXPECT_EQ(dial_to("3", NULL, port, LONG_S), 3);
    EXPECT_EQ(dial_to("", "", port, LONG_S), -ENOENT);
}

TEST(all_that_do_not_answer_end_with_the_deadline)
{
    uint16_t port = 0;
    listen_at(2, &port, 0);
    fill(2, port);
    EXPECT_EQ(dial_to("22", "", port, 1), -ETIMEDOUT);
    EXPECT_EQ(dial_to("24", "", port, 1), -ETIMEDOUT);
    EXPECT_EQ(dial_to(NULL, NULL, port, 1), -ETIMEDOUT);
}
