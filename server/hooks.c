// SPDX-License-Identifier: Apache-2.0
#include "server/hooks.h"

#include "lib/db/db.h"
#include "lib/text/base64.h"
#include "lib/text/utf8.h"
#include "server/events.h"
#include "server/json.h"
#include "server/limits.h"
#include "server/loop.h"
#include "server/server.h"

#include <inttypes.h>
#include <stdio.h>

#define NEVER      INT64_MAX
#define BATCH      64
#define ORDER_MAX  (60 * 1024)
#define ASK_LATER  1000  /* ms, when the launcher or memory has no room */
#define NOTE_LATER 60000 /* ms, when how one went can't be noted: it is sent again */

/* After the first try, the second, ... */
static const int64_t pauses_ms[DELIVERY_TRIES] = {0, 5000, 30000, 120000, 600000, 3600000};

static struct list all = LIST_INIT(all);
static size_t count, busy_count;
static struct hook_counts counts;
static struct timer timer;

static void advance(void);

/* ---- in memory ---- */

static void free_hook(struct hook *h)
{
    if (h->secret)
        explicit_bzero(h->secret, strlen(h->secret));
    free(h->name);
    free(h->url);
    free(h->secret);
    free(h);
}

static struct hook *add(const char *name, const char *url, const char *secret)
{
    struct hook *h = calloc(1, sizeof(*h));
    if (!h)
        return NULL;
    h->name = strdup(name);
    h->url = strdup(url);
    h->secret = strdup(secret);
    if (!h->name || !h->url || !h->secret) {
        free_hook(h);
        return NULL;
    }
    h->next_ms = NEVER;
    list_append(&all, &h->all);
    count++;
    return h;
}

/* One under way is waited for: its answer frees it. */
static void drop(struct hook *h)
{
    list_remove(&h->all);
    count--;
    h->is_gone = true;
    if (!h->is_busy)
        free_hook(h);
}

struct hook *hooks_next(struct hook *h)
{
    struct list *next = h ? h->all.next : all.next;
    return next == &all ? NULL : list_entry(next, struct hook, all);
}

struct hook *hooks_find(const char *uuid, const struct key *key)
{
    for (struct hook *h = hooks_next(NULL); h; h = hooks_next(h))
        if (!strcmp(h->uuid, uuid) && keys_covers(key, h->key))
            return h;
    return NULL;
}

void hooks_count(struct hook_counts *ret)
{
    struct db_query q;
    *ret = counts;
    if (db_begin(server.db, &q, "SELECT count(*) FROM deliveries", "") == 0 && db_next(&q) == 1)
        ret->waiting = db_number(&q, 0);
    db_end(&q);
}

/* ---- deliveries that wait ---- */

static void find_next(struct hook *h)
{
    struct db_query q;
    h->next_ms = NEVER;
    if (db_begin(server.db, &q, "SELECT ifnull(min(due_ms), -1) FROM deliveries WHERE webhook = ?",
                 "i", h->id) == 0 &&
        db_next(&q) == 1 && db_number(&q, 0) >= 0)
        h->next_ms = db_number(&q, 0);
    db_end(&q);
}

static int64_t count_waiting(const struct hook *h)
{
    struct db_query q;
    int64_t waiting = 0;
    if (db_begin(server.db, &q, "SELECT count(*) FROM deliveries WHERE webhook = ?", "i", h->id) ==
            0 &&
        db_next(&q) == 1)
        waiting = db_number(&q, 0);
    db_end(&q);
    return waiting;
}

/* Events behind h->after that it is told of; how many, or negative errno. */
static int read_events(const struct hook *h, const struct key *key, int64_t numbers[BATCH])
{
    struct db_query q;
    int n = 0;
    const struct event_filter f = {
        .key = key, .types = h->types, .after = h->after, .is_rising = true, .limit = BATCH};
    int r = events_begin(&q, &f);
    while (r == 0 && (r = db_next(&q)) == 1) {
        numbers[n++] = event_number(&q);
        r = 0;
    }
    db_end(&q);
    return r < 0 ? r : n;
}

static int move_after(struct hook *h, int64_t after)
{
    h->after = after;
    return db_run(server.db, "UPDATE webhooks SET after = ? WHERE id = ?", "ii", after, h->id);
}

/* Makes the deliveries of what is new. First they, then the mark: killed in between, the server
 * makes them again, which changes nothing. */
static int queue(struct hook *h, const struct key *key)
{
    int64_t numbers[BATCH], last = events_last(), now = server_wall_ms();
    int n;
    while ((n = read_events(h, key, numbers)) > 0) {
        int64_t room = HOOK_WAITING_MAX - count_waiting(h);
        for (int i = 0; i < n; i++) {
            int r = i >= room ? 0
                              : db_run(server.db,
                                       "INSERT OR IGNORE INTO deliveries (webhook, event, "
                                       "attempts, due_ms) VALUES (?, ?, 0, ?)",
                                       "iii", h->id, numbers[i], now);
            if (r < 0)
                return r;
            counts.given_up += i >= room;
        }
        int r = move_after(h, numbers[n - 1]);
        if (r < 0)
            return r;
        h->next_ms = MIN(h->next_ms, now);
        if (n < BATCH)
            break;
    }
    return n < 0 ? n : h->after < last ? move_after(h, last) : 0;
}

static void on_events(void)
{
    for (struct hook *h = hooks_next(NULL); h; h = hooks_next(h)) {
        const struct key *key = h->is_enabled ? keys_get_valid(h->key) : NULL;
        int r = key ? queue(h, key) : 0;
        if (r < 0)
            server_say("webhook %s: its deliveries can't be noted: %s; they are at the next event",
                       h->uuid, strerror(-r));
    }
    advance();
}

/* ---- sending ---- */

/* What a courier says is a stranger's, and is told in JSON. */
static void note_result(struct hook *h, const char *words)
{
    struct buf valid = BUF_INIT(4 * sizeof(h->last));
    text_utf8_append_valid(&valid, words, strnlen(words, sizeof(h->last)));
    size_t size = MIN(valid.size, sizeof(h->last) - 1);
    size -= size > 0 ? text_utf8_cut_end(valid.data, size) : 0;
    snprintf(h->last, sizeof(h->last), "%.*s", (int)size, size > 0 ? valid.data : "");
    buf_done(&valid);
    h->last_ms = server_wall_ms();
    db_run(server.db, "UPDATE webhooks SET last_ms = ?, last = ? WHERE id = ?", "isi", h->last_ms,
           h->last, h->id);
}

static int forget_delivery(const struct hook *h)
{
    return db_run(server.db, "DELETE FROM deliveries WHERE id = ?", "i", h->delivery);
}

/* 0; or negative errno: it can't be noted. */
static int settle(struct hook *h, bool is_done)
{
    bool is_given_up = !is_done && h->attempts + 1 >= DELIVERY_TRIES;
    counts.delivered += is_done;
    counts.failed += !is_done;
    counts.given_up += is_given_up;
    if (is_done || is_given_up)
        return forget_delivery(h);
    return db_run(server.db, "UPDATE deliveries SET attempts = ?, due_ms = ? WHERE id = ?", "iii",
                  (int64_t)h->attempts + 1, server_wall_ms() + pauses_ms[h->attempts + 1],
                  h->delivery);
}

static void on_delivered(struct ask *a, int error, const char *data, size_t size _unused_,
                         int fd _unused_)
{
    struct hook *h = container_of(a, struct hook, ask);
    busy_count--;
    h->is_busy = false;
    if (h->is_gone) {
        free_hook(h);
        advance();
        return;
    }
    note_result(h, data);
    int r = settle(h, !error && data[0] == '2');
    find_next(h);
    if (r < 0) {
        server_say("webhook %s: how a delivery went can't be noted: %s; it comes again", h->uuid,
                   strerror(-r));
        h->next_ms = MAX(h->next_ms, server_wall_ms() + NOTE_LATER);
    }
    advance();
}

/* The signature that receivers know: of the secret and the content, one behind the other. */
static int sign(const char *secret, const struct buf *content, char out[48])
{
    uint8_t digest[DIGEST_SIZE];
    struct buf both = BUF_INIT(ORDER_MAX), text = BUF_INIT(64);
    buf_append_str(&both, secret);
    buf_append(&both, content->data, content->size);
    int r = both.failed ? -ENOMEM : text_digest(both.data, both.size, digest);
    buf_wipe(&both);
    if (r == 0)
        text_base64_append(&text, digest, sizeof(digest));
    if (r == 0 && text.failed)
        r = -ENOMEM;
    if (r == 0)
        snprintf(out, 48, "%.*s", (int)strcspn(text.data, "="), text.data);
    buf_done(&text);
    return r;
}

static void append_field(struct buf *order, const char *name, const char *value)
{
    buf_append(order, name, strlen(name) + 1);
    buf_append(order, value, strlen(value) + 1);
}

static int write_order(const struct hook *h, const struct buf *content, struct buf *order)
{
    char signature[48], delivery[UUID_SIZE + 1];
    int r = sign(h->secret, content, signature);
    if (r == 0)
        r = text_make_uuid(delivery);
    if (r < 0)
        return r;
    buf_append(order, h->url, strlen(h->url) + 1);
    append_field(order, "Content-Type", "application/json");
    append_field(order, "User-Agent", "glovebox-webhooks");
    append_field(order, "e2b-webhook-id", h->uuid);
    append_field(order, "e2b-delivery-id", delivery);
    append_field(order, "e2b-signature-version", "v1");
    append_field(order, "e2b-signature", signature);
    buf_append(order, "", 1);
    buf_append(order, content->data, content->size);
    buf_append(order, "", 1);
    return order->failed ? -ENOMEM : 0;
}

/* The event as receivers are told. -ENOENT: it is no longer kept. */
static int write_content(int64_t event, struct buf *content)
{
    struct db_query q;
    const struct event_filter f = {
        .types = EVENT_TYPES_ALL, .after = event - 1, .is_rising = true, .limit = 1};
    int r = events_begin(&q, &f);
    if (r == 0)
        r = db_next(&q);
    json_t *value = r == 1 && event_number(&q) == event ? event_make(&q, true) : NULL;
    r = value ? json_write(content, value) : r < 0 ? r : -ENOENT;
    json_decref(value);
    db_end(&q);
    return r;
}

static int send_event(struct hook *h, int64_t event)
{
    struct buf content = BUF_INIT(ORDER_MAX / 2), order = BUF_INIT(ORDER_MAX);
    int r = write_content(event, &content);
    if (r == 0)
        r = write_order(h, &content, &order);
    h->ask.answered = on_delivered;
    if (r == 0)
        r = launcher_ask(&h->ask, LAUNCH_DELIVER, 0, order.data, order.size);
    buf_done(&content);
    buf_done(&order);
    return r;
}

/* The delivery that is due first. 1: taken; 0: there is none. */
static int take_delivery(struct hook *h, int64_t *ret_event)
{
    struct db_query q;
    int r = db_begin(server.db, &q,
                     "SELECT id, event, attempts FROM deliveries WHERE webhook = ? ORDER BY "
                     "due_ms, event LIMIT 1",
                     "i", h->id);
    if (r == 0)
        r = db_next(&q);
    if (r == 1) {
        h->delivery = db_number(&q, 0);
        *ret_event = db_number(&q, 1);
        h->attempts = (int)db_number(&q, 2);
    }
    db_end(&q);
    return r;
}

static void begin(struct hook *h)
{
    int64_t event;
    int r = take_delivery(h, &event);
    if (r == 1) {
        r = send_event(h, event);
        h->is_busy = r == 0;
    }
    if (h->is_busy) {
        busy_count++;
        list_remove(&h->all); /* those that were served last are the last ones */
        list_append(&all, &h->all);
        return;
    }
    if (r == -ENOENT)
        r = forget_delivery(h);
    if (r == 0)
        find_next(h);
    else
        h->next_ms = server_wall_ms() + ASK_LATER;
}

static bool is_waiting(const struct hook *h)
{
    return !h->is_busy && h->is_enabled && h->next_ms != NEVER && keys_get_valid(h->key);
}

static size_t count_busy(int64_t tenant)
{
    size_t found = 0;
    for (struct hook *h = hooks_next(NULL); h; h = hooks_next(h))
        found += h->is_busy && keys_tenant(h->key) == tenant;
    return found;
}

/* Whose turn it is: no tenant waits for the receivers of another who has more under way. */
static struct hook *find_due(int64_t now)
{
    struct hook *found = NULL;
    size_t least = SIZE_MAX;
    for (struct hook *h = hooks_next(NULL); h && least > 0; h = hooks_next(h)) {
        if (!is_waiting(h) || h->next_ms > now)
            continue;
        size_t busy = count_busy(keys_tenant(h->key));
        if (busy >= least)
            continue;
        least = busy;
        found = h;
    }
    return found;
}

static void advance(void)
{
    struct hook *h;
    int64_t now = server_wall_ms(), next = NEVER;
    while (busy_count < HOOKS_AT_ONCE && (h = find_due(now)))
        begin(h);
    for (h = hooks_next(NULL); h; h = hooks_next(h))
        if (is_waiting(h) && h->next_ms > now)
            next = MIN(next, h->next_ms);
    if (next != NEVER)
        timer_set(&timer, server_now_ns() + (next - now) * NSEC_PER_MSEC);
}

static void on_timer(struct timer *t _unused_)
{
    advance();
}

/* ---- making and changing ---- */

static bool has_too_many(const struct key *key)
{
    size_t own = 0, tenants = 0;
    for (struct hook *h = hooks_next(NULL); h; h = hooks_next(h)) {
        own += h->key == key->id;
        tenants += keys_tenant(h->key) == keys_tenant(key->id);
    }
    return count >= HOOKS_MAX || own >= HOOKS_OF_KEY_MAX || tenants >= HOOKS_OF_TENANT_MAX;
}

static int record(struct hook *h)
{
    int r = db_run(server.db,
                   "INSERT INTO webhooks (uuid, key, name, url, secret, enabled, types, after, "
                   "created_ms, last_ms, last) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, '')",
                   "sisssiiii", h->uuid, h->key, h->name, h->url, h->secret, (int64_t)h->is_enabled,
                   (int64_t)h->types, h->after, h->created_ms);
    h->id = r == 0 ? db_last_id(server.db) : 0;
    return r;
}

int hooks_make(const struct key *key, const struct hook_wish *w, struct hook **ret)
{
    if (has_too_many(key))
        return -EAGAIN;
    struct hook *h = add(w->name, w->url, w->secret);
    if (!h)
        return -ENOMEM;
    h->key = key->id;
    h->is_enabled = w->is_enabled != 0;
    h->types = (unsigned)w->types;
    h->after = events_last();
    h->created_ms = server_wall_ms();
    int r = text_make_uuid(h->uuid);
    if (r == 0)
        r = record(h);
    if (r < 0)
        drop(h);
    else
        *ret = h;
    return r;
}

/* copy takes the place of *at, unless it is NULL. */
static void replace(char **at, char *copy)
{
    if (!copy)
        return;
    explicit_bzero(*at, strlen(*at));
    free(*at);
    *at = copy;
}

static int copy_if(const char *text, char **ret)
{
    *ret = text ? strdup(text) : NULL;
    return text && !*ret ? -ENOMEM : 0;
}

int hooks_change(struct hook *h, const struct hook_wish *w)
{
    bool is_enabled = w->is_enabled < 0 ? h->is_enabled : w->is_enabled;
    int64_t types = w->types < 0 ? (int64_t)h->types : w->types;
    /* Of what happened while it was off it is not told. */
    int64_t after = is_enabled && !h->is_enabled ? events_last() : h->after;
    _cleanup_free_ char *name = NULL, *url = NULL, *secret = NULL;
    /* First, so that what is kept and what is done can't be two things. */
    int r = copy_if(w->name, &name);
    if (r == 0)
        r = copy_if(w->url, &url);
    if (r == 0)
        r = copy_if(w->secret, &secret);
    if (r < 0)
        return r;
    r = db_run(server.db,
               "UPDATE webhooks SET name = ?, url = ?, secret = ?, enabled = ?, types = ?, "
               "after = ? WHERE id = ?",
               "sssiiii", w->name ? w->name : h->name, w->url ? w->url : h->url,
               w->secret ? w->secret : h->secret, (int64_t)is_enabled, types, after, h->id);
    if (r < 0) {
        if (secret)
            explicit_bzero(secret, strlen(secret));
        return r;
    }
    replace(&h->name, TAKE_PTR(name));
    replace(&h->url, TAKE_PTR(url));
    replace(&h->secret, TAKE_PTR(secret));
    h->is_enabled = is_enabled;
    h->types = (unsigned)types;
    h->after = after;
    advance();
    return 0;
}

int hooks_remove(struct hook *h)
{
    int r = db_run(server.db, "DELETE FROM webhooks WHERE id = ?", "i", h->id);
    if (r < 0)
        return r;
    db_run(server.db, "DELETE FROM deliveries WHERE webhook = ?", "i", h->id);
    drop(h);
    return 0;
}

int hooks_record_forgotten(int64_t key)
{
    int r =
        db_run(server.db,
               "DELETE FROM deliveries WHERE webhook IN (SELECT id FROM webhooks WHERE key = ?)",
               "i", key);
    return r < 0 ? r : db_run(server.db, "DELETE FROM webhooks WHERE key = ?", "i", key);
}

void hooks_forget(int64_t key)
{
    struct hook *h, *next;
    list_for_each_safe(h, next, &all, all)
    {
        if (h->key == key)
            drop(h);
    }
}

/* ---- after a start ---- */

static int load_one(struct db_query *q)
{
    struct hook *h = add(db_text(q, 3), db_text(q, 4), db_text(q, 5));
    if (!h)
        return -ENOMEM;
    h->id = db_number(q, 0);
    snprintf(h->uuid, sizeof(h->uuid), "%s", db_text(q, 1));
    h->key = db_number(q, 2);
    h->is_enabled = db_number(q, 6) != 0;
    h->types = (unsigned)db_number(q, 7);
    h->after = db_number(q, 8);
    h->created_ms = db_number(q, 9);
    h->last_ms = db_number(q, 10);
    snprintf(h->last, sizeof(h->last), "%s", db_text(q, 11));
    return 0;
}

int hooks_start(void)
{
    struct db_query q;
    int r = db_begin(server.db, &q,
                     "SELECT id, uuid, key, name, url, secret, enabled, types, after, created_ms, "
                     "last_ms, last FROM webhooks LIMIT ?",
                     "i", (int64_t)HOOKS_MAX);
    if (r == 0)
        r = db_next(&q);
    while (r == 1) {
        r = load_one(&q);
        if (r == 0)
            r = db_next(&q);
    }
    db_end(&q);
    timer.fire = on_timer;
    events_watch(on_events);
    for (struct hook *h = hooks_next(NULL); h; h = hooks_next(h))
        find_next(h);
    if (r == 0)
        on_events();
    return r;
}
