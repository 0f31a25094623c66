// SPDX-License-Identifier: Apache-2.0
#include "server/front.h"

#include "server/envd.h"
#include "server/interpreter.h"
#include "server/ports.h"
#include "server/route.h"

/* What a gateway says of a sandbox that it doesn't know: 502, by which clients see that it is gone.
 */
static void fail_no_box(struct request *r, const char *id)
{
    ports_fail(r, 502, id, 0, "The sandbox was not found");
}

/* What the server itself answers for a sandbox, and not a program in it. */
static bool is_own_port(const struct route *route)
{
    return route->port == ENVD_PORT || route->port == INTERPRETER_PORT;
}

static struct box *find_signer(const struct request *r)
{
    for (struct box *b = boxes_next(NULL); b; b = boxes_next(b))
        if (b->state == BOX_RUNNING && envd_is_signed_by(r, b))
            return b;
    return NULL;
}

static const struct handler *find_in_box(struct request *r, const struct route *route)
{
    struct box *b = route->kind == ROUTE_TOKEN       ? boxes_find_by_token(route->token)
                    : route->kind == ROUTE_SIGNATURE ? find_signer(r)
                                                     : boxes_find(route->id, NULL);
    if (!b && route->kind == ROUTE_SIGNATURE) {
        request_fail(r, 401, "invalid signature");
        return NULL;
    }
    if (!b) {
        fail_no_box(r, route->id);
        return NULL;
    }
    memcpy(r->box_id, b->id, sizeof(r->box_id));
    if (!is_own_port(route))
        return ports_find(r, b, route);
    if (route->prefix_size) {
        request_fail(r, 400, "port %u: not by path; send E2b-Sandbox-Id and E2b-Sandbox-Port",
                     route->port);
        return NULL;
    }
    return route->port == ENVD_PORT ? envd_find(r, b) : interpreter_find(r, b);
}

/* A browser asks before it sends what is not plain
 * (https://fetch.spec.whatwg.org/#cors-preflight-fetch). */
void request_answer_preflight(struct request *r)
{
    request_add_field(r, "Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE");
    request_add_field(r, "Access-Control-Allow-Headers", "*");
    request_add_field(r, "Access-Control-Max-Age", "7200");
    request_answer(r, 204, NULL, NULL, 0);
}

const struct handler *front_find(struct request *r)
{
    struct route route;
    if (r->head->form == HTTP_TARGET_AUTHORITY) {
        request_fail(r, 405, "CONNECT: this is no proxy; ask for a path");
        return NULL;
    }
    route_find(r->head, &route);
    if (route.kind == ROUTE_BAD) {
        request_fail(r, 400, "%s", route.why);
        return NULL;
    }
    /* Programs in sandboxes answer for themselves. */
    if (!strcmp(r->head->method, "OPTIONS") &&
        (route.kind != ROUTE_SANDBOX || is_own_port(&route))) {
        request_answer_preflight(r);
        return NULL;
    }
    return route.kind == ROUTE_CONTROL ? control_find(r) : find_in_box(r, &route);
}

bool front_look_again(struct request *r)
{
    if (r->key && !control_has_key(r))
        return false;
    if (!r->box || (r->box = boxes_find(r->box_id, NULL)))
        return true;
    fail_no_box(r, r->box_id);
    return false;
}
