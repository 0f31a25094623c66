// SPDX-License-Identifier: Apache-2.0
#include "server/route.h"

#include "lib/http/syntax.h"

static bool read_port(const char *text, size_t size, uint16_t *ret)
{
    uint64_t port;
    if (!http_decimal(text, size, 5, UINT16_MAX, &port) || port == 0)
        return false;
    *ret = (uint16_t)port;
    return true;
}

static void bad(struct route *r, const char *why)
{
    r->kind = ROUTE_BAD;
    r->why = why;
}

static void find_by_fields(struct route *r, const char *id, const char *port)
{
    if (!id || !port)
        bad(r, "E2b-Sandbox-Id and E2b-Sandbox-Port go together; send both, or none");
    else if (!text_read_id(id, strlen(id), r->id))
        bad(r, "E2b-Sandbox-Id: invalid sandbox id; send the one that was answered");
    else if (!read_port(port, strlen(port), &r->port))
        bad(r, "E2b-Sandbox-Port: invalid port; send a number from 1 to 65535");
    else
        r->kind = ROUTE_SANDBOX;
}

/* PORT-ID.anything. A host that only begins like one is another name. */
static bool find_by_host(struct route *r, const struct http_authority *a)
{
    const char *dash = a->host ? strchr(a->host, '-') : NULL;
    const char *dot = dash ? strchr(dash, '.') : NULL;
    uint16_t port;
    if (!dot || !read_port(a->host, (size_t)(dash - a->host), &port) ||
        !text_read_id(dash + 1, (size_t)(dot - dash) - 1, r->id))
        return false;
    r->port = port;
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
    if (id || port)
        find_by_fields(&r, id, port);
    else if (find_by_host(&r, &head->authority))
        r.kind = ROUTE_SANDBOX;
    else if (r.token)
        r.kind = ROUTE_TOKEN;
    else if (is_signed_file(head))
        r.kind = ROUTE_SIGNATURE;
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
