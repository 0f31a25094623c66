// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for socket addresses and options (kernel/net): the first bytes choose family,
 * type and what is done; the rest is the address, or the value of an option.
 *
 * What must hold: a socket that could be bound has an address of its family, that another one can't
 * have at the same time, and that fits where it is asked for.
 */
#include "tests/fuzz/world.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define ROOM 256

static long new_socket(uint8_t family, uint8_t type)
{
    static const int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_RAW};
    return WORLD_CALL(SYS_socket, (uint64_t)families[family % 4],
                      (uint64_t)types[type % 4] | SOCK_NONBLOCK, 0);
}

static void check_name(long fd, int nr, bool is_bound)
{
    uint32_t size = ROOM;
    uint64_t to = world_put(NULL, ROOM), at = world_put(&size, sizeof(size));
    memset(world_at(to), 0xcc, ROOM);
    long r = WORLD_CALL(nr, (uint64_t)fd, to, at);
    memcpy(&size, world_at(at), sizeof(size));
    CHECK(r == 0 || (nr == SYS_getpeername && r == -ENOTCONN));
    if (r < 0)
        return;
    CHECK(size <= sizeof(struct sockaddr_storage));
    CHECK(!is_bound || size >= sizeof(sa_family_t));
    const uint8_t *name = world_at(to);
    for (size_t i = size; i < ROOM; i++)
        CHECK(name[i] == 0xcc);
}

static void bind_twice(long fd, uint8_t family, uint8_t type, uint64_t address, size_t size)
{
    if (WORLD_CALL(SYS_bind, (uint64_t)fd, address, size) < 0)
        return;
    check_name(fd, SYS_getsockname, true);
    uint32_t name_size = ROOM;
    uint64_t to = world_put(NULL, ROOM), at = world_put(&name_size, sizeof(name_size));
    CHECK(WORLD_CALL(SYS_getsockname, (uint64_t)fd, to, at) == 0);
    memcpy(&name_size, world_at(at), sizeof(name_size));
    long other = new_socket(family, type);
    CHECK(other < 0 || WORLD_CALL(SYS_bind, (uint64_t)other, to, name_size) < 0);
}

static void options(struct input *in, long fd)
{
    while (in->size > 0) {
        uint8_t level = input_byte(in), option = input_byte(in), size = input_byte(in);
        size_t n;
        const uint8_t *data = input_bytes(in, size % 64, &n);
        uint32_t room = size;
        uint64_t at = world_put(data, n), to = world_put(NULL, ROOM);
        WORLD_CALL(SYS_setsockopt, (uint64_t)fd, level, option, at, n);
        memset(world_at(to), 0xcc, ROOM);
        uint64_t length = world_put(&room, sizeof(room));
        long r = WORLD_CALL(SYS_getsockopt, (uint64_t)fd, level, option, to, length);
        if (r == 0)
            memcpy(&room, world_at(length), sizeof(room));
        CHECK(room <= size);
        const uint8_t *value = world_at(to);
        for (size_t i = size; i < ROOM; i++)
            CHECK(value[i] == 0xcc);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    uint8_t family = input_byte(&in), type = input_byte(&in), what = input_byte(&in);
    world_begin(1000);
    long fd = new_socket(family, type);
    if (fd >= 0 && what % 4 == 3) {
        options(&in, fd);
    } else if (fd >= 0) {
        uint64_t address = world_put(in.data, in.size);
        if (what % 4 == 0)
            bind_twice(fd, family, type, address, in.size);
        else if (what % 4 == 1)
            WORLD_CALL(SYS_connect, (uint64_t)fd, address, in.size);
        else
            WORLD_CALL(SYS_sendto, (uint64_t)fd, address, 1, MSG_NOSIGNAL, address, in.size);
        check_name(fd, SYS_getsockname, false);
        check_name(fd, SYS_getpeername, false);
    }
    world_end();
    return 0;
}
