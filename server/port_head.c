// SPDX-License-Identifier: Apache-2.0
#include "server/port_head.h"

#include "lib/http/syntax.h"
#include "server/text.h"

#include <openssl/crypto.h>
#include <stdio.h>

#define ADDED_MAX           6
#define RELAYED_ADDRESS_MAX 64
#define NAME_MAX_BYTES      64 /* longer ones are none of those that are looked for */

/* ---- which fields are handed on ---- */

/* A name as a program may read it that can't tell '_' from '-'. "": it is too long to matter. */
static void read_name(const char *name, char out[NAME_MAX_BYTES])
{
    size_t size = strlen(name);
    out[0] = '\0';
    if (size >= NAME_MAX_BYTES)
        return;
    for (size_t i = 0; i <= size; i++)
        out[i] = name[i] == '_' ? '-' : name[i];
}

static bool is_any_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (http_words_equal(name, names[i]))
            return true;
    return false;
}

static bool is_of_who_asks(const char *name)
{
    static const char *const names[] = {"Forwarded", "X-Real-IP", "Proxy"};
    return is_any_of(name, names, ARRAY_SIZE(names)) || http_is_word(name, 12, "X-Forwarded-");
}

static bool is_of_the_server(const char *name)
{
    static const char *const names[] = {"E2b-Sandbox-Id", "E2b-Sandbox-Port",
                                        "E2b-Traffic-Access-Token"};
    return is_any_of(name, names, ARRAY_SIZE(names));
}

/* Of a known length, and without a way to fail: what can't be compared would be handed on. */
static bool is_token(const char *text, const char *token)
{
    size_t size = strlen(token);
    return strlen(text) == size && CRYPTO_memcmp(text, token, size) == 0;
}

/* The other way to send an API key (control_has_key()). */
static bool is_bearer_of_key(const char *value)
{
    static const char bearer[] = "Bearer ";
    if (strncasecmp(value, bearer, sizeof(bearer) - 1) != 0)
        return false;
    value += sizeof(bearer) - 1;
    return text_is_api_key(value + strspn(value, " "));
}

/* A program may have keys and tokens of its own; these would be the server's. */
static bool is_credential(const char *name, const char *value, const struct port_origin *o)
{
    return (http_words_equal(name, "X-API-Key") && text_is_api_key(value)) ||
           (http_words_equal(name, "Authorization") && is_bearer_of_key(value)) ||
           (http_words_equal(name, "X-Access-Token") && is_token(value, o->token));
}

static bool is_handed_on(const struct http_field *f, const struct http_request *r,
                         const struct port_origin *o)
{
    char name[NAME_MAX_BYTES];
    read_name(f->name, name);
    if (is_of_who_asks(name) || is_of_the_server(name) || is_credential(name, f->value, o))
        return false;
    /* What only reads like one that frames the message does so for some. */
    if (strchr(f->name, '_') && http_field_is_hop(name))
        return false;
    if (o->prefix && http_words_equal(name, "Cookie"))
        return false;
    return r->version == HTTP_1_1 || !http_words_equal(name, "Expect");
}

/* ---- what is added ---- */

struct added {
    char host[HTTP_HOST_MAX_BYTES + 8];
    char forwarded[HTTP_HOST_MAX_BYTES + 128];
    struct http_field fields[ADDED_MAX];
    size_t count;
};

static void add(struct added *a, const char *name, const char *value)
{
    a->fields[a->count++] = (struct http_field){name, value};
}

static void write_host(const struct http_authority *host, char *out, size_t size)
{
    if (host->port)
        snprintf(out, size, "%s:%u", host->host, host->port);
    else
        snprintf(out, size, "%s", host->host);
}

/* RFC 7239; and what everybody else reads. */
static void add_origin(struct added *a, const struct http_request *r, const struct port_origin *o)
{
    const char *proto = o->is_secure ? "https" : "http";
    bool is_v6 = strchr(o->client, ':') != NULL;
    char from[RELAYED_ADDRESS_MAX + 16] = "", host[sizeof(a->host) + 16] = "";
    add(a, "X-Forwarded-Proto", proto);
    if (o->client[0]) {
        snprintf(from, sizeof(from), is_v6 ? "for=\"[%s]\";" : "for=%s;", o->client);
        add(a, "X-Forwarded-For", o->client);
    }
    if (r->authority.host) {
        write_host(&r->authority, a->host, sizeof(a->host));
        snprintf(host, sizeof(host), "host=\"%s\";", a->host);
        add(a, "X-Forwarded-Host", a->host);
    }
    if (o->prefix)
        add(a, "X-Forwarded-Prefix", o->prefix);
    snprintf(a->forwarded, sizeof(a->forwarded), "%s%sproto=%s", from, host, proto);
    add(a, "Forwarded", a->forwarded);
    add(a, "Via", r->version == HTTP_1_1 ? "1.1 glovebox" : "1.0 glovebox");
}

/* ---- Host ---- */

/* With the port in place of each ${PORT}. False: it is too long. */
static bool fill_mask(const char *mask, uint16_t port, char out[PORT_MASK_MAX_BYTES + 1])
{
    static const char mark[] = "${PORT}";
    struct buf text = BUF_INIT(PORT_MASK_MAX_BYTES);
    const char *next;
    for (; (next = strstr(mask, mark)); mask = next + sizeof(mark) - 1) {
        buf_append(&text, mask, (size_t)(next - mask));
        buf_printf(&text, "%u", port);
    }
    buf_append_str(&text, mask);
    bool is_whole = !text.failed && text.size > 0;
    if (is_whole)
        memcpy(out, text.data, text.size + 1);
    buf_done(&text);
    return is_whole;
}

bool port_mask_read(const char *mask, uint16_t port, char host[PORT_MASK_MAX_BYTES + 1],
                    struct http_authority *ret)
{
    size_t size;
    uint16_t host_port;
    if (!fill_mask(mask, port, host) ||
        !http_authority_parse(host, strlen(host), &size, &host_port))
        return false;
    host[size] = '\0';
    *ret = (struct http_authority){host, host_port};
    return true;
}

bool port_mask_is_valid(const char *text)
{
    char host[PORT_MASK_MAX_BYTES + 1];
    struct http_authority a;
    /* Whatever the port is, it is no longer than this one. */
    return port_mask_read(text, UINT16_MAX, host, &a) && port_mask_read(text, 1, host, &a);
}

/* ---- requests ---- */

static const char *path_of(const struct http_request *r, const struct port_origin *o)
{
    const char *path = o->prefix ? r->path + strlen(o->prefix) : r->path;
    return path[0] ? path : "/";
}

int port_request_write(struct buf *out, const struct http_request *r, const struct port_origin *o,
                       bool *ret_upgrade)
{
    char host[PORT_MASK_MAX_BYTES + 1];
    struct added added = {0};
    struct http_request_head h = http_request_head_of(r);
    _cleanup_free_ struct http_field *fields = calloc(r->field_count + ADDED_MAX, sizeof(*fields));
    if (!fields)
        return -ENOMEM;
    if (r->field_count > 0)
        memcpy(fields, r->fields, r->field_count * sizeof(*fields));
    size_t count = 0, kept = http_fields_forward(fields, r->field_count);
    for (size_t i = 0; i < kept; i++)
        if (is_handed_on(&fields[i], r, o))
            fields[count++] = fields[i];
    add_origin(&added, r, o);
    memcpy(fields + count, added.fields, added.count * sizeof(*fields));
    h.fields = fields;
    h.field_count = count + added.count;
    h.path = path_of(r, o);
    if (o->mask && !port_mask_read(o->mask, o->port, host, &h.authority))
        return -EINVAL;
    if (!h.authority.host)
        h.authority = (struct http_authority){"localhost", o->port};
    /* One that has content is answered first, if at all: RFC 9110, 7.8 lets it be ignored. */
    if (h.framing.kind != HTTP_BODY_NONE)
        h.upgrade = NULL;
    h.closes = !h.upgrade;
    int e = http_request_write(out, &h);
    if (e == 0)
        *ret_upgrade = h.upgrade != NULL;
    return e;
}

/* ---- answers ---- */

/* What a browser takes for all of an origin, which by path is everybody's. */
static bool is_of_origin(const char *name)
{
    static const char *const names[] = {"Alt-Svc",
                                        "Clear-Site-Data",
                                        "Expect-CT",
                                        "NEL",
                                        "Public-Key-Pins",
                                        "Report-To",
                                        "Set-Cookie",
                                        "Set-Cookie2",
                                        "Origin-Agent-Cluster",
                                        "Service-Worker-Allowed",
                                        "Strict-Transport-Security"};
    return is_any_of(name, names, ARRAY_SIZE(names));
}

struct http_response_head port_answer_head(const struct http_response *r, enum http_version client,
                                           bool is_path, struct http_field fields[PORT_FIELDS_MAX])
{
    struct http_response_head h = http_response_head_of(r);
    size_t count = 0, kept = MIN(r->field_count, (size_t)HTTP_FIELDS_MAX);
    memcpy(fields, r->fields, kept * sizeof(*fields));
    kept = http_fields_forward(fields, kept);
    for (size_t i = 0; i < kept; i++)
        if (!is_path || !is_of_origin(fields[i].name))
            fields[count++] = fields[i];
    if (is_path)
        fields[count++] = (struct http_field){"Content-Security-Policy",
                                              "sandbox allow-forms allow-popups allow-scripts"};
    h.fields = fields;
    h.field_count = count;
    h.closes = false;
    /* Chunks say whether they are complete. */
    if (h.framing.kind == HTTP_BODY_CLOSE)
        h.framing.kind = HTTP_BODY_CHUNKED;
    h.framing = http_framing_for(h.framing, client);
    return h;
}

size_t port_trailers_forward(struct http_field *trailers, size_t count)
{
    size_t kept = 0;
    char name[NAME_MAX_BYTES];
    for (size_t i = 0; i < count; i++) {
        read_name(trailers[i].name, name);
        if (!is_of_who_asks(name) && !is_of_the_server(name))
            trailers[kept++] = trailers[i];
    }
    return kept;
}
