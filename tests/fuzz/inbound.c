// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for connections from outside (kernel/net/inbound.c, wire.c): an input is a
 * list of steps of programs that listen, of askers that give whatever they have, and of the other
 * ends.
 *
 * What must hold: a question has one answer, at once or later, or none when its asker has been cut;
 * and nothing is left.
 */
#include "kernel/core/timer.h"
#include "kernel/net/inbound.h"
#include "tests/fuzz/world.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#define QUESTIONS_MAX 256
#define PEERS_MAX     32
#define ASKERS        3
#define PORTS         3
#define DESCRIPTORS   16
#define STEPS_MAX     300
#define BUFFER        WORLD_MEMORY
#define ADDRESS       (WORLD_MEMORY + 0x8000)
#define POLLED        (WORLD_MEMORY + 0x9000)

enum state { UNUSED, OPEN, TOLD, CUT };

static struct {
    enum state state;
    int32_t asker;
} questions[QUESTIONS_MAX];
static int32_t question_count;

static int peers[PEERS_MAX]; /* other ends of pairs */
static size_t peer_count;

static void on_told(int32_t number, int error)
{
    CHECK(number > 0 && number <= question_count);
    CHECK(questions[number - 1].state == OPEN);
    CHECK(error >= 0 && error < 4096);
    questions[number - 1].state = TOLD;
}

/* ---- programs ---- */

static void put_address(bool is_v6, uint16_t port, bool is_any)
{
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr = {htonl(is_any ? INADDR_ANY : INADDR_LOOPBACK)}};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
                               .sin6_port = htons(port),
                               .sin6_addr = is_any ? in6addr_any : in6addr_loopback};
    if (is_v6)
        memcpy(world_at(ADDRESS), &in6, sizeof(in6));
    else
        memcpy(world_at(ADDRESS), &in, sizeof(in));
}

static void listen_somewhere(struct input *in)
{
    uint8_t what = input_byte(in);
    bool is_v6 = what & 1;
    long fd = WORLD_CALL(SYS_socket, is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    put_address(is_v6, (uint16_t)(8000 + (what >> 2) % PORTS), what & 2);
    WORLD_CALL(SYS_bind, (uint64_t)fd, ADDRESS, is_v6 ? 28 : 16);
    WORLD_CALL(SYS_listen, (uint64_t)fd, (what >> 4) % 4);
}

static void connect_inside(struct input *in)
{
    uint8_t what = input_byte(in);
    long fd = WORLD_CALL(SYS_socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    put_address(false, (uint16_t)(8000 + what % PORTS), false);
    WORLD_CALL(SYS_connect, (uint64_t)fd, ADDRESS, 16);
}

static void use_socket(struct input *in)
{
    static const struct {
        int nr;
        uint64_t a, b, c;
    } uses[] = {
        {SYS_accept4, 0, 0, SOCK_NONBLOCK},
        {SYS_accept4, 0, 0, SOCK_NONBLOCK},
        {SYS_accept4, ADDRESS, BUFFER, SOCK_NONBLOCK},
        {SYS_read, BUFFER, 100, 0},
        {SYS_write, BUFFER, 30000, 0},
        {SYS_recvfrom, BUFFER, 5000, MSG_PEEK},
        {SYS_recvfrom, BUFFER, 5000, MSG_TRUNC},
        {SYS_recvfrom, BUFFER + 0x3f000, 8192, 0},
        {SYS_sendto, BUFFER, 10, MSG_OOB | MSG_NOSIGNAL},
        {SYS_shutdown, SHUT_RD, 0, 0},
        {SYS_shutdown, SHUT_WR, 0, 0},
        {SYS_shutdown, SHUT_RDWR, 0, 0},
        {SYS_close, 0, 0, 0},
        {SYS_connect, BUFFER + 0x3000, 16, 0}, /* zeros: AF_UNSPEC */
        {SYS_listen, 3, 0, 0},
        {SYS_getpeername, ADDRESS, BUFFER, 0},
        {SYS_getsockname, ADDRESS, BUFFER, 0},
        {SYS_ioctl, 0x541b, BUFFER, 0},
        {SYS_dup, 0, 0, 0},
        {SYS_poll, 0, 0, 0},
    };
    size_t i = input_byte(in) % ARRAY_SIZE(uses);
    uint64_t fd = 3 + input_byte(in) % DESCRIPTORS;
    struct pollfd p = {.fd = (int)fd, .events = POLLIN | POLLOUT | POLLRDHUP};
    memset(world_at(BUFFER), 0, 0x4000);
    memset(world_at(BUFFER), 16, 1); /* a size for names */
    memcpy(world_at(POLLED), &p, sizeof(p));
    if (uses[i].nr == SYS_poll)
        WORLD_CALL(SYS_poll, POLLED, 1, 0);
    else if (uses[i].nr == SYS_sendto || uses[i].nr == SYS_recvfrom)
        WORLD_CALL(uses[i].nr, fd, uses[i].a, uses[i].b, uses[i].c | MSG_DONTWAIT, 0, 0);
    else
        WORLD_CALL(uses[i].nr, fd, uses[i].a, uses[i].b, uses[i].c);
}

/* ---- askers ---- */

static void keep_peer(int fd)
{
    if (peer_count < PEERS_MAX)
        peers[peer_count++] = fd;
    else
        close(fd);
}

static int new_pair(int type)
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, ends) == 0);
    keep_peer(ends[1]);
    return ends[0];
}

static int new_gone(void)
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    close(ends[1]);
    return ends[0];
}

static int new_listener(void)
{
    const struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(fd, (const struct sockaddr *)&name, sizeof(sa_family_t)) == 0 && listen(fd, 1) == 0);
    return fd;
}

static int new_given(uint8_t kind)
{
    switch (kind % 10) {
    case 0:
        return new_pair(SOCK_DGRAM);
    case 1:
        return new_pair(SOCK_SEQPACKET);
    case 2:
        return socket(AF_UNIX, SOCK_STREAM, 0);
    case 3:
        return new_gone();
    case 4:
        return new_listener();
    case 5:
        return memfd_create("given", 0);
    case 6:
        return -1;
    case 7: /* another end, a second time */
        return peer_count > 0 && peers[0] >= 0 ? fcntl(peers[0], F_DUPFD_CLOEXEC, 0) : -1;
    default:
        return new_pair(SOCK_STREAM);
    }
}

static void ask(struct input *in)
{
    uint8_t what = input_byte(in), kind = input_byte(in);
    if (question_count == QUESTIONS_MAX)
        return;
    int32_t number = ++question_count;
    const struct inbound_question q = {
        .number = number,
        .asker = what % ASKERS,
        .port = (uint16_t)(8000 + (what >> 2) % (PORTS + 1)),
        .wait_ns = what & 0x80 ? (int64_t)INT64_MAX - input_byte(in) : input_byte(in) - 10,
    };
    questions[number - 1].state = OPEN;
    questions[number - 1].asker = q.asker;
    inbound_connect(&q, (struct hostfd){new_given(kind)});
}

static void cut(struct input *in)
{
    int32_t asker = input_byte(in) % ASKERS;
    inbound_cut(asker);
    for (int32_t i = 0; i < question_count; i++)
        if (questions[i].asker == asker && questions[i].state == OPEN)
            questions[i].state = CUT;
}

/* ---- the other ends ---- */

static void use_peer(struct input *in)
{
    uint8_t what = input_byte(in);
    char bytes[4096] = "";
    if (peer_count == 0)
        return;
    size_t i = input_byte(in) % peer_count;
    if (peers[i] < 0)
        return;
    if (what & 1)
        send(peers[i], bytes, 1 + input_byte(in) * 16, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (what & 2)
        recv(peers[i], bytes, sizeof(bytes), MSG_DONTWAIT);
    if (what & 4)
        shutdown(peers[i], SHUT_WR);
    if (what & 8)
        shutdown(peers[i], SHUT_RD);
    if ((what & 0xf0) == 0xf0) {
        close(peers[i]);
        peers[i] = -1;
    }
}

static void let_time_pass(struct input *in)
{
    /* Far enough for all that waits. */
    if (input_byte(in) & 1)
        timer_run(clock_monotonic_ns() + 2 * PORTS_WAIT_MAX_MS * NSEC_PER_MSEC);
}

static void steps(struct input *in)
{
    static void (*const all[])(struct input *) = {
        listen_somewhere, connect_inside, use_socket,   use_socket, use_socket, ask, ask, ask, cut,
        use_peer,         use_peer,       let_time_pass};
    for (int i = 0; in->size > 0 && i < STEPS_MAX; i++) {
        uint32_t extra;
        all[input_byte(in) % ARRAY_SIZE(all)](in);
        host_watch_wait(HOSTFD_NONE, 0, &extra);
        call_run_woken(INT64_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    inbound_told = on_told;
    question_count = 0;
    world_begin(1000);
    steps(&in);
    while (peer_count > 0)
        base_closep(&peers[--peer_count]);
    world_end();
    for (int32_t i = 0; i < question_count; i++)
        CHECK(questions[i].state != OPEN);
    return 0;
}
