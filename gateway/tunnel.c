// SPDX-License-Identifier: Apache-2.0
#include "gateway/tunnel.h"

#include "lib/http/head.h"
#include "lib/secret/forms.h"

#include <stdio.h>

#define ANSWER_MAX_BYTES (16 * 1024) /* of HTTP */
#define REQUEST_MAX      2048

/* Of SOCKS5. */
enum step { METHODS, PASSWORD, REPLY, REPLY_ADDRESS, HTTP_ANSWER, OVER };
#define VERSION          5
#define NO_PASSWORD      0
#define WITH_PASSWORD    2
#define PASSWORD_VERSION 1
#define CONNECT          1
#define ADDRESS_V4       1
#define ADDRESS_NAME     3
#define ADDRESS_V6       4
#define REPLY_HEAD       4
#define REPLY_MAX        (REPLY_HEAD + 1 + 255 + 2)

struct tunnel {
    struct in6_addr to;
    uint16_t port;
    enum step step;
    bool has_name;
    char name[TUNNEL_PASSWORD_MAX_BYTES + 1], password[TUNNEL_PASSWORD_MAX_BYTES + 1];
    struct buf out;
    unsigned char in[REPLY_MAX];
    size_t in_size, in_wanted;
    struct http_response_parser http;
    enum tunnel_progress progress;
    int error;
    const char *words;
};

static enum tunnel_progress fail(struct tunnel *t, int error, const char *words)
{
    t->step = OVER;
    t->error = error;
    t->words = words;
    t->progress = TUNNEL_FAILED;
    return t->progress;
}

static enum tunnel_progress done(struct tunnel *t)
{
    t->step = OVER;
    t->progress = TUNNEL_DONE;
    return t->progress;
}

static bool is_v4(const struct tunnel *t)
{
    return IN6_IS_ADDR_V4MAPPED(&t->to);
}

/* ---- HTTP ---- */

static void write_credentials(struct tunnel *t)
{
    char plain[2 * sizeof(t->password)], coded[4 * sizeof(t->password)];
    int size = snprintf(plain, sizeof(plain), "%s:%s", t->name, t->password);
    size_t n = form_base64(plain, (size_t)size, BASE64_STANDARD, coded);
    buf_printf(&t->out, "Proxy-Authorization: Basic %.*s\r\n", (int)n, coded);
    explicit_bzero(plain, sizeof(plain));
    explicit_bzero(coded, sizeof(coded));
}

static void ask_http(struct tunnel *t)
{
    char address[POLICY_ADDRESS_TEXT_BYTES], target[POLICY_ADDRESS_TEXT_BYTES + 16];
    policy_address_print(&t->to, address);
    snprintf(target, sizeof(target), is_v4(t) ? "%s:%u" : "[%s]:%u", address, t->port);
    buf_printf(&t->out, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", target, target);
    if (t->has_name)
        write_credentials(t);
    buf_append_str(&t->out, "\r\n");
    t->step = HTTP_ANSWER;
}

static enum tunnel_progress take_http(struct tunnel *t, const char *data, size_t size)
{
    size_t taken;
    enum http_progress p = http_response_take(&t->http, data, size, &taken);
    const struct http_response *r = &t->http.response;
    if (p == HTTP_MORE)
        return TUNNEL_MORE;
    if (p == HTTP_FAILED)
        return fail(t, 0, "the proxy's answer is no HTTP");
    if (http_response_is_interim(r)) {
        http_response_next(&t->http);
        return TUNNEL_MORE;
    }
    if (r->status >= 200 && r->status < 300)
        return done(t);
    if (r->status == 407)
        return fail(t, 0, "the proxy wants other credentials");
    if (r->status == 403)
        return fail(t, 0, "the proxy does not allow it");
    return fail(t, EHOSTUNREACH, "the proxy could not connect");
}

/* ---- SOCKS5 ---- */

static void want(struct tunnel *t, enum step step, size_t bytes)
{
    t->step = step;
    t->in_size = 0;
    t->in_wanted = bytes;
}

static void ask_socks(struct tunnel *t)
{
    const unsigned char plain[] = {VERSION, 1, NO_PASSWORD};
    const unsigned char both[] = {VERSION, 2, NO_PASSWORD, WITH_PASSWORD};
    if (t->has_name)
        buf_append(&t->out, both, sizeof(both));
    else
        buf_append(&t->out, plain, sizeof(plain));
    want(t, METHODS, 2);
}

static void put_word(struct buf *b, const char *word)
{
    unsigned char size = (unsigned char)strlen(word);
    buf_append(b, &size, 1);
    buf_append(b, word, size);
}

static enum tunnel_progress say_password(struct tunnel *t)
{
    const unsigned char version = PASSWORD_VERSION;
    buf_append(&t->out, &version, 1);
    put_word(&t->out, t->name);
    put_word(&t->out, t->password);
    want(t, PASSWORD, 2);
    return TUNNEL_MORE;
}

static enum tunnel_progress ask_connect(struct tunnel *t)
{
    const unsigned char head[] = {VERSION, CONNECT, 0, is_v4(t) ? ADDRESS_V4 : ADDRESS_V6};
    const unsigned char port[] = {(unsigned char)(t->port >> 8), (unsigned char)t->port};
    buf_append(&t->out, head, sizeof(head));
    buf_append(&t->out, t->to.s6_addr + (is_v4(t) ? 12 : 0), is_v4(t) ? 4 : 16);
    buf_append(&t->out, port, sizeof(port));
    want(t, REPLY, REPLY_HEAD + 1);
    return TUNNEL_MORE;
}

static enum tunnel_progress take_method(struct tunnel *t)
{
    if (t->in[0] != VERSION)
        return fail(t, 0, "the proxy does not speak SOCKS5");
    if (t->in[1] == NO_PASSWORD)
        return ask_connect(t);
    if (t->in[1] == WITH_PASSWORD && t->has_name)
        return say_password(t);
    return fail(t, 0, "the proxy wants other credentials");
}

/* RFC 1928, 6: what the proxy found, in the words of connect(2). */
static enum tunnel_progress take_reply(struct tunnel *t)
{
    static const int errors[] = {0, 0, 0, ENETUNREACH, EHOSTUNREACH, ECONNREFUSED, ETIMEDOUT};
    unsigned reply = t->in[1];
    if (t->in[0] != VERSION)
        return fail(t, 0, "the proxy does not speak SOCKS5");
    if (reply == 2)
        return fail(t, 0, "the proxy does not allow it");
    if (reply != 0 && reply < ARRAY_SIZE(errors) && errors[reply])
        return fail(t, errors[reply], "the proxy could not connect");
    if (reply != 0)
        return fail(t, 0, "the proxy failed");
    size_t address = t->in[3] == ADDRESS_V4     ? 4
                     : t->in[3] == ADDRESS_V6   ? 16
                     : t->in[3] == ADDRESS_NAME ? 1 + (size_t)t->in[REPLY_HEAD]
                                                : 0;
    if (address == 0)
        return fail(t, 0, "the proxy does not speak SOCKS5");
    want(t, REPLY_ADDRESS, address - 1 + 2);
    return TUNNEL_MORE;
}

static enum tunnel_progress take_step(struct tunnel *t)
{
    switch (t->step) {
    case METHODS:
        return take_method(t);
    case PASSWORD:
        return t->in[1] == 0 ? ask_connect(t) : fail(t, 0, "the proxy wants other credentials");
    case REPLY:
        return take_reply(t);
    case REPLY_ADDRESS:
        return done(t);
    default:
        return t->progress;
    }
}

/* ---- both ---- */

struct tunnel *tunnel_new(const struct policy_upstream *proxy, const char *password, size_t size,
                          const struct in6_addr *to, uint16_t port)
{
    const struct http_limits limits = {.line_bytes = HTTP_LINE_MAX_BYTES,
                                       .head_bytes = ANSWER_MAX_BYTES,
                                       .fields = HTTP_FIELDS_MAX};
    struct tunnel *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->has_name = proxy->username;
    snprintf(t->name, sizeof(t->name), "%s", proxy->username ? proxy->username : "");
    t->to = *to;
    t->port = port;
    t->out = BUF_INIT(REQUEST_MAX);
    if (password)
        memcpy(t->password, password, size);
    http_response_init(&t->http, &limits);
    http_response_expect(&t->http, "CONNECT", false);
    if (proxy->type == POLICY_UPSTREAM_SOCKS5)
        ask_socks(t);
    else
        ask_http(t);
    if (!t->out.failed)
        return t;
    tunnel_free(t);
    return NULL;
}

void tunnel_free(struct tunnel *t)
{
    if (!t)
        return;
    http_response_done(&t->http);
    buf_wipe(&t->out);
    explicit_bzero(t->password, sizeof(t->password));
    free(t);
}

void tunnel_pending(const struct tunnel *t, const char **ret_data, size_t *ret_size)
{
    *ret_data = t->out.data;
    *ret_size = t->out.size;
}

void tunnel_sent(struct tunnel *t, size_t size)
{
    buf_consume(&t->out, size);
}

size_t tunnel_room(const struct tunnel *t)
{
    if (t->step == OVER)
        return 0;
    return t->step == HTTP_ANSWER ? 1 : t->in_wanted - t->in_size;
}

enum tunnel_progress tunnel_take(struct tunnel *t, const char *data, size_t size)
{
    size = MIN(size, tunnel_room(t));
    if (t->step == OVER)
        return t->progress;
    if (t->step == HTTP_ANSWER)
        return take_http(t, data, size);
    memcpy(t->in + t->in_size, data, size);
    t->in_size += size;
    return t->in_size == t->in_wanted ? take_step(t) : TUNNEL_MORE;
}

int tunnel_error(const struct tunnel *t, const char **ret_words)
{
    *ret_words = t->words ? t->words : "the proxy ended the connection";
    return t->error;
}
