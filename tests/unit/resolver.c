// SPDX-License-Identifier: Apache-2.0
/* Each case has a network of its own, with a name server in it: what serve() answers. */
#include "lib/resolver/resolver.h"

#include "lib/dns/dns.h"
#include "tests/harness/harness.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define HEADER 12

static struct resolver *resolver;
static int server = -1;

static void make_network(void)
{
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
        SKIP("no network of its own: %s", strerror(errno));
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(ioctl(fd, SIOCSIFFLAGS, &lo), 0);
    close(fd);
}

static void start(void)
{
    struct in6_addr local;
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const char *why = "";
    make_network();
    server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(bind(server, (struct sockaddr *)&at, sizeof(at)), 0);
    ASSERT_EQ(inet_pton(AF_INET6, "::ffff:127.0.0.1", &local), 1);
    ASSERT_EQ(resolver_new(&resolver, &local, 1, 1, &why), 0);
}

struct answer {
    struct resolver_question question;
    int done;
    uint8_t reply[512];
    size_t size;
};

static void on_done(struct resolver_question *q, const uint8_t *reply, size_t size)
{
    struct answer *a = container_of(q, struct answer, question);
    a->done++;
    a->size = reply ? MIN(size, sizeof(a->reply)) : 0;
    if (reply)
        memcpy(a->reply, reply, a->size);
}

/* A message that says rcode, and has one address when that is 0. id_change: of who guesses. */
static void serve(int rcode, uint16_t id_change)
{
    static const uint8_t record[] = {0xc0, HEADER, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7};
    uint8_t m[1024];
    struct sockaddr_in from;
    socklen_t from_size = sizeof(from);
    ssize_t n = recvfrom(server, m, 512, MSG_PEEK, (struct sockaddr *)&from, &from_size);
    ASSERT_GT(n, HEADER);
    size_t size = HEADER + strlen((char *)m + HEADER) + 1 + 4; /* to the end of the question */
    m[0] ^= (uint8_t)(id_change >> 8);
    m[1] ^= (uint8_t)id_change;
    m[2] = 0x81;
    m[3] = (uint8_t)(0x80 | rcode);
    memset(m + 6, 0, 6);
    if (rcode == 0) {
        m[7] = 1;
        memcpy(m + size, record, sizeof(record));
        size += sizeof(record);
    }
    EXPECT_EQ(sendto(server, m, size, 0, (struct sockaddr *)&from, from_size), (ssize_t)size);
}

static void drop_query(void)
{
    uint8_t m[512];
    EXPECT_GT(recv(server, m, sizeof(m), 0), 0);
}

/* What a loop does, once. False: there is nothing to wait for. */
static bool step(void)
{
    struct pollfd p[RESOLVER_SOCKETS_MAX];
    size_t count = resolver_fill_poll(resolver, p);
    int wait = resolver_wait_ms(resolver);
    if (count == 0 && wait < 0)
        return false;
    poll(p, count, wait);
    resolver_step(resolver, p, count);
    return true;
}

static void ask(struct answer *a, const char *name)
{
    *a = (struct answer){.question = {on_done}};
    resolver_ask(resolver, name, DNS_TYPE_A, &a->question);
}

TEST(a_reply_is_handed_on_as_it_came)
{
    struct answer a;
    struct dns_addresses found;
    start();
    EXPECT_TRUE(!step());
    ask(&a, "api.good.test");
    EXPECT_EQ(a.done, 0);
    EXPECT_GT(resolver_wait_ms(resolver), 0);
    serve(DNS_NOERROR, 0);
    while (!a.done)
        ASSERT_TRUE(step());
    ASSERT_EQ(dns_addresses_parse(a.reply, a.size, "api.good.test", DNS_TYPE_A, &found), 0);
    ASSERT_EQ(found.count, 1);
    EXPECT_EQ(found.list[0].address.s6_addr[15], 7);
    EXPECT_TRUE(!step());
    EXPECT_EQ(a.done, 1);
    resolver_free(resolver);
    EXPECT_EQ(a.done, 1);
}

TEST(that_there_is_no_such_name_is_a_reply)
{
    struct answer a;
    start();
    ask(&a, "none.test");
    serve(DNS_NXDOMAIN, 0);
    while (!a.done)
        ASSERT_TRUE(step());
    EXPECT_GT(a.size, HEADER);
    resolver_free(resolver);
}

TEST(that_a_server_can_not_is_none)
{
    static const int codes[] = {DNS_SERVFAIL, DNS_REFUSED, DNS_NOTIMPL};
    start();
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        struct answer a;
        ask(&a, "some.test");
        serve(codes[i], 0);
        drop_query();
        while (!a.done)
            ASSERT_TRUE(step());
        EXPECT_EQ(a.size, 0);
    }
    resolver_free(resolver);
}

TEST(a_message_to_another_question_is_not_taken)
{
    struct answer a;
    start();
    ask(&a, "api.good.test");
    serve(DNS_NXDOMAIN, 1);
    serve(DNS_NOERROR, 0);
    while (!a.done)
        ASSERT_TRUE(step());
    EXPECT_EQ(a.reply[3] & 15, DNS_NOERROR);
    resolver_free(resolver);
}

TEST(what_is_no_name_is_answered_at_once)
{
    struct answer a;
    char label[80];
    start();
    memset(label, 'a', sizeof(label) - 1);
    label[sizeof(label) - 1] = '\0';
    ask(&a, label);
    EXPECT_EQ(a.done, 1);
    EXPECT_EQ(a.size, 0);
    ask(&a, "a..test");
    EXPECT_EQ(a.done, 1);
    EXPECT_EQ(a.size, 0);
    resolver_free(resolver);
}

TEST(questions_that_are_open_end_with_nothing)
{
    struct answer a, b;
    start();
    ask(&a, "one.test");
    ask(&b, "two.test");
    resolver_cancel(resolver);
    EXPECT_EQ(a.done, 1);
    EXPECT_EQ(b.done, 1);
    EXPECT_EQ(a.size + b.size, 0);
    EXPECT_TRUE(!step());
    ask(&a, "three.test");
    EXPECT_EQ(a.done, 0);
    resolver_free(resolver);
    EXPECT_EQ(a.done, 1);
    EXPECT_EQ(a.size, 0);
}
