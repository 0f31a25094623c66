// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for what the kernel process gets from the gateway (kernel/net/gateway.c) and
 * does with the connections that come with it (kernel/net/outbound.c): an input is a list of steps
 * of the programs, the gateway and the peers.
 */
#include "tests/fuzz/world.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* The kernel has number 8 for it, which may be somebody's here. */
#include "lib/base/gateway.h"
#undef GATEWAY_KERNEL_FD
#define GATEWAY_KERNEL_FD 901
#include "kernel/net/gateway.c"

#define PEERS_MAX 16
#define BUFFER    WORLD_MEMORY
#define ADDRESS   (WORLD_MEMORY + 0x2000)
#define SOCKETS   8 /* of the guest: descriptors 3 and up, or whatever is there */

static int gateway_end;
static int peers[PEERS_MAX];
static size_t peer_count;

static void pump(void)
{
    uint32_t extra;
    host_watch_wait(HOSTFD_NONE, 0, &extra);
    call_run_woken(INT64_MAX);
}

static void put_address(uint16_t port, uint32_t address)
{
    struct sockaddr_in in = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(address)}};
    memcpy(world_memory + (ADDRESS - WORLD_MEMORY), &in, sizeof(in));
}

static void connect_out(struct input *in)
{
    static const uint32_t addresses[] = {0x2d21200a, 0xa9fea9fe, 0x0a00020f, 0x7f000001,
                                         0x08080808};
    long fd =
        WORLD_CALL(SYS_socket, AF_INET, SOCK_STREAM | (input_byte(in) & 1 ? SOCK_NONBLOCK : 0), 0);
    put_address(input_byte(in) & 1 ? 80 : 53, addresses[input_byte(in) % ARRAY_SIZE(addresses)]);
    WORLD_CALL(SYS_connect, (uint64_t)fd, ADDRESS, sizeof(struct sockaddr_in));
}

static void ask_name(struct input *in)
{
    size_t size;
    const uint8_t *query = input_bytes(in, input_byte(in), &size);
    long fd = WORLD_CALL(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    put_address(53, 0x08080808);
    memcpy(world_memory, query, size);
    WORLD_CALL(SYS_sendto, (uint64_t)fd, BUFFER, size, 0, ADDRESS, sizeof(struct sockaddr_in));
}

static void use_socket(struct input *in)
{
    static const struct {
        int nr;
        uint64_t a, b, c;
    } uses[] = {
        {SYS_read, BUFFER, 100, 0},
        {SYS_write, BUFFER, 20000, 0},
        {SYS_recvfrom, BUFFER, 5000, MSG_PEEK},
        {SYS_recvfrom, BUFFER, 5000, MSG_TRUNC},
        {SYS_sendto, BUFFER + 0x3f000, 8192, MSG_OOB},
        {SYS_shutdown, SHUT_WR, 0, 0},
        {SYS_shutdown, SHUT_RDWR, 0, 0},
        {SYS_close, 0, 0, 0},
        {SYS_connect, ADDRESS, sizeof(struct sockaddr_in), 0},
        {SYS_connect, BUFFER + 0x3000, sizeof(struct sockaddr_in), 0}, /* zeros: AF_UNSPEC */
        {SYS_getpeername, ADDRESS, BUFFER, 0},
        {SYS_ioctl, 0x541b, BUFFER, 0},
        {SYS_poll, 1, 0, 0},
    };
    size_t i = input_byte(in) % ARRAY_SIZE(uses);
    uint64_t fd = 3 + input_byte(in) % SOCKETS;
    struct pollfd p = {.fd = (int)fd, .events = POLLIN | POLLOUT};
    memcpy(world_memory + 0x4000, &p, sizeof(p));
    if (uses[i].nr == SYS_poll)
        WORLD_CALL(SYS_poll, WORLD_MEMORY + 0x4000, 1, 0);
    else
        WORLD_CALL(uses[i].nr, fd, uses[i].a, uses[i].b, uses[i].c);
}

/* One of the kernel's messages is answered as a gateway would, or nearly. */
static void reply(struct input *in)
{
    struct gateway_message m;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {&m, 0};
    struct msghdr h = {.msg_iov = &part, .msg_iovlen = 1};
    uint8_t what = input_byte(in);
    int ends[2] = {-1, -1};
    size_t size;
    if (recv(gateway_end, &m, sizeof(m), MSG_DONTWAIT) < (ssize_t)sizeof(m.packet))
        return;
    m.packet.type = what & 1 ? GATEWAY_CONNECTED : GATEWAY_ANSWER;
    m.packet.error = what & 2 ? (int8_t)input_byte(in) : 0;
    m.packet.id += what & 4 ? input_byte(in) : 0;
    const uint8_t *data = input_bytes(in, what & 8 ? input_byte(in) : 0, &size);
    memcpy(m.data, data, size);
    m.packet.data_size = (uint16_t)size;
    part.iov_len = sizeof(m.packet) + size;
    if ((what & 16) && peer_count < PEERS_MAX) {
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
        h.msg_control = &control;
        h.msg_controllen = sizeof(control);
        *CMSG_FIRSTHDR(&h) = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&h)), &ends[0], sizeof(int));
        peers[peer_count++] = ends[1];
    }
    sendmsg(gateway_end, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (ends[0] >= 0)
        close(ends[0]);
}

static void send_raw(struct input *in)
{
    size_t size;
    const uint8_t *data = input_bytes(in, input_byte(in), &size);
    send(gateway_end, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void use_peer(struct input *in)
{
    uint8_t what = input_byte(in);
    char bytes[4096] = "";
    if (peer_count == 0)
        return;
    int *peer = &peers[input_byte(in) % peer_count];
    if (*peer < 0)
        return;
    if (what & 1)
        send(*peer, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (what & 2)
        recv(*peer, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (what & 4)
        shutdown(*peer, SHUT_WR);
    if (what & 8) {
        close(*peer);
        *peer = -1;
    }
}

static void steps(struct input *in)
{
    static void (*const all[])(struct input *) = {connect_out, ask_name, use_socket, reply,
                                                  reply,       send_raw, use_peer};
    for (int i = 0; in->size > 0 && i < 200; i++) {
        all[input_byte(in) % ARRAY_SIZE(all)](in);
        pump();
    }
}

static void end(void)
{
    while (peer_count > 0)
        base_closep(&peers[--peer_count]);
    close(gateway_end);
    if (hostfd_is_open(watch.fd))
        on_ready(&watch, EPOLLIN);
    CHECK(!hostfd_is_open(watch.fd) && request_count == 0 && kept_count == 0);
    exists = false;
    last_id = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    const struct gateway_packet network = {.version = GATEWAY_VERSION, .type = GATEWAY_NETWORK};
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    CHECK(send(ends[1], &network, sizeof(network), 0) == sizeof(network));
    CHECK(dup2(ends[0], GATEWAY_KERNEL_FD) == GATEWAY_KERNEL_FD && close(ends[0]) == 0);
    gateway_end = ends[1];
    world_begin(1000);
    CHECK(gateway_start() == 0);
    steps(&in);
    end();
    world_end();
    return 0;
}
