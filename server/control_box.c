// SPDX-License-Identifier: Apache-2.0
/* What is asked of one sandbox: /sandboxes/ID and below. */
#include "server/control.h"
#include "server/limits.h"
#include "server/measure.h"
#include "server/server.h"

#include "lib/http/syntax.h"

#define CONNECT_DEFAULT_S 300
#define REFRESH_LEAST_S   15
#define REFRESH_MOST_S    3600
#define MEASURED_AT_ONCE  100

/* ---- objects ---- */

static json_t *make_domain(void)
{
    return server.domain ? json_string(server.domain) : json_null();
}

static json_t *make_traffic_token(const struct box *b)
{
    return b->traffic_token[0] ? json_string(b->traffic_token) : json_null();
}

json_t *control_make_handle(const struct box *b)
{
    return json_pack("{ss ss ss ss ss so so}", "templateID", b->template, "sandboxID", b->id,
                     "clientID", CLIENT_ID, "envdVersion", ENVD_VERSION, "envdAccessToken",
                     b->token, "trafficAccessToken", make_traffic_token(b), "domain",
                     make_domain());
}

json_t *control_make_entry(const struct box *b)
{
    char started[TIME_TEXT_SIZE + 1], end[TIME_TEXT_SIZE + 1];
    text_write_time(b->started_ms, started);
    text_write_time(b->deadline_ms, end);
    return json_pack("{ss ss ss ss ss si si si ss ss sO so}", "templateID", b->template,
                     "sandboxID", b->id, "clientID", CLIENT_ID, "startedAt", started, "endAt", end,
                     "cpuCount", measure_cpus(b->cpus_thousandths), "memoryMB", (int)b->memory_mb,
                     "diskSizeMB", (int)server.disk_mb, "state", "running", "envdVersion",
                     ENVD_VERSION, "metadata", b->metadata, "volumeMounts", json_array());
}

static json_t *make_detail(const struct box *b, bool with_token)
{
    json_t *detail = control_make_entry(b);
    json_t *internet = b->internet < 0 ? json_null() : json_boolean(b->internet);
    json_t *more = json_pack("{so so s{sb ss}}", "domain", make_domain(), "allowInternetAccess",
                             internet, "lifecycle", "autoResume", 0, "onTimeout", "kill");
    if (more && with_token &&
        json_object_set_new(more, "envdAccessToken", json_string(b->token)) < 0) {
        json_decref(more);
        more = NULL;
    }
    if (more && b->network && json_object_set(more, "network", b->network) < 0) {
        json_decref(more);
        more = NULL;
    }
    int r = detail && more ? json_object_update(detail, more) : -1;
    json_decref(more);
    if (r == 0)
        return detail;
    json_decref(detail);
    return NULL;
}

/* ---- get, delete ---- */

static void get(struct request *r)
{
    struct box *b = control_get_box(r);
    if (b)
        control_answer(r, 200, make_detail(b, !r->key->scope.read_only));
}

static void fail_because(struct request *r, int error)
{
    const char *why;
    unsigned status = control_status_of(error, &why);
    request_fail(r, status, "%s", why);
}

static void delete (struct request *r)
{
    struct box *b = control_get_box(r);
    int error = b ? box_end(b, BOX_KILLED) : 0;
    if (b && error < 0)
        fail_because(r, error);
    else if (b)
        request_answer(r, 204, NULL, NULL, 0);
}

/* ---- time ---- */

/* Whole seconds of a member. -1: answered. */
static int64_t read_seconds(struct request *r, const char *name, int64_t least, int64_t most,
                            int64_t otherwise)
{
    const char *wrong = NULL;
    json_t *body = control_read_body(r);
    if (!body)
        return -1;
    json_t *value = json_member(body, name, JSON_INTEGER, &wrong);
    int64_t seconds = value ? json_integer_value(value) : otherwise;
    json_decref(body);
    if (!wrong && seconds >= least && seconds <= most)
        return seconds;
    request_fail(r, 400, "%s: give whole seconds from %d to %d", name, (int)least, (int)most);
    return -1;
}

bool control_check_timeout(struct request *r, int64_t seconds)
{
    int64_t most = r->key->scope.timeout_s;
    if (!most || seconds <= most)
        return true;
    request_fail(r, 400, "timeout: this key gives at most %d seconds", (int)most);
    return false;
}

/* A time that nobody has asked for is no longer than the key gives. */
static int64_t shorten(const struct request *r, int64_t seconds)
{
    int64_t most = r->key->scope.timeout_s;
    return most ? MIN(seconds, most) : seconds;
}

/* False: it is answered. */
static bool move_end(struct request *r, struct box *b, int64_t seconds, bool only_extends)
{
    int64_t end_ms = server_wall_ms() + seconds * 1000;
    if (!control_check_timeout(r, seconds))
        return false;
    if (only_extends && end_ms <= b->deadline_ms)
        return true;
    int error = box_set_deadline(b, end_ms);
    if (error < 0)
        fail_because(r, error);
    return error == 0;
}

static void set_timeout(struct request *r)
{
    struct box *b = control_get_box(r);
    int64_t seconds = b ? read_seconds(r, "timeout", 0, TIMEOUT_MAX_S, -1) : -1;
    if (seconds >= 0 && move_end(r, b, seconds, false))
        request_answer(r, 204, NULL, NULL, 0);
}

static void refresh(struct request *r)
{
    struct box *b = control_get_box(r);
    int64_t seconds =
        b ? read_seconds(r, "duration", 0, REFRESH_MOST_S, shorten(r, REFRESH_LEAST_S)) : -1;
    if (seconds < 0)
        return;
    seconds = MAX(seconds, shorten(r, REFRESH_LEAST_S));
    if (move_end(r, b, seconds, true))
        request_answer(r, 204, NULL, NULL, 0);
}

static void connect_for(struct request *r, int64_t otherwise)
{
    struct box *b = control_get_box(r);
    int64_t seconds = b ? read_seconds(r, "timeout", 1, TIMEOUT_MAX_S, shorten(r, otherwise)) : -1;
    if (seconds > 0 && move_end(r, b, seconds, true))
        control_answer(r, 200, control_make_handle(b));
}

static void connect_first(struct request *r)
{
    connect_for(r, REFRESH_LEAST_S);
}

static void connect_later(struct request *r)
{
    connect_for(r, CONNECT_DEFAULT_S);
}

/* With this clients of early versions connect: they take 409 for "it runs", which all here do. */
static void resume(struct request *r)
{
    const struct box *b = control_get_box(r);
    if (b)
        request_fail(r, 409, "Sandbox \"%s\" is already running; connect to it", b->id);
}

/* ---- metrics ---- */

/* Older SDKs send milliseconds. A time in seconds has fewer digits, up to the year 5138. */
static bool read_window(const char *query, const char *name, int64_t rest_ms, int64_t *ret_ms)
{
    _cleanup_free_ char *text = NULL;
    uint64_t value;
    int r = text_query_get(query, name, &text);
    if (r <= 0)
        return r == 0;
    if (!http_decimal(text, strlen(text), 14, INT64_MAX, &value))
        return false;
    *ret_ms = strlen(text) > 11 ? (int64_t)value : (int64_t)value * 1000 + rest_ms;
    return true;
}

static void measure(struct request *r)
{
    int64_t start_ms = 0, end_ms = INT64_MAX;
    struct box *b = control_get_box(r);
    if (!b)
        return;
    if (!read_window(r->head->query, "start", 0, &start_ms) ||
        !read_window(r->head->query, "end", 999, &end_ms)) {
        request_fail(r, 400, "start, end: give seconds since 1970");
        return;
    }
    control_answer(r, 200, measure_list(b, start_ms, end_ms));
}

/* The last of each sandbox in a list; those that are not there, or have none yet, are left out. 0
 * or negative errno. */
static int add_last(json_t *by_id, char *ids, const struct key *key)
{
    char id[64], *rest, *word;
    size_t count = 0;
    for (word = strtok_r(ids, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        if (++count > MEASURED_AT_ONCE || !text_read_id(word, strlen(word), id))
            return -EINVAL;
        const struct box *b = boxes_find(id, key);
        json_t *sample = b ? measure_last(b) : NULL;
        if (sample && json_object_set_new(by_id, id, sample) < 0)
            return -ENOMEM;
    }
    return count > 0 ? 0 : -EINVAL;
}

static void measure_many(struct request *r)
{
    _cleanup_free_ char *ids = NULL;
    json_t *by_id = json_object();
    int found = text_query_get(r->head->query, "sandbox_ids", &ids);
    int error = found == 1 && by_id ? add_last(by_id, ids, r->key) : found < 0 ? found : -EINVAL;
    if (error == 0)
        control_answer(r, 200, json_pack("{sO}", "sandboxes", by_id));
    else if (error == -EINVAL)
        request_fail(r, 400, "sandbox_ids: give 1 to %d IDs, with commas", MEASURED_AT_ONCE);
    else
        fail_because(r, error);
    json_decref(by_id);
}

/* ---- handlers ---- */

#define HANDLER(name, fn)                   \
    const struct handler name = {           \
        .body_max_bytes = CONTROL_BODY_MAX, \
        .ready = fn,                        \
        .over = control_over,               \
    }
HANDLER(control_get, get);
HANDLER(control_delete, delete);
HANDLER(control_set_timeout, set_timeout);
HANDLER(control_refresh, refresh);
HANDLER(control_connect, connect_first);
HANDLER(control_connect_later, connect_later);
HANDLER(control_resume, resume);
HANDLER(control_measure, measure);
HANDLER(control_measure_many, measure_many);
