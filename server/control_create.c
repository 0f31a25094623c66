// SPDX-License-Identifier: Apache-2.0
/* POST /sandboxes, of both generations. */
#include "server/control.h"
#include "server/interpreter.h"
#include "server/limits.h"
#include "server/metrics.h"
#include "server/network.h"
#include "server/server.h"

#define TIMEOUT_DEFAULT_S    300
#define TIMEOUT_DEFAULT_V1_S 15

/* A creation under way: it goes on when its client leaves. */
struct creation {
    struct request *request; /* NULL: nobody waits any more */
};

static const char *const templates[] = {"base", INTERPRETER_TEMPLATE};

/* What can be asked for and is not offered; what says so. false and empty are no wish. */
static const struct {
    const char *name, *why;
} missing[] = {
    {"autoPause", "pausing is not offered yet; leave autoPause out, and the sandbox is killed"},
    {"autoResume", "pausing is not offered yet; leave autoResume out"},
    {"mcp", "MCP is not offered yet; leave mcp out"},
    {"iam", "workload tokens are not offered yet; leave iam out"},
    {"volumeMounts", "volumes are not offered yet; leave volumeMounts out"},
};

static bool is_wish(const json_t *value)
{
    json_t *enabled = json_object_get(value, "enabled");
    if (enabled)
        return !json_is_false(enabled);
    return value && !json_is_null(value) && !json_is_false(value) &&
           !(json_is_array(value) && json_array_size(value) == 0) &&
           !(json_is_object(value) && json_object_size(value) == 0);
}

static bool is_known_template(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(templates); i++)
        if (!strcmp(templates[i], name))
            return true;
    return false;
}

static bool check_missing(struct request *r, const json_t *body)
{
    for (size_t i = 0; i < ARRAY_SIZE(missing); i++) {
        if (!is_wish(json_object_get(body, missing[i].name)))
            continue;
        request_fail(r, 501, "%s", missing[i].why);
        return false;
    }
    return true;
}

static bool check_template(struct request *r, const json_t *body, const char **ret)
{
    const char *wrong = NULL;
    *ret = json_string_value(json_member(body, "templateID", JSON_STRING, &wrong));
    if (!*ret || !**ret)
        request_fail(r, 400, "templateID: give the name of a template, as text");
    else if (!is_known_template(*ret))
        request_fail(r, 404, "template '%s' not found; there is 'base'", *ret);
    else if (!scope_allows_template(&r->key->scope, *ret))
        request_fail(r, 403, "template '%s' is not for this key; use another template or key",
                     *ret);
    else
        return true;
    return false;
}

static bool check_timeout(struct request *r, const json_t *body, int64_t *ret)
{
    const char *wrong = NULL;
    json_t *timeout = json_member(body, "timeout", JSON_INTEGER, &wrong);
    *ret = !strncmp(r->head->path, "/v2/", 4) ? TIMEOUT_DEFAULT_S : TIMEOUT_DEFAULT_V1_S;
    if (timeout)
        *ret = json_integer_value(timeout);
    bool is_given = timeout != NULL;
    int64_t most = r->key->scope.timeout_s;
    if (!is_given && most)
        *ret = MIN(*ret, most);
    if (!wrong && *ret > 0 && *ret <= TIMEOUT_MAX_S)
        return control_check_timeout(r, *ret);
    request_fail(r, 400, "timeout: give whole seconds from 1 to %d", TIMEOUT_MAX_S);
    return false;
}

static bool check_map(struct request *r, const json_t *body, const char *name, size_t max_bytes,
                      json_t **ret)
{
    const char *wrong = NULL;
    json_t *map = json_member(body, name, JSON_OBJECT, &wrong);
    if (wrong || (map && !json_is_string_map(map, max_bytes))) {
        request_fail(r, 400, "%s: give an object of texts, at most %zu bytes in all", name,
                     max_bytes);
        return false;
    }
    *ret = map ? json_incref(map) : json_object();
    return *ret != NULL;
}

static bool check_env(struct request *r, const json_t *env)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)env, key, value)
    {
        if (*key && !strchr(key, '='))
            continue;
        request_fail(r, 400, "envVars: a name is empty or has a '=' in it; give others");
        return false;
    }
    return true;
}

static bool check_network(struct request *r, const json_t *body, struct box_wish *wish,
                          struct buf *policy)
{
    const char *wrong = NULL, *why = NULL;
    json_t *internet = json_member(body, "allow_internet_access", JSON_TRUE, &wrong);
    json_t *network = json_member(body, "network", JSON_OBJECT, &wrong);
    if (wrong) {
        request_fail(r, 400, "%s: wrong type; docs/api.md says what it can be", wrong);
        return false;
    }
    wish->internet = internet ? json_is_true(internet) : -1;
    const struct network_wish w = {.network = network,
                                   .internet = wish->internet,
                                   .allows_egress = server.allows_egress,
                                   .most = r->key->scope.egress};
    bool is_public = false, may_be_public = !r->key->scope.private_ports;
    int status =
        network_check_ports(network, server.has_public_ports && may_be_public, &is_public, &why);
    if (status == 0 && is_public && !may_be_public) {
        status = 403;
        why = "network.allowPublicTraffic: not with this key; leave it out, and send the traffic "
              "token of the sandbox, or use another key";
    }
    wish->has_private_ports = !is_public;
    if (status == 0)
        status = network_compile(&w, policy, &why);
    if (status < 0)
        request_fail(r, 503, "the server is short of memory; try again later");
    else if (status > 0)
        request_fail(r, (unsigned)status, "%s", why);
    wish->policy = policy->size ? policy->data : NULL;
    wish->network = status == 0 && network ? network_redact(network) : NULL;
    return status == 0 && (!network || wish->network);
}

/* Counts it, so that it comes last. */
static bool check_count(struct request *r)
{
    const char *why = keys_count_one(r->key, boxes_count_of);
    if (why) {
        metrics_count_creation(EAGAIN, 0);
        request_fail(r, 429, "%s", why);
    }
    return !why;
}

/* What the launcher finds wrong is in what the client asked for, or for want of something. */
static unsigned status_of(int error)
{
    switch (error) {
    case EAGAIN:
    case EMFILE:
        return 429;
    case EINVAL:
    case EOPNOTSUPP:
        return 400;
    default:
        return 500;
    }
}

static void on_started(void *userdata, struct box *b, int error, const char *why)
{
    struct creation *c = userdata;
    struct request *r = c->request;
    metrics_count_creation(error, error ? 0 : server_wall_ms() - b->started_ms);
    if (r && error)
        request_fail(r, status_of(error), "%s", why);
    else if (r)
        control_answer(r, 201, control_make_handle(b));
    if (r)
        r->state = NULL;
    free(c);
}

static void begin(struct request *r, const struct box_wish *wish)
{
    struct creation *c = calloc(1, sizeof(*c));
    struct box *b;
    int error = c ? boxes_new(wish, on_started, c, &b) : -ENOMEM;
    if (error < 0) {
        metrics_count_creation(-error, 0);
        const char *why;
        unsigned status = control_status_of(error, &why);
        request_fail(r, status, "%s", why);
        free(c);
        return;
    }
    c->request = r;
    r->state = c;
}

static void ready(struct request *r)
{
    struct box_wish wish = {.key = r->key->id,
                            .prefix = r->key->scope.prefix,
                            .memory_mb = r->key->scope.memory_mb,
                            .cpus_thousandths = r->key->scope.cpus_thousandths};
    struct buf policy = BUF_INIT(LAUNCH_DATA_MAX / 2);
    json_t *body = control_read_body(r);
    if (!body)
        return;
    /* First what is not offered: with it SDKs ask for templates that there are not either. */
    bool is_good = check_missing(r, body) && check_template(r, body, &wish.template) &&
                   check_timeout(r, body, &wish.timeout_s) &&
                   check_map(r, body, "metadata", METADATA_MAX_BYTES, &wish.metadata) &&
                   check_map(r, body, "envVars", ENV_MAX_BYTES, &wish.env) &&
                   check_env(r, wish.env) && check_network(r, body, &wish, &policy) &&
                   check_count(r);
    if (is_good)
        begin(r, &wish);
    else if (!request_is_answered(r))
        request_fail(r, 503, "the server is short of memory; try again later");
    json_decref(wish.metadata);
    json_decref(wish.env);
    json_decref(wish.network);
    json_decref(body);
    buf_done(&policy);
}

static void over(struct request *r)
{
    struct creation *c = r->state;
    if (c)
        c->request = NULL;
}

const struct handler control_create = {
    .body_max_bytes = CONTROL_BODY_MAX,
    .ready = ready,
    .over = over,
};
