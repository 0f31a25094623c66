// SPDX-License-Identifier: Apache-2.0
/*
 * Heads on their way to a program in a sandbox and back (server/port_head.c): what is written is
 * read again as one message of the same framing, says of who asks what is true, and has nothing in
 * it that is only for the server.
 */
#include "server/port_head.h"
#include "server/port_location.h"
#include "tests/fuzz/http_talk.h"

#define CLIENT        "2001:db8::1"
#define TOKEN         "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0"
#define OUT_MAX_BYTES (4 * HTTP_HEAD_MAX_BYTES)

static bool same_string(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static size_t count_of(const struct http_request *r, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < r->field_count; i++)
        count += http_words_equal(r->fields[i].name, name);
    return count;
}

static void check_one(const struct http_request *r, const char *name, const char *value)
{
    CHECK(count_of(r, name) == (value != NULL));
    CHECK(!value || !strcmp(http_field_get(r->fields, r->field_count, name), value));
}

/* As one sees it who can't tell '_' from '-'. */
static void check_field(const struct http_field *f, const struct port_origin *o)
{
    char name[128];
    size_t size = strlen(f->name);
    if (size >= sizeof(name))
        return;
    for (size_t i = 0; i <= size; i++)
        name[i] = f->name[i] == '_' ? '-' : f->name[i];
    bool has_mark = strchr(f->name, '_') != NULL;
    if (http_is_word(name, MIN(size, (size_t)12), "X-Forwarded-") ||
        http_words_equal(name, "Forwarded"))
        CHECK(!has_mark);
    CHECK(!has_mark || !http_field_is_hop(name));
    CHECK(!http_is_word(name, MIN(size, (size_t)4), "e2b-") ||
          (!http_words_equal(name, "E2b-Sandbox-Id") &&
           !http_words_equal(name, "E2b-Sandbox-Port") &&
           !http_words_equal(name, "E2b-Traffic-Access-Token")));
    CHECK(!http_words_equal(name, "X-Real-IP") && !http_words_equal(name, "Proxy"));
    CHECK(!http_words_equal(name, "X-Access-Token") || strcmp(f->value, TOKEN) != 0);
    CHECK(!o->prefix || !http_words_equal(name, "Cookie"));
}

static void check_request(const struct http_request *r, const struct port_origin *o,
                          const struct buf *out, bool is_upgrade)
{
    struct http_request_parser again;
    const struct http_request *w = &again.request;
    size_t taken;
    http_request_init(&again, &TALK_LIMITS_OF_WRITTEN);
    CHECK(http_request_take(&again, out->data, out->size, &taken) == HTTP_DONE);
    CHECK(taken == out->size);
    CHECK(w->framing.kind == r->framing.kind && w->framing.length == r->framing.length);
    CHECK(same_string(w->method, r->method) && same_string(w->query, r->query));
    const char *path = r->path + (o->prefix ? strlen(o->prefix) : 0);
    CHECK(same_string(w->path, *path ? path : "/"));
    CHECK(is_upgrade == (w->upgrade != NULL) && w->persists == is_upgrade);
    CHECK(!is_upgrade ||
          (same_string(w->upgrade, r->upgrade) && w->framing.kind == HTTP_BODY_NONE));
    CHECK(!w->expects_continue || r->expects_continue);
    if (o->mask)
        CHECK(!strcmp(w->authority.host, "app.test") && w->authority.port == o->port);
    else if (r->authority.host)
        CHECK(same_string(w->authority.host, r->authority.host));
    check_one(w, "X-Forwarded-For", CLIENT);
    check_one(w, "X-Forwarded-Proto", o->is_secure ? "https" : "http");
    check_one(w, "X-Forwarded-Prefix", o->prefix);
    CHECK(count_of(w, "X-Forwarded-Host") == (r->authority.host != NULL));
    CHECK(count_of(w, "Forwarded") == 1 && count_of(w, "Via") >= 1);
    for (size_t i = 0; i < w->field_count; i++)
        check_field(&w->fields[i], o);
    http_request_done(&again);
}

static void try_request(uint8_t how, const char *data, size_t size)
{
    struct http_request_parser p;
    struct buf out = BUF_INIT(OUT_MAX_BYTES);
    size_t taken;
    bool is_upgrade;
    http_request_init(&p, NULL);
    if (http_request_take(&p, data, size, &taken) == HTTP_DONE &&
        p.request.form != HTTP_TARGET_AUTHORITY) {
        const char prefix[] = "/prefix";
        size_t prefix_size = sizeof(prefix) - 1;
        bool has_prefix = !strncmp(p.request.path, prefix, prefix_size) &&
                          (!p.request.path[prefix_size] || p.request.path[prefix_size] == '/');
        const struct port_origin o = {
            .port = 8000,
            .client = CLIENT,
            .is_secure = how & 2,
            .mask = how & 4 ? "app.test:${PORT}" : NULL,
            .prefix = has_prefix ? prefix : NULL,
            .token = TOKEN,
        };
        CHECK(port_request_write(&out, &p.request, &o, &is_upgrade) == 0);
        CHECK(out.size <= PORT_HEAD_MAX_BYTES);
        check_request(&p.request, &o, &out, is_upgrade);
    }
    http_request_done(&p);
    buf_done(&out);
}

static void check_answer(const struct http_response *r, const struct http_response_head *h,
                         const char *method, bool is_path)
{
    struct http_response_parser again;
    const struct http_response *w = &again.response;
    struct buf out = BUF_INIT(OUT_MAX_BYTES);
    size_t taken;
    CHECK(http_response_write(&out, h) == 0);
    http_response_init(&again, &TALK_LIMITS_OF_WRITTEN);
    http_response_expect(&again, method, true);
    CHECK(http_response_take(&again, out.data, out.size, &taken) == HTTP_DONE);
    CHECK(taken == out.size && w->status == r->status);
    CHECK(w->framing.kind == h->framing.kind && w->framing.length == h->framing.length);
    CHECK(w->framing.kind == r->framing.kind || r->framing.kind == HTTP_BODY_CLOSE ||
          (r->framing.kind == HTTP_BODY_CHUNKED && w->framing.kind == HTTP_BODY_CLOSE));
    CHECK(!is_path || !http_field_get(w->fields, w->field_count, "Set-Cookie"));
    http_response_done(&again);
    buf_done(&out);
}

/* It leads to the program, and not above it. */
static void check_location(const char *value)
{
    static const char prefix[] = "/sandboxes/a/ports/80";
    const struct port_place place = {
        .prefix = prefix, .path = "/b/c", .port = 80, .asked = {"a.example", 0}};
    char *text = NULL;
    if (port_location_read(value, &place, &text) == 1) {
        size_t size = sizeof(prefix) - 1;
        CHECK(!strncmp(text, prefix, size) && strchr("/?#", text[size]));
        text[size + strcspn(text + size, "?#")] = '\0';
        for (char *rest, *at = strtok_r(text, "/\\", &rest); at; at = strtok_r(NULL, "/\\", &rest))
            CHECK(strcmp(at, "..") != 0 && strcasecmp(at, "%2e.") != 0 &&
                  strcasecmp(at, ".%2e") != 0 && strcasecmp(at, "%2e%2e") != 0);
    }
    free(text);
}

static void try_answer(uint8_t how, const char *data, size_t size)
{
    struct http_response_parser p;
    struct http_field fields[PORT_FIELDS_MAX];
    const char *method = how & 2 ? "HEAD" : "GET";
    size_t taken;
    http_response_init(&p, NULL);
    http_response_expect(&p, method, true);
    while (http_response_take(&p, data, size, &taken) == HTTP_DONE) {
        struct http_response_head h =
            port_answer_head(&p.response, how & 4 ? HTTP_1_0 : HTTP_1_1, how & 8, fields);
        check_answer(&p.response, &h, method, how & 8);
        for (size_t i = 0; i < h.field_count; i++)
            if (port_location_is_field(h.fields[i].name))
                check_location(h.fields[i].value);
        if (!http_response_is_interim(&p.response))
            break;
        data += taken, size -= taken;
        http_response_next(&p);
    }
    http_response_done(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0)
        (data[0] & 1 ? try_answer : try_request)(data[0], (const char *)data + 1, size - 1);
    return 0;
}
