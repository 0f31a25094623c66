// SPDX-License-Identifier: Apache-2.0
/*
 * One request to a program, and its answer.
 *
 *   ASKED -> CONNECTED: the request goes in as it comes; heads 1xx, the head of the answer
 *                  \--> CONTENT: of the answer
 *                  \--> TUNNEL: the program has changed the protocol
 *        \-> an answer of the server's own: nobody listens, too many, no HTTP
 *
 * Both ways may be under way at once, each in pieces of at most READ_BYTES and only as fast as it
 * is taken: the client isn't read while the program takes nothing, nor the program while the
 * client's output rests. A way that ends is ended at its other side, too.
 *
 * What the program says is a stranger's: it is parsed as strictly as what the client says, and what
 * is no HTTP, or not all of it, is never handed on as if it were complete.
 */
#include "server/ports.h"

#include "lib/http/body.h"
#include "sandbox/port_ask.h"
#include "server/connection.h"
#include "server/limits.h"
#include "server/port_head.h"
#include "server/port_link.h"
#include "server/port_location.h"
#include "server/relay.h"

#include <sys/socket.h>

#define READS_AT_ONCE 4
#define LOCATIONS_MAX 2 /* Location and Content-Location, one each */

enum relay_state { ASKED, CONNECTED, CONTENT, TUNNEL, OVER };

struct relay {
    struct request *request;
    struct box_stream cut;
    struct port_wish wish;
    struct watch watch; /* the connection to the program */
    enum relay_state state;
    char id[64];
    char *prefix;      /* asked for by a path of the server's own: its beginning; or NULL */
    char *mask;        /* what Host was for the program; NULL: as the client had it */
    bool is_chunked;   /* the request's content */
    bool has_sent_all; /* the client, of the request, or of its way of the tunnel */
    bool ends_way;     /* ... and that is to be seen by the program */
    bool is_deaf;      /* the program takes nothing more */
    bool is_mute;      /* it sends nothing more */
    bool is_gone;      /* neither; nothing is left */
    struct buf to_program;
    struct http_response_parser parser;
    struct http_body body; /* of CONTENT */
};

static char piece[READ_BYTES];

static void wait_for_more(struct relay *l)
{
    uint32_t events = 0;
    if (l->watch.fd < 0)
        return;
    if (l->state != OVER && !l->is_mute && request_has_room(l->request))
        events |= EPOLLIN;
    if (l->to_program.size > 0)
        events |= EPOLLOUT;
    if (l->state == TUNNEL && l->is_mute && !l->is_gone)
        events |= EPOLLHUP;
    if (watch_for(&l->watch, events) < 0)
        request_cut(l->request);
}

static void be_over(struct relay *l)
{
    l->state = OVER;
    buf_reset(&l->to_program);
}

static void fail(struct relay *l, unsigned status, const char *message)
{
    be_over(l);
    if (!request_is_answered(l->request))
        ports_fail(l->request, status, l->id, l->wish.port, message);
}

/* ---- to the program ---- */

static void send_some(struct relay *l, const char *data, size_t size, size_t *ret_sent)
{
    ssize_t n = 0;
    *ret_sent = 0;
    while (*ret_sent < size) {
        n = send(l->watch.fd, data + *ret_sent, size - *ret_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        *ret_sent += (size_t)n;
    }
    /* It may have answered already, and that is read. */
    if (n < 0 && errno != EAGAIN)
        l->is_deaf = true;
}

static void flush(struct relay *l)
{
    size_t sent;
    if (l->watch.fd < 0 || l->state == OVER)
        return;
    send_some(l, l->to_program.data, l->to_program.size, &sent);
    buf_consume(&l->to_program, l->is_deaf ? l->to_program.size : sent);
    if (l->to_program.size > 0)
        return;
    buf_reset(&l->to_program);
    if (l->to_program.capacity > READ_BYTES)
        buf_done(&l->to_program);
    if (l->has_sent_all && l->ends_way && !l->is_deaf) {
        shutdown(l->watch.fd, SHUT_WR);
        l->is_deaf = true;
    }
    /* Of a client that sends to somebody who takes nothing the rest is left unread. */
    if (!l->is_deaf)
        request_resume(l->request);
}

static void append_content(struct relay *l, const char *data, size_t size)
{
    char mark[HTTP_CHUNK_HEAD_MAX_BYTES + 1];
    size_t sent = 0;
    if (l->is_chunked) {
        buf_append(&l->to_program, mark, http_chunk_head(mark, size));
    } else if (l->to_program.size == 0 && l->watch.fd >= 0) {
        send_some(l, data, size, &sent);
    }
    if (l->is_deaf)
        return;
    if (sent < size)
        buf_append(&l->to_program, data + sent, size - sent);
    if (l->is_chunked)
        buf_append_str(&l->to_program, "\r\n");
}

static void take(struct request *r, const char *data, size_t size)
{
    struct relay *l = r->state;
    if (l->state == OVER)
        return;
    if (!l->is_deaf)
        append_content(l, data, size);
    if (l->to_program.failed)
        request_cut(r);
    flush(l);
    if (l->to_program.size > 0 || l->is_deaf)
        request_pause(r);
    wait_for_more(l);
}

/* All of the request is here. */
static void ready(struct request *r)
{
    struct relay *l = r->state;
    size_t count;
    struct http_field *trailers = (struct http_field *)relay_trailers(r, &count);
    if (l->state == OVER || l->has_sent_all)
        return;
    if (l->is_chunked && !l->is_deaf &&
        http_chunks_end(&l->to_program, trailers, port_trailers_forward(trailers, count)) < 0)
        request_cut(r);
    l->has_sent_all = true;
    flush(l);
    wait_for_more(l);
}

static void ended(struct request *r)
{
    struct relay *l = r->state;
    /* There may be bytes for a tunnel that isn't there yet. */
    if (l->parser.asks_upgrade && l->state < TUNNEL)
        return;
    l->has_sent_all = l->ends_way = true;
    flush(l);
    wait_for_more(l);
}

/* ---- from the program ---- */

static void end_answer(struct relay *l)
{
    size_t count = port_trailers_forward(l->body.trailers, l->body.trailer_count);
    relay_end(l->request, l->body.trailers, count);
    be_over(l);
}

static void break_off(struct relay *l)
{
    relay_break(l->request);
    be_over(l);
}

static void take_interim(struct relay *l)
{
    struct http_field fields[PORT_FIELDS_MAX];
    struct http_response_head h =
        port_answer_head(&l->parser.response, HTTP_1_1, l->prefix != NULL, fields);
    if (l->request->head->version == HTTP_1_1)
        relay_interim(l->request, &h);
    http_response_next(&l->parser);
}

static int set_location(struct relay *l, struct http_field *f, char **ret)
{
    char host[PORT_MASK_MAX_BYTES + 1];
    const struct http_request *head = l->request->head;
    struct port_place p = {
        .prefix = l->prefix,
        .path = head->path + strlen(l->prefix),
        .port = l->wish.port,
        .asked = head->authority,
        .told = head->authority,
    };
    if (l->mask)
        port_mask_read(l->mask, l->wish.port, host, &p.told);
    int r = port_location_read(f->value, &p, ret);
    if (r == 1)
        f->value = *ret;
    return r;
}

/* Writes where the program leads to for a client that has asked by path; fields then borrow from
 * texts. False: there are too many of those, or there is no memory. */
static bool set_locations(struct relay *l, struct http_field *fields, size_t count,
                          char *texts[LOCATIONS_MAX])
{
    size_t found = 0;
    for (size_t i = 0; l->prefix && i < count; i++) {
        if (!port_location_is_field(fields[i].name))
            continue;
        if (found == LOCATIONS_MAX || set_location(l, &fields[i], &texts[found]) < 0)
            return false;
        found++;
    }
    return true;
}

static bool begin_answer(struct relay *l, struct http_field *fields, struct http_response_head *h,
                         bool is_tunnel)
{
    char *texts[LOCATIONS_MAX] = {NULL};
    bool has_begun = set_locations(l, fields, h->field_count, texts) &&
                     (is_tunnel ? relay_tunnel : relay_begin)(l->request, h);
    for (size_t i = 0; i < LOCATIONS_MAX; i++)
        free(texts[i]);
    return has_begun;
}

static void take_head(struct relay *l)
{
    struct http_field fields[PORT_FIELDS_MAX];
    const struct http_response *answer = &l->parser.response;
    if (http_response_is_interim(answer)) {
        take_interim(l);
        return;
    }
    struct http_response_head h =
        port_answer_head(answer, l->request->head->version, l->prefix != NULL, fields);
    bool is_tunnel = answer->framing.kind == HTTP_BODY_OPAQUE;
    if (!begin_answer(l, fields, &h, is_tunnel)) {
        fail(l, 502, "The program's answer can't be handed on");
        return;
    }
    l->state = is_tunnel ? TUNNEL : CONTENT;
    if (is_tunnel)
        return;
    http_body_init(&l->body, &answer->framing, HTTP_BODY_ANY_LENGTH);
    if (l->body.progress == HTTP_DONE)
        end_answer(l);
}

static size_t take_head_bytes(struct relay *l, const char *data, size_t size)
{
    size_t taken;
    enum http_progress p = http_response_take(&l->parser, data, size, &taken);
    if (p == HTTP_DONE)
        take_head(l);
    else if (p == HTTP_FAILED)
        fail(l, 502, "The program's answer is not HTTP");
    return taken;
}

static size_t take_content(struct relay *l, const char *data, size_t size)
{
    struct http_slice slice;
    size_t taken;
    enum http_progress p = http_body_take(&l->body, data, size, &taken, &slice);
    if (slice.size > 0)
        relay_send(l->request, slice.data, slice.size);
    if (p == HTTP_DONE)
        end_answer(l);
    else if (p == HTTP_FAILED)
        break_off(l);
    return taken;
}

static void take_answer(struct relay *l, const char *data, size_t size)
{
    while (size > 0 && l->state != OVER) {
        size_t taken = size;
        if (l->state == TUNNEL)
            relay_send(l->request, data, size);
        else
            taken =
                l->state == CONTENT ? take_content(l, data, size) : take_head_bytes(l, data, size);
        data += taken;
        size -= taken;
    }
}

/* The program has ended its way (error 0), or the connection. */
static void take_end(struct relay *l, int error, bool is_gone)
{
    l->is_mute = true;
    if (l->state == CONNECTED)
        fail(l, 502, "The program ended the connection without an answer");
    else if (l->state == CONTENT && !error && http_body_end(&l->body) == HTTP_DONE)
        end_answer(l);
    else if (l->state == TUNNEL && !error && !is_gone)
        relay_end(l->request, NULL, 0);
    else if (l->state == TUNNEL && !error)
        relay_close(l->request);
    else if (l->state != OVER)
        break_off(l);
    l->is_gone |= is_gone;
}

static void read_answer(struct relay *l, bool is_gone)
{
    for (int i = 0; i < READS_AT_ONCE && l->state != OVER && request_has_room(l->request); i++) {
        ssize_t n = recv(l->watch.fd, piece, sizeof(piece), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            take_end(l, n < 0 ? errno : 0, is_gone);
            return;
        }
        take_answer(l, piece, (size_t)n);
    }
}

static void on_program(struct watch *w, uint32_t events)
{
    struct relay *l = container_of(w, struct relay, watch);
    bool is_gone = events & (EPOLLHUP | EPOLLERR);
    if (events & EPOLLOUT)
        flush(l);
    if (!l->is_mute)
        read_answer(l, is_gone);
    else if (is_gone && !l->is_gone)
        take_end(l, 0, true);
    wait_for_more(l);
}

static void drained(struct request *r)
{
    wait_for_more(r->state);
}

/* ---- the connection ---- */

static unsigned status_of(int error)
{
    switch (error) {
    case EUSERS:
        return 429;
    case ETIMEDOUT:
        return 504;
    case ECONNREFUSED:
    case ECONNRESET:
    case ENOTCONN:
        return 502;
    default:
        return 503;
    }
}

static const char *message_of(int error)
{
    switch (error) {
    case ECONNREFUSED:
        return "The sandbox is running but port is not open";
    case ECONNRESET:
        return "The sandbox was not found";
    case ETIMEDOUT:
        return "The program that listens there accepts no connections";
    case EUSERS:
        return "Too many connections to ports of this sandbox; end some and try again";
    default:
        return "The server has too much to do; try again later";
    }
}

static void on_connected(struct port_wish *wish, int error)
{
    struct relay *l = container_of(wish, struct relay, wish);
    if (error) {
        fail(l, status_of(error), message_of(error));
        return;
    }
    l->watch.fd = wish->fd;
    wish->fd = -1;
    if (l->state == ASKED)
        l->state = CONNECTED;
    flush(l);
    wait_for_more(l);
}

static void release(struct watch *w)
{
    free(container_of(w, struct relay, watch));
}

static void let_go(struct relay *l)
{
    port_link_forget(&l->wish);
    box_remove_stream(&l->cut);
    connections_give_place();
    http_body_done(&l->body);
    http_response_done(&l->parser);
    buf_done(&l->to_program);
    free(l->prefix);
    free(l->mask);
    watch_close(&l->watch, release);
}

static void over(struct request *r)
{
    let_go(r->state);
}

static const struct handler handler = {
    .body_max_bytes = HTTP_BODY_ANY_LENGTH,
    .is_relay = true,
    .take = take,
    .ready = ready,
    .drained = drained,
    .ended = ended,
    .over = over,
};

static int write_request(struct relay *l, const struct box *b, const struct route *route)
{
    char client[RELAY_ADDRESS_MAX];
    const struct http_request *head = l->request->head;
    const char *mask = json_string_value(json_object_get(b->network, "maskRequestHost"));
    l->prefix = route->prefix_size ? strndup(head->path, route->prefix_size) : NULL;
    l->mask = mask ? strdup(mask) : NULL;
    const struct port_origin origin = {
        .port = route->port,
        .client = client,
        .is_secure = relay_is_secure(l->request),
        .prefix = l->prefix,
        .mask = l->mask,
        .token = b->token,
    };
    bool asks_upgrade;
    if ((route->prefix_size && !l->prefix) || (mask && !l->mask))
        return -ENOMEM;
    relay_client(l->request, client);
    int r = port_request_write(&l->to_program, head, &origin, &asks_upgrade);
    if (r == 0)
        http_response_expect(&l->parser, head->method, asks_upgrade);
    return r;
}

static void fail_at_once(struct request *r, const struct relay *l, int error)
{
    if (error == -EUSERS)
        ports_fail(r, 429, l->id, l->wish.port, message_of(EUSERS));
    else if (error == -EINVAL)
        request_fail(r, 400, "the request can't be handed on; see docs/api.md");
    else
        ports_fail(r, 503, l->id, l->wish.port, message_of(EAGAIN));
}

static size_t count_relays(const struct box *b)
{
    size_t count = 0;
    for (const struct list *l = b->relays.next; l != &b->relays; l = l->next)
        count++;
    return count;
}

const struct handler *port_relay_begin(struct request *r, struct box *b, const struct route *route)
{
    struct relay *l = calloc(1, sizeof(*l));
    if (!l || !connections_take_place()) {
        free(l);
        ports_fail(r, 503, b->id, route->port, message_of(EAGAIN));
        return NULL;
    }
    l->request = r;
    l->watch = (struct watch){.fd = -1, .ready = on_program};
    l->wish = (struct port_wish){.port = route->port, .fd = -1, .answered = on_connected};
    l->is_chunked = r->head->framing.kind == HTTP_BODY_CHUNKED;
    l->to_program = BUF_INIT(PORT_HEAD_MAX_BYTES + 2 * READ_BYTES + HTTP_TRAILER_MAX_BYTES);
    list_init(&l->wish.link);
    list_init(&l->cut.link);
    memcpy(l->id, b->id, sizeof(l->id));
    http_response_init(&l->parser, NULL);
    int error = count_relays(b) < PORT_RELAYS_MAX ? write_request(l, b, route) : -EUSERS;
    if (error == 0)
        error = port_link_ask(b, &l->wish);
    if (error < 0) {
        fail_at_once(r, l, error);
        let_go(l);
        return NULL;
    }
    box_add_relay(b, &l->cut, r);
    r->state = l;
    return &handler;
}
