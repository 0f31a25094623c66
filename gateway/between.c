// SPDX-License-Identifier: Apache-2.0
/*
 * The gateway between a program and its peer: one end of a pair of sockets, of which the sandbox's
 * kernel has the other, the connection to the peer, and what passes.
 *
 *   SEEING --the first bytes, judged--+-- denied: an alert or a reset
 *     |                               +-- allowed, and not dialled yet: dial.c, then
 *     |                               +-- allowed --> HANDING_OVER --> the kernel has it
 *     |                               |           +-> PASSING, where bytes are counted (budget.h)
 *     |                               |               or the first line can become a request
 *     |                               +-- to be looked into --> RELAYING, to its end: relay.c
 *     +-- what the peer says goes through meanwhile, since some protocols begin there; what the
 *         program says waits for the verdict
 *
 * HANDING_OVER: the kernel is told to stop; what it wrote before is read to its end and sent; then
 * it gets the connection itself (lib/base/gateway.h).
 */
#include "gateway/between_parts.h"
#include "gateway/budget.h"
#include "gateway/channel.h"

#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>

#define PIECE_BYTES (64 << 10)
#define FIRST_BYTES (16 << 10) /* at once, of what is judged as a whole */
#define ROUNDS_MAX  4          /* of one flow, before others have their turn */
/* Of what waits for a side that doesn't read; then the other one is not read either. */
#define QUEUE_BYTES PIECE_BYTES
#define PAIR_BYTES  (64 << 10) /* of the pair's buffer towards the program */
/* And at its end: room for all that is left, so that nobody has to read it first. */
#define LAST_PAIR_BYTES (4 * PAIR_BYTES)

static struct list spent = {&spent, &spent};
static size_t all_held_bytes;
static char piece[PIECE_BYTES];

/* Whoever is at work on it finds out by its flow. */
void between_bury(struct between *b)
{
    if (!b)
        return;
    b->flow->between = NULL;
    all_held_bytes -= b->held_bytes;
    watch_close(&b->guest);
    list_append(&spent, &b->link);
}

void between_reap(void)
{
    struct between *b;
    while ((b = list_first(&spent, struct between, link))) {
        list_remove(&b->link);
        flight_done(&b->flight);
        relay_free(b->relay);
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

int64_t between_stalled_ns(const struct between *b)
{
    int64_t now = gateway_now_ns();
    return MAX(b->guest_since_ns ? now - b->guest_since_ns : 0,
               b->peer_since_ns ? now - b->peer_since_ns : 0);
}

/* ---- what passes ---- */

static void take_from_guest(struct between *b, const char *data, size_t size)
{
    if (b->relay) {
        relay_from_guest(b->relay, data, size);
        return;
    }
    if (b->stage == HANDING_OVER || b->stage == PASSING) {
        if (!b->has_open_line || between_go_on_with_line(b, data, size))
            buf_append(&b->to_peer, data, size);
        return;
    }
    bool is_first = b->flight.bytes.size == 0;
    enum flight_kind kind = flight_take(&b->flight, data, size);
    if (b->flight.bytes.failed)
        between_time_out(b); /* more than a first flight has, or than there is memory for */
    else if (kind != FLIGHT_MORE)
        between_judge(b);
    else if (is_first)
        b->until_ns =
            gateway_now_ns() + (int64_t)gateway.document->limits.first_flight_ms * NSEC_PER_MSEC;
}

/* How much could be read from the program now, but for the rate. */
static size_t guest_room(const struct between *b)
{
    if (b->guest.fd < 0 || b->guest_ended || b->stage == DIALLING || b->stage == CLOSING ||
        b->to_peer.size >= QUEUE_BYTES)
        return 0;
    return b->relay             ? MIN(relay_guest_room(b->relay), sizeof(piece))
           : b->stage == SEEING ? FIRST_BYTES
                                : sizeof(piece);
}

static size_t peer_room(const struct between *b)
{
    const struct flow *f = b->flow;
    bool is_handed_over = b->stage == HANDING_OVER && b->guest_ended && b->to_peer.size == 0;
    if (f->dial.state != DIAL_DONE || f->peer.fd < 0 || b->peer_ended || is_handed_over ||
        b->to_guest.size >= QUEUE_BYTES)
        return 0;
    return b->relay ? MIN(relay_peer_room(b->relay), sizeof(piece)) : sizeof(piece);
}

/* Where requests are looked into, the program may get an answer that says so. */
static void lose_peer(struct between *b, const char *why)
{
    if (!b->relay) {
        flow_cut(b->flow);
        return;
    }
    watch_close(&b->flow->peer);
    b->peer_ended = true;
    buf_reset(&b->to_peer);
    relay_failed(b->relay, "upstream", why);
}

/* Counts what was read. False: it was too much, and the flow is cut. */
static bool spend(struct between *b, enum budget which, size_t size)
{
    if (budget_spend(which, size))
        return true;
    flow_cut_for(b->flow, budget_used_up());
    return false;
}

/* False: there is nothing (more) to read now. */
static bool read_guest(struct between *b)
{
    size_t room = b->guest_is_empty ? 0 : budget_room(BUDGET_UP, guest_room(b));
    if (room == 0)
        return false;
    ssize_t n = recv(b->guest.fd, piece, room, MSG_DONTWAIT);
    b->guest_is_empty = n < (ssize_t)room;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n > 0) {
        b->guest_tx += (uint64_t)n;
        if (!spend(b, BUDGET_UP, (size_t)n))
            return false;
        take_from_guest(b, piece, (size_t)n);
        return true;
    }
    b->guest_ended = true;
    if (b->stage == SEEING) {
        flight_end(&b->flight);
        between_judge(b);
    }
    if (b->relay)
        relay_guest_ended(b->relay);
    return true;
}

static bool read_peer(struct between *b)
{
    struct flow *f = b->flow;
    size_t room = b->peer_is_empty ? 0 : budget_room(BUDGET_DOWN, peer_room(b));
    if (room == 0)
        return false;
    ssize_t n = recv(f->peer.fd, piece, room, MSG_DONTWAIT);
    b->peer_is_empty = n < (ssize_t)room;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n < 0) {
        lose_peer(b, strerror(errno));
        return false;
    }
    b->peer_ended = n == 0;
    if (!spend(b, BUDGET_DOWN, (size_t)n))
        return false;
    b->guest_rx += b->relay ? 0 : (uint64_t)n;
    if (!b->relay)
        buf_append(&b->to_guest, piece, (size_t)n);
    else if (n > 0)
        relay_from_peer(b->relay, piece, (size_t)n);
    else
        relay_peer_ended(b->relay);
    return true;
}

/* What was not taken is for when there is room again. */
static bool send_some(struct buf *queue, int fd)
{
    ssize_t n = send(fd, queue->data, queue->size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    buf_consume(queue, (size_t)n);
    return true;
}

/* Sends what it can; false: the other side is gone. Queues that wait for nothing have no memory. */
static bool send_queue(struct buf *queue, int fd, int64_t *since_ns)
{
    size_t before = queue->size;
    bool is_there = before == 0 || send_some(queue, fd);
    if (queue->size == 0)
        *since_ns = 0;
    else if (queue->size < before || *since_ns == 0)
        *since_ns = gateway_now_ns();
    if (queue->size == 0 && !queue->failed)
        buf_done(queue);
    return is_there;
}

/* A program that reads no more is no reason to end what it writes. */
static void send_to_guest(struct between *b)
{
    size_t before = b->to_guest.size;
    if (b->guest.fd >= 0 && send_queue(&b->to_guest, b->guest.fd, &b->guest_since_ns))
        b->guest_rx += b->relay ? before - b->to_guest.size : 0;
    else
        buf_reset(&b->to_guest);
}

static void send_to_peer(struct between *b)
{
    struct flow *f = b->flow;
    if (f->dial.state == DIAL_DONE && f->peer.fd >= 0 &&
        !send_queue(&b->to_peer, f->peer.fd, &b->peer_since_ns))
        lose_peer(b, strerror(errno));
}

static void tell_guest_end(struct between *b)
{
    if (b->told_guest_end || b->to_guest.size > 0 || b->guest.fd < 0)
        return;
    b->told_guest_end = true;
    channel_send_finish(b->flow->id);
    shutdown(b->guest.fd, SHUT_WR);
}

static void tell_peer_end(struct between *b)
{
    if (b->told_peer_end || b->to_peer.size > 0 || b->flow->peer.fd < 0)
        return;
    b->told_peer_end = true;
    shutdown(b->flow->peer.fd, SHUT_WR);
}

/* ---- the loop ---- */

/*
 * The program can't write until it has the connection itself, and may not read before it has
 * written: what is left for it goes into the pair whether it reads or not.
 */
static void push_rest(struct between *b)
{
    const int size = LAST_PAIR_BYTES;
    if (b->to_guest.size == 0 || b->guest.fd < 0)
        return;
    setsockopt(b->guest.fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    send_to_guest(b);
}

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

/*
 * The program was told all and may still write, such as the content of a request that was refused.
 * Were that cut off it would not look for the answer, so it is read and dropped, up to its end.
 */
static void linger(struct between *b)
{
    if (b->guest_ended || b->guest_is_gone) {
        flow_close(b->flow);
        return;
    }
    watch_close(&b->flow->peer);
    if (b->until_ns == INT64_MAX)
        b->until_ns = gateway_now_ns() + BETWEEN_LINGER_MS * NSEC_PER_MSEC;
}

/* What is to become of the two sides of what is relayed. Afterwards b may be gone. */
static void relay_ends(struct between *b)
{
    struct flow *f = b->flow;
    enum exchange_end guest = relay_guest_end(b->relay), peer = relay_peer_end(b->relay);
    bool has_done_all = b->guest_is_gone && b->guest_ended && b->to_peer.size == 0;
    if (guest == EXCHANGE_RESET) {
        flow_cut(f);
        return;
    }
    if (guest != EXCHANGE_OPEN)
        tell_guest_end(b);
    if (peer == EXCHANGE_SHUT)
        tell_peer_end(b);
    if (peer == EXCHANGE_CLOSE && b->to_peer.size == 0)
        watch_close(&f->peer);
    if (peer == EXCHANGE_RESET) {
        flow_reset_peer(f);
        watch_close(&f->peer);
    }
    if (has_done_all)
        flow_close(f);
    else if (guest == EXCHANGE_CLOSE && b->to_guest.size == 0)
        linger(b);
}

static void go_on_relaying(struct between *b)
{
    struct flow *f = b->flow;
    relay_run(b->relay, &b->to_guest, &b->to_peer, QUEUE_BYTES);
    if (f->dial.state != DIAL_NOT_YET || relay_wants_peer(b->relay) == EXCHANGE_DIAL_NOTHING)
        return;
    if (relay_wants_peer(b->relay) == EXCHANGE_DIAL_NAME)
        snprintf(f->name, sizeof(f->name), "%s", relay_name(b->relay));
    if (!f->reason[0])
        snprintf(f->reason, sizeof(f->reason), "request");
    dial_begin(f);
}

static void set_deadline(struct between *b)
{
    struct flow *f = b->flow;
    int64_t at = b->until_ns;
    if (f->dial.state == DIAL_LOOKING_UP || f->dial.state == DIAL_TRYING)
        return; /* it has one of its own */
    if (b->relay)
        at = MIN(at, relay_deadline_ns(b->relay));
    if (guest_room(b) > 0)
        at = MIN(at, budget_wait_until_ns(BUDGET_UP));
    if (peer_room(b) > 0)
        at = MIN(at, budget_wait_until_ns(BUDGET_DOWN));
    flow_set_deadline(f, at);
}

/* has_more: not all was done that could be. */
static void wait_for_what_can_be_done(struct between *b, bool has_more)
{
    struct flow *f = b->flow;
    size_t guest = budget_room(BUDGET_UP, guest_room(b));
    size_t peer = budget_room(BUDGET_DOWN, peer_room(b));
    watch_for(&b->guest,
              (guest > 0 ? EPOLLIN : 0U) | (has_more || b->to_guest.size > 0 ? EPOLLOUT : 0U));
    if (f->dial.state == DIAL_DONE)
        watch_for(&f->peer, (peer > 0 ? EPOLLIN : 0U) | (b->to_peer.size > 0 ? EPOLLOUT : 0U));
    set_deadline(b);
}

/* One round; whether there may be more to do. Afterwards b may be gone. */
static bool step(struct between *b)
{
    struct flow *f = b->flow;
    bool has_moved = read_guest(b);
    if (f->between != b)
        return false;
    has_moved |= read_peer(b);
    if (f->between == b && b->relay)
        go_on_relaying(b);
    if (f->between != b)
        return false;
    size_t waiting = b->to_guest.size + b->to_peer.size;
    send_to_peer(b);
    if (f->between == b)
        send_to_guest(b);
    /* Memory ran out: with a piece missing it is not what was said any more. */
    if (f->between == b && (b->to_guest.failed || b->to_peer.failed)) {
        flow_cut_for(f, "limit:memory");
        return false;
    }
    /* What was sent makes room for what the relay still holds. */
    return f->between == b && (has_moved || b->to_guest.size + b->to_peer.size < waiting);
}

/* What is over now, and whose turn it is. Afterwards b may be gone. */
static void settle(struct between *b, bool has_more)
{
    struct flow *f = b->flow;
    bool is_stopped = b->stage == HANDING_OVER && b->guest_ended && b->to_peer.size == 0;
    if (is_stopped)
        push_rest(b);
    if (is_stopped && b->to_guest.size == 0)
        finish_handing_over(b);
    else if (b->stage == CLOSING && (b->to_guest.size == 0 || b->guest.fd < 0))
        flow_close(f);
    else if (b->stage == PASSING && b->guest_is_gone && b->guest_ended && b->to_peer.size == 0)
        flow_close(f);
    else
        wait_for_what_can_be_done(b, has_more);
}

static void count_held(struct between *b)
{
    all_held_bytes -= b->held_bytes;
    b->held_bytes = b->to_guest.capacity + b->to_peer.capacity + flight_held_bytes(&b->flight) +
                    (b->relay ? relay_held_bytes(b->relay) : 0);
    all_held_bytes += b->held_bytes;
}

bool between_passes(const struct between *b)
{
    return b->stage == DIALLING || b->stage == HANDING_OVER || b->stage == PASSING;
}

size_t between_held_bytes(const struct between *b)
{
    return b->held_bytes;
}

size_t between_all_held_bytes(void)
{
    return all_held_bytes;
}

/* Up to what others should not have to wait for. The sides that may have said something. */
static void run_for(struct between *b, bool guest_may, bool peer_may)
{
    struct flow *f = b->flow;
    int rounds = ROUNDS_MAX;
    b->guest_is_empty = !guest_may;
    b->peer_is_empty = !peer_may;
    while (rounds > 0 && step(b))
        rounds--;
    if (f->between == b && b->relay)
        relay_ends(b);
    else if (f->between == b && b->peer_ended && b->stage != HANDING_OVER)
        tell_guest_end(b); /* of a flow that is handed over the kernel finds it there */
    if (f->between == b && b->stage == PASSING && b->guest_ended)
        tell_peer_end(b);
    if (f->between == b)
        count_held(b);
    if (f->between == b)
        settle(b, rounds == 0);
}

void between_run(struct between *b)
{
    run_for(b, true, true);
}

/* A side that can be written to again makes room for what the other one says. */
static void on_guest(struct watch *w, uint32_t events)
{
    run_for(container_of(w, struct between, guest), events & ~EPOLLOUT, events & EPOLLOUT);
}

static void on_peer(struct watch *w, uint32_t events)
{
    run_for(container_of(w, struct flow, peer)->between, events & EPOLLOUT, events & ~EPOLLOUT);
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
                          .until_ns = INT64_MAX,
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
        b->until_ns =
            gateway_now_ns() + (int64_t)gateway.document->limits.nameless_wait_ms * NSEC_PER_MSEC;
    run_for(b, false, false);
}

void between_send_at_once(const struct between *b)
{
    const int on = 1;
    if (b->flow->peer.fd >= 0)
        setsockopt(b->flow->peer.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void between_connected(struct between *b)
{
    b->flow->peer.ready = on_peer;
    if (b->relay)
        between_send_at_once(b);
    if (b->stage == DIALLING)
        between_hand_over(b);
    else if (b->relay)
        relay_connected(b->relay, flow_dialled(b->flow));
    run_for(b, false, false);
}

bool between_failed(struct between *b, const char *reason, const char *words)
{
    if (!b->relay)
        return false;
    relay_failed(b->relay, reason, words);
    between_run(b);
    return true;
}

void between_guest_gone(struct between *b)
{
    b->guest_is_gone = true;
    between_run(b);
}

void between_on_time(struct between *b)
{
    struct flow *f = b->flow;
    bool is_over = gateway_now_ns() >= b->until_ns;
    if (b->relay && gateway_now_ns() >= relay_deadline_ns(b->relay))
        relay_expire(b->relay);
    if (is_over && b->stage == SEEING && b->flight.bytes.size > 0) {
        between_time_out(b);
    } else if (is_over && b->stage == SEEING) {
        b->until_ns = INT64_MAX;
        between_judge_silence(b);
    } else if (is_over) {
        flow_close(f);
    }
    if (f->between == b)
        between_run(b);
}
