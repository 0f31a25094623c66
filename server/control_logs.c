// SPDX-License-Identifier: Apache-2.0
/* /sandboxes/ID/logs: what has happened to a sandbox, as lines, also of one that has ended. */
#include "server/control.h"
#include "server/events.h"
#include "server/limits.h"

#include "lib/db/db.h"
#include "lib/http/syntax.h"

#include <stdio.h>

#define LINES_MAX 1000

struct wish {
    int64_t from_ms; /* forward: from then on; backward: up to then, 0: from the end */
    size_t limit;
    bool is_backward;
    char *search, *level;
};

static void free_wish(struct wish *w)
{
    free(w->search);
    free(w->level);
}

static bool read_number(const char *query, const char *name, uint64_t most, uint64_t *ret)
{
    _cleanup_free_ char *text = NULL;
    int r = text_query_get(query, name, &text);
    return r == 0 || (r == 1 && http_decimal(text, strlen(text), 18, most, ret));
}

static const char *read_wish(const char *query, struct wish *w)
{
    _cleanup_free_ char *direction = NULL;
    uint64_t from = 0, limit = LINES_MAX;
    if (!read_number(query, "start", INT64_MAX, &from) ||
        !read_number(query, "cursor", INT64_MAX, &from))
        return "start, cursor: give milliseconds since 1970";
    if (!read_number(query, "limit", LINES_MAX, &limit))
        return "limit: give a number from 0 to 1000";
    if (text_query_get(query, "direction", &direction) < 0 ||
        (direction && strcmp(direction, "forward") != 0 && strcmp(direction, "backward") != 0))
        return "direction: give forward or backward";
    if (text_query_get(query, "search", &w->search) < 0 ||
        text_query_get(query, "level", &w->level) < 0)
        return "search, level: they can't be decoded";
    if (w->level && strcmp(w->level, "debug") != 0 && strcmp(w->level, "info") != 0 &&
        strcmp(w->level, "warn") != 0 && strcmp(w->level, "error") != 0)
        return "level: give debug, info, warn or error";
    w->from_ms = (int64_t)from;
    w->limit = (size_t)limit;
    w->is_backward = direction && !strcmp(direction, "backward");
    return NULL;
}

/* ---- lines ---- */

static bool was_asked_for(const char *cause)
{
    return !strcmp(cause, "request") || !strcmp(cause, "timeout");
}

/* An end that nobody asked for is a warning. */
static const char *level_of(struct db_query *q, const json_t *data)
{
    const char *cause = json_string_value(json_object_get(data, "cause"));
    return !strcmp(event_name(q), "killed") && cause && !was_asked_for(cause) ? "warn" : "info";
}

static void write_message(struct db_query *q, const json_t *data, char *ret, size_t size)
{
    const char *name = event_name(q), *key;
    const char *cause = json_string_value(json_object_get(data, "cause"));
    const char *reason = json_string_value(json_object_get(data, "reason"));
    json_t *value;
    snprintf(ret, size, "sandbox %s", name);
    if (!strcmp(name, "killed") && cause)
        snprintf(ret, size, "sandbox ended: %s", reason && *reason ? reason : cause);
    else if (!strcmp(name, "updated"))
        json_object_foreach((json_t *)data, key, value)
        {
            const char *to = json_string_value(value);
            snprintf(ret, size, "sandbox updated: %s%s%s", key, to ? " " : "", to ? to : "");
        }
}

static bool is_wanted(const struct wish *w, int64_t at_ms, const char *level, const char *message)
{
    bool is_in_time = w->is_backward ? !w->from_ms || at_ms <= w->from_ms : at_ms >= w->from_ms;
    static const char *const levels[] = {"debug", "info", "warn", "error"};
    size_t least = 0, own = 0;
    for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
        least = w->level && !strcmp(w->level, levels[i]) ? i : least;
        own = !strcmp(level, levels[i]) ? i : own;
    }
    return is_in_time && own >= least && (!w->search || strstr(message, w->search));
}

/* Appends the row, where it is wanted. 0 or -ENOMEM. */
static int add(struct db_query *q, const struct wish *w, json_t *lines, json_t *entries)
{
    char at[TIME_TEXT_SIZE + 1], message[512];
    json_t *data = event_data(q);
    const char *level = level_of(q, data);
    int r = 0;
    text_write_time(event_at_ms(q), at);
    write_message(q, data, message, sizeof(message));
    if (is_wanted(w, event_at_ms(q), level, message)) {
        json_t *entry = json_pack("{ss ss ss s{ss}}", "timestamp", at, "level", level, "message",
                                  message, "fields", "event", event_name(q));
        json_t *line = json_pack("{ss ss ss ss s{ss}}", "timestamp", at, "line", message, "level",
                                 level, "message", message, "fields", "event", event_name(q));
        if (json_array_append_new(entries, entry) < 0 || json_array_append_new(lines, line) < 0)
            r = -ENOMEM;
    }
    json_decref(data);
    return r;
}

static void answer(struct request *r, const struct wish *w, const char *id)
{
    struct db_query q;
    size_t rows = 0;
    json_t *lines = json_array(), *entries = json_array();
    const struct event_filter f = {.key = r->key,
                                   .sandbox = id,
                                   .types = EVENT_TYPES_ALL,
                                   .is_rising = !w->is_backward,
                                   .limit = EVENTS_MAX};
    int e = events_begin(&q, &f);
    while (e == 0 && (e = db_next(&q)) == 1) {
        rows++;
        e = json_array_size(lines) < w->limit ? add(&q, w, lines, entries) : 0;
    }
    db_end(&q);
    if (e == 0 && rows > 0) {
        control_answer(r, 200, json_pack("{so so}", "logs", lines, "logEntries", entries));
        return;
    }
    json_decref(lines);
    json_decref(entries);
    if (e < 0)
        request_fail(r, 503, "the server is short of memory; try again later");
    else
        request_fail(r, 404, "Sandbox \"%s\" doesn't exist or you don't have access to it", id);
}

static void logs(struct request *r)
{
    char id[64];
    struct wish w = {0};
    const char *text = r->state, *wrong = read_wish(r->head->query, &w);
    if (!text_read_id(text, strlen(text), id))
        wrong = "invalid sandbox ID; send the one that was answered";
    if (wrong)
        request_fail(r, 400, "%s", wrong);
    else
        answer(r, &w, id);
    free_wish(&w);
}

const struct handler control_logs = {
    .body_max_bytes = CONTROL_BODY_MAX,
    .ready = logs,
    .over = control_over,
};
