// SPDX-License-Identifier: Apache-2.0
/*
 * Two streams of bytes through an exchange, in the order that the input says. Whatever the pieces
 * that they come in, the same comes out. Each request that reaches the server is one that the
 * policy allows, for the host that the connection is for. No value of a secret reaches the guest,
 * and no placeholder goes where it may not.
 */
#include "gateway/exchange.h"
#include "gateway/trust.h"
#include "lib/http/body.h"
#include "lib/secret/secrets.h"
#include "tests/fuzz/input.h"

#define SAID_MAX  (64 * 1024 * 1024)
#define STEPS_MAX 64

static const char document[] =
    "{\"version\":1,"
    "\"secrets\":{\"KEY\":{\"source\":{\"env\":\"K\"},\"placeholder\":\"KEYKEYKEY\","
    "\"allow\":{\"hosts\":[\"a.test\"]},\"inject\":{\"query\":true,\"body\":true}},"
    "\"NOT\":{\"source\":{\"env\":\"N\"},\"placeholder\":\"NOTNOTNOT\","
    "\"allow\":{\"hosts\":[\"b.test\"]}}},"
    "\"limits\":{\"header_bytes\":2048,\"line_bytes\":512,\"header_count\":16},"
    "\"rules\":[{\"id\":\"no\",\"action\":\"deny\",\"to\":{\"domain\":[\"a.test\"]},"
    "\"http\":{\"headers\":[{\"name\":\"x-no\",\"value\":{\"prefix\":\"\"}}]}},"
    "{\"id\":\"a\",\"action\":\"allow\",\"to\":{\"domain\":[\"a.test\"]},"
    "\"http\":{\"method\":[\"GET\",\"HEAD\",\"POST\",\"PUT\"],\"path\":{\"prefix\":\"/v/\"}},"
    "\"transforms\":[{\"set_headers\":{\"authorization\":\"set\"}}]},"
    "{\"id\":\"proxy\",\"action\":\"allow\",\"to\":{\"domain\":[\"a.test\"]},"
    "\"http\":{\"method\":[\"CONNECT\"]},\"connect\":\"allow\"},"
    "{\"id\":\"b\",\"action\":\"allow\",\"to\":{\"domain\":[\"b.test\"]},\"ports\":[443]}]}";

static const struct secret_value values[] = {
    {"KEY", "KEYKEYKEY", "value-1-secret", 14},
    {"NOT", "NOTNOTNOT", "value-2-secret", 14},
};

struct gateway gateway;
static struct secrets *secrets;
static struct policy_flow flow;

int64_t trust_now_s(void)
{
    return 1440938160; /* 2015-08-30 12:36 */
}

int64_t gateway_now_ns(void)
{
    return NSEC_PER_SEC;
}

static void set_up(void)
{
    struct policy_error pe;
    struct secret_error se;
    struct in6_addr address = policy_address_from_ipv4((struct in_addr){htonl(0x5db8d822)});
    gateway.policy = policy_parse(document, sizeof(document) - 1, &pe);
    CHECK(gateway.policy);
    gateway.document = policy_get_document(gateway.policy);
    CHECK(secrets_new(gateway.document, values, ARRAY_SIZE(values), &secrets, &se) == 0);
    flow = policy_flow_init(POLICY_TCP, &address, 443);
    flow.sni = (struct policy_name){POLICY_NAME_GIVEN, "a.test"};
}

/* ---- one conversation ---- */

struct outcome {
    struct buf server, guest, records;
    enum exchange_end guest_end, server_end;
    bool is_opaque;
};

static void record(void *context, const struct exchange_record *r)
{
    struct outcome *o = context;
    /* Content in which there is a violation is not counted to its byte. */
    unsigned long long sent = r->violation ? 0 : r->guest_tx;
    buf_printf(&o->records, "%s %s %s %u %d %s %llu\n", r->method ? r->method : "-",
               r->path ? r->path : "-", r->authority ? r->authority : "-", r->status, r->is_allowed,
               r->reason, sent);
    for (size_t i = 0; i < r->secret_count; i++)
        CHECK(strcmp(r->secrets[i], "KEY") == 0);
}

static void drain(struct exchange *x, struct outcome *o)
{
    struct buf *guest = exchange_to_guest(x), *server = exchange_to_server(x);
    CHECK(!guest->failed && !server->failed);
    buf_append(&o->guest, guest->data, guest->size);
    buf_append(&o->server, server->data, server->size);
    buf_consume(guest, guest->size);
    buf_consume(server, server->size);
}

struct step {
    const uint8_t *data;
    size_t size, taken;
    bool is_server, is_end;
};

/* As much of it as is taken. False: nothing was. */
static bool give(struct exchange *x, struct step *s, size_t piece, struct outcome *o)
{
    bool has_moved = false;
    while (s->taken < s->size) {
        size_t size = MIN(piece, s->size - s->taken);
        const char *data = (const char *)s->data + s->taken;
        size_t taken =
            s->is_server ? exchange_from_server(x, data, size) : exchange_from_guest(x, data, size);
        CHECK(taken <= size);
        drain(x, o);
        s->taken += taken;
        has_moved |= taken > 0;
        if (taken == 0)
            return has_moved;
    }
    if (s->is_end) {
        s->is_end = false;
        if (s->is_server)
            exchange_server_ended(x);
        else
            exchange_guest_ended(x);
        drain(x, o);
        return true;
    }
    return has_moved;
}

/* Each side's steps in their order; a later one has to wait for the earlier ones. */
static bool give_side(struct exchange *x, struct step *steps, size_t count, bool is_server,
                      size_t piece, struct outcome *o)
{
    bool has_moved = false;
    for (size_t i = 0; i < count; i++) {
        if (steps[i].is_server != is_server)
            continue;
        has_moved |= give(x, &steps[i], piece, o);
        if (steps[i].taken < steps[i].size || steps[i].is_end)
            break;
    }
    return has_moved;
}

static void hold(const struct step *given, size_t count, size_t piece, bool is_tls,
                 struct outcome *o)
{
    struct step steps[STEPS_MAX];
    memcpy(steps, given, count * sizeof(*given));
    *o = (struct outcome){BUF_INIT(SAID_MAX), BUF_INIT(SAID_MAX), BUF_INIT(SAID_MAX), 0, 0, false};
    struct exchange *x = exchange_new(&(struct exchange_setup){
        .evidence = &flow,
        .name = "a.test",
        .dialled = &flow.address,
        .is_tls = is_tls,
        .context = o,
        .log = record,
    });
    CHECK(x);
    for (size_t i = 1; i <= count; i++) {
        give_side(x, steps, i, steps[i - 1].is_server, piece, o);
        while (give_side(x, steps, i, false, piece, o) || give_side(x, steps, i, true, piece, o))
            continue;
    }
    o->guest_end = exchange_guest_end(x);
    o->server_end = exchange_server_end(x);
    o->is_opaque = exchange_is_opaque(x);
    exchange_free(x);
}

/* ---- what must hold ---- */

static void check_allowed(const struct http_request *r, bool is_tls)
{
    struct policy_flow f = flow;
    struct policy_verdict v;
    struct policy_field fields[128];
    bool is_connect = !strcmp(r->method, "CONNECT");
    CHECK(r->field_count <= ARRAY_SIZE(fields));
    for (size_t i = 0; i < r->field_count; i++)
        fields[i] = (struct policy_field){r->fields[i].name, r->fields[i].value};
    f.authority = (struct policy_name){is_connect ? POLICY_NAME_ABSENT : POLICY_NAME_GIVEN,
                                       r->authority.host};
    f.request = (struct policy_request){POLICY_NAME_GIVEN, r->method, r->path,
                                        r->query,          fields,    r->field_count};
    policy_judge(gateway.policy, NULL, &f, &v);
    CHECK(v.action == POLICY_ALLOW);
    CHECK(is_connect ? !strcmp(r->authority.host, "b.test") : !strcmp(v.name, "a.test"));
    uint16_t port = r->authority.port ? r->authority.port : is_tls ? 443 : 80;
    CHECK(port == flow.port);
    const char *set = http_field_get(r->fields, r->field_count, "Authorization");
    CHECK(is_connect || (set && !strcmp(set, "set")));
    CHECK(!http_field_get(r->fields, r->field_count, "HTTP2-Settings"));
}

/* Whole requests, one behind the other; the last one may be cut off. */
static void check_server(const struct outcome *o, bool is_tls)
{
    static const struct http_limits limits = {65536, 65536, 100};
    struct http_request_parser p;
    const char *data = o->server.data;
    size_t at = 0, taken;
    http_request_init(&p, &limits);
    while (at < o->server.size) {
        struct http_body body;
        struct http_slice slice;
        enum http_progress progress = http_request_take(&p, data + at, o->server.size - at, &taken);
        at += taken;
        CHECK(progress == HTTP_DONE);
        check_allowed(&p.request, is_tls);
        if (p.request.framing.kind == HTTP_BODY_OPAQUE || p.request.upgrade)
            break;
        http_body_init(&body, &p.request.framing, HTTP_BODY_ANY_LENGTH);
        do {
            progress = http_body_take(&body, data + at, o->server.size - at, &taken, &slice);
            at += taken;
        } while (progress == HTTP_MORE && at < o->server.size);
        CHECK(progress != HTTP_FAILED);
        http_body_done(&body);
        http_request_reset(&p);
    }
    http_request_done(&p);
}

static bool has(const struct buf *b, const char *words)
{
    return b->size > 0 && memmem(b->data, b->size, words, strlen(words));
}

/* A guest that says the value itself learns nothing. */
static bool guest_has(const struct step *steps, size_t count, const char *words)
{
    for (size_t i = 0; i < count; i++)
        if (!steps[i].is_server && memmem(steps[i].data, steps[i].size, words, strlen(words)))
            return true;
    return false;
}

static void check_secrets(const struct outcome *o, bool is_tls)
{
    CHECK(!has(&o->records, values[0].value) && !has(&o->records, values[1].value));
    CHECK(!has(&o->server, values[1].value));
    if (!gateway.secrets || o->is_opaque || !is_tls)
        return;
    CHECK(!has(&o->guest, values[0].value));
    CHECK(!has(&o->server, values[1].placeholder));
}

/* What was not sent yet when a side was reset may be missing. */
static void check_same(const struct buf *a, const struct buf *b, bool is_reset)
{
    size_t size = MIN(a->size, b->size);
    CHECK(a->size == b->size || is_reset);
    CHECK(size == 0 || !memcmp(a->data, b->data, size));
}

static void outcome_done(struct outcome *o)
{
    buf_done(&o->server);
    buf_done(&o->guest);
    buf_done(&o->records);
}

static size_t read_steps(struct input *in, struct step *steps)
{
    size_t count = 0;
    while (in->size > 0 && count < STEPS_MAX) {
        uint8_t how = input_byte(in);
        struct step *s = &steps[count++];
        size_t size = how & 0x40 ? input_word(in, 2) : input_byte(in);
        *s = (struct step){.is_server = how & 1, .is_end = (how & 0x30) == 0x30};
        s->data = input_bytes(in, size, &s->size);
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct step steps[STEPS_MAX];
    struct outcome whole, pieces;
    struct input in = {data, size};
    if (!gateway.policy)
        set_up();
    size_t piece = 1 + input_byte(&in) % 64;
    uint8_t how = input_byte(&in);
    bool is_tls = how & 1;
    gateway.secrets = how & 2 ? secrets : NULL;
    size_t count = read_steps(&in, steps);
    hold(steps, count, SIZE_MAX, is_tls, &whole);
    hold(steps, count, piece, is_tls, &pieces);
    check_server(&whole, is_tls);
    check_server(&pieces, is_tls);
    if (!guest_has(steps, count, "value-")) {
        check_secrets(&whole, is_tls);
        check_secrets(&pieces, is_tls);
    }
    check_same(&whole.records, &pieces.records, false);
    CHECK(whole.guest_end == pieces.guest_end && whole.server_end == pieces.server_end);
    /* Content that is made here is cut in chunks as it comes. */
    if (!gateway.secrets) {
        check_same(&whole.server, &pieces.server, whole.server_end == EXCHANGE_RESET);
        check_same(&whole.guest, &pieces.guest, whole.guest_end == EXCHANGE_RESET);
    }
    outcome_done(&whole);
    outcome_done(&pieces);
    return 0;
}
