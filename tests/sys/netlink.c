// SPDX-License-Identifier: Apache-2.0
#include "tests/sys/sockets.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

static union {
    char bytes[32768];
    struct nlmsghdr align;
} answer;

struct request {
    struct nlmsghdr h;
    union {
        struct ifinfomsg link;
        struct ifaddrmsg address;
        struct rtmsg route;
        struct rtgenmsg any;
    };
    char attributes[64];
};

static int route_socket(void)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    ASSERT_GE(fd, 0);
    return fd;
}

static struct request make(int type, int flags, size_t size)
{
    struct request q;
    memset(&q, 0, sizeof(q));
    q.h.nlmsg_len = (uint32_t)NLMSG_LENGTH(size);
    q.h.nlmsg_type = (uint16_t)type;
    q.h.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
    q.h.nlmsg_seq = 77;
    return q;
}

static ssize_t ask(int fd, const struct request *q)
{
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    EXPECT_EQ(sendto(fd, q, q->h.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof(kernel)),
              q->h.nlmsg_len);
    return recv(fd, &answer, sizeof(answer), 0);
}

/* The errno of the answer, 0 for an acknowledgement; -1 when it is something else. */
static int error_of_answer(ssize_t size)
{
    const struct nlmsghdr *h = &answer.align;
    const struct nlmsgerr *e = NLMSG_DATA(h);
    if (!NLMSG_OK(h, size) || h->nlmsg_type != NLMSG_ERROR)
        return -1;
    return -e->error;
}

/* Reads a dump to its end: how many messages of this type it had. */
static int count_dump(int fd, const struct request *q, int type,
                      void (*look)(struct nlmsghdr *h, void *context), void *context)
{
    int count = 0;
    ssize_t size = ask(fd, q);
    for (;;) {
        struct nlmsghdr *h = &answer.align;
        for (; NLMSG_OK(h, size); h = NLMSG_NEXT(h, size)) {
            EXPECT_EQ(h->nlmsg_seq, 77);
            if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
                return h->nlmsg_type == NLMSG_DONE ? count : -1;
            EXPECT_TRUE(h->nlmsg_flags & NLM_F_MULTI);
            if (h->nlmsg_type != type)
                continue;
            count++;
            if (look)
                look(h, context);
        }
        size = recv(fd, &answer, sizeof(answer), 0);
        ASSERT_GT(size, 0);
    }
}

static void look_for_lo(struct nlmsghdr *h, void *context)
{
    struct ifinfomsg *link = NLMSG_DATA(h);
    int left = (int)IFLA_PAYLOAD(h);
    if (link->ifi_index != 1)
        return;
    for (struct rtattr *a = IFLA_RTA(link); RTA_OK(a, left); a = RTA_NEXT(a, left))
        if (a->rta_type == IFLA_IFNAME && !strcmp(RTA_DATA(a), "lo"))
            ++*(int *)context;
    EXPECT_TRUE(link->ifi_flags & IFF_LOOPBACK);
}

TEST(links_can_be_listed)
{
    int found = 0;
    struct request q = make(RTM_GETLINK, NLM_F_DUMP, sizeof(q.link));
    EXPECT_GE(count_dump(route_socket(), &q, RTM_NEWLINK, look_for_lo, &found), 1);
    EXPECT_EQ(found, 1);
}

TEST(a_sandbox_has_one_link)
{
    struct request q = make(RTM_GETLINK, NLM_F_DUMP, sizeof(q.link));
    if (!harness_is_inside())
        SKIP("the machine may have more");
    EXPECT_EQ(count_dump(route_socket(), &q, RTM_NEWLINK, NULL, NULL), 1);
}

static void look_for_loopback(struct nlmsghdr *h, void *context)
{
    struct ifaddrmsg *address = NLMSG_DATA(h);
    int left = (int)IFA_PAYLOAD(h);
    uint32_t expected = htonl(INADDR_LOOPBACK);
    if (address->ifa_index != 1)
        return;
    for (struct rtattr *a = IFA_RTA(address); RTA_OK(a, left); a = RTA_NEXT(a, left))
        if (a->rta_type == IFA_ADDRESS && address->ifa_family == AF_INET &&
            !memcmp(RTA_DATA(a), &expected, sizeof(expected)))
            ++*(int *)context;
}

TEST(addresses_can_be_listed)
{
    int found = 0;
    struct request q = make(RTM_GETADDR, NLM_F_DUMP, sizeof(q.any));
    EXPECT_GE(count_dump(route_socket(), &q, RTM_NEWADDR, look_for_loopback, &found), 1);
    EXPECT_EQ(found, 1);
    q.any.rtgen_family = AF_INET6;
    found = 0;
    EXPECT_GE(count_dump(route_socket(), &q, RTM_NEWADDR, look_for_loopback, &found), 0);
    EXPECT_EQ(found, 0);
}

TEST(routes_and_the_rest_can_be_listed)
{
    struct request q = make(RTM_GETROUTE, NLM_F_DUMP, sizeof(q.route));
    EXPECT_GE(count_dump(route_socket(), &q, RTM_NEWROUTE, NULL, NULL), 1);
    q = make(RTM_GETNEIGH, NLM_F_DUMP, sizeof(q.any));
    EXPECT_GE(count_dump(route_socket(), &q, RTM_NEWNEIGH, NULL, NULL), 0);
}

TEST(one_link_can_be_asked_for)
{
    int fd = route_socket();
    struct request q = make(RTM_GETLINK, 0, sizeof(q.link));
    q.link.ifi_index = 1;
    EXPECT_GT(ask(fd, &q), 0);
    EXPECT_EQ(answer.align.nlmsg_type, RTM_NEWLINK);
    q.link.ifi_index = 4711;
    EXPECT_EQ(error_of_answer(ask(fd, &q)), ENODEV);
}

TEST(a_link_can_be_asked_for_by_name)
{
    struct request q = make(RTM_GETLINK, 0, sizeof(q.link));
    struct rtattr *a = (struct rtattr *)((char *)&q + NLMSG_LENGTH(sizeof(q.link)));
    a->rta_type = IFLA_IFNAME;
    a->rta_len = RTA_LENGTH(3);
    memcpy(RTA_DATA(a), "lo", 3);
    q.h.nlmsg_len += RTA_LENGTH(3);
    EXPECT_GT(ask(route_socket(), &q), 0);
    EXPECT_EQ(answer.align.nlmsg_type, RTM_NEWLINK);
    memcpy(RTA_DATA(a), "l!", 3);
    EXPECT_EQ(error_of_answer(ask(route_socket(), &q)), ENODEV);
}

TEST(changes_are_eperm)
{
    struct request q = make(RTM_NEWLINK, NLM_F_ACK, sizeof(q.link));
    if (getuid() == 0 && !harness_is_inside())
        SKIP("root may change links");
    q.link.ifi_index = 1;
    EXPECT_EQ(error_of_answer(ask(route_socket(), &q)), EPERM);
    EXPECT_EQ(((struct nlmsgerr *)NLMSG_DATA(&answer.align))->msg.nlmsg_seq, 77);
    q = make(RTM_DELADDR, 0, sizeof(q.address));
    EXPECT_EQ(error_of_answer(ask(route_socket(), &q)), EPERM);
}

TEST(unknown_requests_are_eopnotsupp)
{
    struct request q = make(4000, 0, sizeof(q.any));
    EXPECT_EQ(error_of_answer(ask(route_socket(), &q)), EOPNOTSUPP);
}

TEST(a_noop_is_acknowledged_when_asked)
{
    struct request q = make(NLMSG_NOOP, NLM_F_ACK, 0);
    EXPECT_EQ(error_of_answer(ask(route_socket(), &q)), 0);
}

TEST(malformed_messages_are_ignored)
{
    int fd = route_socket();
    struct request q = make(RTM_GETLINK, NLM_F_DUMP, sizeof(q.link));
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    q.h.nlmsg_len = 4;
    EXPECT_EQ(sendto(fd, &q, sizeof(q), 0, (struct sockaddr *)&kernel, sizeof(kernel)), sizeof(q));
    EXPECT_ERRNO(recv(fd, &answer, sizeof(answer), MSG_DONTWAIT), EAGAIN);
    q.h.nlmsg_len = 0xfffffff0;
    EXPECT_EQ(sendto(fd, &q, sizeof(q), 0, (struct sockaddr *)&kernel, sizeof(kernel)), sizeof(q));
    EXPECT_ERRNO(recv(fd, &answer, sizeof(answer), MSG_DONTWAIT), EAGAIN);
    EXPECT_EQ(send(fd, &q, 3, 0), 3);
    EXPECT_ERRNO(recv(fd, &answer, sizeof(answer), MSG_DONTWAIT), EAGAIN);
}

TEST(two_requests_in_one_datagram)
{
    int fd = route_socket();
    struct request q[2] = {make(NLMSG_NOOP, NLM_F_ACK, 0), make(NLMSG_NOOP, NLM_F_ACK, 0)};
    char both[2 * NLMSG_HDRLEN];
    memcpy(both, &q[0].h, NLMSG_HDRLEN);
    memcpy(both + NLMSG_HDRLEN, &q[1].h, NLMSG_HDRLEN);
    EXPECT_EQ(send(fd, both, sizeof(both), 0), sizeof(both));
    EXPECT_EQ(error_of_answer(recv(fd, &answer, sizeof(answer), 0)), 0);
    EXPECT_EQ(error_of_answer(recv(fd, &answer, sizeof(answer), MSG_DONTWAIT)), 0);
}

TEST(the_first_socket_has_the_pid_for_a_name)
{
    struct sockaddr_nl a = {.nl_family = AF_NETLINK};
    socklen_t size = sizeof(a);
    int fd = route_socket(), second = route_socket();
    EXPECT_EQ(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    EXPECT_EQ(a.nl_pid, 0);
    EXPECT_EQ(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    EXPECT_EQ(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    EXPECT_EQ(size, sizeof(a));
    EXPECT_EQ(a.nl_pid, (uint32_t)getpid());
    EXPECT_ERRNO(bind(second, (struct sockaddr *)&a, sizeof(a)), EADDRINUSE);
    a.nl_pid = 0;
    EXPECT_EQ(bind(second, (struct sockaddr *)&a, sizeof(a)), 0);
    EXPECT_EQ(getsockname(second, (struct sockaddr *)&a, &size), 0);
    EXPECT_NE(a.nl_pid, (uint32_t)getpid());
    EXPECT_NE(a.nl_pid, 0);
}

TEST(answers_come_from_the_kernel)
{
    struct sockaddr_nl from;
    socklen_t size = sizeof(from);
    int fd = route_socket();
    struct request q = make(NLMSG_NOOP, NLM_F_ACK, 0);
    EXPECT_EQ(send(fd, &q, q.h.nlmsg_len, 0), q.h.nlmsg_len);
    EXPECT_GT(recvfrom(fd, &answer, sizeof(answer), 0, (struct sockaddr *)&from, &size), 0);
    EXPECT_EQ(size, sizeof(from));
    EXPECT_EQ(from.nl_family, AF_NETLINK);
    EXPECT_EQ(from.nl_pid, 0);
}

TEST(the_size_of_an_answer_can_be_peeked)
{
    int fd = route_socket();
    struct request q = make(NLMSG_NOOP, NLM_F_ACK, 0);
    EXPECT_EQ(send(fd, &q, q.h.nlmsg_len, 0), q.h.nlmsg_len);
    ssize_t size = recv(fd, NULL, 0, MSG_PEEK | MSG_TRUNC);
    EXPECT_EQ(size, NLMSG_LENGTH(sizeof(struct nlmsgerr)));
    EXPECT_EQ(recv(fd, &answer, sizeof(answer), 0), size);
}

TEST(addresses_are_checked)
{
    struct sockaddr_nl a = {.nl_family = AF_INET};
    int fd = route_socket();
    EXPECT_ERRNO(bind(fd, (struct sockaddr *)&a, sizeof(a)), EINVAL);
    EXPECT_ERRNO(bind(fd, (struct sockaddr *)&a, 4), EINVAL);
    EXPECT_ERRNO(connect(fd, (struct sockaddr *)&a, sizeof(a)), EINVAL);
    EXPECT_ERRNO(sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof(a)), EINVAL);
    EXPECT_ERRNO(listen(fd, 1), EOPNOTSUPP);
    EXPECT_ERRNO(accept(fd, NULL, NULL), EOPNOTSUPP);
}

TEST(other_protocols_are_not_there)
{
    EXPECT_ERRNO(socket(AF_NETLINK, SOCK_RAW, 99), EPROTONOSUPPORT);
    EXPECT_ERRNO(socket(AF_NETLINK, SOCK_STREAM, NETLINK_ROUTE), ESOCKTNOSUPPORT);
    if (!harness_is_inside())
        SKIP("the machine may have them");
    EXPECT_ERRNO(socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER), EPROTONOSUPPORT);
    EXPECT_ERRNO(socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT), EPROTONOSUPPORT);
}

TEST(device_events_can_be_listened_for_in_vain)
{
    struct sockaddr_nl a = {.nl_family = AF_NETLINK, .nl_groups = 1};
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    EXPECT_ERRNO(recv(fd, &answer, sizeof(answer), MSG_DONTWAIT), EAGAIN);
}

TEST(options_are_kept)
{
    int fd = route_socket();
    set_int(fd, SOL_NETLINK, NETLINK_EXT_ACK, 1);
    EXPECT_EQ(get_int(fd, SOL_NETLINK, NETLINK_EXT_ACK), 1);
    EXPECT_EQ(get_int(fd, SOL_NETLINK, NETLINK_CAP_ACK), 0);
    set_int(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, RTNLGRP_LINK);
    int value = 1;
    EXPECT_ERRNO(setsockopt(fd, SOL_NETLINK, 999, &value, sizeof(value)), ENOPROTOOPT);
}

TEST(the_c_library_finds_the_interface)
{
    char name[IF_NAMESIZE] = "";
    EXPECT_EQ(if_nametoindex("lo"), 1);
    EXPECT_TRUE(if_indextoname(1, name) != NULL);
    EXPECT_STR(name, "lo");
    EXPECT_EQ(if_nametoindex("nothing0"), 0);
    struct if_nameindex *list = if_nameindex();
    ASSERT_TRUE(list != NULL);
    EXPECT_EQ(list[0].if_index, 1);
    if_freenameindex(list);
}
