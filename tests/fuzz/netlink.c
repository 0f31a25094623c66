// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for netlink requests (kernel/net/netlink*.c): the first byte chooses options,
 * the rest is what is sent. What must hold, netlink(7) and rtnetlink(7): every message that comes
 * back is whole and aligned, and so are the attributes in it.
 */
#include "tests/fuzz/world.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define ROOM      32768
#define READS_MAX 64

static size_t header_size(uint16_t type)
{
    switch (type) {
    case RTM_NEWLINK:
        return sizeof(struct ifinfomsg);
    case RTM_NEWADDR:
        return sizeof(struct ifaddrmsg);
    case RTM_NEWROUTE:
        return sizeof(struct rtmsg);
    default:
        return 0;
    }
}

static void check_attributes(const uint8_t *data, size_t size)
{
    while (size > 0) {
        const struct rtattr *a = (const void *)data;
        CHECK(size >= sizeof(*a) && a->rta_len >= sizeof(*a) && a->rta_len <= size);
        size_t step = MIN((size_t)RTA_ALIGN(a->rta_len), size);
        data += step;
        size -= step;
    }
}

static void check_messages(const uint8_t *data, size_t size)
{
    while (size > 0) {
        const struct nlmsghdr *h = (const void *)data;
        CHECK(size >= sizeof(*h) && h->nlmsg_len >= sizeof(*h) && h->nlmsg_len <= size);
        size_t header = header_size(h->nlmsg_type), body = h->nlmsg_len - sizeof(*h);
        if (header) {
            CHECK(body >= header);
            check_attributes(data + sizeof(*h) + NLMSG_ALIGN(header), body - NLMSG_ALIGN(header));
        } else {
            CHECK(h->nlmsg_type != NLMSG_ERROR || body >= sizeof(struct nlmsgerr));
        }
        size_t step = MIN((size_t)NLMSG_ALIGN(h->nlmsg_len), size);
        data += step;
        size -= step;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _Alignas(8) static uint8_t copy[ROOM];
    struct input in = {data, size};
    uint8_t options = input_byte(&in);
    world_begin(options & 1 ? 0 : 1000);
    long fd = WORLD_CALL(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_ROUTE);
    CHECK(fd >= 0);
    uint64_t one = world_put(&(int){1}, sizeof(int));
    for (uint64_t option = 0; option < 4; option++)
        if (options & (16 << option))
            WORLD_CALL(SYS_setsockopt, (uint64_t)fd, SOL_NETLINK,
                       (const uint64_t[]){NETLINK_CAP_ACK, NETLINK_EXT_ACK, NETLINK_PKTINFO,
                                          NETLINK_GET_STRICT_CHK}[option],
                       one, sizeof(int));
    WORLD_CALL(SYS_sendto, (uint64_t)fd, world_put(in.data, in.size), in.size);
    uint64_t to = world_put(NULL, ROOM);
    for (int i = 0; i < READS_MAX; i++) {
        long n = WORLD_CALL(SYS_recvfrom, (uint64_t)fd, to, ROOM);
        CHECK(n <= ROOM);
        if (n <= 0)
            break;
        memcpy(copy, world_at(to), (size_t)n);
        check_messages(copy, (size_t)n);
    }
    world_end();
    return 0;
}
