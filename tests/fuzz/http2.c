// SPDX-License-Identifier: Apache-2.0
/*
 * Frames of a guest and of a server through the gateway's HTTP/2, as the input says. What the
 * server gets is HTTP/2 that nghttp2 reads, with requests that the policy allows, for the host that
 * the connection is for; the guest gets such too, and no value of a secret.
 */
#include "gateway/h2.h"
#include "gateway/trust.h"
#include "lib/secret/secrets.h"
#include "tests/fuzz/input.h"

#include <nghttp2/nghttp2.h>

#define FRAMES_MAX  400
#define PAYLOAD_MAX 600

static const char document[] =
    "{\"version\":1,"
    "\"secrets\":{\"KEY\":{\"source\":{\"env\":\"K\"},\"placeholder\":\"KEYKEYKEY\","
    "\"allow\":{\"hosts\":[\"a.test\"]},\"inject\":{\"query\":true,\"body\":true}}},"
    "\"limits\":{\"header_bytes\":2048,\"line_bytes\":512,\"header_count\":16},"
    "\"rules\":[{\"id\":\"a\",\"action\":\"allow\",\"to\":{\"domain\":[\"a.test\"]},"
    "\"http\":{\"method\":[\"GET\",\"HEAD\",\"POST\"],\"path\":{\"prefix\":\"/v\"}},"
    "\"transforms\":[{\"set_headers\":{\"authorization\":\"set\"}}]}]}";

static const struct secret_value values[] = {{"KEY", "KEYKEYKEY", "value-1-secret", 14}};

struct gateway gateway;
static struct policy_flow flow;

int64_t trust_now_s(void)
{
    return 1440938160; /* 2015-08-30 12:36 */
}

int64_t gateway_now_ns(void)
{
    return NSEC_PER_SEC;
}

/* As gateway/main.c's, of a second that never ends. */
bool rate_take(struct rate *r, uint64_t most)
{
    return r->count++ < most;
}

static void set_up(void)
{
    struct policy_error pe;
    struct secret_error se;
    struct in6_addr address = policy_address_from_ipv4((struct in_addr){htonl(0x5db8d822)});
    gateway.policy = policy_parse(document, sizeof(document) - 1, &pe);
    CHECK(gateway.policy);
    gateway.document = policy_get_document(gateway.policy);
    CHECK(secrets_new(gateway.document, values, ARRAY_SIZE(values), &gateway.secrets, &se) == 0);
    flow = policy_flow_init(POLICY_TCP, &address, 443);
    flow.sni = (struct policy_name){POLICY_NAME_GIVEN, "a.test"};
}

/* ---- who reads what comes out ---- */

static bool is(const uint8_t *text, size_t size, const char *words)
{
    return size == strlen(words) && !memcmp(text, words, size);
}

static int on_server_field(nghttp2_session *s, const nghttp2_frame *frame, const uint8_t *name,
                           size_t name_size, const uint8_t *value, size_t size, uint8_t flags,
                           void *context)
{
    if (is(name, name_size, ":authority") || is(name, name_size, "host"))
        CHECK(is(value, size, "a.test") || is(value, size, "a.test:443") ||
              is(value, size, "A.test"));
    if (is(name, name_size, ":path"))
        CHECK(size >= 2 && !memcmp(value, "/v", 2));
    if (is(name, name_size, ":method"))
        CHECK(is(value, size, "GET") || is(value, size, "HEAD") || is(value, size, "POST"));
    if (is(name, name_size, "authorization"))
        CHECK(is(value, size, "set") && (flags & NGHTTP2_NV_FLAG_NO_INDEX));
    CHECK(!memchr(value, '\n', size) && !memchr(value, '\r', size));
    return 0;
}

static int on_guest_field(nghttp2_session *s, const nghttp2_frame *frame, const uint8_t *name,
                          size_t name_size, const uint8_t *value, size_t size, uint8_t flags,
                          void *context)
{
    CHECK(!memmem(value, size, values[0].value, values[0].size));
    return 0;
}

/* The reader's own view of streams is not the point: it has sent nothing. */
static nghttp2_session *new_reader(bool is_server)
{
    nghttp2_session_callbacks *c;
    nghttp2_option *o;
    nghttp2_session *s;
    CHECK(nghttp2_session_callbacks_new(&c) == 0 && nghttp2_option_new(&o) == 0);
    nghttp2_session_callbacks_set_on_header_callback(c,
                                                     is_server ? on_server_field : on_guest_field);
    nghttp2_option_set_no_http_messaging(o, 1);
    nghttp2_option_set_no_auto_window_update(o, 1);
    CHECK((is_server ? nghttp2_session_server_new2(&s, c, NULL, o)
                     : nghttp2_session_client_new2(&s, c, NULL, o)) == 0);
    nghttp2_option_del(o);
    nghttp2_session_callbacks_del(c);
    return s;
}

struct scene {
    struct h2 *h2;
    nghttp2_session *server, *guest; /* that read */
};

static void drain(struct scene *s)
{
    struct buf *guest = h2_to_guest(s->h2), *server = h2_to_server(s->h2);
    CHECK(!guest->failed && !server->failed);
    /* Requests are new to whoever reads them; responses would be to none of its own. */
    if (server->size > 0)
        CHECK(nghttp2_session_mem_recv(s->server, (const uint8_t *)server->data, server->size) >=
              0);
    CHECK(!guest->size || !memmem(guest->data, guest->size, values[0].value, values[0].size));
    buf_consume(server, server->size);
    buf_consume(guest, guest->size);
}

static void say(struct scene *s, bool is_server, const void *data, size_t size)
{
    size_t taken = 0;
    for (int turns = 0; turns < 1000 && taken < size; turns++) {
        const char *at = (const char *)data + taken;
        taken += is_server ? h2_from_server(s->h2, at, size - taken)
                           : h2_from_guest(s->h2, at, size - taken);
        drain(s);
    }
}

/* side, type, flags, stream, size, payload */
static void say_frame(struct scene *s, struct input *in)
{
    uint8_t side = input_byte(in), type = input_byte(in) % 12, flags = input_byte(in);
    uint8_t id = input_byte(in) % 16;
    size_t size;
    const uint8_t *payload = input_bytes(in, input_word(in, 2) % PAYLOAD_MAX, &size);
    uint8_t frame[9 + PAYLOAD_MAX] = {0, (uint8_t)(size >> 8), (uint8_t)size, type, flags, 0, 0, 0,
                                      id};
    if (size > 0)
        memcpy(frame + 9, payload, size);
    say(s, side & 1, frame, 9 + size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    static const uint8_t settings[9] = {0, 0, 0, NGHTTP2_SETTINGS};
    struct input in = {data, size};
    if (!gateway.policy)
        set_up();
    struct scene s = {.server = new_reader(true), .guest = new_reader(false)};
    s.h2 = h2_new(&(struct exchange_setup){
        .evidence = &flow, .name = "a.test", .dialled = &flow.address, .is_tls = true});
    CHECK(s.h2);
    drain(&s);
    say(&s, false, preface, sizeof(preface) - 1);
    say(&s, false, settings, sizeof(settings));
    say(&s, true, settings, sizeof(settings));
    for (int i = 0; i < FRAMES_MAX && in.size > 0; i++)
        say_frame(&s, &in);
    h2_guest_ended(s.h2);
    drain(&s);
    h2_server_ended(s.h2);
    h2_expire(s.h2);
    drain(&s);
    h2_free(s.h2);
    nghttp2_session_del(s.server);
    nghttp2_session_del(s.guest);
    return 0;
}
