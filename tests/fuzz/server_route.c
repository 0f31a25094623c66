// SPDX-License-Identifier: Apache-2.0
/*
 * Heads of requests, and whom the server takes them to be for (server/route.c): an id is of an id's
 * form, a port is one, and what is refused is so in a sentence.
 */
#include "lib/http/head.h"
#include "server/route.h"
#include "tests/fuzz/input.h"

static void check_id(const char *id)
{
    size_t size = strnlen(id, 64);
    CHECK(size > 0 && size < 64);
    CHECK(strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789") == size);
}

static void check(const struct route *r, const char *path)
{
    switch (r->kind) {
    case ROUTE_CONTROL:
        break;
    case ROUTE_SANDBOX:
        check_id(r->id);
        CHECK(r->port > 0);
        CHECK(r->prefix_size == 0 || !strncmp(path, "/sandboxes/", 11));
        CHECK(r->prefix_size <= strlen(path));
        CHECK(r->prefix_size == 0 || !path[r->prefix_size] || path[r->prefix_size] == '/');
        break;
    case ROUTE_TOKEN:
        CHECK(r->token);
        CHECK(r->port == ENVD_PORT);
        break;
    case ROUTE_SIGNATURE:
        CHECK(r->port == ENVD_PORT);
        break;
    case ROUTE_BAD:
        CHECK(r->why && strstr(r->why, "; "));
        break;
    default:
        CHECK(!"a kind");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_request_parser p;
    struct route r;
    size_t taken;
    http_request_init(&p, NULL);
    if (http_request_take(&p, (const char *)data, size, &taken) == HTTP_DONE) {
        route_find(&p.request, &r);
        check(&r, p.request.path);
    }
    http_request_done(&p);
    return 0;
}
