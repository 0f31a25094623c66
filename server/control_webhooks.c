// SPDX-License-Identifier: Apache-2.0
/* /events/webhooks: where events are sent. */
#include "server/control.h"
#include "server/events.h"
#include "server/hooks.h"
#include "server/limits.h"
#include "server/server.h"

#include "lib/http/url.h"

#include <inttypes.h>
#include <stdio.h>

static void fail_because(struct request *r, int error)
{
    const char *why;
    unsigned status = control_status_of(error, &why);
    request_fail(r, status, "%s",
                 error == -EAGAIN ? "there are too many webhooks; remove some" : why);
}

/* ---- as they are told ---- */

static json_t *make_types(unsigned types)
{
    static const char *const names[] = {[EVENT_CREATED] = "sandbox.lifecycle.created",
                                        [EVENT_UPDATED] = "sandbox.lifecycle.updated",
                                        [EVENT_KILLED] = "sandbox.lifecycle.killed"};
    json_t *list = json_array();
    for (unsigned i = EVENT_CREATED; i <= EVENT_KILLED; i++)
        if (types & 1u << i)
            json_array_append_new(list, json_string(names[i]));
    return list;
}

static json_t *make_last(const struct hook *h)
{
    char at[TIME_TEXT_SIZE + 1];
    text_write_time(h->last_ms, at);
    return h->last_ms ? json_pack("{ss ss}", "at", at, "result", h->last) : json_null();
}

/* Without its secret. */
static json_t *make_entry(const struct hook *h)
{
    char created[TIME_TEXT_SIZE + 1], key[24];
    text_write_time(h->created_ms, created);
    snprintf(key, sizeof(key), "%" PRId64, h->key);
    return json_pack("{ss ss ss ss sb ss so so}", "id", h->uuid, "teamId", key, "name", h->name,
                     "createdAt", created, "enabled", h->is_enabled, "url", h->url, "events",
                     make_types(h->types), "lastDelivery", make_last(h));
}

/* ---- as they are asked for ---- */

static bool text_fits(const json_t *value, size_t most)
{
    return json_string_length(value) > 0 && json_string_length(value) <= most &&
           strlen(json_string_value(value)) == json_string_length(value);
}

/* A sentence, or NULL. */
static const char *read_types(const json_t *list, struct hook_wish *w)
{
    size_t i;
    json_t *name;
    unsigned one;
    if (!list)
        return NULL;
    w->types = 0;
    json_array_foreach(list, i, name)
    {
        if (!json_is_string(name) || event_type_read(json_string_value(name), &one) < 0)
            return "events: give names as sandbox.lifecycle.created, .updated, .killed";
        w->types |= one;
    }
    return json_array_size(list) == 0 ? "events: name at least one" : NULL;
}

static const char *read_url(const json_t *url, struct hook_wish *w)
{
    struct http_url parsed;
    if (!url)
        return NULL;
    w->url = json_string_value(url);
    return http_url_parse(w->url, &parsed) && strlen(w->url) == json_string_length(url)
               ? NULL
               : "url: give one that begins with https:// or http://, without a user, of at most "
                 "2048 bytes";
}

static const char *read_wish(const json_t *body, struct hook_wish *w)
{
    const char *wrong = NULL;
    json_t *name = json_member(body, "name", JSON_STRING, &wrong);
    json_t *url = json_member(body, "url", JSON_STRING, &wrong);
    json_t *secret = json_member(body, "signatureSecret", JSON_STRING, &wrong);
    json_t *enabled = json_member(body, "enabled", JSON_TRUE, &wrong);
    json_t *events = json_member(body, "events", JSON_ARRAY, &wrong);
    *w = (struct hook_wish){.is_enabled = enabled ? json_is_true(enabled) : -1, .types = -1};
    if (wrong)
        return "name, url, signatureSecret are texts, enabled is true or false, events a list";
    if (name && !text_fits(name, HOOK_NAME_MAX_BYTES))
        return "name: give a text of at most 128 bytes";
    if (secret && !text_fits(secret, HOOK_SECRET_MAX_BYTES))
        return "signatureSecret: give a text of at most 256 bytes";
    w->name = json_string_value(name);
    w->secret = json_string_value(secret);
    const char *why = read_url(url, w);
    return why ? why : read_types(events, w);
}

/* ---- handlers ---- */

static void list(struct request *r)
{
    json_t *entries = json_array();
    for (struct hook *h = hooks_next(NULL); h; h = hooks_next(h))
        if (keys_covers(r->key, h->key) && json_array_append_new(entries, make_entry(h)) < 0) {
            json_decref(entries);
            entries = NULL;
            break;
        }
    control_answer(r, 200, entries);
}

static void make(struct request *r)
{
    struct hook_wish w;
    struct hook *h;
    json_t *body = control_read_body(r);
    if (!body)
        return;
    const char *wrong = read_wish(body, &w);
    if (!wrong && (!w.name || !w.url || !w.secret || w.types < 0))
        wrong = "name, url, events and signatureSecret are needed";
    int error = wrong ? 0 : hooks_make(r->key, &w, &h);
    if (wrong)
        request_fail(r, 400, "%s", wrong);
    else if (error < 0)
        fail_because(r, error);
    else
        control_answer(r, 201, make_entry(h));
    json_decref(body);
}

/* The one that the path names; or it is answered. */
static struct hook *get_named(struct request *r)
{
    struct hook *h = hooks_find(r->state, r->key);
    if (!h)
        request_fail(r, 404, "there is no such webhook, or it is not one of yours");
    return h;
}

static void get(struct request *r)
{
    struct hook *h = get_named(r);
    if (h)
        control_answer(r, 200, make_entry(h));
}

static void change(struct request *r)
{
    struct hook_wish w;
    struct hook *h = get_named(r);
    json_t *body = h ? control_read_body(r) : NULL;
    if (!body)
        return;
    const char *wrong = read_wish(body, &w);
    int error = wrong ? 0 : hooks_change(h, &w);
    if (wrong)
        request_fail(r, 400, "%s", wrong);
    else if (error < 0)
        fail_because(r, error);
    else
        control_answer(r, 200, make_entry(h));
    json_decref(body);
}

static void remove_one(struct request *r)
{
    struct hook *h = get_named(r);
    if (!h)
        return;
    json_t *entry = make_entry(h);
    int error = hooks_remove(h);
    if (error == 0) {
        control_answer(r, 200, entry);
        return;
    }
    json_decref(entry);
    fail_because(r, error);
}

#define HANDLER(which, fn)                  \
    const struct handler which = {          \
        .body_max_bytes = CONTROL_BODY_MAX, \
        .ready = fn,                        \
        .over = control_over,               \
    }
HANDLER(control_list_webhooks, list);
HANDLER(control_make_webhook, make);
HANDLER(control_get_webhook, get);
HANDLER(control_change_webhook, change);
HANDLER(control_remove_webhook, remove_one);
