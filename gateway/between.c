// SPDX-License-Identifier: Apache-2.0
/*
 * The gateway between a program and its peer: one end of a pair of sockets, of which the sandbox's
 * kernel has the other, the connection to the peer, and what passes.
 *
 *   SEEING --the first bytes, judged--+-- denied: an alert or a reset
 *     |                               +-- allowed, and not dialled yet: dial.c, then
 *     |                               +-- allowed --> HANDING_OVER --> the kernel has it
 *     +-- what the peer says goes through meanwhile, since some protocols begin there; what the
 *         program says waits for the verdict
 *
 * HANDING_OVER: the kernel is told to stop; what it wrote before is read to its end and sent; then
 * it gets the connection itself (lib/base/gateway.h).
 */
#include "gateway/channel.h"
#include "gateway/flight.h"
#include "gateway/flow.h"

#include <stdio.h>
#include <sys/socket.h>

#define PIECE_BYTES 16384
/* Of what waits for a side that doesn't read; then the other one is not read either. */
#define QUEUE_BYTES (4 * PIECE_BYTES)
#define PAIR_BYTES  (64 << 10) /* of the pair's buffer towards the program */
/* What was written last has so long to be read, once nothing else is to come. */
#define LINGER_MS 30000

enum stage { SEEING, DIALLING, HANDING_OVER, CLOSING };

struct between {
    struct list link; /* of the spent */
    struct flow *flow;
    enum stage stage;
    struct watch guest;
    struct flight flight;
    struct buf to_guest, to_peer;
    bool guest_ended, peer_ended;       /* said their last */
    bool told_guest_end, guest_is_gone; /* heard ours; closed altogether */
    uint64_t guest_tx, guest_rx;
};

static struct list spent = {&spent, &spent};
static char piece[PIECE_BYTES];

static void run(struct between *b);

/* Whoever is at work on it finds out by its flow. */
void between_bury(struct between *b)
{
    if (!b)
        return;
    b->flow->between = NULL;
    watch_close(&b->guest);
    list_append(&spent, &b->link);
}

void between_reap(void)
{
    struct between *b;
    while ((b = list_first(&spent, struct between, link))) {
        list_remove(&b->link);
        flight_done(&b->flight);
        buf_done(&b->to_guest);
        buf_done(&b->to_peer);
        free(b);
    }
}

void between_count(const struct between *b, struct log_entry *e)
{
    e->has_counts = true;
    e->guest_tx = b->guest_tx;
    e->guest_rx = b->guest_rx;
}

/* ---- the end ---- */

/* Nothing is read any more; what waits for the program is sent. */
static void close_softly(struct between *b)
{
    b->stage = CLOSING;
    b->peer_ended = b->guest_ended = true;
    watch_close(&b->flow->peer);
    flow_set_deadline(b->flow, gateway_now_ns() + LINGER_MS * NSEC_PER_MSEC);
    run(b);
}

/* In the clear, as no key was agreed on: RFC 8446, 6.2, access_denied. */
static const uint8_t tls_denied[] = {21, 3, 1, 0, 2, 2, 49};

static void deny(struct between *b, const struct policy_verdict *v)
{
    struct log_entry e = flow_log_entry(b->flow, "connect");
    bool hides_name = b->flight.kind == FLIGHT_TLS && b->flight.hello.hello.has_ech &&
                      v->cause == POLICY_CAUSE_NAME_CONFLICT;
    e.is_decision = true;
    e.reason = hides_name ? "ech" : v->reason;
    log_write(&e);
    log_denial(&e, v->words ? v->words : "this needs to look into the connection");
    if (b->flight.kind != FLIGHT_TLS && b->flight.kind != FLIGHT_TLS_BROKEN) {
        flow_cut(b->flow);
        return;
    }
    buf_append(&b->to_guest, tls_denied, sizeof(tls_denied));
    close_softly(b);
}

static void time_out(struct between *b)
{
    struct log_entry e = flow_log_entry(b->flow, "connect");
    e.is_decision = true;
    e.reason = "limit:first_flight";
    log_write(&e);
    log_denial(&e, "what it said first did not come to an end in time");
    flow_cut(b->flow);
}

/* ---- the verdict ---- */

/* Evidence of the first bytes. */
static void see(struct between *b)
{
    struct flow *f = b->flow;
    const struct tls_hello *hello = &b->flight.hello.hello;
    struct policy_host host;
    const char *why;
    struct policy_name *sni = &f->evidence.sni;
    sni->state = POLICY_NAME_ABSENT;
    f->evidence.authority.state = f->evidence.request.state = POLICY_NAME_ABSENT;
    if (b->flight.kind == FLIGHT_TLS_BROKEN)
        sni->state = POLICY_NAME_UNREADABLE;
    if (b->flight.kind != FLIGHT_TLS || hello->name_kind == TLS_NAME_NONE)
        return;
    if (policy_host_parse(hello->server_name, strlen(hello->server_name), &host, &why) < 0) {
        sni->state = POLICY_NAME_UNREADABLE;
        return;
    }
    if (hello->name_kind == TLS_NAME_ADDRESS || host.kind != POLICY_HOST_NAME) {
        sni->state = POLICY_NAME_LITERAL;
        return;
    }
    snprintf(f->sni, sizeof(f->sni), "%s", host.name);
    *sni = (struct policy_name){POLICY_NAME_GIVEN, f->sni};
}

/* Begins with it, unless it is under way. */
static void dial_for(struct flow *f, const struct policy_verdict *v)
{
    if (f->dial.state != DIAL_NOT_YET)
        return;
    flow_allow(f, v);
    dial_begin(f);
}

static void hand_over(struct between *b)
{
    b->stage = HANDING_OVER;
    buf_append(&b->to_peer, b->flight.bytes.data, b->flight.bytes.size);
    flight_done(&b->flight);
    flight_init(&b->flight);
    flow_set_deadline(b->flow, INT64_MAX);
    channel_send_stop(b->flow->id);
}

/* It was dialled by a name, and means another one of those that the address has. */
static bool is_elsewhere(const struct flow *f, const struct policy_verdict *v)
{
    return f->dial.state != DIAL_NOT_YET && f->name[0] && v->name && strcmp(v->name, f->name) != 0;
}

static void judge(struct between *b)
{
    struct flow *f = b->flow;
    struct policy_verdict v;
    see(b);
    policy_judge(gateway.policy, &gateway.operator, & f->evidence, &v);
    if (v.action == POLICY_ALLOW && is_elsewhere(f, &v)) {
        v.action = POLICY_DENY;
        v.cause = POLICY_CAUSE_NAME_CONFLICT;
        snprintf(v.reason, sizeof(v.reason), "name_conflict");
    }
    if (v.action != POLICY_ALLOW) {
        deny(b, &v);
    } else if (f->dial.state == DIAL_DONE) {
        hand_over(b);
    } else {
        b->stage = DIALLING;
        dial_for(f, &v);
    }
}

/* It has said nothing so far, which may be all that it does: its peer may have to begin. */
static void judge_silence(struct between *b)
{
    struct policy_verdict v;
    struct policy_flow silent = b->flow->evidence;
    silent.sni.state = silent.authority.state = silent.request.state = POLICY_NAME_ABSENT;
    policy_judge(gateway.policy, &gateway.operator, & silent, &v);
    if (v.action == POLICY_ALLOW)
        dial_for(b->flow, &v);
    else
        deny(b, &v);
}

/* ---- what passes ---- */

static void take_from_guest(struct between *b, const char *data, size_t size)
{
    if (b->stage == HANDING_OVER) {
        buf_append(&b->to_peer, data, size);
        return;
    }
    bool is_first = b->flight.bytes.size == 0;
    if (flight_take(&b->flight, data, size) != FLIGHT_MORE)
        judge(b);
    else if (is_first)
        flow_set_deadline(b->flow,
                          gateway_now_ns() +
                              (int64_t)gateway.document->limits.first_flight_ms * NSEC_PER_MSEC);
}

/* False: there is nothing (more) to read now. */
static bool read_guest(struct between *b)
{
    bool waits_for_peer = b->stage == DIALLING || b->stage == CLOSING;
    if (b->guest.fd < 0 || b->guest_ended || waits_for_peer || b->to_peer.size >= QUEUE_BYTES)
        return false;
    ssize_t n = recv(b->guest.fd, piece, sizeof(piece), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n > 0) {
        b->guest_tx += (uint64_t)n;
        take_from_guest(b, piece, (size_t)n);
        return true;
    }
    b->guest_ended = true;
    if (b->stage == SEEING) {
        flight_end(&b->flight);
        judge(b);
    }
    return true;
}

static bool read_peer(struct between *b)
{
    struct flow *f = b->flow;
    bool is_handed_over = b->stage == HANDING_OVER && b->guest_ended && b->to_peer.size == 0;
    if (f->dial.state != DIAL_DONE || f->peer.fd < 0 || b->peer_ended || is_handed_over ||
        b->to_guest.size >= QUEUE_BYTES)
        return false;
    ssize_t n = recv(f->peer.fd, piece, sizeof(piece), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n < 0) {
        flow_cut(f);
        return false;
    }
    if (n == 0)
        b->peer_ended = true;
    b->guest_rx += (uint64_t)n;
    buf_append(&b->to_guest, piece, (size_t)n);
    return true;
}

/* Sends what it can; false: the other side is gone. */
static bool send_queue(struct buf *queue, int fd)
{
    while (queue->size > 0) {
        ssize_t n = send(fd, queue->data, queue->size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        buf_consume(queue, (size_t)n);
    }
    return true;
}

static void send_to_guest(struct between *b)
{
    /* A program that reads no more is no reason to end what it writes. */
    if (b->guest.fd < 0 || !send_queue(&b->to_guest, b->guest.fd))
        buf_reset(&b->to_guest);
    /* While it is handed over, the kernel finds the end in the connection itself. */
    if (b->peer_ended && b->to_guest.size == 0 && !b->told_guest_end && b->guest.fd >= 0 &&
        b->stage != HANDING_OVER) {
        channel_send_finish(b->flow->id);
        shutdown(b->guest.fd, SHUT_WR);
        b->told_guest_end = true;
    }
}

/* ---- the loop ---- */

static void finish_handing_over(struct between *b)
{
    struct flow *f = b->flow;
    if (b->guest_is_gone) {
        flow_close(f);
        return;
    }
    watch_for(&f->peer, 0);
    channel_send_direct(f->id, f->peer.fd);
    between_bury(b);
}

static bool is_over(const struct between *b)
{
    return b->stage == CLOSING && (b->to_guest.size == 0 || b->guest.fd < 0);
}

static void wait_for_what_can_be_done(struct between *b)
{
    struct flow *f = b->flow;
    bool reads_guest = !b->guest_ended && b->stage != DIALLING && b->to_peer.size < QUEUE_BYTES;
    bool reads_peer = !b->peer_ended && b->to_guest.size < QUEUE_BYTES;
    watch_for(&b->guest, (reads_guest ? EPOLLIN : 0U) | (b->to_guest.size > 0 ? EPOLLOUT : 0U));
    if (f->dial.state == DIAL_DONE)
        watch_for(&f->peer, (reads_peer ? EPOLLIN : 0U) | (b->to_peer.size > 0 ? EPOLLOUT : 0U));
}

/* All that can be done now. Afterwards b may be gone. */
static void run(struct between *b)
{
    struct flow *f = b->flow;
    bool goes_on = true;
    while (goes_on && f->between == b) {
        goes_on = read_guest(b);
        if (f->between != b)
            return;
        goes_on |= read_peer(b);
        if (f->between != b)
            return;
        if (f->dial.state == DIAL_DONE && f->peer.fd >= 0 && !send_queue(&b->to_peer, f->peer.fd)) {
            flow_cut(f);
            return;
        }
        send_to_guest(b);
    }
    if (b->stage == HANDING_OVER && b->guest_ended && b->to_peer.size == 0 && b->to_guest.size == 0)
        finish_handing_over(b);
    else if (is_over(b))
        flow_close(f);
    else
        wait_for_what_can_be_done(b);
}

static void on_guest(struct watch *w, uint32_t events)
{
    run(container_of(w, struct between, guest));
}

static void on_peer(struct watch *w, uint32_t events)
{
    run(container_of(w, struct flow, peer)->between);
}

/* ---- from outside ---- */

void between_begin(struct flow *f)
{
    int ends[2];
    const int size = PAIR_BYTES;
    struct between *b = calloc(1, sizeof(*b));
    if (!b || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0) {
        free(b);
        flow_fail(f, ENOBUFS);
        return;
    }
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    *b = (struct between){.flow = f,
                          .guest = {.fd = ends[0], .ready = on_guest},
                          .to_guest = BUF_INIT(2 * QUEUE_BYTES),
                          .to_peer = BUF_INIT(2 * QUEUE_BYTES)};
    flight_init(&b->flight);
    f->between = b;
    f->peer.ready = on_peer;
    f->is_answered = true;
    channel_send_accepted(f->id, ends[1]);
    close(ends[1]);
    /* Without a name, and with several, it is only waited a moment for more. */
    if (f->dial.state == DIAL_NOT_YET)
        flow_set_deadline(f, gateway_now_ns() + (int64_t)gateway.document->limits.nameless_wait_ms *
                                                    NSEC_PER_MSEC);
    run(b);
}

void between_connected(struct between *b)
{
    b->flow->peer.ready = on_peer;
    if (b->stage == DIALLING)
        hand_over(b);
    run(b);
}

void between_guest_gone(struct between *b)
{
    b->guest_is_gone = true;
    run(b);
}

void between_on_time(struct between *b)
{
    if (b->stage == SEEING && b->flight.bytes.size > 0) {
        time_out(b);
    } else if (b->stage == SEEING) {
        judge_silence(b);
        if (b->flow->between == b)
            run(b);
    } else {
        flow_close(b->flow);
    }
}
