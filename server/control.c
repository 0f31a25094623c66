// SPDX-License-Identifier: Apache-2.0
#include "server/control.h"

#include "server/connection.h"
#include "server/keys.h"
#include "server/limits.h"
#include "server/metrics.h"
#include "server/route.h"
#include "server/server.h"

#include <inttypes.h>
#include <stdio.h>

#define SEGMENT_MAX_BYTES 512
#define METRICS_MAX_BYTES (256 * 1024)

static const char no_pause[] =
    "pausing is not offered yet; let the sandbox run, or kill it and create another";
static const char no_snapshot[] = "snapshots are not offered yet; create a new sandbox";
static const char no_template[] =
    "templates are not offered yet; create sandboxes from the template 'base'";
static const char no_volume[] = "volumes are not offered yet; write files to the sandbox instead";
static const char no_secret[] =
    "secrets are not offered yet; glovebox run --secret has them for single programs";

static void answer_health(struct request *r)
{
    static const char text[] = "{\"status\":\"ok\"}";
    request_answer(r, 200, "application/json", text, sizeof(text) - 1);
}

/* Of all keys, so for an owner's alone. */
static void answer_metrics(struct request *r)
{
    struct buf text = BUF_INIT(METRICS_MAX_BYTES);
    if (r->key->parent)
        request_fail(r, 403, "this key may not see what others do; use an owner's");
    else if (metrics_write(&text) < 0)
        request_fail(r, 503, "the server is short of memory; try again later");
    else
        request_answer(r, 200, "text/plain; version=0.0.4", text.data, text.size);
    buf_done(&text);
}

/* Also the description of this table and of envd's: tests hold it against them. */
static void answer_openapi(struct request *r)
{
    extern const char openapi_json[], openapi_json_end[];
    request_answer(r, 200, "application/json", openapi_json,
                   (size_t)(openapi_json_end - openapi_json));
}

static const struct handler health = {.ready = answer_health}, metrics = {.ready = answer_metrics},
                            openapi = {.ready = answer_openapi};

static const struct control_route {
    const char *method, *path;
    const struct handler *handler; /* NULL: it is not offered, and missing says so */
    const char *missing;
} routes[] = {
    {"GET", "/health", &health, NULL},
    {"GET", "/openapi.json", &openapi, NULL},
    {"GET", "/metrics", &metrics, NULL},
    {"POST", "/sandboxes", &control_create, NULL},
    {"POST", "/v2/sandboxes", &control_create, NULL},
    {"GET", "/sandboxes", &control_list_running, NULL},
    {"GET", "/v2/sandboxes", &control_list, NULL},
    {"GET", "/api-keys", &control_list_keys, NULL},
    {"POST", "/api-keys", &control_make_key, NULL},
    {"PATCH", "/api-keys/*", &control_rename_key, NULL},
    {"DELETE", "/api-keys/*", &control_revoke_key, NULL},
    {"GET", "/audit", &control_audit, NULL},
    {"GET", "/events", &control_stream_events, NULL},
    {"GET", "/events/sandboxes", &control_list_events, NULL},
    {"GET", "/events/webhooks", &control_list_webhooks, NULL},
    {"POST", "/events/webhooks", &control_make_webhook, NULL},
    {"GET", "/events/webhooks/*", &control_get_webhook, NULL},
    {"PATCH", "/events/webhooks/*", &control_change_webhook, NULL},
    {"DELETE", "/events/webhooks/*", &control_remove_webhook, NULL},
    {"GET", "/events/sandboxes/*", &control_list_events, NULL},
    {"GET", "/sandboxes/metrics", &control_measure_many, NULL},
    {"GET", "/sandboxes/*", &control_get, NULL},
    {"DELETE", "/sandboxes/*", &control_delete, NULL},
    {"POST", "/sandboxes/*/timeout", &control_set_timeout, NULL},
    {"POST", "/sandboxes/*/refreshes", &control_refresh, NULL},
    {"POST", "/sandboxes/*/connect", &control_connect, NULL},
    {"POST", "/v2/sandboxes/*/connect", &control_connect_later, NULL},
    {"PUT", "/sandboxes/*/network", &control_set_network, NULL},
    {"GET", "/sandboxes/*/metrics", &control_measure, NULL},
    {"POST", "/sandboxes/*/pause", NULL, no_pause},
    {"POST", "/sandboxes/*/resume", &control_resume, NULL},
    {"POST", "/sandboxes/*/fork", NULL, "forks are not offered yet; create a new sandbox"},
    {"POST", "/v2/sandboxes/*/fork", NULL, "forks are not offered yet; create a new sandbox"},
    {"POST", "/sandboxes/*/snapshots", NULL, no_snapshot},
    {"GET", "/sandboxes/*/logs", &control_logs, NULL},
    {"GET", "/v2/sandboxes/*/logs", &control_logs, NULL},
    {NULL, "/snapshots", NULL, no_snapshot},
    {NULL, "/templates", NULL, no_template},
    {NULL, "/v2/templates", NULL, no_template},
    {NULL, "/v3/templates", NULL, no_template},
    {NULL, "/volumes", NULL, no_volume},
    {NULL, "/volumecontent", NULL, no_volume},
    {NULL, "/secrets", NULL, no_secret},
};

/* Whether it is the row's path, or below it. */
static bool is_below(const char *pattern, const char *path)
{
    size_t size = strlen(pattern);
    return !strncmp(pattern, path, size) && (!path[size] || path[size] == '/');
}

static int take_segment(struct request *r, const char *segment, size_t size)
{
    struct buf text = BUF_INIT(SEGMENT_MAX_BYTES);
    bool is_good = size > 0 && text_percent_decode(segment, size, false, &text);
    r->state = is_good ? strdup(text.data) : NULL;
    buf_done(&text);
    return r->state ? 0 : -EINVAL;
}

bool control_has_key(struct request *r)
{
    static const char bearer[] = "Bearer ";
    const char *text = request_field(r, "x-api-key"), *other = request_field(r, "authorization");
    /* As Prometheus sends it. */
    if (!text && other && !strncmp(other, bearer, sizeof(bearer) - 1))
        text = other + sizeof(bearer) - 1;
    r->key = text ? keys_find(text) : NULL;
    if (r->key) {
        r->key_id = r->key->id;
        return true;
    }
    request_fail(r, 401, "%s; set E2B_API_KEY to the key that glovebox serve printed",
                 text ? "Invalid API key" : "API key is missing");
    return false;
}

static bool is_get(const struct request *r)
{
    return !strcmp(r->head->method, "GET") || !strcmp(r->head->method, "HEAD");
}

static const struct handler *use_route(struct request *r, const struct control_route *route,
                                       const char *segment, size_t size)
{
    if (segment && take_segment(r, segment, size) < 0) {
        request_fail(r, 400, "invalid ID; send the one that was answered");
        return NULL;
    }
    if (route->handler)
        return route->handler;
    /* Of a sandbox that is not there: clients take these apart. */
    if (!segment || control_get_box(r))
        request_fail(r, 501, "%s", route->missing);
    control_over(r);
    r->state = NULL;
    return NULL;
}

static bool method_fits(const struct request *r, const struct control_route *route)
{
    return !strcmp(route->method, r->head->method) || (!strcmp(route->method, "GET") && is_get(r));
}

/* The row of a request, with what stands for its "*". NULL: *ret_is_known tells whether another
 * method has one. */
static const struct control_route *find_route(const struct request *r, const char **ret_segment,
                                              size_t *ret_size, bool *ret_is_known)
{
    *ret_is_known = false;
    for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
        *ret_segment = NULL;
        bool fits = routes[i].method
                        ? route_path_matches(routes[i].path, r->head->path, ret_segment, ret_size)
                        : is_below(routes[i].path, r->head->path);
        if (fits && (!routes[i].method || method_fits(r, &routes[i])))
            return &routes[i];
        *ret_is_known |= fits;
    }
    return NULL;
}

const struct handler *control_find(struct request *r)
{
    const char *segment = NULL;
    size_t size = 0;
    bool is_known;
    const struct control_route *route = find_route(r, &segment, &size, &is_known);
    r->route = route ? route->path : NULL;
    if (route && (route->handler == &health || route->handler == &openapi))
        return route->handler;
    if (!control_has_key(r))
        return NULL;
    if (r->key->scope.read_only && !is_get(r)) {
        request_fail(r, 403, "this key may only look; use another one");
        return NULL;
    }
    if (route)
        return use_route(r, route, segment, size);
    if (is_known)
        request_fail(r, 405, "%s: not for this path; docs/api.md lists what is", r->head->method);
    else
        request_fail(r, 404, "no such path; docs/api.md lists what is served");
    return NULL;
}

/* ---- what handlers share ---- */

void control_over(struct request *r)
{
    free(r->state);
}

struct box *control_get_box(struct request *r)
{
    char id[64];
    const char *text = r->state;
    if (!text_read_id(text, strlen(text), id)) {
        request_fail(r, 400, "invalid sandbox ID; send the one that was answered");
        return NULL;
    }
    struct box *b = boxes_find(id, r->key);
    if (!b)
        request_fail(r, 404, "Sandbox \"%s\" doesn't exist or you don't have access to it", id);
    return b;
}

json_t *control_read_body(struct request *r)
{
    const char *why;
    json_t *body = json_read_object(r->body.data, r->body.size, &why);
    if (body)
        return body;
    if (why)
        request_fail(r, 400, "%s", why);
    else
        request_fail(r, 503, "the server is short of memory; try again later");
    return NULL;
}

void control_answer(struct request *r, unsigned status, json_t *value)
{
    struct buf text = BUF_INIT(OUTPUT_MAX / 2);
    if (!value || json_write(&text, value) < 0)
        request_fail(r, 503, "the server is short of memory; try again later");
    else
        request_answer(r, status, "application/json", text.data, text.size);
    buf_done(&text);
    json_decref(value);
}

unsigned control_status_of(int error, const char **ret_why)
{
    switch (error < 0 ? -error : error) {
    case ENOSPC:
        *ret_why = "the server's disk is full; nothing has changed, free some room";
        return 507;
    case EAGAIN:
        *ret_why = "too many sandboxes at once; kill some, or try again later";
        return 429;
    case EACCES:
    case EROFS:
    case EIO:
    case EUCLEAN:
        *ret_why = "the server can't write its records; nothing has changed";
        return 500;
    default:
        *ret_why = "the server is short of memory; nothing has changed, try again later";
        return 503;
    }
}
