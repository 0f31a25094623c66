// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/h2_support.h"

#include "gateway/trust.h"
#include "lib/secret/secrets.h"
#include "tests/harness/harness.h"
#include "tests/unit/exchange_support.h"
#include "tests/unit/policy_support.h"

#include <nghttp2/nghttp2.h>

#define HEARD_MAX    (4 * 1024 * 1024)
#define FIELDS_MAX   2000
#define SUPPLIES_MAX 512
#define SECRETS_MAX  8

struct gateway gateway;
struct peer guest, server;
struct buf records = BUF_INIT(65536);
struct h2 *h2;
int64_t now_ns;

static struct policy_flow flow;
static struct in6_addr dialled;
static struct buf raw = BUF_INIT(1 << 20), raw_of_server = BUF_INIT(1 << 20);

/* What a peer sends as content of a stream. */
static struct supply {
    struct peer *peer;
    int32_t id;
    const char *text, *trailer;
    size_t left;
    bool is_open, is_deferred;
} supplies[SUPPLIES_MAX];
static size_t supply_count;

int64_t gateway_now_ns(void)
{
    return now_ns;
}

int64_t trust_now_s(void)
{
    return now_ns / NSEC_PER_SEC;
}

bool rate_take(struct rate *r, uint64_t most)
{
    return ++r->count <= most;
}

static void record(void *context _unused_, const struct exchange_record *r)
{
    buf_printf(&records, "%s %s %u %s %s", r->method ? r->method : "-", r->path ? r->path : "-",
               r->status, r->is_allowed ? "allow" : "deny", r->reason);
    for (size_t i = 0; i < r->secret_count; i++)
        buf_printf(&records, "%s%s", i ? "," : " secrets=", r->secrets[i]);
    buf_append_str(&records, "\n");
}

/* ---- what is heard ---- */

static int on_header(nghttp2_session *session, const nghttp2_frame *f, const uint8_t *name,
                     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                     void *context)
{
    struct peer *p = context;
    if (p->is_brief && name[0] != ':')
        return 0;
    buf_printf(&p->heard, "%d %.*s%s: %.*s\n", f->hd.stream_id, (int)name_size, name,
               flags & NGHTTP2_NV_FLAG_NO_INDEX ? "!" : "", (int)value_size, value);
    return 0;
}

static int on_content(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                      size_t size, void *context)
{
    struct peer *p = context;
    p->got_bytes += size;
    buf_printf(&p->heard, "%d data %zu %.*s\n", id, size, (int)MIN(size, (size_t)200), data);
    if (p->opens_windows)
        nghttp2_session_consume(session, id, size);
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *f, void *context)
{
    struct peer *p = context;
    int32_t id = f->hd.stream_id;
    bool is_last = (f->hd.type == NGHTTP2_HEADERS || f->hd.type == NGHTTP2_DATA) &&
                   f->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (f->hd.type == NGHTTP2_HEADERS)
        buf_printf(&p->heard, "%d head\n", id);
    if (is_last)
        buf_printf(&p->heard, "%d end\n", id);
    if (f->hd.type == NGHTTP2_RST_STREAM)
        buf_printf(&p->heard, "%d reset %u\n", id, f->rst_stream.error_code);
    if (f->hd.type == NGHTTP2_GOAWAY)
        buf_printf(&p->heard, "goaway %u\n", f->goaway.error_code);
    if (p->is_server && is_last && p->answer)
        reply(id, p->answer, p->content, p->trailer);
    return 0;
}

/* ---- what is said ---- */

static ssize_t supply(nghttp2_session *session, int32_t id, uint8_t *to, size_t size,
                      uint32_t *flags, nghttp2_data_source *source, void *context)
{
    struct supply *s = source->ptr;
    size_t n = MIN(size, s->left);
    if (s->text && n > 0)
        memcpy(to, s->text, n);
    else
        memset(to, 'x', n);
    s->text = s->text ? s->text + n : NULL;
    s->left -= n;
    if (s->left == 0 && s->is_open) {
        s->is_deferred = n == 0;
        return n ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
    }
    if (s->left == 0)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (s->left == 0 && s->trailer) {
        nghttp2_nv nv = {(uint8_t *)(uintptr_t) "x-last", (uint8_t *)(uintptr_t)s->trailer, 6,
                         strlen(s->trailer), 0};
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        nghttp2_submit_trailer(session, id, &nv, 1);
    }
    return (ssize_t)n;
}

static nghttp2_data_provider provide(struct peer *p, const char *text, size_t size,
                                     const char *trailer, bool is_open)
{
    struct supply *s = &supplies[supply_count++ % SUPPLIES_MAX];
    *s = (struct supply){p, 0, text, trailer, size, is_open, false};
    return (nghttp2_data_provider){.source.ptr = s, .read_callback = supply};
}

/* "name: value" in each line. A value may have "\1" for a line end. */
static size_t parse(const char *fields, nghttp2_nv *list, char *copy)
{
    size_t n = 0;
    strcpy(copy, fields);
    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n")) {
        char *colon = strchr(line + 1, ':');
        ASSERT_TRUE(colon && n < FIELDS_MAX);
        bool is_hidden = colon[-1] == '!';
        char *value = colon[1] == ' ' ? colon + 2 : colon + 1;
        for (char *at = value; *at; at++)
            *at = *at == '\1' ? '\n' : *at;
        list[n++] =
            (nghttp2_nv){(uint8_t *)line, (uint8_t *)value, (size_t)(colon - line) - is_hidden,
                         strlen(value), is_hidden ? NGHTTP2_NV_FLAG_NO_INDEX : 0};
    }
    return n;
}

static int32_t submit(const char *fields, const nghttp2_data_provider *content)
{
    static nghttp2_nv list[FIELDS_MAX];
    char *copy = malloc(strlen(fields) + 1);
    size_t n = parse(fields, list, copy);
    int32_t id = nghttp2_submit_request(guest.session, NULL, list, n, content, NULL);
    free(copy);
    ASSERT_TRUE(id > 0);
    if (content)
        ((struct supply *)content->source.ptr)->id = id;
    return id;
}

int32_t ask(const char *fields, const char *content, const char *trailer)
{
    if (!content)
        return submit(fields, NULL);
    nghttp2_data_provider p = provide(&guest, content, strlen(content), trailer, false);
    return submit(fields, &p);
}

int32_t ask_much(const char *fields, size_t size)
{
    nghttp2_data_provider p = provide(&guest, NULL, size, NULL, false);
    return submit(fields, &p);
}

int32_t ask_open(const char *fields)
{
    nghttp2_data_provider p = provide(&guest, "", 0, NULL, true);
    return submit(fields, &p);
}

static struct supply *supply_of(struct peer *p, int32_t id)
{
    for (size_t i = 0; i < SUPPLIES_MAX; i++)
        if (supplies[i].peer == p && supplies[i].id == id)
            return &supplies[i];
    ASSERT_TRUE(false);
    return NULL;
}

void say_content(struct peer *p, int32_t id, const char *content)
{
    struct supply *s = supply_of(p, id);
    s->text = content;
    s->left = strlen(content);
    nghttp2_session_resume_data(p->session, id);
}

void end_content(struct peer *p, int32_t id)
{
    supply_of(p, id)->is_open = false;
    nghttp2_session_resume_data(p->session, id);
}

static void respond(int32_t id, const char *fields, const nghttp2_data_provider *content)
{
    static nghttp2_nv list[FIELDS_MAX];
    char *copy = malloc(strlen(fields) + 1);
    size_t n = parse(fields, list, copy);
    nghttp2_submit_response(server.session, id, list, n, content);
    free(copy);
    if (content)
        ((struct supply *)content->source.ptr)->id = id;
}

void reply(int32_t id, const char *fields, const char *content, const char *trailer)
{
    size_t size = server.content_size ? server.content_size : content ? strlen(content) : 0;
    if (!content && size == 0) {
        respond(id, fields, NULL);
        return;
    }
    nghttp2_data_provider p =
        provide(&server, server.content_size ? NULL : content, size, trailer, false);
    respond(id, fields, &p);
}

void reply_open(int32_t id, const char *fields)
{
    nghttp2_data_provider p = provide(&server, "", 0, NULL, true);
    respond(id, fields, &p);
}

void say_interim(int32_t id, const char *fields)
{
    static nghttp2_nv list[FIELDS_MAX];
    char *copy = malloc(strlen(fields) + 1);
    size_t n = parse(fields, list, copy);
    ASSERT_TRUE(nghttp2_submit_headers(server.session, 0, id, NULL, list, n, NULL) == 0);
    free(copy);
}

void reset(struct peer *p, int32_t id, uint32_t code)
{
    nghttp2_submit_rst_stream(p->session, 0, id, code);
}

void frame(struct peer *from, unsigned type, unsigned flags, uint32_t id, const void *payload,
           size_t size)
{
    struct buf *to = from->is_server ? &raw_of_server : &raw;
    const uint8_t head[9] = {(uint8_t)(size >> 16), (uint8_t)(size >> 8), (uint8_t)size,
                             (uint8_t)type,         (uint8_t)flags,       (uint8_t)(id >> 24),
                             (uint8_t)(id >> 16),   (uint8_t)(id >> 8),   (uint8_t)id};
    ASSERT_TRUE(buf_append(to, head, sizeof(head)) == 0);
    ASSERT_TRUE(size == 0 || buf_append(to, payload, size) == 0);
}

/* ---- bytes ---- */

/* What is not taken at once is given again. */
static bool give(struct buf *waiting, size_t (*take)(struct h2 *, const char *, size_t))
{
    bool has_moved = false;
    while (waiting->size > 0) {
        size_t size = MIN(waiting->size, (size_t)16384);
        char *copy = malloc(size); /* of its exact size, for ASan */
        memcpy(copy, waiting->data, size);
        size_t taken = take(h2, copy, size);
        free(copy);
        buf_consume(waiting, taken);
        has_moved |= taken > 0;
        if (taken == 0)
            break;
    }
    return has_moved;
}

static bool move(struct peer *p, struct buf *waiting, struct buf *out,
                 size_t (*take)(struct h2 *, const char *, size_t))
{
    bool has_moved = give(waiting, take);
    const uint8_t *data;
    ssize_t n;
    while (waiting->size == 0 && (n = nghttp2_session_mem_send(p->session, &data)) > 0) {
        buf_append(waiting, data, (size_t)n);
        has_moved |= give(waiting, take);
    }
    if (out->size == 0 || p->is_deaf)
        return has_moved;
    n = nghttp2_session_mem_recv(p->session, (const uint8_t *)out->data, out->size);
    if (n < 0 && h2_guest_end(h2) == EXCHANGE_OPEN)
        harness_fail(__FILE__, __LINE__, "%s can't read what it is sent: %s",
                     p->is_server ? "the server" : "the guest", nghttp2_strerror((int)n));
    buf_consume(out, out->size);
    take(h2, "", 0); /* there is room again */
    return true;
}

void run(void)
{
    bool has_moved = true;
    for (int i = 0; has_moved && i < 100000; i++) {
        has_moved = move(&guest, &raw, h2_to_guest(h2), h2_from_guest);
        has_moved |= move(&server, &raw_of_server, h2_to_server(h2), h2_from_server);
    }
    ASSERT_TRUE(!has_moved);
}

/* ---- a scene ---- */

static void peer_begin(struct peer *p, bool is_server)
{
    nghttp2_session_callbacks *c;
    nghttp2_option *o;
    buf_done(&p->heard);
    *p = (struct peer){.is_server = is_server, .heard = BUF_INIT(HEARD_MAX), .opens_windows = true};
    nghttp2_session_callbacks_new(&c);
    nghttp2_session_callbacks_set_on_header_callback(c, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_content);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame);
    nghttp2_option_new(&o);
    nghttp2_option_set_no_http_messaging(o, 1);
    nghttp2_option_set_no_auto_window_update(o, 1);
    nghttp2_option_set_max_send_header_block_length(o, 1 << 20);
    if (is_server)
        nghttp2_session_server_new2(&p->session, c, p, o);
    else
        nghttp2_session_client_new2(&p->session, c, p, o);
    nghttp2_option_del(o);
    nghttp2_session_callbacks_del(c);
    nghttp2_submit_settings(p->session, 0, NULL, 0);
}

static struct secrets *secrets_of(const char *const *list)
{
    struct secret_value values[SECRETS_MAX];
    struct secret_error e;
    struct secrets *s;
    size_t n = 0;
    for (; list && list[3 * n]; n++)
        values[n] = (struct secret_value){list[3 * n], list[3 * n + 1], list[3 * n + 2],
                                          strlen(list[3 * n + 2])};
    if (n == 0)
        return NULL;
    ASSERT_TRUE(secrets_new(gateway.document, values, n, &s, &e) == 0);
    return s;
}

void begin(const char *policy, const char *const *secrets)
{
    now_ns = NSEC_PER_SEC;
    gateway.policy = policy_of(policy);
    gateway.document = policy_get_document(gateway.policy);
    gateway.secrets = secrets_of(secrets);
    dialled = net_of("93.184.216.34").address;
    flow = policy_flow_init(POLICY_TCP, &dialled, 443);
    flow.sni = (struct policy_name){POLICY_NAME_GIVEN, "api.good.test"};
    supply_count = 0;
    memset(supplies, 0, sizeof(supplies));
    buf_reset(&records);
    buf_reset(&raw);
    buf_reset(&raw_of_server);
    bool is_lost = server.never_was;
    peer_begin(&guest, false);
    peer_begin(&server, true);
    server.answer = ":status: 200\n";
    server.content = "ok";
    h2 = h2_new(&(struct exchange_setup){.evidence = &flow,
                                         .name = "api.good.test",
                                         .dialled = &dialled,
                                         .is_tls = true,
                                         .log = record});
    ASSERT_TRUE(h2 != NULL);
    if (is_lost)
        h2_server_failed(h2, "upstream_tls", "the certificate has expired");
    run();
}

void finish(void)
{
    h2_free(h2);
    nghttp2_session_del(guest.session);
    nghttp2_session_del(server.session);
    secrets_put(gateway.secrets);
    policy_free(gateway.policy);
}

size_t count(const struct peer *p, const char *text)
{
    size_t n = 0;
    for (const char *at = p->heard.data; at && (at = strstr(at, text)); at++)
        n++;
    return n;
}

void expect_words(const char *file, int line, const struct buf *b, const char *words, bool has)
{
    if (!strstr(b->data, words) == has)
        harness_fail(file, line, "%s \"%s\" in: %.4000s", has ? "no" : "a", words, b->data);
}
