// SPDX-License-Identifier: Apache-2.0
#include "gateway/relay.h"

#include "gateway/requests.h"
#include "gateway/trust.h"
#include "lib/tls/hello.h"
#include "lib/tls/session.h"

#include <stdio.h>

#define PIECE_BYTES 16384
#define HELD_BYTES  (4 * PIECE_BYTES) /* plain text that the other side does not take yet */

enum step {
    PEER_IS_WANTED, /* by the requests, or by the caller */
    GREETING,       /* the peer's handshake goes on */
    RELAYING,
};

/* One side: its TLS, if there is any, and what came out of it and is not taken yet. */
struct side {
    struct tls_session *tls;
    struct buf plain;
    bool has_ended; /* no more bytes */
    bool told_end;  /* and who is behind it knows */
    bool is_closed; /* we have said our last */
};

struct relay {
    struct relay_setup setup;
    char name[POLICY_NAME_MAX_BYTES + 1];
    char trouble[256];
    enum step step;
    struct requests *requests; /* NULL: raw, or not yet */
    struct postgres *postgres; /* until it is open; then it is raw, */
    bool drops_guest;          /* but for what the program says */
    struct side guest, peer;
    struct buf first; /* until there is who takes it */
    /* Of TLS: the versions of HTTP that the program's hello offers. */
    bool guest_has_http1, guest_has_http2;
    bool is_broken;
    int64_t greeting_until_ns;
};

static void set_out(struct side *s)
{
    tls_session_free(s->tls);
    buf_done(&s->plain);
}

void relay_free(struct relay *r)
{
    if (!r)
        return;
    requests_free(r->requests);
    postgres_free(r->postgres);
    set_out(&r->guest);
    set_out(&r->peer);
    buf_done(&r->first);
    free(r);
}

static bool start_requests(struct relay *r, bool is_http2)
{
    const struct exchange_setup setup = {
        .evidence = r->setup.evidence,
        .name = r->name,
        .dialled = r->setup.dialled,
        .is_tls = r->setup.is_tls,
        .context = r->setup.context,
        .log = r->setup.log,
        .terminate = r->setup.terminate,
    };
    r->requests = requests_new(&setup, is_http2);
    return r->requests;
}

/* What can't be read is left to TLS to refuse. */
static void read_hello(struct relay *r)
{
    struct tls_hello_parser p;
    size_t taken;
    tls_hello_init(&p);
    if (tls_hello_take(&p, r->first.data, r->first.size, &taken) == TLS_HELLO_DONE) {
        r->guest_has_http1 = p.hello.protocols_size == 0 || tls_hello_offers(&p.hello, "http/1.1");
        r->guest_has_http2 = tls_hello_offers(&p.hello, "h2");
    }
    tls_hello_done(&p);
}

static struct relay *begin_postgres(struct relay *r, const void *first, size_t size)
{
    r->step = RELAYING;
    r->postgres = r->setup.postgres;
    snprintf(r->name, sizeof(r->name), "%s", r->setup.name);
    if (r->setup.dialled)
        postgres_connected(r->postgres);
    if (size > postgres_guest_room(r->postgres))
        r->is_broken = true;
    else
        postgres_from_guest(r->postgres, first, size);
    return r;
}

struct relay *relay_new(const struct relay_setup *setup, const void *first, size_t size)
{
    struct relay *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->setup = *setup;
    if (setup->postgres)
        return begin_postgres(r, first, size);
    r->guest.plain = r->peer.plain = BUF_INIT(HELD_BYTES + size);
    r->first = BUF_INIT(size);
    snprintf(r->name, sizeof(r->name), "%s", setup->name);
    struct buf *to = setup->is_tls ? &r->first : &r->guest.plain;
    if (buf_append(to, first, size) < 0 || (!setup->is_tls && !start_requests(r, false))) {
        relay_free(r);
        return NULL;
    }
    if (setup->is_tls)
        read_hello(r);
    if (!setup->is_tls)
        r->step = RELAYING;
    else if (setup->dialled)
        relay_connected(r, setup->dialled);
    return r;
}

const char *relay_name(const struct relay *r)
{
    return r->requests && !r->setup.is_tls ? exchange_name(requests_exchange(r->requests))
                                           : r->name;
}

const char *relay_trouble(const struct relay *r)
{
    return r->trouble;
}

enum exchange_dial relay_wants_peer(const struct relay *r)
{
    if (r->setup.is_tls)
        return r->step == PEER_IS_WANTED ? EXCHANGE_DIAL_NAME : EXCHANGE_DIAL_NOTHING;
    if (r->postgres)
        return postgres_wants_server(r->postgres) ? EXCHANGE_DIAL_NAME : EXCHANGE_DIAL_NOTHING;
    return r->requests ? exchange_wants_server(requests_exchange(r->requests))
                       : EXCHANGE_DIAL_NOTHING;
}

/* ---- TLS begins ---- */

/* The version that the server chose; or, for the answer that there is none, that which the program
 * understands. */
static bool is_http2(const struct relay *r)
{
    if (r->trouble[0])
        return r->guest_has_http2 && !r->guest_has_http1 && !r->setup.is_raw;
    return tls_session_is_http2(r->peer.tls);
}

/* The peer is who it has to be, or there is an answer that says why not. */
static void greet_guest(struct relay *r)
{
    size_t taken;
    bool with_http2 = is_http2(r);
    r->step = RELAYING;
    r->guest.tls = with_http2 ? tls_session_accept_http2(trust_authority(), r->name, trust_now_s())
                              : tls_session_accept(trust_authority(), r->name, trust_now_s());
    if (!r->guest.tls || (!(r->setup.is_raw && !r->trouble[0]) && !start_requests(r, with_http2))) {
        r->is_broken = true;
        return;
    }
    tls_session_take(r->guest.tls, r->first.data, r->first.size, &taken);
    r->is_broken = taken != r->first.size;
    buf_done(&r->first);
}

void relay_connected(struct relay *r, const struct in6_addr *address)
{
    r->setup.dialled = address;
    if (r->postgres) {
        postgres_connected(r->postgres);
        return;
    }
    if (!r->setup.is_tls) {
        exchange_dialled(requests_exchange(r->requests), address);
        return;
    }
    r->step = GREETING;
    r->greeting_until_ns =
        gateway_now_ns() + (int64_t)gateway.document->limits.connect_timeout_ms * NSEC_PER_MSEC;
    if (!trust_roots()) {
        relay_failed(r, "upstream_tls", "this machine has no roots; install ca-certificates");
        return;
    }
    const struct tls_server server = {.name = r->name,
                                      .port = r->setup.evidence->port,
                                      .min_version = gateway.document->tls.min_version,
                                      .offers_http2 = r->guest_has_http2 && !r->setup.is_raw};
    r->peer.tls = tls_session_resume(trust_roots(), trust_tickets(), &server, trust_now_s());
    if (!r->peer.tls)
        relay_failed(r, "upstream_tls", strerror(errno));
}

void relay_failed(struct relay *r, const char *reason, const char *words)
{
    snprintf(r->trouble, sizeof(r->trouble), "%s", words);
    r->peer.told_end = true;
    if (r->postgres) {
        postgres_failed(r->postgres, reason, words);
        return;
    }
    if (r->setup.is_tls && r->step != RELAYING)
        greet_guest(r);
    if (r->requests)
        requests_server_failed(r->requests, reason, words);
    else
        r->is_broken = true;
}

static void go_on_greeting(struct relay *r)
{
    switch (tls_session_progress(r->peer.tls)) {
    case TLS_HANDSHAKE:
        return;
    case TLS_OPEN:
    case TLS_CLOSED:
        greet_guest(r);
        return;
    case TLS_TRUNCATED:
    case TLS_FAILED:
        break;
    }
    const char *why = tls_session_error(r->peer.tls);
    relay_failed(r, "upstream_tls", why[0] ? why : "the server ended the TLS handshake");
}

/* ---- bytes from outside ---- */

static size_t room(const struct side *s)
{
    return s->tls                       ? tls_session_room(s->tls)
           : s->plain.size < HELD_BYTES ? HELD_BYTES - s->plain.size
                                        : 0;
}

size_t relay_guest_room(const struct relay *r)
{
    if (r->postgres)
        return postgres_guest_room(r->postgres);
    return r->step == RELAYING ? room(&r->guest) : 0;
}

size_t relay_peer_room(const struct relay *r)
{
    if (r->postgres)
        return postgres_server_room(r->postgres);
    return r->step == PEER_IS_WANTED ? 0 : room(&r->peer);
}

static void take(struct side *s, const void *data, size_t size)
{
    size_t taken;
    if (s->tls)
        tls_session_take(s->tls, data, size, &taken);
    else
        buf_append(&s->plain, data, size);
}

void relay_from_guest(struct relay *r, const void *data, size_t size)
{
    if (r->postgres)
        postgres_from_guest(r->postgres, data, size);
    else
        take(&r->guest, data, size);
}

void relay_from_peer(struct relay *r, const void *data, size_t size)
{
    if (r->postgres)
        postgres_from_server(r->postgres, data, size);
    else
        take(&r->peer, data, size);
}

static void end(struct side *s)
{
    s->has_ended = true;
    if (s->tls)
        tls_session_end(s->tls);
}

void relay_guest_ended(struct relay *r)
{
    if (r->postgres)
        postgres_guest_ended(r->postgres);
    else
        end(&r->guest);
}

void relay_peer_ended(struct relay *r)
{
    if (r->postgres)
        postgres_server_ended(r->postgres);
    else
        end(&r->peer);
}

/* ---- through ---- */

/* What TLS gives, as far as there is room. */
static bool decrypt(struct side *s)
{
    bool has_moved = false;
    while (s->tls && s->plain.size < HELD_BYTES - PIECE_BYTES) {
        char *to = buf_room(&s->plain, PIECE_BYTES);
        size_t n = to ? tls_session_read(s->tls, to, PIECE_BYTES) : 0;
        if (n == 0)
            break;
        buf_extend(&s->plain, n);
        has_moved = true;
    }
    return has_moved;
}

/* Whether what came from a side is all, and how it ended. */
static enum tls_progress progress_of(const struct side *s)
{
    if (s->tls)
        return tls_session_progress(s->tls);
    return s->has_ended ? TLS_CLOSED : TLS_OPEN;
}

/* Plain text on its way out of here, by a side. Takes from text what it can. */
static bool give(struct side *s, struct buf *text, struct buf *out, size_t limit)
{
    if (text->size == 0)
        return false;
    size_t taken = 0;
    if (s->tls)
        taken = tls_session_write(s->tls, text->data, text->size);
    else if (out->size < limit && buf_append(out, text->data, text->size) == 0)
        taken = text->size;
    buf_consume(text, taken);
    return taken > 0;
}

/* Nothing is left in here for that side. */
static bool is_drained(const struct side *s)
{
    const uint8_t *data;
    size_t size = 0;
    if (s->tls)
        tls_session_pending(s->tls, &data, &size);
    return size == 0;
}

static bool encrypt(struct side *s, struct buf *out, size_t limit)
{
    if (!s->tls || out->size >= limit || is_drained(s))
        return false;
    return tls_session_move_pending(s->tls, out) == 0;
}

static bool requests_step(struct relay *r)
{
    struct requests *x = r->requests;
    size_t a = requests_from_guest(x, r->guest.plain.data, r->guest.plain.size);
    buf_consume(&r->guest.plain, a);
    size_t b = requests_from_server(x, r->peer.plain.data, r->peer.plain.size);
    buf_consume(&r->peer.plain, b);
    return a + b > 0;
}

static void tell_ends(struct relay *r)
{
    enum tls_progress guest = progress_of(&r->guest), peer = progress_of(&r->peer);
    if (guest >= TLS_CLOSED && r->guest.plain.size == 0 && !r->guest.told_end) {
        r->guest.told_end = true;
        requests_guest_ended(r->requests);
    }
    if (peer < TLS_CLOSED || r->peer.plain.size > 0 || r->peer.told_end)
        return;
    r->peer.told_end = true;
    if (peer == TLS_CLOSED)
        requests_server_ended(r->requests);
    else
        requests_server_failed(r->requests, "upstream_tls", "the server's connection broke off");
}

/* Says close_notify, once all that goes before it is written. */
static void close_side(struct side *s, enum exchange_end end, const struct buf *text)
{
    if (s->is_closed || (end != EXCHANGE_SHUT && end != EXCHANGE_CLOSE) || text->size > 0)
        return;
    s->is_closed = true;
    if (s->tls)
        tls_session_close(s->tls);
}

static bool relay_requests(struct relay *r, struct buf *to_guest, struct buf *to_peer, size_t limit)
{
    struct requests *x = r->requests;
    bool has_moved = requests_step(r);
    tell_ends(r);
    has_moved |= give(&r->peer, requests_to_server(x), to_peer, limit);
    has_moved |= give(&r->guest, requests_to_guest(x), to_guest, limit);
    close_side(&r->peer, requests_server_end(x), requests_to_server(x));
    close_side(&r->guest, requests_guest_end(x), requests_to_guest(x));
    return has_moved;
}

/* What ends on one side ends on the other. */
static bool relay_raw(struct relay *r, struct buf *to_guest, struct buf *to_peer, size_t limit)
{
    if (r->drops_guest)
        buf_reset(&r->guest.plain);
    bool has_moved = give(&r->peer, &r->guest.plain, to_peer, limit);
    has_moved |= give(&r->guest, &r->peer.plain, to_guest, limit);
    enum tls_progress guest = progress_of(&r->guest), peer = progress_of(&r->peer);
    r->is_broken |= guest > TLS_CLOSED || peer > TLS_CLOSED;
    if (guest == TLS_CLOSED)
        close_side(&r->peer, EXCHANGE_SHUT, &r->guest.plain);
    if (peer == TLS_CLOSED)
        close_side(&r->guest, EXCHANGE_SHUT, &r->peer.plain);
    return has_moved;
}

/* What waits for nobody takes no memory. */
static void let_go(struct side *s)
{
    if (s->plain.size == 0)
        buf_done(&s->plain);
}

/* True: the login is over, and bytes pass. */
static bool run_postgres(struct relay *r, struct buf *to_guest, struct buf *to_peer)
{
    postgres_run(r->postgres, to_guest, to_peer);
    if (postgres_progress(r->postgres) != POSTGRES_IS_OPEN)
        return false;
    r->guest.has_ended = postgres_take_guest(r->postgres, &r->guest.tls, &r->guest.plain);
    r->peer.has_ended = postgres_take_server(r->postgres, &r->peer.tls, &r->peer.plain);
    r->drops_guest = postgres_is_cancel(r->postgres);
    postgres_free(r->postgres);
    r->postgres = NULL;
    return true;
}

static enum exchange_end end_of_postgres(const struct relay *r)
{
    enum postgres_progress progress = postgres_progress(r->postgres);
    return progress == POSTGRES_IS_BROKEN ? EXCHANGE_RESET
           : progress == POSTGRES_IS_OVER ? EXCHANGE_CLOSE
                                          : EXCHANGE_OPEN;
}

void relay_run(struct relay *r, struct buf *to_guest, struct buf *to_peer, size_t limit)
{
    bool has_moved = true;
    if (r->postgres && !run_postgres(r, to_guest, to_peer))
        return;
    if (r->step == GREETING)
        go_on_greeting(r);
    while (has_moved && !r->is_broken) {
        has_moved = decrypt(&r->guest) | decrypt(&r->peer);
        if (r->step == RELAYING)
            has_moved |= r->requests ? relay_requests(r, to_guest, to_peer, limit)
                                     : relay_raw(r, to_guest, to_peer, limit);
        has_moved |= encrypt(&r->guest, to_guest, limit);
        has_moved |= encrypt(&r->peer, to_peer, limit);
    }
    r->is_broken |=
        to_guest->failed || to_peer->failed || r->guest.plain.failed || r->peer.plain.failed;
    let_go(&r->guest);
    let_go(&r->peer);
    if (r->requests)
        requests_let_go(r->requests);
}

static size_t held_by(const struct side *s)
{
    return s->plain.capacity + (s->tls ? tls_session_held_bytes(s->tls) : 0);
}

size_t relay_held_bytes(const struct relay *r)
{
    return r->first.capacity + held_by(&r->guest) + held_by(&r->peer) +
           (r->requests ? requests_held_bytes(r->requests) : 0);
}

/* ---- ends ---- */

static enum exchange_end end_of_raw(const struct side *s)
{
    return s->is_closed && is_drained(s) ? EXCHANGE_SHUT : EXCHANGE_OPEN;
}

enum exchange_end relay_guest_end(const struct relay *r)
{
    if (r->is_broken)
        return EXCHANGE_RESET;
    if (r->postgres)
        return end_of_postgres(r);
    if (r->step != RELAYING)
        return EXCHANGE_OPEN;
    if (!r->requests)
        return end_of_raw(&r->guest);
    /* A handshake that failed has its alert to send; nobody is there to be answered. */
    if (progress_of(&r->guest) == TLS_FAILED)
        return is_drained(&r->guest) ? EXCHANGE_CLOSE : EXCHANGE_OPEN;
    bool is_sent = requests_to_guest(r->requests)->size == 0 && is_drained(&r->guest);
    enum exchange_end end = requests_guest_end(r->requests);
    return is_sent || end == EXCHANGE_RESET ? end : EXCHANGE_OPEN;
}

enum exchange_end relay_peer_end(const struct relay *r)
{
    if (r->is_broken)
        return EXCHANGE_RESET;
    if (r->postgres)
        return end_of_postgres(r);
    if (r->step != RELAYING)
        return EXCHANGE_OPEN;
    if (!r->requests)
        return end_of_raw(&r->peer);
    bool is_sent = requests_to_server(r->requests)->size == 0 && is_drained(&r->peer);
    enum exchange_end end = requests_server_end(r->requests);
    return is_sent || end == EXCHANGE_RESET ? end : EXCHANGE_OPEN;
}

int64_t relay_deadline_ns(const struct relay *r)
{
    if (r->step == GREETING)
        return r->greeting_until_ns;
    if (r->postgres)
        return postgres_deadline_ns(r->postgres);
    return r->requests ? requests_deadline_ns(r->requests) : INT64_MAX;
}

void relay_expire(struct relay *r)
{
    if (r->postgres)
        postgres_expire(r->postgres);
    else if (r->step == GREETING)
        relay_failed(r, "upstream_tls", "the server did not finish the TLS handshake in time");
    else if (r->requests)
        requests_expire(r->requests);
}
