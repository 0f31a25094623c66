// SPDX-License-Identifier: Apache-2.0
/* PUT /sandboxes/ID/network: another policy, in force when it is answered. */
#include "server/control.h"
#include "server/limits.h"
#include "server/network.h"
#include "server/server.h"

/* It goes on when its client leaves. */
struct change {
    struct ask ask;
    struct request *request; /* NULL: nobody waits any more */
    char id[64];
    json_t *network; /* for the records */
    int internet;
};

static void free_change(struct change *c)
{
    json_decref(c->network);
    free(c);
}

static void record(const struct change *c)
{
    struct box *b = boxes_find(c->id, NULL);
    if (b && box_set_network(b, c->network, c->internet) < 0)
        server_say("sandbox %s: its new network can't be recorded", c->id);
}

static unsigned status_of(int error)
{
    switch (error) {
    case ENOENT:
        return 404;
    case ENOTCONN:
        return 409;
    case EINVAL:
    case EOPNOTSUPP:
        return 400;
    default:
        return 500;
    }
}

static const char *words_of(int error, const char *text)
{
    if (error == ENOTCONN)
        return "the sandbox was made without a network and can get none; name what it may reach "
               "when you create it";
    if (error == ENOENT)
        return "the sandbox has ended";
    return text;
}

static void on_set(struct ask *a, int error, const char *data, size_t size _unused_,
                   int fd _unused_)
{
    struct change *c = container_of(a, struct change, ask);
    if (!error)
        record(c);
    if (c->request && error)
        request_fail(c->request, status_of(error), "%s", words_of(error, data));
    else if (c->request)
        request_answer(c->request, 204, NULL, NULL, 0);
    if (c->request)
        c->request->state = NULL;
    free_change(c);
}

static int ask_for(struct change *c, const struct buf *policy)
{
    struct buf records = BUF_INIT(LAUNCH_DATA_MAX);
    buf_printf(&records, "name=%s", c->id);
    buf_append(&records, "", 1);
    buf_printf(&records, "policy=%s", policy->data);
    buf_append(&records, "", 1);
    c->ask.answered = on_set;
    int r = records.failed ? -E2BIG
                           : launcher_ask(&c->ask, LAUNCH_POLICY, 0, records.data, records.size);
    buf_done(&records);
    return r;
}

/* The body is the network itself; what it leaves out is no longer there. False: it is answered. */
static bool compile(struct request *r, const json_t *body, struct buf *policy, int *ret_internet)
{
    const char *wrong = NULL, *why = NULL;
    json_t *internet = json_member(body, "allow_internet_access", JSON_TRUE, &wrong);
    *ret_internet = internet ? json_is_true(internet) : -1;
    const struct network_wish w = {.network = body,
                                   .internet = *ret_internet,
                                   .allows_egress = server.allows_egress,
                                   .most = r->key->scope.egress,
                                   .is_replacement = true};
    int status = wrong ? 400 : network_compile(&w, policy, &why);
    if (status < 0)
        request_fail(r, 503, "the server is short of memory; try again later");
    else if (status > 0)
        request_fail(r, (unsigned)status, "%s",
                     wrong ? "allow_internet_access: give true or false" : why);
    return status == 0;
}

/* What was said of ports at the creation is not changed by this. */
static void keep_ports(json_t *network, const json_t *old)
{
    static const char *const names[] = {"allowPublicTraffic", "maskRequestHost"};
    for (size_t i = 0; network && i < ARRAY_SIZE(names); i++) {
        json_object_del(network, names[i]);
        json_t *value = json_object_get(old, names[i]);
        if (value)
            json_object_set(network, names[i], value);
    }
}

static void begin(struct request *r, const struct box *b, const json_t *body,
                  const struct buf *policy, int internet)
{
    struct change *c = calloc(1, sizeof(*c));
    if (c) {
        c->request = r;
        c->internet = internet;
        c->network = network_redact(body);
        keep_ports(c->network, b->network);
        memcpy(c->id, b->id, sizeof(c->id));
    }
    int error = c && c->network ? ask_for(c, policy) : -ENOMEM;
    if (error < 0) {
        const char *why;
        unsigned status = control_status_of(error, &why);
        request_fail(r, status, "%s", why);
        if (c)
            free_change(c);
        return;
    }
    r->state = c;
}

static void over_change(struct request *r)
{
    struct change *c = r->state;
    if (c)
        c->request = NULL;
}

/* From when r->state is no path any more. */
static const struct handler changing = {.over = over_change};

static void set_network(struct request *r)
{
    struct buf policy = BUF_INIT(LAUNCH_DATA_MAX / 2);
    int internet;
    struct box *b = control_get_box(r);
    free(r->state);
    r->state = NULL;
    r->handler = &changing;
    json_t *body = b ? control_read_body(r) : NULL;
    if (body && compile(r, body, &policy, &internet))
        begin(r, b, body, &policy, internet);
    json_decref(body);
    buf_done(&policy);
}

const struct handler control_set_network = {
    .body_max_bytes = CONTROL_BODY_MAX,
    .ready = set_network,
    .over = control_over,
};
