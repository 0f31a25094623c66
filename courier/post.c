// SPDX-License-Identifier: Apache-2.0
#include "courier/courier.h"

#include "lib/caller/caller.h"

#define FIELDS_MAX 16

static struct tls_roots *roots;

int post_start(const struct courier *c, const char *bundle)
{
    const char *what;
    if (!c->url.is_secure)
        return 0;
    int r = tls_roots_load(*bundle ? bundle : NULL, NULL, 0, &roots, &what);
    return r < 0 ? courier_fail(c, r, "%s: %s; install ca-certificates", what, strerror(-r)) : 0;
}

/* How many there are, or negative errno with words. */
static int read_fields(const struct courier *c, struct http_field fields[FIELDS_MAX])
{
    int count = 0;
    const char *at = c->fields;
    while (*at && count < FIELDS_MAX) {
        const char *value = at + strlen(at) + 1;
        fields[count++] = (struct http_field){at, value};
        at = value + strlen(value) + 1;
    }
    return *at ? courier_fail(c, -E2BIG, "the order has more than %d fields", FIELDS_MAX) : count;
}

int post(const struct courier *c, int fd)
{
    struct http_field fields[FIELDS_MAX];
    int count = read_fields(c, fields);
    const struct caller caller = {
        .fd = fd,
        .host = c->url.host,
        .roots = roots,
        .deadline_ns = c->deadline_ns,
        .why = c->error,
    };
    const struct http_request_head head = {
        .method = "POST",
        .form = HTTP_TARGET_ORIGIN,
        .authority = {c->url.host, c->url.port},
        .path = c->url.path,
        .query = c->url.query,
        .fields = fields,
        .field_count = (size_t)MAX(count, 0),
        .framing = {.kind = HTTP_BODY_LENGTH, .length = c->content_size},
        .closes = true,
    };
    return count < 0 ? count : caller_ask(&caller, &head, c->content, c->content_size, NULL);
}
