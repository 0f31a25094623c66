// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for control messages (kernel/sys/ancillary.c, kernel/net/rights.c): the first
 * three bytes choose the sockets, options, and the room for what is received; the rest is what is
 * sent as msg_control, of which descriptors are small numbers.
 *
 * What must hold: what comes out is a list that cmsg(3) can walk, in the room that was given, and
 * each descriptor in it is open.
 */
#include "tests/fuzz/world.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define ROOM_MAX 512

static long make_pair(int type, long ret[2])
{
    int fds[2];
    uint64_t at = world_put(NULL, sizeof(fds));
    long r = WORLD_CALL(SYS_socketpair, AF_UNIX, (uint64_t)type | SOCK_NONBLOCK, 0, at);
    memcpy(fds, world_at(at), sizeof(fds));
    ret[0] = fds[0];
    ret[1] = fds[1];
    return r;
}

static uint64_t message(uint64_t control, size_t control_size)
{
    const struct iovec part = {(void *)(uintptr_t)world_put("x", 1), 1};
    const struct msghdr m = {
        .msg_iov = (struct iovec *)(uintptr_t)world_put(&part, sizeof(part)),
        .msg_iovlen = 1,
        .msg_control = (void *)(uintptr_t)control,
        .msg_controllen = control_size,
    };
    return world_put(&m, sizeof(m));
}

static void check_rights(const struct cmsghdr *c)
{
    size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    CHECK(count > 0);
    for (size_t i = 0; i < count; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
        CHECK(fd >= 0 && WORLD_CALL(SYS_fcntl, (uint64_t)fd, F_GETFD) >= 0);
        WORLD_CALL(SYS_close, (uint64_t)fd);
    }
}

static void receive(long fd, size_t room, bool is_peek)
{
    _Alignas(16) static uint8_t control[ROOM_MAX];
    struct msghdr m;
    uint64_t to = world_put(NULL, ROOM_MAX), at = message(to, room);
    memset(world_at(to), 0xcc, ROOM_MAX);
    long n = WORLD_CALL(SYS_recvmsg, (uint64_t)fd, at, is_peek ? MSG_PEEK : 0);
    CHECK(n == 1 || n == -EAGAIN);
    if (n < 0)
        return;
    memcpy(&m, world_at(at), sizeof(m));
    memcpy(control, world_at(to), sizeof(control));
    CHECK(m.msg_controllen <= room);
    for (size_t i = room; i < ROOM_MAX; i++)
        CHECK(control[i] == 0xcc);
    m.msg_control = control;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
        CHECK(c->cmsg_len >= sizeof(*c));
        CHECK(c->cmsg_len <= m.msg_controllen - (size_t)((uint8_t *)c - control));
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            check_rights(c);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    struct input in = {data, size};
    uint8_t kind = input_byte(&in), options = input_byte(&in);
    size_t room = (size_t)input_byte(&in) * 2, control_size;
    const uint8_t *control = input_bytes(&in, 4096, &control_size);
    long fds[2];
    world_begin(options & 1 ? 0 : 1000);
    CHECK(make_pair(types[kind % ARRAY_SIZE(types)], fds) == 0);
    uint64_t one = world_put(&(int){1}, sizeof(int));
    for (int option = 0; option < 2; option++)
        if (options & (2 << option))
            WORLD_CALL(SYS_setsockopt, (uint64_t)fds[1], SOL_SOCKET,
                       option ? SO_TIMESTAMP : SO_PASSCRED, one, sizeof(int));
    long r = WORLD_CALL(SYS_sendmsg, (uint64_t)fds[0],
                        message(world_put(control, control_size), control_size), 0);
    CHECK(r == 1 || r < 0);
    if (options & 8)
        receive(fds[1], room, true);
    receive(fds[1], room, false);
    world_end();
    return 0;
}
