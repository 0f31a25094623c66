// SPDX-License-Identifier: Apache-2.0
#include "server/boxes.h"

#include "lib/db/db.h"
#include "server/events.h"
#include "server/interpreter.h"
#include "server/json.h"
#include "server/keys.h"
#include "server/limits.h"
#include "server/port_link.h"
#include "server/measure.h"
#include "server/metrics.h"
#include "server/request.h"
#include "server/server.h"

#include <inttypes.h>

#define ENDING_S  10    /* after which its keeper is told again */
#define COMING_MS 15000 /* in which one is made, or not at all */
#define LOOK_NS   (100 * NSEC_PER_MSEC)
/* With each time that there was not what it takes to look it is twice as long, so often. */
#define LOOK_DOUBLINGS 6u

static int open_link(struct box *b);

static struct list all = LIST_INIT(all);
static size_t count, unsettled;

void boxes_audit(int64_t key, const char *id, const char *what)
{
    db_run(server.db,
           "INSERT INTO audit (at_ms, key, sandbox, what, tenant) VALUES (?, ?, ?, ?, ?)", "iissi",
           server_wall_ms(), key, id, what, keys_tenant(key));
    /* Who has as many as another, and now one more, has most. */
    db_run(server.db,
           "DELETE FROM audit WHERE (SELECT sum(count) FROM audit_counts) > ? AND id = "
           "(SELECT min(id) FROM audit WHERE tenant = "
           "(SELECT tenant FROM audit_counts ORDER BY count DESC LIMIT 1))",
           "i", (int64_t)AUDIT_ROWS_MAX);
}

static void note(const struct box *b, const char *what)
{
    boxes_audit(b->key, b->id, what);
}

/* ---- life in memory ---- */

static void free_box(struct watch *w)
{
    struct box *b = container_of(w, struct box, link.watch);
    free(b->template);
    free(b->measures);
    json_decref(b->metadata);
    json_decref(b->env);
    json_decref(b->network);
    free(b);
}

static void remove_box(struct box *b)
{
    timer_clear(&b->timer);
    launcher_forget(&b->ask);
    interpreter_free(b->interpreter);
    b->interpreter = NULL;
    port_link_close(b);
    list_remove(&b->all);
    count--;
    link_close(&b->link, free_box);
}

/* Of two limits, of which 0 is none. */
static int64_t lower(int64_t a, int64_t b)
{
    return a && b ? MIN(a, b) : a + b;
}

static struct box *make_box(const struct box_wish *wish)
{
    struct box *b = calloc(1, sizeof(*b));
    if (!b)
        return NULL;
    b->key = wish->key;
    b->internet = wish->internet;
    b->memory_mb = lower(wish->memory_mb, server.memory_mb);
    b->cpus_thousandths = lower(wish->cpus_thousandths, server.cpus_thousandths);
    b->template = strdup(wish->template);
    b->metadata = json_incref(wish->metadata);
    b->env = json_incref(wish->env);
    b->network = json_incref(wish->network);
    b->link.watch.fd = -1;
    list_init(&b->streams);
    list_init(&b->relays);
    list_append(&all, &b->all);
    count++;
    if (b->template)
        return b;
    remove_box(b);
    return NULL;
}

static void cut_all(struct list *streams)
{
    struct box_stream *s;
    while ((s = list_first(streams, struct box_stream, link))) {
        list_remove(&s->link);
        request_cut(s->request);
    }
}

static void cut_streams(struct box *b)
{
    cut_all(&b->streams);
    cut_all(&b->relays);
    port_link_close(b);
}

void box_add_stream(struct box *b, struct box_stream *s, struct request *r)
{
    s->request = r;
    list_append(&b->streams, &s->link);
}

void box_add_relay(struct box *b, struct box_stream *s, struct request *r)
{
    s->request = r;
    list_append(&b->relays, &s->link);
}

void box_remove_stream(struct box_stream *s)
{
    list_remove(&s->link);
}

/* It has ended, whatever the records say of it. cause, words: as its keeper tells. */
static void is_over(struct box *b, const char *cause, const char *words)
{
    static const char *const causes[] = {[BOX_KILLED] = "request", [BOX_TIMEOUT] = "timeout"};
    cut_streams(b);
    note(b, "ended");
    if (!strcmp(cause, "lifetime"))
        cause = causes[BOX_TIMEOUT];
    cause = b->cause ? causes[b->cause] : cause;
    if (b->state != BOX_STARTING)
        metrics_count_end(cause);
    events_tell_killed(b, cause, b->cause ? "" : words);
    if (db_run(server.db, "DELETE FROM sandboxes WHERE id = ?", "s", b->id) < 0)
        server_say("sandbox %s: its record can't be removed; it will be at the next start", b->id);
    if (b->started)
        b->started(b->userdata, b, ESRCH, "the sandbox ended while it was started");
    remove_box(b);
}

/* ---- the link to its keeper ---- */

static int tell_lifetime(struct box *b)
{
    int64_t left_ms = MAX(b->deadline_ms - server_wall_ms(), (int64_t)1);
    struct exec_packet p = {.type = EXEC_LIFETIME, .value = left_ms * NSEC_PER_MSEC};
    return link_send(&b->link, &p, NULL, 0, -1);
}

static int tell_end(struct box *b)
{
    static const char who[] = "the server";
    struct exec_packet p = {.type = EXEC_END, .status = 1};
    return link_send(&b->link, &p, who, sizeof(who) - 1, -1);
}

static void set_timer(struct box *b, int64_t ms)
{
    if (timer_set(&b->timer, server_now_ns() + MAX(ms, (int64_t)0) * NSEC_PER_MSEC) < 0)
        server_say("sandbox %s: out of memory; its keeper ends it", b->id);
}

int box_end(struct box *b, enum box_cause cause)
{
    static const char *const words[] = {[BOX_KILLED] = "killed", [BOX_TIMEOUT] = "its time was up"};
    int r = tell_end(b);
    if (r < 0)
        return r;
    if (b->state != BOX_ENDING) {
        note(b, words[cause]);
        b->cause = cause;
        db_run(server.db, "UPDATE sandboxes SET ending = ? WHERE id = ?", "is", (int64_t)cause,
               b->id);
    }
    b->state = BOX_ENDING;
    cut_streams(b);
    set_timer(b, ENDING_S * 1000);
    return 0;
}

static void on_timer(struct timer *t)
{
    struct box *b = container_of(t, struct box, timer);
    if (b->state == BOX_STARTING)
        return;
    if (b->state == BOX_RUNNING && server_wall_ms() < b->deadline_ms) {
        set_timer(b, b->deadline_ms - server_wall_ms());
        return;
    }
    if (box_end(b, b->cause ? b->cause : BOX_TIMEOUT) < 0)
        set_timer(b, 1000);
}

static void settle(struct box *b)
{
    unsettled -= b->is_asked_for && !b->is_settled;
    b->is_settled = true;
}

static void on_opened(struct link *l)
{
    struct box *b = container_of(l, struct box, link);
    struct exec_packet watch = {.type = EXEC_WATCH};
    bool was_ending = b->state == BOX_ENDING;
    settle(b);
    b->misses = 0;
    link_send(l, &watch, NULL, 0, -1);
    b->timer.fire = on_timer;
    b->state = BOX_RUNNING;
    set_timer(b, b->deadline_ms - server_wall_ms());
    events_tell_created(b);
    if (was_ending)
        box_end(b, b->cause);
    measure_soon();
    if (!b->started)
        return;
    if (!strcmp(b->template, INTERPRETER_TEMPLATE))
        interpreter_prepare(b);
    void (*started)(void *, struct box *, int, const char *) = b->started;
    b->started = NULL;
    started(b->userdata, b, 0, NULL);
}

static void on_message(struct link *l, const struct exec_message *m)
{
    char text[300];
    if (m->packet.type != EXEC_OVER)
        return;
    size_t size = MIN((size_t)m->packet.text_size, sizeof(text) - 2);
    memcpy(text, m->text, size);
    text[size] = text[size + 1] = '\0';
    is_over(container_of(l, struct box, link), text, text + strlen(text) + 1);
}

/* One of the records, which an earlier server had asked for and nobody has told whether it came. */
static bool may_be_coming(const struct box *b)
{
    return b->state == BOX_STARTING && b->is_asked_for &&
           server_wall_ms() - b->started_ms < COMING_MS;
}

static int look_again_soon(struct box *b);

static void note_miss(struct box *b, int error)
{
    if (!b->misses)
        server_say("sandbox %s can't be reached now: %s; it is tried again until it can", b->id,
                   strerror(error));
    b->misses++;
}

static void on_look_again(struct timer *t)
{
    struct box *b = container_of(t, struct box, timer);
    int r = open_link(b);
    if (r == 0)
        return;
    note_miss(b, -r);
    look_again_soon(b);
}

static int look_again_soon(struct box *b)
{
    b->timer.fire = on_look_again;
    return timer_set(&b->timer, server_now_ns() + (LOOK_NS << MIN(b->misses, LOOK_DOUBLINGS)));
}

static void on_closed(struct link *l, int error)
{
    struct box *b = container_of(l, struct box, link);
    bool is_gone =
        error == ENOENT || error == EPIPE || error == ECONNREFUSED || error == ECONNRESET;
    settle(b);
    if (is_gone && !may_be_coming(b)) {
        is_over(b, "lost", "its keeper is gone");
        return;
    }
    if (!is_gone)
        note_miss(b, error);
    /* Not reached for want of memory or descriptors, it may live: it stays what it is, and whose.
     */
    if (look_again_soon(b) == 0)
        return;
    cut_streams(b);
    if (b->started)
        b->started(b->userdata, b, error, "its keeper can't be reached; try again");
    remove_box(b);
}

static int open_link(struct box *b)
{
    b->link.opened = on_opened;
    b->link.message = on_message;
    b->link.closed = on_closed;
    return link_open(&b->link, b->id);
}

/* ---- making one ---- */

static char *dump(const json_t *value)
{
    struct buf text = BUF_INIT(1024 * 1024);
    if (!value || json_write(&text, value) < 0) {
        buf_done(&text);
        return NULL;
    }
    char *copy = strdup(text.data);
    buf_done(&text);
    return copy;
}

static int record(const struct box *b)
{
    _cleanup_free_ char *metadata = dump(b->metadata), *env = dump(b->env),
                        *network = dump(b->network);
    if (!metadata || !env || (b->network && !network))
        return -ENOMEM;
    return db_run(server.db,
                  "INSERT INTO sandboxes (id, key, token, started_ms, deadline_ms, template, "
                  "metadata, env, network, internet, memory_mb, cpus_thousandths, traffic_token) "
                  "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  "sisiissssiiis", b->id, b->key, b->token, b->started_ms, b->deadline_ms,
                  b->template, metadata, env, network, (int64_t)b->internet, b->memory_mb,
                  b->cpus_thousandths, b->traffic_token);
}

static void on_created(struct ask *a, int error, const char *data, size_t size _unused_,
                       int fd _unused_)
{
    struct box *b = container_of(a, struct box, ask);
    int r = error ? 0 : open_link(b);
    if (!error && (r == 0 || look_again_soon(b) == 0))
        return;
    void (*started)(void *, struct box *, int, const char *) = b->started;
    b->started = NULL;
    started(b->userdata, b, error ? error : -r, error ? data : "too much at once; try again later");
    if (error)
        db_run(server.db, "DELETE FROM sandboxes WHERE id = ?", "s", b->id);
    remove_box(b);
}

static int ask_to_create(struct box *b, const struct box_wish *wish)
{
    struct buf spec = BUF_INIT(LAUNCH_DATA_MAX);
    buf_printf(&spec, "name=%s", b->id);
    buf_append(&spec, "", 1);
    buf_printf(&spec, "lifetime_ms=%" PRId64, b->deadline_ms - b->started_ms);
    buf_append(&spec, "", 1);
    buf_printf(&spec, "template=%s", b->template);
    buf_append(&spec, "", 1);
    if (wish->policy) {
        buf_printf(&spec, "policy=%s", wish->policy);
        buf_append(&spec, "", 1);
    }
    if (wish->memory_mb) {
        buf_printf(&spec, "memory_mb=%" PRId64, wish->memory_mb);
        buf_append(&spec, "", 1);
    }
    if (wish->cpus_thousandths) {
        buf_printf(&spec, "cpus_thousandths=%" PRId64, wish->cpus_thousandths);
        buf_append(&spec, "", 1);
    }
    b->ask.answered = on_created;
    int r = spec.failed ? -E2BIG : launcher_ask(&b->ask, LAUNCH_CREATE, 0, spec.data, spec.size);
    buf_done(&spec);
    return r;
}

int boxes_new(const struct box_wish *wish,
              void (*started)(void *userdata, struct box *b, int error, const char *why),
              void *userdata, struct box **ret)
{
    struct box *b = count < BOXES_MAX ? make_box(wish) : NULL;
    if (!b)
        return count < BOXES_MAX ? -ENOMEM : -EAGAIN;
    b->started = started;
    b->userdata = userdata;
    b->started_ms = server_wall_ms();
    b->deadline_ms = b->started_ms + wish->timeout_s * 1000;
    int r = text_make_id(wish->prefix, b->id);
    if (r == 0)
        r = text_make_token(b->token);
    if (r == 0 && wish->has_private_ports)
        r = text_make_token(b->traffic_token);
    if (r == 0)
        r = record(b);
    if (r == 0) {
        r = ask_to_create(b, wish);
        if (r < 0)
            db_run(server.db, "DELETE FROM sandboxes WHERE id = ?", "s", b->id);
    }
    if (r < 0) {
        b->started = NULL;
        remove_box(b);
        return r;
    }
    note(b, "created");
    *ret = b;
    return 0;
}

int box_set_deadline(struct box *b, int64_t deadline_ms)
{
    int64_t old = b->deadline_ms;
    int r = db_run(server.db, "UPDATE sandboxes SET deadline_ms = ? WHERE id = ?", "is",
                   deadline_ms, b->id);
    if (r < 0)
        return r;
    char end[TIME_TEXT_SIZE + 1];
    b->deadline_ms = deadline_ms;
    r = tell_lifetime(b);
    if (r < 0) {
        b->deadline_ms = old;
        db_run(server.db, "UPDATE sandboxes SET deadline_ms = ? WHERE id = ?", "is", old, b->id);
        return r;
    }
    set_timer(b, deadline_ms - server_wall_ms());
    text_write_time(deadline_ms, end);
    events_tell_updated(b, "set_timeout", json_string(end));
    return 0;
}

int box_record_network(const struct box *b, const json_t *network, int internet)
{
    _cleanup_free_ char *text = dump(network);
    if (network && !text)
        return -ENOMEM;
    return db_run(server.db, "UPDATE sandboxes SET network = ?, internet = ? WHERE id = ?", "sis",
                  text, (int64_t)internet, b->id);
}

void box_set_network(struct box *b, json_t *network, int internet)
{
    json_decref(b->network);
    b->network = json_incref(network);
    b->internet = internet;
    note(b, "its network was changed");
    events_tell_updated(b, "set_network", json_true());
}

/* ---- finding ---- */

struct box *boxes_find(const char *id, const struct key *key)
{
    struct box *b;
    list_for_each(b, &all, all)
    {
        if (b->state == BOX_RUNNING && (!key || keys_covers(key, b->key)) && !strcmp(b->id, id))
            return b;
    }
    return NULL;
}

struct box *boxes_find_by_token(const char *token)
{
    struct box *b, *found = NULL;
    list_for_each(b, &all, all)
    {
        if (b->state == BOX_RUNNING && text_equal_secretly(b->token, token))
            found = b;
    }
    return found;
}

struct box *boxes_next(struct box *b)
{
    struct list *next = b ? b->all.next : all.next;
    return next == &all ? NULL : list_entry(next, struct box, all);
}

size_t boxes_count(void)
{
    return count;
}

int64_t boxes_count_of(const struct key *k)
{
    struct box *b;
    int64_t found = 0;
    list_for_each(b, &all, all) found += b->state != BOX_ENDING && keys_covers(k, b->key);
    return found;
}

/* Where none can be made it is one that no field of HTTP can hold, and the ports are closed. */
static void renew_traffic_token(struct box *b)
{
    cut_all(&b->relays);
    if (!b->traffic_token[0])
        return;
    if (text_make_token(b->traffic_token) < 0)
        snprintf(b->traffic_token, sizeof(b->traffic_token), "\n");
    if (db_run(server.db, "UPDATE sandboxes SET traffic_token = ? WHERE id = ?", "ss",
               b->traffic_token, b->id) < 0)
        server_say("sandbox %s: its new traffic token is not recorded; after a start it has one "
                   "that nobody was told",
                   b->id);
}

int boxes_record_heir(int64_t from, int64_t to)
{
    return db_run(
        server.db,
        "UPDATE sandboxes SET key = ?, traffic_token = CASE traffic_token WHEN '' THEN '' "
        "ELSE lower(hex(randomblob(16))) END WHERE key = ?",
        "ii", to, from);
}

void boxes_inherit(int64_t from, int64_t to)
{
    struct box *b;
    list_for_each(b, &all, all)
    {
        if (b->key != from)
            continue;
        b->key = to;
        renew_traffic_token(b);
    }
}

const char *box_get_metadata(const void *box, const char *key)
{
    return json_string_value(json_object_get(((const struct box *)box)->metadata, key));
}

/* ---- after a start ---- */

static json_t *load(const char *text)
{
    return json_loads(text, 0, NULL);
}

/* One row. 0 or -ENOMEM. */
static int recover_one(struct db_query *q)
{
    struct box_wish wish = {
        .key = db_number(q, 1),
        .template = db_text(q, 5),
        .metadata = load(db_text(q, 6)),
        .env = load(db_text(q, 7)),
        .network = db_is_null(q, 8) ? NULL : load(db_text(q, 8)),
        .internet = (int)db_number(q, 9),
        .memory_mb = db_number(q, 11),
        .cpus_thousandths = db_number(q, 12),
    };
    struct box *b = make_box(&wish);
    json_decref(wish.metadata);
    json_decref(wish.env);
    json_decref(wish.network);
    if (!b)
        return -ENOMEM;
    snprintf(b->id, sizeof(b->id), "%s", db_text(q, 0));
    snprintf(b->token, sizeof(b->token), "%s", db_text(q, 2));
    snprintf(b->traffic_token, sizeof(b->traffic_token), "%s", db_text(q, 13));
    b->started_ms = db_number(q, 3);
    b->deadline_ms = db_number(q, 4);
    b->cause = db_number(q, 10) == BOX_TIMEOUT ? BOX_TIMEOUT
               : db_number(q, 10)              ? BOX_KILLED
                                               : BOX_LIVES;
    b->state = b->cause ? BOX_ENDING : BOX_STARTING;
    return 0;
}

static int read_records(void)
{
    struct db_query q;
    int r = db_begin(server.db, &q,
                     "SELECT id, key, token, started_ms, deadline_ms, template, metadata, env, "
                     "network, internet, ending, memory_mb, cpus_thousandths, traffic_token "
                     "FROM sandboxes LIMIT ?",
                     "i", (int64_t)BOXES_MAX);
    if (r == 0)
        r = db_next(&q);
    while (r == 1) {
        r = recover_one(&q);
        if (r == 0)
            r = db_next(&q);
    }
    db_end(&q);
    return r;
}

static bool nothing_else(void)
{
    return false;
}

static struct box *find_unasked(void)
{
    struct box *b;
    list_for_each(b, &all, all)
    {
        if (!b->is_asked_for)
            return b;
    }
    return NULL;
}

int boxes_recover(void)
{
    struct box *b;
    int r = read_records();
    while (r == 0 && (b = find_unasked())) {
        r = open_link(b);
        b->is_asked_for = r == 0;
        unsettled += r == 0;
        if (r == -EAGAIN) {
            loop_turn(nothing_else);
            r = 0;
        }
    }
    while (r == 0 && unsettled > 0)
        loop_turn(nothing_else);
    return r;
}
