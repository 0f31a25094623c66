// SPDX-License-Identifier: Apache-2.0
/* A machine that tells of its addresses, packet by packet, as rtnetlink(7) does. */
#include "gateway/own.h"

#include "gateway/gateway.h"
#include "gateway/watch.h"
#include "tests/harness/harness.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#define SOCKET 77 /* never opened */

struct gateway gateway;

static const char *const *script; /* what comes, up to a NULL */
static size_t asked;              /* dumps */
static uint32_t number;           /* of the last one */

int __wrap_socket(int domain, int type, int protocol);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t size);
ssize_t __wrap_send(int fd, const void *data, size_t size, int flags);
ssize_t __wrap_recvfrom(int fd, void *out, size_t size, int flags, struct sockaddr *from,
                        socklen_t *from_size);

int __wrap_socket(int domain, int type _unused_, int protocol)
{
    EXPECT_EQ(domain, AF_NETLINK);
    EXPECT_EQ(protocol, NETLINK_ROUTE);
    return SOCKET;
}

int __wrap_bind(int fd, const struct sockaddr *address _unused_, socklen_t size _unused_)
{
    EXPECT_EQ(fd, SOCKET);
    return 0;
}

ssize_t __wrap_send(int fd, const void *data, size_t size, int flags _unused_)
{
    EXPECT_EQ(fd, SOCKET);
    number = ((const struct nlmsghdr *)data)->nlmsg_seq;
    asked++;
    return (ssize_t)size;
}

void watch_for(struct watch *w, uint32_t events _unused_)
{
    EXPECT_EQ(w->fd, SOCKET);
}

void gateway_fail(const char *format, ...)
{
    harness_fail(__FILE__, __LINE__, "the gateway ended: %s", format);
    _exit(1);
}

/* "+N" and "-N": the address 20.0.0.N comes or goes; "=N": the dump has it; "i": its end, after it
 * was interrupted; ".": its end. */
static size_t write_message(const char *text, void *out)
{
    struct {
        struct nlmsghdr header;
        struct ifaddrmsg address;
        struct rtattr attribute;
        uint8_t bytes[4];
    } m = {.header = {.nlmsg_len = sizeof(m), .nlmsg_type = RTM_NEWADDR},
           .address = {.ifa_family = AF_INET, .ifa_index = 2},
           .attribute = {RTA_LENGTH(4), IFA_LOCAL},
           .bytes = {20, 0, 0, (uint8_t)atoi(text + 1)}};
    if (*text == '-')
        m.header.nlmsg_type = RTM_DELADDR;
    if (strchr("=i.", *text)) {
        m.header.nlmsg_flags = NLM_F_MULTI | (*text == 'i' ? NLM_F_DUMP_INTR : 0);
        m.header.nlmsg_seq = number;
    }
    if (*text == 'i' || *text == '.') {
        m.header.nlmsg_type = NLMSG_DONE;
        m.header.nlmsg_len = NLMSG_LENGTH(0);
    }
    memcpy(out, &m, m.header.nlmsg_len);
    return m.header.nlmsg_len;
}

/* "!" in the script: packets were lost. */
ssize_t __wrap_recvfrom(int fd, void *out, size_t size _unused_, int flags, struct sockaddr *from,
                        socklen_t *from_size)
{
    EXPECT_EQ(fd, SOCKET);
    const char *next = *script ? *script++ : NULL;
    if (!next || *next == '!') {
        /* One that waits would wait for ever. */
        EXPECT_TRUE(next || flags & MSG_DONTWAIT);
        errno = next ? ENOBUFS : EAGAIN;
        return -1;
    }
    memset(from, 0, *from_size);
    return (ssize_t)write_message(next, out);
}

/* The last bytes of the addresses that are known, in order. */
static void expect_known(const char *wanted)
{
    char known[64] = "";
    for (int n = 0; n < 10; n++)
        for (size_t i = 0; i < gateway.operator.host_count; i++)
            if (gateway.operator.host[i].address.s6_addr[15] == n)
                snprintf(known + strlen(known), 3, "%d ", n);
    EXPECT_STR(known, wanted);
}

#define START(...)                                                       \
    do {                                                                 \
        script = (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL}; \
        own_start();                                                     \
    } while (0)

#define LOOK(...)                                                        \
    do {                                                                 \
        script = (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL}; \
        own_look();                                                      \
    } while (0)

TEST(all_that_there_are_and_what_changes)
{
    START("=1", "=2", ".");
    expect_known("1 2 ");
    EXPECT_EQ(asked, 1);
    LOOK("+3", "-1", "-9", "+3");
    expect_known("2 3 ");
    EXPECT_EQ(asked, 1);
}

TEST(what_was_lost_is_asked_for_again)
{
    START("=1", "=2", ".");
    LOOK("!", "=1", "=4", ".");
    expect_known("1 4 ");
    EXPECT_EQ(asked, 2);
    /* What stood before the first packet of the answer is older than it. */
    LOOK("!", "+5", "=1", "+6", "=4", "-4", ".");
    expect_known("1 6 ");
}

/* The machine refuses a dump while another one runs. */
TEST(a_second_dump_waits_for_the_first)
{
    START("=1", "!", "=2", "!", ".", "=1", "=3", ".");
    expect_known("1 3 ");
    EXPECT_EQ(asked, 2);
    LOOK("!", "=1", "!", "=2");
    expect_known("1 2 3 ");
    EXPECT_EQ(asked, 3);
    LOOK("!", ".", "=3", ".");
    expect_known("3 ");
    EXPECT_EQ(asked, 4);
}

TEST(a_dump_that_was_interrupted_is_none)
{
    START("=1", "i", "=1", "=2", ".");
    expect_known("1 2 ");
    EXPECT_EQ(asked, 2);
}
