// SPDX-License-Identifier: Apache-2.0
#include "server/events.h"

#include "lib/db/db.h"
#include "lib/text/utf8.h"
#include "server/json.h"
#include "server/limits.h"
#include "server/measure.h"
#include "server/server.h"

#include <inttypes.h>
#include <stdio.h>

#define WATCHERS_MAX 2

static const char *const names[] = {
    [EVENT_CREATED] = "created",
    [EVENT_UPDATED] = "updated",
    [EVENT_KILLED] = "killed",
};

static void (*watchers[WATCHERS_MAX])(void);
static size_t watcher_count;
static struct timer waker;

int event_type_read(const char *name, unsigned *ret)
{
    static const char prefix[] = "sandbox.lifecycle.";
    static const char *const never[] = {"paused", "resumed", "checkpointed"};
    if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
        return -EINVAL;
    name += sizeof(prefix) - 1;
    for (unsigned i = EVENT_CREATED; i <= EVENT_KILLED; i++)
        if (!strcmp(names[i], name)) {
            *ret = 1u << i;
            return 0;
        }
    for (size_t i = 0; i < ARRAY_SIZE(never); i++)
        if (!strcmp(never[i], name)) {
            *ret = 0;
            return 0;
        }
    return -EINVAL;
}

/* ---- telling ---- */

static void wake(struct timer *t _unused_)
{
    for (size_t i = 0; i < watcher_count; i++)
        watchers[i]();
}

void events_watch(void (*told)(void))
{
    watchers[watcher_count++] = told;
}

static int add(const struct box *b, enum event_type type, const char *data)
{
    char uuid[UUID_SIZE + 1];
    int r = text_make_uuid(uuid);
    if (r == 0)
        r = db_run(server.db,
                   "INSERT INTO events (uuid, at_ms, key, sandbox, type, template, data, tenant) "
                   "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                   "siisissi", uuid, server_wall_ms(), b->key, b->id, (int64_t)type, b->template,
                   data, keys_tenant(b->key));
    if (r < 0)
        return r;
    /* Who has as many as another, and now one more, has most. */
    db_run(server.db,
           "DELETE FROM events WHERE (SELECT sum(count) FROM event_counts) > ? AND id = "
           "(SELECT min(id) FROM events WHERE tenant = "
           "(SELECT tenant FROM event_counts ORDER BY count DESC LIMIT 1))",
           "i", (int64_t)EVENTS_MAX);
    waker.fire = wake;
    return timer_set(&waker, server_now_ns());
}

/* data is taken; NULL: there was no memory for it. */
static void tell(const struct box *b, enum event_type type, json_t *data)
{
    struct buf text = BUF_INIT(EVENT_DATA_MAX_BYTES);
    int r = data ? json_write(&text, data) : -ENOMEM;
    if (r == -E2BIG)
        r = 0; /* without it, rather than not at all */
    if (r == 0)
        r = add(b, type, text.failed ? "null" : text.data);
    if (r < 0)
        server_say("sandbox %s: that it was %s is not noted among the events: %s", b->id,
                   names[type], strerror(-r));
    buf_done(&text);
    json_decref(data);
}

static bool is_told(const struct box *b)
{
    struct db_query q;
    int r = db_begin(server.db, &q, "SELECT 1 FROM events WHERE sandbox = ? LIMIT 1", "s", b->id);
    if (r == 0)
        r = db_next(&q);
    db_end(&q);
    return r == 1;
}

void events_tell_created(const struct box *b)
{
    if (!is_told(b))
        tell(b, EVENT_CREATED, json_pack("{sO}", "sandbox_metadata", b->metadata));
}

void events_tell_updated(const struct box *b, const char *name, json_t *data)
{
    tell(b, EVENT_UPDATED, data ? json_pack("{so}", name, data) : NULL);
}

void events_tell_killed(const struct box *b, const char *cause, const char *words)
{
    char started[TIME_TEXT_SIZE + 1];
    struct buf valid = BUF_INIT(1024); /* what a keeper says is JSON's, too */
    if (!is_told(b))
        return;
    text_write_time(b->started_ms, started);
    text_utf8_append_valid(&valid, words, strnlen(words, 300));
    tell(b, EVENT_KILLED,
         json_pack("{sO ss ss s{ss si sI sI}}", "sandbox_metadata", b->metadata, "cause", cause,
                   "reason", valid.data ? valid.data : "", "execution", "started_at", started,
                   "vcpu_count", measure_cpus(b->cpus_thousandths), "memory_mb",
                   (json_int_t)b->memory_mb, "execution_time",
                   (json_int_t)MAX(server_wall_ms() - b->started_ms, (int64_t)0)));
    buf_done(&valid);
}

int events_record_heir(int64_t from, int64_t to)
{
    return db_run(server.db, "UPDATE events SET key = ?, tenant = ? WHERE key = ?", "iii", to,
                  keys_tenant(to), from);
}

/* ---- reading ---- */

static void append_types(struct buf *sql, unsigned types)
{
    if (types == EVENT_TYPES_ALL)
        return;
    buf_append_str(sql, " AND type IN (0");
    for (unsigned i = EVENT_CREATED; i <= EVENT_KILLED; i++)
        if (types & 1u << i)
            buf_printf(sql, ",%u", i);
    buf_append_str(sql, ")");
}

int events_begin(struct db_query *q, const struct event_filter *f)
{
    struct buf sql = BUF_INIT(64 * 1024);
    *q = (struct db_query){0};
    buf_printf(&sql,
               "SELECT id, uuid, at_ms, key, sandbox, type, template, data FROM events WHERE "
               "id > %" PRId64,
               f->after);
    keys_append_filter(&sql, f->key);
    append_types(&sql, f->types);
    buf_printf(&sql, "%s ORDER BY id %s LIMIT %zu OFFSET %zu", f->sandbox ? " AND sandbox = ?" : "",
               f->is_rising ? "ASC" : "DESC", f->limit, f->offset);
    int r =
        sql.failed ? -ENOMEM : db_begin(server.db, q, sql.data, f->sandbox ? "s" : "", f->sandbox);
    buf_done(&sql);
    return r;
}

int64_t event_number(struct db_query *q)
{
    return db_number(q, 0);
}

int64_t event_at_ms(struct db_query *q)
{
    return db_number(q, 2);
}

int64_t event_key(struct db_query *q)
{
    return db_number(q, 3);
}

const char *event_name(struct db_query *q)
{
    int64_t type = db_number(q, 5);
    return type >= EVENT_CREATED && type <= EVENT_KILLED ? names[type] : "";
}

json_t *event_data(struct db_query *q)
{
    return json_loads(db_text(q, 7), JSON_DECODE_ANY, NULL);
}

json_t *event_make(struct db_query *q, bool snake)
{
    static const char *const members[][2] = {
        {"eventCategory", "event_category"},
        {"eventLabel", "event_label"},
        {"eventData", "event_data"},
        {"sandboxId", "sandbox_id"},
        {"sandboxExecutionId", "sandbox_execution_id"},
        {"sandboxTemplateId", "sandbox_template_id"},
        {"sandboxBuildId", "sandbox_build_id"},
        {"sandboxTeamId", "sandbox_team_id"},
    };
    char at[TIME_TEXT_SIZE + 1], type[40], key[24];
    const char *name = event_name(q), *id = db_text(q, 4), *template = db_text(q, 6);
    text_write_time(event_at_ms(q), at);
    snprintf(type, sizeof(type), "sandbox.lifecycle.%s", name);
    snprintf(key, sizeof(key), "%" PRId64, event_key(q));
    /* One run of one image is all that a sandbox is. */
    return json_pack("{ss ss ss ss ss ss so ss ss ss ss ss}", "version", "v2", "id", db_text(q, 1),
                     "type", type, "timestamp", at, members[0][snake], "lifecycle",
                     members[1][snake], name, members[2][snake], event_data(q), members[3][snake],
                     id, members[4][snake], id, members[5][snake], template, members[6][snake],
                     template, members[7][snake], key);
}

int64_t events_last(void)
{
    struct db_query q;
    int64_t last = 0;
    if (db_begin(server.db, &q, "SELECT ifnull(max(id), 0) FROM events", "") == 0 &&
        db_next(&q) == 1)
        last = db_number(&q, 0);
    db_end(&q);
    return last;
}
