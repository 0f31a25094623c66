// SPDX-License-Identifier: Apache-2.0
#include "gateway/channel.h"

#include "gateway/flows.h"
#include "gateway/own.h"
#include "gateway/questions.h"
#include "gateway/ssh_agent.h"
#include "gateway/trust.h"
#include "lib/base/passed.h"

#include <poll.h>
#include <sys/socket.h>

static uint64_t last_id;
static size_t outstanding;

static void send_message(const struct gateway_message *m, int fd)
{
    union passed room;
    struct iovec part = {(void *)m, sizeof(m->packet) + m->packet.data_size};
    struct msghdr h = {.msg_iov = &part, .msg_iovlen = 1};
    passed_put(&h, &room, fd);
    ssize_t n;
    do
        n = sendmsg(GATEWAY_CHANNEL_FD, &h, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    /* That the kernel is gone the reader finds out. */
    if (n < 0 && errno != EPIPE && errno != ECONNRESET)
        gateway_fail("the channel to the kernel: %s", strerror(errno));
}

void channel_send_ready(void)
{
    struct gateway_message m = {.packet = {.version = GATEWAY_VERSION,
                                           .type = GATEWAY_READY,
                                           .id = tls_authority_subject_hash(trust_authority())}};
    int size = tls_authority_certificate(trust_authority(), m.data, sizeof(m.data));
    if (size < 0)
        gateway_fail("the authority's certificate: %s", strerror(-size));
    m.packet.data_size = (uint16_t)size;
    send_message(&m, -1);
}

void channel_send_network(bool has_v6)
{
    const struct gateway_message m = {
        .packet = {.version = GATEWAY_VERSION, .type = GATEWAY_NETWORK, .has_v6 = has_v6}};
    send_message(&m, -1);
}

void channel_send_answer(uint64_t id, const uint8_t *answer, size_t size)
{
    struct gateway_message m = {.packet = {.version = GATEWAY_VERSION,
                                           .type = GATEWAY_ANSWER,
                                           .id = id,
                                           .data_size = (uint16_t)size}};
    memcpy(m.data, answer, size);
    outstanding--;
    send_message(&m, -1);
}

void channel_send_connected(uint64_t id, int error, int fd)
{
    const struct gateway_message m = {
        .packet = {
            .version = GATEWAY_VERSION, .type = GATEWAY_CONNECTED, .id = id, .error = error}};
    outstanding--;
    send_message(&m, error ? -1 : fd);
}

void channel_send_datagrams(uint64_t id, uint32_t idle_s, int fd)
{
    const struct gateway_message m = {
        .packet = {
            .version = GATEWAY_VERSION, .type = GATEWAY_CONNECTED, .id = id, .idle_s = idle_s}};
    outstanding--;
    send_message(&m, fd);
}

static void send_about(enum gateway_type type, uint64_t id, int fd)
{
    const struct gateway_message m = {
        .packet = {.version = GATEWAY_VERSION, .type = type, .id = id}};
    send_message(&m, fd);
}

void channel_send_accepted(uint64_t id, int fd)
{
    outstanding--;
    send_about(GATEWAY_ACCEPTED, id, fd);
}

void channel_send_stop(uint64_t id)
{
    send_about(GATEWAY_STOP, id, -1);
}

void channel_send_direct(uint64_t id, int fd)
{
    send_about(GATEWAY_DIRECT, id, fd);
}

void channel_send_finish(uint64_t id)
{
    send_about(GATEWAY_FINISH, id, -1);
}

void channel_send_reset(uint64_t id)
{
    send_about(GATEWAY_RESET, id, -1);
}

/* Ids rise, and so no flow has the id of another. */
static void begin_request(const struct gateway_packet *p)
{
    if (p->id <= last_id || outstanding >= 2 * GATEWAY_OUTSTANDING_MAX)
        gateway_fail("the kernel broke the rules of the channel");
    last_id = p->id;
    outstanding++;
}

static void take_connect(const struct gateway_packet *p)
{
    begin_request(p);
    if (p->protocol != IPPROTO_TCP && p->protocol != IPPROTO_UDP)
        gateway_fail("the kernel asked for protocol %u", p->protocol);
    flows_connect(p);
}

static void take_close(const struct gateway_message *m)
{
    struct gateway_counts counts;
    bool is_counted = m->packet.data_size == sizeof(counts);
    memcpy(&counts, m->data, sizeof(counts));
    /* Of a wish that has had no answer it takes the place of one. */
    if (flows_close(m->packet.id, m->packet.error != 0, is_counted ? &counts : NULL))
        outstanding--;
}

static void take_message(const struct gateway_message *m)
{
    switch (m->packet.type) {
    case GATEWAY_RESOLVE:
        begin_request(&m->packet);
        if (m->packet.data_size > GATEWAY_QUERY_MAX)
            gateway_fail("the kernel sent a query of %u bytes", m->packet.data_size);
        questions_take(&m->packet, m->data);
        return;
    case GATEWAY_CONNECT:
        take_connect(&m->packet);
        return;
    case GATEWAY_CLOSE:
        take_close(m);
        return;
    case GATEWAY_AGENT:
        begin_request(&m->packet);
        ssh_agent_take(&m->packet, m->data);
        return;
    case GATEWAY_AGENT_END:
        ssh_agent_forget(m->packet.connection);
        return;
    default:
        gateway_fail("the kernel sent a message of type %u", m->packet.type);
    }
}

bool channel_read(void)
{
    for (;;) {
        struct gateway_message m;
        ssize_t n = recv(GATEWAY_CHANNEL_FD, &m, sizeof(m), MSG_DONTWAIT | MSG_TRUNC);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return true;
        if (n <= 0)
            return false;
        if ((size_t)n > sizeof(m) || !gateway_is_valid(&m, (size_t)n))
            gateway_fail("the kernel sent what is no message");
        own_look();
        take_message(&m);
    }
}
