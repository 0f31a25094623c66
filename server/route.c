// SPDX-License-Identifier: Apache-2.0
#include "server/route.h"

#include "lib/http/syntax.h"

static bool read_port(const char *text, size_t size, uint16_t *ret)
{
    uint64_t port;
    if (!http_decimal(text, size, 5, UINT16_MAX, &port) || text[0] == '0')
        return false;
    *ret = (uint16_t)port;
    return true;
}

static void bad(struct route *r, const char *why)
{
    r->kind = ROUTE_BAD;
    r->why = why;
}

/* E2B's Python SDK 2.7 names the sandbox also when it asks the control plane to connect to it. */
static bool is_of_control(const struct route *r, const char *path)
{
    return r->port == ENVD_PORT && !strncmp(path, "/sandboxes/", 11);
}

static void find_by_fields(struct route *r, const char *id, const char *port, const char *path)
{
    if (!id || !port)
        bad(r, "E2b-Sandbox-Id and E2b-Sandbox-Port go together; send both, or none");
    else if (!text_read_id(id, strlen(id), r->id))
        bad(r, "E2b-Sandbox-Id: invalid sandbox id; send the one that was answered");
    else if (!read_port(port, strlen(port), &r->port))
        bad(r, "E2b-Sandbox-Port: invalid port; send a number from 1 to 65535");
    else if (!is_of_control(r, path))
        r->kind = ROUTE_SANDBOX;
}

/* PORT-ID.anything. A host that only begins like one is another name. */
static bool read_host(const struct http_authority *a, struct route *ret)
{
    const char *dash = a->host ? strchr(a->host, '-') : NULL;
    const char *dot = dash ? strchr(dash, '.') : NULL;
    return dot && read_port(a->host, (size_t)(dash - a->host), &ret->port) &&
           text_read_id(dash + 1, (size_t)(dot - dash) - 1, ret->id);
}

/* A page of one sandbox that was opened by its host name can add fields to what it asks of that. */
static void check_host(struct route *r, const struct http_authority *a)
{
    struct route host;
    if (r->kind != ROUTE_BAD && read_host(a, &host) &&
        (r->kind == ROUTE_CONTROL || host.port != r->port || strcmp(host.id, r->id) != 0))
        bad(r, "E2b-Sandbox-Id and E2b-Sandbox-Port don't say what Host does; send one of them");
}

static bool find_by_host(struct route *r, const struct http_authority *a)
{
    struct route found = *r;
    if (!read_host(a, &found))
        return false;
    *r = found;
    r->kind = ROUTE_SANDBOX;
    return true;
}

/* /sandboxes/ID/ports/PORT, and whatever is below it. */
static bool find_by_path(struct route *r, const char *path)
{
    static const char before[] = "/sandboxes/", between[] = "/ports/";
    if (strncmp(path, before, sizeof(before) - 1) != 0)
        return false;
    const char *id = path + sizeof(before) - 1, *id_end = id + strcspn(id, "/");
    if (strncmp(id_end, between, sizeof(between) - 1) != 0)
        return false;
    const char *port = id_end + sizeof(between) - 1, *port_end = port + strcspn(port, "/");
    r->prefix_size = (size_t)(port_end - path);
    if (!text_read_id(id, (size_t)(id_end - id), r->id) ||
        !read_port(port, (size_t)(port_end - port), &r->port))
        bad(r, "no sandbox's port; ask for /sandboxes/ID/ports/PORT/...");
    else
        r->kind = ROUTE_SANDBOX;
    return true;
}

static bool is_signed_file(const struct http_request *head)
{
    const char *query = head->query;
    if (strcmp(head->path, "/files") != 0 || !query)
        return false;
    return !strncmp(query, "signature=", 10) || strstr(query, "&signature=");
}

void route_find(const struct http_request *head, struct route *ret)
{
    struct route r = {.kind = ROUTE_CONTROL, .port = ENVD_PORT};
    const char *id = http_field_get(head->fields, head->field_count, "e2b-sandbox-id");
    const char *port = http_field_get(head->fields, head->field_count, "e2b-sandbox-port");
    r.token = http_field_get(head->fields, head->field_count, "x-access-token");
    if (id || port) {
        find_by_fields(&r, id, port, head->path);
        check_host(&r, &head->authority);
    } else if (!find_by_host(&r, &head->authority) && !find_by_path(&r, head->path)) {
        r.kind = r.token ? ROUTE_TOKEN : is_signed_file(head) ? ROUTE_SIGNATURE : ROUTE_CONTROL;
    }
    *ret = r;
}

bool route_path_matches(const char *pattern, const char *path, const char **ret, size_t *ret_size)
{
    for (; *pattern; pattern++) {
        if (*pattern != '*') {
            if (*path++ != *pattern)
                return false;
            continue;
        }
        *ret = path;
        *ret_size = strcspn(path, "/");
        path += *ret_size;
    }
    return !*path;
}
