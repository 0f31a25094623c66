// SPDX-License-Identifier: Apache-2.0
/* host calls: sendto recvmsg shutdown */
#include "kernel/net/gateway.h"

#include "kernel/core/kernel.h"
#include "kernel/core/timer.h"
#include "kernel/net/outbound.h"
#include "kernel/net/udp_outside.h"
#include "kernel/proc/process.h"
#include "lib/base/passed.h"

#include <stdio.h>

/*
 * While so many packets wait, there are no new requests: only programs that give up hundreds of
 * attempts to connect in a moment get there.
 */
#define KEPT_MAX 1024

#define SEND_AGAIN_NS (10 * NSEC_PER_MSEC)

/* A packet that the channel had no room for. */
struct kept {
    struct list link;
    size_t size;
    struct gateway_message message; /* so much of it */
};

static struct host_watch watch = {.fd = {-1}};
static struct list requests = {&requests, &requests};
static struct list kept = {&kept, &kept};
static size_t request_count, kept_count;
static uint64_t last_id;
static bool exists, has_v6;

static void on_again(struct timer *t);
static struct timer again = TIMER_INIT(on_again);

bool gateway_exists(void)
{
    return exists;
}

bool gateway_has_v6(void)
{
    return has_v6;
}

static void remove_request(struct gateway_request *r)
{
    list_remove(&r->link);
    request_count--;
}

static void end_channel(const char *why)
{
    struct gateway_request *r;
    struct kept *k;
    if (!hostfd_is_open(watch.fd))
        return;
    host_watch_remove(&watch);
    hostfd_close(&watch.fd);
    timer_disarm(&again);
    kernel_log("egress: the gateway %s; nothing can leave the sandbox any more, start it again",
               why);
    while ((k = list_first(&kept, struct kept, link))) {
        list_remove(&k->link);
        free(k);
    }
    kept_count = 0;
    while ((r = list_first(&requests, struct gateway_request, link))) {
        remove_request(r);
        r->done(r, ENETUNREACH, NULL, HOSTFD_NONE);
    }
    outbound_cut_all();
    udp_outside_cut_all();
}

/* ---- sending ---- */

/* False when there is no room. What else goes wrong is seen by the reader. */
static bool try_send(const struct gateway_message *m, size_t size)
{
    ssize_t n;
    do
        n = send(watch.fd.n, m, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n >= 0 || (errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM);
}

/*
 * When the gateway has read, or, where the host had no memory for it, a while later: the socket has
 * room then, and would be ready at once, again and again.
 */
static void wait_to_send(void)
{
    bool has_room = errno != EAGAIN;
    if (!has_room || timer_arm(&again, clock_monotonic_ns() + SEND_AGAIN_NS) < 0)
        host_watch_change(&watch, EPOLLIN | EPOLLOUT);
    else
        host_watch_change(&watch, EPOLLIN);
}

static void send_kept(void)
{
    struct kept *k;
    while ((k = list_first(&kept, struct kept, link))) {
        if (!try_send(&k->message, k->size)) {
            wait_to_send();
            return;
        }
        list_remove(&k->link);
        kept_count--;
        free(k);
    }
    host_watch_change(&watch, EPOLLIN);
}

static void on_again(struct timer *t _unused_)
{
    if (hostfd_is_open(watch.fd))
        send_kept();
}

static int send_message(struct gateway_message *m)
{
    size_t size = sizeof(m->packet) + m->packet.data_size;
    m->packet.version = GATEWAY_VERSION;
    bool is_first = list_is_empty(&kept);
    if (is_first && try_send(m, size))
        return 0;
    int error = errno;
    struct kept *k = malloc(offsetof(struct kept, message) + size);
    if (!k)
        return -ENOMEM;
    k->size = size;
    memcpy(&k->message, m, size);
    list_append(&kept, &k->link);
    kept_count++;
    errno = error;
    if (is_first)
        wait_to_send();
    return 0;
}

/*
 * What is kept is bounded: a request is only added while little is, and to each belongs at most one
 * CLOSE.
 */
static int send_request(struct gateway_request *r, struct gateway_message *m)
{
    if (!hostfd_is_open(watch.fd))
        return -ENETUNREACH;
    if (request_count >= GATEWAY_OUTSTANDING_MAX || kept_count >= KEPT_MAX)
        return -EADDRNOTAVAIL;
    m->packet.id = ++last_id;
    int error = send_message(m);
    if (error < 0)
        return error;
    r->id = last_id;
    list_append(&requests, &r->link);
    request_count++;
    return 0;
}

static void name_program(struct gateway_packet *p, const struct thread *t)
{
    if (t)
        memcpy(p->program, t->name, strnlen(t->name, sizeof(p->program)));
}

int gateway_resolve(struct gateway_request *r, uint8_t protocol, const uint8_t *query, size_t size,
                    const struct thread *t)
{
    struct gateway_message m = {
        .packet = {.type = GATEWAY_RESOLVE, .protocol = protocol, .pid = t ? t->process->pid : 0}};
    if (size > GATEWAY_QUERY_MAX)
        return -EMSGSIZE;
    name_program(&m.packet, t);
    m.packet.data_size = (uint16_t)size;
    memcpy(m.data, query, size);
    return send_request(r, &m);
}

int gateway_connect(struct gateway_request *r, uint8_t protocol, const struct inet_endpoint *to,
                    const struct thread *t)
{
    struct gateway_message m = {.packet = {.type = GATEWAY_CONNECT,
                                           .protocol = protocol,
                                           .address = to->address,
                                           .port = to->port,
                                           .pid = t ? t->process->pid : 0}};
    name_program(&m.packet, t);
    return send_request(r, &m);
}

int gateway_ask_agent(struct gateway_request *r, uint32_t connection, const struct thread *t,
                      const uint8_t *message, size_t size)
{
    struct gateway_message m = {.packet = {.type = GATEWAY_AGENT,
                                           .connection = connection,
                                           .data_size = (uint16_t)size,
                                           .pid = t ? t->process->pid : 0}};
    name_program(&m.packet, t);
    memcpy(m.data, message, size);
    return send_request(r, &m);
}

static void send_close(struct gateway_message *m)
{
    if (!hostfd_is_open(watch.fd))
        return;
    if (send_message(m) == 0)
        return;
    /*
     * A flow that the gateway believes open for ever must not be. Who ends one is at work on it:
     * both readers find the channel's end later.
     */
    kernel_log("egress: no memory to tell the gateway of a connection's end");
    shutdown(watch.fd.n, SHUT_RDWR);
}

void gateway_close(uint64_t id, bool is_reset)
{
    struct gateway_message m = {
        .packet = {.type = GATEWAY_CLOSE, .id = id, .error = is_reset ? ECONNRESET : 0}};
    send_close(&m);
}

void gateway_close_datagrams(uint64_t id, uint64_t tx, uint64_t rx)
{
    const struct gateway_counts counts = {tx, rx};
    struct gateway_message m = {
        .packet = {.type = GATEWAY_CLOSE, .id = id, .data_size = sizeof(counts)}};
    memcpy(m.data, &counts, sizeof(counts));
    send_close(&m);
}

void gateway_end_agent(uint32_t connection)
{
    struct gateway_message m = {.packet = {.type = GATEWAY_AGENT_END, .connection = connection}};
    send_close(&m);
}

void gateway_cancel(struct gateway_request *r)
{
    if (!list_is_linked(&r->link))
        return;
    remove_request(r);
    gateway_close(r->id, false);
}

/* ---- receiving ---- */

static struct gateway_request *find_request(uint64_t id)
{
    struct gateway_request *r;
    list_for_each(r, &requests, link)
    {
        if (r->id == id)
            return r;
    }
    return NULL;
}

static bool is_answer(const struct gateway_message *m)
{
    enum gateway_type type = m->packet.type;
    return type == GATEWAY_ANSWER || type == GATEWAY_CONNECTED || type == GATEWAY_ACCEPTED;
}

/* Its errors are told to programs: those of Linux only. */
static bool is_from_gateway(const struct gateway_message *m)
{
    enum gateway_type type = m->packet.type;
    return m->packet.error >= 0 && m->packet.error <= EHWPOISON &&
           (is_answer(m) || type == GATEWAY_STOP || type == GATEWAY_DIRECT ||
            type == GATEWAY_FINISH || type == GATEWAY_RESET || type == GATEWAY_NETWORK);
}

/* What is about something that was given up meanwhile is dropped; its CLOSE is on the way. */
static void take_message(const struct gateway_message *m, struct hostfd fd)
{
    if (m->packet.type == GATEWAY_NETWORK) {
        has_v6 = m->packet.has_v6;
        udp_outside_forget();
        hostfd_close(&fd);
        return;
    }
    if (m->packet.type == GATEWAY_RESET && udp_outside_cut(m->packet.id)) {
        hostfd_close(&fd);
        return;
    }
    if (!is_answer(m)) {
        outbound_told(m->packet.id, m->packet.type, fd);
        return;
    }
    struct gateway_request *r = find_request(m->packet.id);
    if (!r) {
        hostfd_close(&fd);
        return;
    }
    remove_request(r);
    r->done(r, m->packet.error, m, fd);
}

/* False when there is nothing (more) to read. */
static bool receive_one(int flags)
{
    struct gateway_message m;
    union passed room;
    struct iovec part = {&m, sizeof(m)};
    struct msghdr h = {.msg_iov = &part, .msg_iovlen = 1};
    passed_expect(&h, &room);
    ssize_t n = recvmsg(watch.fd.n, &h, flags | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        end_channel("has ended");
        return false;
    }
    struct hostfd fd = {passed_take(&h)};
    if ((h.msg_flags & MSG_TRUNC) || !gateway_is_valid(&m, (size_t)n) || !is_from_gateway(&m)) {
        hostfd_close(&fd);
        end_channel("said what can't be understood");
        return false;
    }
    take_message(&m, fd);
    return hostfd_is_open(watch.fd);
}

static void on_ready(struct host_watch *w, uint32_t events)
{
    if (events & EPOLLOUT)
        send_kept();
    gateway_catch_up();
}

void gateway_catch_up(void)
{
    while (hostfd_is_open(watch.fd) && receive_one(MSG_DONTWAIT))
        ;
}

int gateway_start(void)
{
    watch.fd.n = GATEWAY_KERNEL_FD;
    watch.ready = on_ready;
    exists = true;
    int r = host_watch_add(&watch, EPOLLIN);
    if (r == 0)
        receive_one(0); /* which interface there is, before a program looks */
    return r;
}
