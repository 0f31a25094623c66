// SPDX-License-Identifier: Apache-2.0
/*
 * PUT /sandboxes/ID/network: another policy, in force when it is answered. One after the other for
 * each sandbox, in the order in which they came:
 *
 *   waits -> recorded -> launcher: POLICY -> in force: answered 204
 *       \-> can't be                     \-> is not: the records are put back, until they can be
 *
 * So what is in force is never missing in the records. A server that is killed in between leaves
 * the new one there, which nobody was told of, and which may be in force.
 */
#include "server/control.h"
#include "server/limits.h"
#include "server/network.h"
#include "server/server.h"

#define AGAIN_NS NSEC_PER_SEC

/* It goes on when its client leaves. */
struct change {
    struct list all;
    struct ask ask;
    struct timer again;      /* to put the records back */
    struct request *request; /* NULL: nobody waits any more */
    char id[64];
    json_t *network; /* for the records */
    int internet;
    struct buf policy; /* as the launcher is asked */
};

static struct list changes = LIST_INIT(changes);

static void free_change(struct change *c)
{
    list_remove(&c->all);
    timer_clear(&c->again);
    json_decref(c->network);
    buf_done(&c->policy);
    free(c);
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

/* ---- a change under way ---- */

static void start(struct change *c);

static struct change *first_of(const char *id)
{
    struct change *c;
    list_for_each(c, &changes, all)
    {
        if (!strcmp(c->id, id))
            return c;
    }
    return NULL;
}

/* c is freed, and the next one has its turn. */
static void finish(struct change *c)
{
    char id[sizeof(c->id)];
    memcpy(id, c->id, sizeof(id));
    free_change(c);
    c = first_of(id);
    if (c)
        start(c);
}

static void let_go(struct change *c)
{
    if (c->request)
        c->request->state = NULL;
    c->request = NULL;
}

static void fail_because(struct change *c, int error)
{
    const char *why;
    unsigned status = control_status_of(error, &why);
    if (c->request)
        request_fail(c->request, status, "%s", why);
    let_go(c);
}

static void put_back(struct timer *again)
{
    struct change *c = container_of(again, struct change, again);
    struct box *b = boxes_find(c->id, NULL);
    int r = b ? box_record_network(b, b->network, b->internet) : 0;
    if (r < 0 && timer_set(again, server_now_ns() + AGAIN_NS) == 0)
        return;
    if (r < 0)
        server_say("sandbox %s: its records name a network that is not in force: %s", c->id,
                   strerror(-r));
    finish(c);
}

static void on_set(struct ask *a, int error, const char *data, size_t size _unused_,
                   int fd _unused_)
{
    struct change *c = container_of(a, struct change, ask);
    struct box *b = boxes_find(c->id, NULL);
    if (!error && b)
        box_set_network(b, c->network, c->internet);
    if (c->request && error)
        request_fail(c->request, status_of(error), "%s", words_of(error, data));
    else if (c->request)
        request_answer(c->request, 204, NULL, NULL, 0);
    let_go(c);
    if (error)
        put_back(&c->again);
    else
        finish(c);
}

static void start(struct change *c)
{
    struct box *b = boxes_find(c->id, NULL);
    if (!b) {
        if (c->request)
            request_fail(c->request, 404, "%s", words_of(ENOENT, ""));
        let_go(c);
        finish(c);
        return;
    }
    int error = box_record_network(b, c->network, c->internet);
    bool is_recorded = error == 0;
    if (is_recorded)
        error = launcher_ask(&c->ask, LAUNCH_POLICY, 0, c->policy.data, c->policy.size);
    if (error == 0)
        return;
    fail_because(c, error);
    if (is_recorded)
        put_back(&c->again);
    else
        finish(c);
}

/* ---- the request ---- */

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

static bool has_place(const char *id)
{
    const struct change *c;
    size_t count = 0, own = 0;
    list_for_each(c, &changes, all)
    {
        count++;
        own += !strcmp(c->id, id);
    }
    return count < CHANGES_MAX && own < CHANGES_OF_ONE_MAX;
}

static struct change *new_change(struct request *r, const struct box *b, const json_t *body,
                                 const struct buf *policy, int internet)
{
    struct change *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    list_append(&changes, &c->all);
    c->ask.answered = on_set;
    c->again.fire = put_back;
    c->internet = internet;
    c->network = network_redact(body);
    keep_ports(c->network, b->network);
    memcpy(c->id, b->id, sizeof(c->id));
    c->policy = BUF_INIT(LAUNCH_DATA_MAX);
    buf_printf(&c->policy, "name=%s", c->id);
    buf_append(&c->policy, "", 1);
    buf_printf(&c->policy, "policy=%s", policy->data);
    buf_append(&c->policy, "", 1);
    if (!c->network || c->policy.failed) {
        free_change(c);
        return NULL;
    }
    c->request = r;
    return c;
}

static void begin(struct request *r, const struct box *b, const json_t *body,
                  const struct buf *policy, int internet)
{
    const char *why;
    if (!has_place(b->id)) {
        request_fail(r, 429, "too many changes of networks are under way; try again later");
        return;
    }
    struct change *c = new_change(r, b, body, policy, internet);
    if (!c) {
        unsigned status = control_status_of(-ENOMEM, &why);
        request_fail(r, status, "%s", why);
        return;
    }
    r->state = c;
    if (first_of(c->id) == c)
        start(c);
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
