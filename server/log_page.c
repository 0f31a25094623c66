// SPDX-License-Identifier: Apache-2.0
#include "server/log_page.h"

#include "lib/http/syntax.h"
#include "server/text.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const levels[] = {"debug", "info", "warn", "error"};

/* ---- what is asked for ---- */

static bool read_number(const char **at, char end, uint64_t most, uint64_t *ret)
{
    const char *stop = strchrnul(*at, end);
    if (!http_decimal(*at, (size_t)(stop - *at), 18, most, ret))
        return false;
    *at = *stop ? stop + 1 : stop;
    return true;
}

/* "MS", or "MS-KIND-NUMBER". */
static bool read_place(const char *text, struct log_place *ret)
{
    uint64_t at_ms, kind = 0, number = 0;
    if (!read_number(&text, '-', INT64_MAX, &at_ms))
        return false;
    bool has_more = text[-1] == '-';
    if (has_more && (!read_number(&text, '-', LOG_PRINTED, &kind) || kind == 0 || text[-1] != '-' ||
                     !read_number(&text, '\0', INT64_MAX, &number)))
        return false;
    *ret = (struct log_place){.at_ms = (int64_t)at_ms, .kind = (unsigned)kind, .number = number};
    return true;
}

static bool read_from(const char *query, const char *name, struct log_place *ret)
{
    _cleanup_free_ char *text = NULL;
    int r = text_query_get(query, name, &text);
    return r == 0 || (r == 1 && read_place(text, ret));
}

static bool read_limit(const char *query, size_t *ret)
{
    _cleanup_free_ char *text = NULL;
    uint64_t limit = LOG_PAGE_MAX;
    int r = text_query_get(query, "limit", &text);
    if (r < 0 || (r == 1 && !http_decimal(text, strlen(text), 18, LOG_PAGE_MAX, &limit)))
        return false;
    *ret = (size_t)limit;
    return true;
}

static bool read_level(const char *query, size_t *ret)
{
    _cleanup_free_ char *text = NULL;
    int r = text_query_get(query, "level", &text);
    if (r <= 0)
        return r == 0;
    for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
        if (!strcmp(levels[i], text)) {
            *ret = i;
            return true;
        }
    return false;
}

const char *log_wish_read(const char *query, struct log_wish *w)
{
    _cleanup_free_ char *direction = NULL;
    if (!read_from(query, "start", &w->from) || !read_from(query, "cursor", &w->from))
        return "start, cursor: give milliseconds since 1970, or what the page before had in "
               "x-next-token";
    if (!read_limit(query, &w->limit))
        return "limit: give a number from 0 to 1000";
    if (text_query_get(query, "direction", &direction) < 0 ||
        (direction && strcmp(direction, "forward") != 0 && strcmp(direction, "backward") != 0))
        return "direction: give forward or backward";
    if (text_query_get(query, "search", &w->search) < 0)
        return "search: it can't be decoded";
    if (!read_level(query, &w->level))
        return "level: give debug, info, warn or error";
    w->is_backward = direction && !strcmp(direction, "backward");
    return NULL;
}

void log_wish_done(struct log_wish *w)
{
    free(w->search);
    w->search = NULL;
}

/* ---- the page ---- */

struct log_entry {
    struct log_place place;
    const char *level, *event;
    int32_t pid;
    const char *tag, *text; /* in texts */
    char texts[];
};

void log_page_init(struct log_page *p, const struct log_wish *w)
{
    p->wish = w;
    p->count = 0;
    p->is_failed = false;
}

static void cut(struct log_page *p, size_t count)
{
    while (p->count > count)
        free(p->entries[--p->count]);
}

void log_page_done(struct log_page *p)
{
    cut(p, 0);
}

static int compare(const struct log_place *a, const struct log_place *b)
{
    if (a->at_ms != b->at_ms)
        return a->at_ms < b->at_ms ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->number == b->number ? 0 : a->number < b->number ? -1 : 1;
}

static int compare_entries(const void *a, const void *b)
{
    const struct log_entry *const *x = a, *const *y = b;
    return compare(&(*x)->place, &(*y)->place);
}

static int compare_backward(const void *a, const void *b)
{
    return compare_entries(b, a);
}

/* Keeps what the page has, and one more, by which it is known that there is more. */
static void sort(struct log_page *p)
{
    if (p->count > 0)
        qsort(p->entries, p->count, sizeof(struct log_entry *),
              p->wish->is_backward ? compare_backward : compare_entries);
    cut(p, p->wish->limit + 1);
}

static bool is_behind(const struct log_wish *w, const struct log_place *place)
{
    if (!w->is_backward)
        return compare(place, &w->from) > 0;
    if (w->from.kind)
        return compare(place, &w->from) < 0;
    return !w->from.at_ms || place->at_ms <= w->from.at_ms;
}

static bool is_wanted(const struct log_wish *w, const struct log_line *l)
{
    size_t own = 0;
    for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
        own = !strcmp(l->level, levels[i]) ? i : own;
    return w->limit > 0 && own >= w->level && is_behind(w, &l->place) &&
           (!w->search || strstr(l->text, w->search));
}

void log_page_put(struct log_page *p, const struct log_line *l)
{
    size_t tag = strlen(l->tag) + 1, text = strlen(l->text) + 1;
    if (!is_wanted(p->wish, l))
        return;
    struct log_entry *e = malloc(sizeof(*e) + tag + text);
    if (!e) {
        p->is_failed = true;
        return;
    }
    *e = (struct log_entry){.place = l->place, .level = l->level, .event = l->event, .pid = l->pid};
    e->tag = memcpy(e->texts, l->tag, tag);
    e->text = memcpy(e->texts + tag, l->text, text);
    if (p->count == ARRAY_SIZE(p->entries))
        sort(p);
    p->entries[p->count++] = e;
}

/* ---- what is answered ---- */

/* Clients of the first generation take a line for JSON with a level and a logger. */
static json_t *make_text(const struct log_entry *e, const json_t *fields)
{
    struct buf b = BUF_INIT(1 << 20);
    json_t *all = json_pack("{ss ss ss}", "level", e->level, "message", e->text, "logger",
                            e->place.kind == LOG_EVENT ? "sandbox" : "process");
    json_t *text = NULL;
    if (all && json_object_update_missing(all, (json_t *)fields) == 0 && json_write(&b, all) == 0)
        text = json_stringn(b.data, b.size);
    json_decref(all);
    buf_done(&b);
    return text;
}

static json_t *make_fields(const struct log_entry *e)
{
    char pid[16];
    json_t *fields = json_pack("{ss}", "event", e->event);
    snprintf(pid, sizeof(pid), "%d", e->pid);
    if (fields && e->place.kind == LOG_PRINTED)
        json_object_set_new(fields, "pid", json_string(pid));
    if (fields && e->tag[0])
        json_object_set_new(fields, "tag", json_string(e->tag));
    return fields;
}

static int append(const struct log_entry *e, json_t *lines, json_t *entries)
{
    char at[TIME_TEXT_SIZE + 1];
    json_t *fields = make_fields(e), *text = fields ? make_text(e, fields) : NULL;
    text_write_time(e->place.at_ms, at);
    json_t *line = text ? json_pack("{ss sO ss ss sO}", "timestamp", at, "line", text, "level",
                                    e->level, "message", e->text, "fields", fields)
                        : NULL;
    json_t *entry = line ? json_pack("{ss ss ss sO}", "timestamp", at, "level", e->level, "message",
                                     e->text, "fields", fields)
                         : NULL;
    json_decref(text);
    json_decref(fields);
    /* What can't be appended is released, and NULL can't be. */
    int r = json_array_append_new(lines, line);
    return json_array_append_new(entries, entry) < 0 || r < 0 ? -ENOMEM : 0;
}

json_t *log_page_make(struct log_page *p, char next[LOG_CURSOR_SIZE])
{
    json_t *lines = json_array(), *entries = json_array();
    int r = p->is_failed ? -ENOMEM : 0;
    sort(p);
    size_t count = MIN(p->count, p->wish->limit);
    for (size_t i = 0; i < count && r == 0; i++)
        r = append(p->entries[i], lines, entries);
    next[0] = '\0';
    if (p->count > count && count > 0) {
        const struct log_place *last = &p->entries[count - 1]->place;
        snprintf(next, LOG_CURSOR_SIZE, "%" PRId64 "-%u-%" PRIu64, last->at_ms, last->kind,
                 last->number);
    }
    if (r == 0)
        return json_pack("{so so}", "logs", lines, "logEntries", entries);
    json_decref(lines);
    json_decref(entries);
    return NULL;
}
