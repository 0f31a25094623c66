// SPDX-License-Identifier: Apache-2.0
/* GET /v2/sandboxes, page by page, and GET /sandboxes, all at once. */
#include "server/control.h"
#include "server/limits.h"

#include "lib/http/syntax.h"

#define PAGE_MAX 100

struct listing {
    char *metadata, *template; /* filters; NULL: any */
    bool has_after, is_rising, has_cursor, wants_running;
    int64_t after_ms;
    struct cursor cursor;
    size_t limit;
    struct box *found[BOXES_MAX];
    size_t count;
};

static bool is_rising; /* the order of the listing that is being sorted */

static int compare(const void *a, const void *b)
{
    const struct box *x = *(struct box *const *)a, *y = *(struct box *const *)b;
    int order = x->started_ms != y->started_ms ? (x->started_ms < y->started_ms ? -1 : 1)
                                               : strcmp(x->id, y->id);
    return is_rising ? order : -order;
}

/* Whether b comes at or behind the cursor. */
static bool is_on_page(const struct listing *l, const struct box *b)
{
    if (!l->has_cursor)
        return true;
    int order = b->started_ms != l->cursor.ms ? (b->started_ms < l->cursor.ms ? -1 : 1)
                                              : strcmp(b->id, l->cursor.id);
    return l->is_rising ? order >= 0 : order <= 0;
}

static int find(struct listing *l, const struct key *key)
{
    for (struct box *b = boxes_next(NULL); b; b = boxes_next(b)) {
        if (b->state != BOX_RUNNING || !keys_covers(key, b->key) || !l->wants_running ||
            !is_on_page(l, b) || (l->has_after && b->started_ms < l->after_ms) ||
            (l->template && strcmp(l->template, b->template) != 0))
            continue;
        int matches = l->metadata ? text_filter_matches(l->metadata, box_get_metadata, b) : 1;
        if (matches < 0)
            return matches;
        if (matches)
            l->found[l->count++] = b;
    }
    is_rising = l->is_rising;
    qsort(l->found, l->count, sizeof(*l->found), compare);
    return 0;
}

/* Also when there is nothing to compare it with. */
static bool filter_is_good(const char *filter)
{
    struct box none = {0};
    return text_filter_matches(filter, box_get_metadata, &none) >= 0;
}

static bool has_word(const char *list, const char *word)
{
    size_t size;
    for (const char *at; (at = http_list_next(&list, &size));)
        if (size == strlen(word) && !strncmp(at, word, size))
            return true;
    return false;
}

/* The parameters of a query. NULL, or the name of the one that is wrong. */
static const char *read_filters(const char *query, struct listing *l)
{
    _cleanup_free_ char *after = NULL;
    if (text_query_get(query, "metadata", &l->metadata) < 0 ||
        (l->metadata && !filter_is_good(l->metadata)))
        return "metadata: it can't be decoded; encode each key and value, then all of it";
    if (text_query_get(query, "template", &l->template) < 0)
        return "template: it can't be decoded";
    if (text_query_get(query, "startedAfter", &after) < 0 ||
        (after && !text_read_time(after, &l->after_ms)))
        return "startedAfter: give a time as 2026-01-02T03:04:05Z";
    l->has_after = after != NULL;
    return NULL;
}

static const char *read_page(const char *query, struct listing *l)
{
    _cleanup_free_ char *limit = NULL, *next = NULL, *order = NULL, *state = NULL;
    uint64_t count = PAGE_MAX;
    if (text_query_get(query, "limit", &limit) < 0 ||
        (limit && (!http_decimal(limit, strlen(limit), 3, PAGE_MAX, &count) || count == 0)))
        return "limit: give a number from 1 to 100";
    if (text_query_get(query, "nextToken", &next) < 0 ||
        (next && *next && !text_read_cursor(next, &l->cursor)))
        return "nextToken: give what the page before had in x-next-token";
    if (text_query_get(query, "order", &order) < 0 ||
        (order && strcmp(order, "asc") != 0 && strcmp(order, "desc") != 0))
        return "order: give asc or desc";
    if (text_query_get(query, "state", &state) < 0)
        return "state: give running, paused, or both";
    l->limit = (size_t)count;
    l->has_cursor = next && *next;
    l->is_rising = order && !strcmp(order, "asc");
    l->wants_running = !state || !*state || has_word(state, "running");
    return NULL;
}

static void answer_page(struct request *r, const struct listing *l)
{
    json_t *page = json_array();
    for (size_t i = 0; i < MIN(l->count, l->limit); i++) {
        if (json_array_append_new(page, control_make_entry(l->found[i])) == 0)
            continue;
        json_decref(page);
        page = NULL;
        break;
    }
    if (l->count > l->limit) {
        char text[CURSOR_TEXT_MAX];
        struct cursor c = {.ms = l->found[l->limit]->started_ms};
        memcpy(c.id, l->found[l->limit]->id, sizeof(c.id));
        text_write_cursor(&c, text);
        request_add_field(r, "x-next-token", text);
    }
    control_answer(r, 200, page);
}

static void list(struct request *r, bool has_pages)
{
    const char *query = r->head->query;
    struct listing *l = calloc(1, sizeof(*l));
    if (!l) {
        request_fail(r, 503, "the server is short of memory; try again later");
        return;
    }
    l->limit = BOXES_MAX;
    l->wants_running = true;
    const char *wrong = read_filters(query, l);
    if (!wrong && has_pages)
        wrong = read_page(query, l);
    if (wrong)
        request_fail(r, 400, "%s", wrong);
    else if (find(l, r->key) < 0)
        request_fail(r, 503, "the server is short of memory; try again later");
    else
        answer_page(r, l);
    free(l->metadata);
    free(l->template);
    free(l);
}

static void list_pages(struct request *r)
{
    list(r, true);
}

static void list_all(struct request *r)
{
    list(r, false);
}

const struct handler control_list = {
    .body_max_bytes = CONTROL_BODY_MAX,
    .ready = list_pages,
    .over = control_over,
};

const struct handler control_list_running = {
    .body_max_bytes = CONTROL_BODY_MAX,
    .ready = list_all,
    .over = control_over,
};
