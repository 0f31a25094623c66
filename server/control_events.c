// SPDX-License-Identifier: Apache-2.0
/* /events/sandboxes: what has happened, page by page; /events: the same as it happens. */
#include "server/control.h"
#include "server/events.h"
#include "server/limits.h"
#include "server/server.h"

#include "lib/db/db.h"
#include "lib/http/syntax.h"

#include <inttypes.h>
#include <stdio.h>

#define PAGE         10
#define PAGE_MAX     100
#define OFFSET_MAX   1000000
#define ROWS_AT_ONCE 64
#define QUIET_NS     (20 * NSEC_PER_SEC) /* after which a stream says that it is there */

static void fail_because(struct request *r, int error)
{
    const char *why;
    unsigned status = control_status_of(error, &why);
    request_fail(r, status, "%s", why);
}

/* ---- what a query asks for ---- */

static bool read_number(const char *query, const char *name, uint64_t most, uint64_t *ret)
{
    _cleanup_free_ char *text = NULL;
    int r = text_query_get(query, name, &text);
    return r == 0 || (r == 1 && http_decimal(text, strlen(text), 18, most, ret));
}

/* types=A&types=B, or with commas. */
static bool read_types(const char *query, unsigned *ret)
{
    unsigned types = 0, one;
    bool has_some = false;
    for (const char *at = query; at && *at; at += strcspn(at, "&"), at += *at == '&') {
        _cleanup_free_ char *text = NULL;
        char *rest, *word;
        if (strncmp(at, "types=", 6) != 0)
            continue;
        if (text_query_get(at, "types", &text) != 1)
            return false;
        has_some = true;
        for (word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
            if (event_type_read(word, &one) < 0)
                return false;
            types |= one;
        }
    }
    *ret = has_some ? types : EVENT_TYPES_ALL;
    return true;
}

static const char *read_filter(const char *query, struct event_filter *f)
{
    _cleanup_free_ char *order = NULL;
    uint64_t limit = PAGE, offset = 0;
    if (!read_number(query, "limit", PAGE_MAX, &limit) || limit == 0)
        return "limit: give a number from 1 to 100";
    if (!read_number(query, "offset", OFFSET_MAX, &offset))
        return "offset: give a number";
    if (text_query_get(query, "orderAsc", &order) < 0 ||
        (order && strcmp(order, "true") != 0 && strcmp(order, "false") != 0))
        return "orderAsc: give true or false";
    if (!read_types(query, &f->types))
        return "types: give sandbox.lifecycle.created, .updated or .killed";
    f->limit = (size_t)limit;
    f->offset = (size_t)offset;
    f->is_rising = order && !strcmp(order, "true");
    return NULL;
}

/* ---- pages ---- */

static void answer_page(struct request *r, const struct event_filter *f)
{
    struct db_query q;
    json_t *page = json_array();
    int e = events_begin(&q, f);
    while (e == 0 && (e = db_next(&q)) == 1)
        e = json_array_append_new(page, event_make(&q, false)) < 0 ? -ENOMEM : 0;
    db_end(&q);
    if (e < 0) {
        json_decref(page);
        fail_because(r, e);
        return;
    }
    control_answer(r, 200, page);
}

static void list(struct request *r)
{
    char id[64];
    struct event_filter f = {.key = r->key};
    const char *wrong = read_filter(r->head->query, &f), *named = r->state;
    if (named && !text_read_id(named, strlen(named), id))
        wrong = "invalid sandbox ID; send the one that was answered";
    if (wrong) {
        request_fail(r, 400, "%s", wrong);
        return;
    }
    f.sandbox = named ? id : NULL;
    answer_page(r, &f);
}

const struct handler control_list_events = {
    .body_max_bytes = CONTROL_BODY_MAX,
    .ready = list,
    .over = control_over,
};

/* ---- streams: https://html.spec.whatwg.org/#server-sent-events ---- */

struct stream {
    struct list all;
    struct request *request;
    int64_t key;
    unsigned types;
    int64_t after;
    struct timer quiet;
};

static struct list streams = LIST_INIT(streams);
static size_t stream_count;

static bool send_event(struct stream *s, struct db_query *q)
{
    struct buf text = BUF_INIT(4 * EVENT_DATA_MAX_BYTES);
    json_t *event = event_make(q, false);
    buf_printf(&text, "id: %" PRId64 "\nevent: sandbox.lifecycle.%s\ndata: ", event_number(q),
               event_name(q));
    bool is_whole = event && json_write(&text, event) == 0 && buf_append_str(&text, "\n\n") == 0;
    bool has_room = is_whole && request_send(s->request, text.data, text.size);
    if (is_whole)
        s->after = event_number(q);
    json_decref(event);
    buf_done(&text);
    return has_room;
}

/* 1: there may be more; 0: not now; or negative errno. */
static int send_some(struct stream *s, const struct key *key)
{
    struct db_query q;
    const struct event_filter f = {
        .key = key, .types = s->types, .after = s->after, .is_rising = true, .limit = ROWS_AT_ONCE};
    size_t count = 0;
    int r = events_begin(&q, &f);
    while (r == 0 && (r = db_next(&q)) == 1) {
        count++;
        r = send_event(s, &q) ? 0 : 1;
        if (r == 1)
            break;
    }
    db_end(&q);
    return r < 0 ? r : count == ROWS_AT_ONCE && request_has_room(s->request);
}

/* Who may no longer see is told no more. */
static void go_on(struct stream *s)
{
    const struct key *key = keys_get_valid(s->key);
    int r = 1;
    while (key && r == 1 && request_has_room(s->request))
        r = send_some(s, key);
    if (!key || r < 0)
        request_end(s->request);
    timer_set(&s->quiet, server_now_ns() + QUIET_NS);
}

static void on_quiet(struct timer *t)
{
    struct stream *s = container_of(t, struct stream, quiet);
    if (request_has_room(s->request))
        request_send(s->request, ":\n\n", 3);
    go_on(s);
}

static void on_events(void)
{
    struct stream *s, *next;
    list_for_each_safe(s, next, &streams, all) go_on(s);
}

static size_t count_streams_of(int64_t tenant)
{
    const struct stream *s;
    size_t found = 0;
    list_for_each(s, &streams, all) found += keys_tenant(s->key) == tenant;
    return found;
}

/* Where a client goes on that was connected before; else what is new from now on. */
static bool read_start(struct request *r, int64_t *ret)
{
    _cleanup_free_ char *text = NULL;
    const char *field = request_field(r, "last-event-id");
    uint64_t after;
    int found = text_query_get(r->head->query, "after", &text);
    const char *given = found == 1 ? text : field;
    *ret = events_last();
    if (found < 0 || (given && !http_decimal(given, strlen(given), 18, INT64_MAX, &after)))
        return false;
    if (given)
        *ret = (int64_t)after;
    return true;
}

static void begin(struct request *r)
{
    unsigned types;
    int64_t after;
    struct stream *s = NULL;
    if (!read_types(r->head->query, &types))
        request_fail(r, 400, "types: give sandbox.lifecycle.created, .updated or .killed");
    else if (!read_start(r, &after))
        request_fail(r, 400, "after, Last-Event-ID: give the id of an event of this stream");
    else if (stream_count >= EVENT_STREAMS_MAX ||
             count_streams_of(keys_tenant(r->key->id)) >= EVENT_STREAMS_OF_TENANT_MAX)
        request_fail(r, 429, "too many streams of events are open; end some, or try again later");
    else if (!(s = calloc(1, sizeof(*s))))
        fail_because(r, -ENOMEM);
    if (!s)
        return;
    static bool is_watching;
    if (!is_watching)
        events_watch(on_events);
    is_watching = true;
    *s = (struct stream){.request = r, .key = r->key->id, .types = types, .after = after};
    s->quiet.fire = on_quiet;
    list_append(&streams, &s->all);
    stream_count++;
    r->state = s;
    request_add_field(r, "Cache-Control", "no-store");
    request_begin(r, 200, "text/event-stream", REQUEST_STREAM);
    request_send(r, ":\n\n", 3);
    go_on(s);
}

static void drained(struct request *r)
{
    if (r->state)
        go_on(r->state);
}

static void over(struct request *r)
{
    struct stream *s = r->state;
    if (!s)
        return;
    timer_clear(&s->quiet);
    list_remove(&s->all);
    stream_count--;
    free(s);
}

const struct handler control_stream_events = {
    .body_max_bytes = CONTROL_BODY_MAX,
    .ready = begin,
    .drained = drained,
    .over = over,
};
