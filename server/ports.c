// SPDX-License-Identifier: Apache-2.0
#include "server/ports.h"

#include "server/front.h"
#include "server/json.h"

void ports_fail(struct request *r, unsigned status, const char *id, uint16_t port,
                const char *message)
{
    struct buf text = BUF_INIT(1024);
    buf_printf(&text, "{\"sandboxId\":\"%s\",\"message\":", id);
    json_append_string(&text, message);
    if (port)
        buf_printf(&text, ",\"port\":%u", port);
    buf_printf(&text, ",\"code\":%u}", status);
    if (text.failed)
        request_fail(r, 503, "the server is short of memory; try again later");
    else
        request_answer(r, status, "application/json", text.data, text.size);
    buf_done(&text);
}

bool ports_let_in(struct request *r, const struct box *b)
{
    const char *token = request_field(r, "e2b-traffic-access-token");
    if (!b->traffic_token[0] || (token && text_equal_secretly(token, b->traffic_token)))
        return true;
    request_fail(r, 403,
                 "%s; send the sandbox's trafficAccessToken in the field e2b-traffic-access-token, "
                 "or create the sandbox with network.allowPublicTraffic true",
                 token ? "this is not the sandbox's traffic token" : "its ports are private");
    return false;
}

/* What a page of another origin must ask before it can send the token. */
static bool asks_to_send_token(const struct request *r)
{
    return !strcmp(r->head->method, "OPTIONS") && !request_field(r, "e2b-traffic-access-token") &&
           http_field_lists(r->head->fields, r->head->field_count, "Access-Control-Request-Headers",
                            "e2b-traffic-access-token");
}

const struct handler *ports_find(struct request *r, struct box *b, const struct route *route)
{
    r->route = "/sandboxes/*/ports/*";
    if (b->traffic_token[0] && asks_to_send_token(r)) {
        request_answer_preflight(r);
        return NULL;
    }
    return ports_let_in(r, b) ? port_relay_begin(r, b, route) : NULL;
}
