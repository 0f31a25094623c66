// SPDX-License-Identifier: Apache-2.0
#include "server/connection.h"

#include "server/certificate.h"
#include "server/connection_parts.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/server.h"
#include "server/wire.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define LISTENERS_MAX 8
#define SWEEP_NS      NSEC_PER_SEC
/* How long nobody is let in when there is no descriptor for him. */
#define REST_NS         (50 * NSEC_PER_MSEC)
#define ACCEPTS_AT_ONCE 64

static struct watch listeners[LISTENERS_MAX];
static struct list all, changed;
static size_t count, count_max, listener_count;
static size_t held;         /* bytes, for all clients */
static size_t places_taken; /* by descriptors that others hold for clients */
static connection_find_fn find_handler;
static connection_look_again_fn look_again;
static struct timer sweeper, opener;
static uint32_t process_number; /* so that ids of requests are not those of an earlier server */

void connection_changed(struct connection *c)
{
    if (!list_is_linked(&c->changed))
        list_append(&changed, &c->changed);
}

size_t connections_count(void)
{
    return count;
}

bool connections_take_place(void)
{
    bool is_free = count + places_taken < count_max;
    places_taken += is_free;
    return is_free;
}

void connections_give_place(void)
{
    places_taken--;
}

static void count_held(struct connection *c)
{
    size_t now = c->request.body.size + connection_waiting(c);
    held = held - c->held + now;
    c->held = now;
}

static void enter(struct connection *c, enum phase phase)
{
    c->phase = phase;
    c->since_ns = server_now_ns();
}

/* ---- the log ---- */

void connection_name_request(struct connection *c, char ret[REQUEST_ID_SIZE])
{
    static uint64_t last;
    if (!c->number)
        c->number = ++last;
    snprintf(ret, REQUEST_ID_SIZE, "%08x-%" PRIx64, process_number, c->number);
}

static void name_client(const struct connection *c, char *ret, size_t size)
{
    char address[INET6_ADDRSTRLEN] = "";
    bool is_v6 = c->client.any.sa_family == AF_INET6;
    inet_ntop(c->client.any.sa_family,
              is_v6 ? (const void *)&c->client.v6.sin6_addr : &c->client.v4.sin_addr, address,
              sizeof(address));
    snprintf(ret, size, is_v6 ? "[%s]:%u" : "%s:%u", address,
             ntohs(is_v6 ? c->client.v6.sin6_port : c->client.v4.sin_port));
}

/* How the request, or what was none, has gone. Before it is forgotten. */
static void tell(struct connection *c)
{
    char id[REQUEST_ID_SIZE], client[INET6_ADDRSTRLEN + 16];
    const struct http_request *head = c->has_request ? c->request.head : NULL;
    if (!head && !c->has_begun)
        return;
    connection_name_request(c, id);
    name_client(c, client, sizeof(client));
    int64_t took_ns = head ? server_now_ns() - c->began_ns : 0;
    if (c->is_stream)
        metrics_count_stream(-1);
    metrics_count_request(head ? head->method : NULL, c->request.route, c->status, took_ns,
                          c->sent_bytes, c->is_stream);
    log_request(&(struct log_entry){
        .began_ms = head ? c->began_ms : server_wall_ms(),
        .request = id,
        .client = client,
        .key = c->request.key_id,
        .sandbox = c->request.box_id,
        .method = head ? head->method : NULL,
        .path = head ? head->path : NULL,
        .status = c->status,
        .bytes = c->sent_bytes,
        .took_ns = took_ns,
        .is_cut = !c->has_ended || c->is_broken || connection_waiting(c) > 0,
    });
}

/* ---- the end of a request, and of a connection ---- */

static void finish_request(struct connection *c)
{
    if (!c->has_request)
        return;
    c->has_request = false;
    if (c->request.handler && c->request.handler->over)
        c->request.handler->over(&c->request);
    answer_forget(c);
    http_body_done(&c->body);
    http_request_done(&c->parser);
    http_request_init(&c->parser, NULL);
}

static void release(struct watch *w)
{
    free(container_of(w, struct connection, watch));
}

static void destroy(struct connection *c)
{
    if (wire_is_shaking_hands(c) || wire_has_failed(c))
        metrics_count_bad_handshake();
    tell(c);
    finish_request(c);
    list_remove(&c->all);
    list_remove(&c->changed);
    held -= c->held;
    answer_forget(c);
    http_request_done(&c->parser);
    buf_done(&c->in);
    buf_done(&c->out);
    tls_session_free(c->tls);
    count--;
    watch_close(&c->watch, release);
}

/* ---- output ---- */

static void flush(struct connection *c)
{
    int r = wire_flush(c);
    if (r < 0 && r != -EAGAIN)
        c->is_gone = true;
}

/* ---- input ---- */

static void refuse(struct connection *c, enum http_error e)
{
    if (!c->has_begun)
        answer_refuse(c, http_error_status(e), http_error_words(e));
    else
        c->is_gone = true;
}

static void be_ready(struct connection *c)
{
    enter(c, PHASE_BUSY);
    c->request.handler->ready(&c->request);
}

static void begin_body(struct connection *c)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    const struct http_request *head = c->request.head;
    const struct handler *h = c->request.handler;
    http_body_init(&c->body, &head->framing, h->body_max_bytes);
    if (c->body.error) {
        refuse(c, c->body.error);
        return;
    }
    c->request.body = BUF_INIT((size_t)MIN(h->body_max_bytes, (uint64_t)SIZE_MAX - 1));
    if (head->framing.kind == HTTP_BODY_NONE || c->body.progress == HTTP_DONE) {
        be_ready(c);
        return;
    }
    if (head->expects_continue && !h->is_relay)
        buf_append(&c->out, go_on, sizeof(go_on) - 1);
}

static void begin_request(struct connection *c)
{
    const struct http_request *head = &c->parser.request;
    c->has_request = true;
    c->began_ns = server_now_ns();
    c->began_ms = server_wall_ms();
    c->is_first = false;
    c->request.head = head;
    c->closes = !head->persists;
    c->is_head_only = !strcmp(head->method, "HEAD");
    enter(c, PHASE_BODY);
    /* An answer that comes before the body was read says that the connection ends. */
    if (head->framing.kind == HTTP_BODY_NONE)
        enter(c, PHASE_BUSY);
    c->request.handler = find_handler(&c->request);
    if (c->request.handler && !request_is_answered(&c->request)) {
        enter(c, PHASE_BODY);
        begin_body(c);
    }
}

/* Gives a piece of the body to its handler. False: no memory is left for it. */
static bool give(struct connection *c, const struct http_slice *slice)
{
    if (slice->size == 0)
        return true;
    c->since_ns = server_now_ns();
    if (c->request.handler->take) {
        c->request.handler->take(&c->request, slice->data, slice->size);
        return true;
    }
    bool has_room = held + slice->size <= HELD_MAX &&
                    buf_append(&c->request.body, slice->data, slice->size) == 0;
    count_held(c);
    return has_room;
}

static bool is_relay(const struct connection *c)
{
    return c->has_request && c->request.handler && c->request.handler->is_relay;
}

static size_t take_tunnel(struct connection *c, const char *data, size_t size)
{
    c->since_ns = server_now_ns();
    c->request.handler->take(&c->request, data, size);
    return size;
}

static size_t take_body(struct connection *c, const char *data, size_t size)
{
    struct http_slice slice;
    size_t taken;
    if (!is_relay(c) && !look_again(&c->request))
        return size;
    enum http_progress p = http_body_take(&c->body, data, size, &taken, &slice);
    if (p == HTTP_FAILED) {
        refuse(c, c->body.error);
        return size;
    }
    if (!give(c, &slice)) {
        answer_refuse(c, 503, "the server is short of memory; try again later");
        return size;
    }
    if (p == HTTP_DONE && (!c->has_begun || is_relay(c)))
        be_ready(c);
    else if (p == HTTP_DONE)
        enter(c, PHASE_BUSY);
    return taken;
}

static size_t take_head(struct connection *c, const char *data, size_t size)
{
    size_t taken;
    bool had_begun = http_request_has_begun(&c->parser);
    enum http_progress p = http_request_take(&c->parser, data, size, &taken);
    if (!had_begun)
        c->since_ns = server_now_ns();
    if (p == HTTP_FAILED) {
        refuse(c, c->parser.error);
        return size;
    }
    if (p == HTTP_DONE)
        begin_request(c);
    return taken;
}

/* Whether bytes that are there can be looked at now. */
static bool takes_input(const struct connection *c)
{
    if (c->is_gone)
        return false;
    if (c->phase == PHASE_TUNNEL)
        return !c->is_paused;
    if (c->has_ended)
        return false;
    if (c->phase == PHASE_HEAD)
        return connection_waiting(c) == 0;
    return c->phase == PHASE_BODY && !c->is_paused && (!c->has_begun || is_relay(c));
}

/* Takes what can be taken of size bytes; returns how much. */
static size_t consume(struct connection *c, const char *data, size_t size)
{
    size_t at = 0;
    while (at < size && takes_input(c)) {
        size_t (*take)(struct connection *, const char *, size_t) =
            c->phase == PHASE_HEAD   ? take_head
            : c->phase == PHASE_BODY ? take_body
                                     : take_tunnel;
        at += take(c, data + at, size - at);
    }
    return at;
}

static void see_end(struct connection *c)
{
    c->peer_ended = true;
    if (is_relay(c) && (c->phase == PHASE_BUSY || c->phase == PHASE_TUNNEL)) {
        /* It has ended one way; who answers may go on with the other. */
        c->since_ns = server_now_ns();
        c->request.handler->ended(&c->request);
        return;
    }
    bool is_between = c->phase == PHASE_HEAD || c->phase == PHASE_BODY || c->phase == PHASE_LINGER;
    /* Who listens to a stream goes away by ending the connection; to a plain answer it may still
     * listen. */
    if ((is_between && !c->has_ended) || c->phase == PHASE_LINGER ||
        (c->is_stream && !c->has_ended))
        c->is_gone = true;
}

static void consume_kept(struct connection *c)
{
    if (c->in.size == 0 || !takes_input(c))
        return;
    c->in_at += consume(c, c->in.data + c->in_at, c->in.size - c->in_at);
    if (c->in_at < c->in.size)
        return;
    buf_done(&c->in);
    c->in_at = 0;
    c->in = BUF_INIT(READ_BYTES);
    if (c->is_read_up)
        see_end(c);
}

static void take_bytes(struct connection *c)
{
    static char piece[WIRE_READ_MIN];
    ssize_t n = wire_read(c, piece, sizeof(piece));
    if (n < 0) {
        c->is_gone |= n != -EAGAIN;
        return;
    }
    if (n == 0) {
        c->is_read_up = true;
        return;
    }
    if (c->phase == PHASE_LINGER) {
        c->lingered_bytes += (size_t)n;
        c->is_gone |= c->lingered_bytes > LINGER_BYTES;
        return;
    }
    size_t taken = consume(c, piece, (size_t)n);
    if (taken < (size_t)n && buf_append(&c->in, piece + taken, (size_t)n - taken) < 0)
        c->is_gone = true;
}

static void read_input(struct connection *c)
{
    take_bytes(c);
    c->is_read_up |= wire_has_ended(c);
    if (!c->is_gone && c->is_read_up && c->in.size == 0)
        see_end(c);
}

/* ---- one look at a connection ---- */

static void linger(struct connection *c)
{
    wire_end(c);
    c->lingered_bytes = 0;
    enter(c, PHASE_LINGER);
    if (c->is_read_up)
        c->is_gone = true;
}

/* Each way of a tunnel ends by itself. */
static void end_way(struct connection *c)
{
    if (!c->is_shut)
        wire_end(c);
    c->is_shut = true;
    if (c->is_read_up)
        c->is_gone = true;
}

/* The answer is complete and sent. */
static void go_on(struct connection *c)
{
    bool closes = c->closes;
    if (c->phase == PHASE_TUNNEL && !closes) {
        end_way(c);
        return;
    }
    tell(c);
    finish_request(c);
    answer_forget(c);
    if (closes) {
        buf_done(&c->in);
        c->in_at = 0;
        linger(c);
        return;
    }
    enter(c, PHASE_HEAD);
    connection_changed(c); /* the next request may be here already */
    if (c->is_read_up && c->in.size == 0)
        c->is_gone = true;
}

static uint32_t wanted_events(const struct connection *c)
{
    bool is_read = c->phase != PHASE_BUSY;
    uint32_t events = c->peer_ended || is_read ? 0 : EPOLLRDHUP;
    if (connection_waiting(c) > 0)
        events |= EPOLLOUT;
    if (!c->is_read_up && c->in.size == 0 && (c->phase == PHASE_LINGER || takes_input(c)))
        events |= EPOLLIN;
    /* Even when nothing is waited for, that it was cut off has to show; but that both have ended a
     * tunnel would show all the time, while something of it is still to be taken. */
    return events ? events : c->is_shut ? 0 : EPOLLHUP;
}

static void advance(struct connection *c)
{
    if (!c->is_gone)
        flush(c);
    if (!c->is_gone)
        consume_kept(c);
    if (!c->is_gone)
        flush(c);
    if (!c->is_gone && c->has_request && !c->has_ended && c->rests &&
        request_has_room(&c->request)) {
        c->rests = false;
        if (c->request.handler && c->request.handler->drained)
            c->request.handler->drained(&c->request);
    }
    if (!c->is_gone && c->has_ended && connection_waiting(c) == 0)
        go_on(c);
    count_held(c);
    /* A stream rests below OUTPUT_HIGH: this is a large answer that its client does not take. */
    if (held > HELD_MAX && connection_waiting(c) > 2 * OUTPUT_HIGH)
        c->is_gone = true;
    if (c->is_gone || watch_for(&c->watch, wanted_events(c)) < 0)
        destroy(c);
}

static void on_ready(struct watch *w, uint32_t events)
{
    struct connection *c = container_of(w, struct connection, watch);
    /* Of a tunnel that both have ended there may be something to read. */
    bool is_over = events & EPOLLHUP && !(c->is_shut && takes_input(c));
    if (is_over || events & EPOLLERR)
        c->is_gone = true;
    else if (events & (EPOLLIN | EPOLLHUP))
        read_input(c);
    else if ((events & EPOLLRDHUP) && !c->peer_ended)
        see_end(c);
    connection_changed(c);
}

bool connections_advance(void)
{
    struct list now = LIST_INIT(now);
    struct connection *c;
    list_splice(&now, &changed);
    while ((c = list_first(&now, struct connection, changed))) {
        list_remove(&c->changed);
        advance(c);
    }
    return !list_is_empty(&changed);
}

/* ---- time ---- */

static int limit_s(const struct connection *c)
{
    switch (c->phase) {
    case PHASE_HEAD:
        if (wire_is_shaking_hands(c))
            return HANDSHAKE_S;
        if (http_request_has_begun(&c->parser))
            return HEAD_S;
        return c->is_first ? FIRST_REQUEST_S : IDLE_S;
    case PHASE_BODY:
        return c->is_paused || is_relay(c) ? IDLE_S : BODY_S;
    case PHASE_LINGER:
        return LINGER_S;
    case PHASE_BUSY:
        return is_relay(c) && c->peer_ended ? HALF_ENDED_S : 0;
    case PHASE_TUNNEL:
        return c->peer_ended || c->is_shut ? HALF_ENDED_S : 0;
    }
    return 0;
}

static bool is_late(const struct connection *c, int64_t now)
{
    int limit = limit_s(c), output = c->is_stream || is_relay(c) ? STREAM_OUTPUT_S : OUTPUT_S;
    if (c->output_since_ns && now - c->output_since_ns > output * NSEC_PER_SEC)
        return true;
    return limit && now - c->since_ns > limit * NSEC_PER_SEC;
}

static void sweep(struct timer *t)
{
    struct connection *c, *next;
    int64_t now = server_now_ns();
    list_for_each_safe(c, next, &all, all)
    {
        if (is_late(c, now))
            destroy(c);
    }
    timer_set(t, now + SWEEP_NS);
}

/* ---- accepting ---- */

/* The one that has been without a whole request for longest gives its place to a new one. */
static bool make_place(void)
{
    struct connection *c, *oldest = NULL;
    if (count + places_taken < count_max)
        return true;
    list_for_each(c, &all, all)
    {
        bool is_idle = c->phase == PHASE_LINGER || c->phase == PHASE_HEAD;
        if (is_idle && (!oldest || c->since_ns < oldest->since_ns))
            oldest = c;
    }
    if (oldest)
        destroy(oldest);
    return oldest != NULL;
}

static void refuse_client(int fd)
{
    static const char answer[] =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
        "Content-Length: 77\r\nConnection: close\r\n\r\n"
        "{\"code\":503,\"message\":\"too many connections are open; close some, try again\"}";
    if (send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return;
}

static void begin_connection(int fd, const struct sockaddr *client, socklen_t client_size)
{
    const int on = 1;
    struct connection *c = make_place() ? calloc(1, sizeof(*c)) : NULL;
    if (!c) {
        if (!certificate_exists())
            refuse_client(fd);
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    c->watch = (struct watch){.fd = fd, .ready = on_ready};
    c->tls = certificate_exists() ? certificate_accept() : NULL;
    memcpy(&c->client, client, MIN(client_size, (socklen_t)sizeof(c->client)));
    c->is_first = true;
    c->in = BUF_INIT(READ_BYTES);
    c->out = BUF_INIT(OUTPUT_MAX);
    list_init(&c->changed);
    list_append(&all, &c->all);
    http_request_init(&c->parser, NULL);
    answer_forget(c);
    enter(c, PHASE_HEAD);
    count++;
    if ((certificate_exists() && !c->tls) || watch_for(&c->watch, EPOLLIN | EPOLLRDHUP) < 0)
        destroy(c);
}

static void listen_again(struct timer *t)
{
    for (size_t i = 0; i < listener_count; i++)
        if (watch_for(&listeners[i], EPOLLIN) < 0)
            timer_set(t, server_now_ns() + REST_NS);
}

/* Who connects stays where he is: without this the loop would be told of him again and again. */
static void rest(struct watch *w)
{
    if (timer_set(&opener, server_now_ns() + REST_NS) == 0)
        watch_for(w, 0);
}

static void on_listener(struct watch *w, uint32_t events _unused_)
{
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        struct sockaddr_storage client;
        socklen_t size = sizeof(client);
        int fd = accept4(w->fd, (struct sockaddr *)&client, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
                rest(w);
            return;
        }
        begin_connection(fd, (struct sockaddr *)&client, size);
    }
}

int connections_start(const int *fds, size_t fd_count, connection_find_fn find,
                      connection_look_again_fn again)
{
    struct rlimit files;
    if (getrandom(&process_number, sizeof(process_number), 0) < 0)
        return -errno;
    list_init(&all);
    list_init(&changed);
    find_handler = find;
    look_again = again;
    if (fd_count > LISTENERS_MAX)
        return -E2BIG;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return -errno;
    count_max =
        (size_t)MIN((rlim_t)CONNECTIONS_MAX,
                    files.rlim_cur > 2 * SPARE_FDS ? files.rlim_cur - SPARE_FDS : SPARE_FDS);
    for (size_t i = 0; i < fd_count; i++) {
        listeners[i] = (struct watch){.fd = fds[i], .ready = on_listener};
        listener_count = i + 1;
        int r = watch_for(&listeners[i], EPOLLIN);
        if (r < 0)
            return r;
    }
    sweeper.fire = sweep;
    opener.fire = listen_again;
    return timer_set(&sweeper, server_now_ns() + SWEEP_NS);
}
