// SPDX-License-Identifier: Apache-2.0
/* /api-keys, and what was done with keys. */
#include "server/control.h"
#include "server/events.h"
#include "server/hooks.h"
#include "server/limits.h"
#include "server/server.h"

#include "lib/db/db.h"

#include <inttypes.h>
#include <stdio.h>

#define AUDIT_PAGE 200

static void fail_because(struct request *r, int error)
{
    const char *why;
    unsigned status = control_status_of(error, &why);
    if (error == -EDQUOT)
        request_fail(r, 429,
                     "there are %d keys of this tenant, which is as many as may be; revoke some",
                     KEYS_OF_TENANT_MAX);
    else
        request_fail(r, status, "%s",
                     error == -EAGAIN ? "there are too many keys; revoke some" : why);
}

/* False: it is answered. */
static bool may_manage(struct request *r)
{
    if (r->key->scope.manages_keys)
        return true;
    request_fail(r, 403, "this key may not make or see keys; use one that may");
    return false;
}

/* ---- as they are told ---- */

static json_t *make_entry(const struct key *k)
{
    char created[TIME_TEXT_SIZE + 1], used[TIME_TEXT_SIZE + 1], id[24];
    text_write_time(k->created_ms, created);
    text_write_time(k->used_ms, used);
    snprintf(id, sizeof(id), "%" PRId64, k->id);
    return json_pack("{ss ss s{ss si ss ss} ss so so}", "id", id, "name", k->name, "mask", "prefix",
                     "e2b_", "valueLength", API_KEY_SIZE - 4, "maskedValuePrefix", k->shown + 4,
                     "maskedValueSuffix", "", "createdAt", created, "lastUsed",
                     k->used_ms ? json_string(used) : json_null(), "scope", scope_write(&k->scope));
}

static void list(struct request *r)
{
    if (!may_manage(r))
        return;
    json_t *keys = json_array();
    for (struct key *k = keys_next(NULL); k; k = keys_next(k))
        if (keys_covers(r->key, k->id) && json_array_append_new(keys, make_entry(k)) < 0) {
            json_decref(keys);
            keys = NULL;
            break;
        }
    control_answer(r, 200, keys);
}

/* ---- making ---- */

static bool read_name(struct request *r, const json_t *body, const char **ret)
{
    const char *wrong = NULL;
    json_t *name = json_member(body, "name", JSON_STRING, &wrong);
    if (name && json_string_length(name) > 0 && json_string_length(name) <= KEY_NAME_MAX_BYTES) {
        *ret = json_string_value(name);
        return true;
    }
    request_fail(r, 400, "name: give a text of at most %d bytes", KEY_NAME_MAX_BYTES);
    return false;
}

static bool read_scope(struct request *r, const json_t *body, struct scope *ret)
{
    const char *wrong = NULL, *why = "scope: give an object; docs/api.md says of what";
    json_t *none = json_object(), *object = json_member(body, "scope", JSON_OBJECT, &wrong);
    int error = wrong ? -EINVAL : scope_read(object ? object : none, &r->key->scope, ret, &why);
    json_decref(none);
    if (error == -EINVAL)
        request_fail(r, 400, "%s", why);
    else if (error < 0)
        fail_because(r, error);
    return error == 0;
}

static void answer_made(struct request *r, struct key *k, const char *text)
{
    json_t *entry = make_entry(k);
    if (entry && json_object_set_new(entry, "key", json_string(text)) < 0) {
        json_decref(entry);
        entry = NULL;
    }
    control_answer(r, 201, entry);
}

static void make(struct request *r)
{
    char text[API_KEY_SIZE + 1];
    const char *name;
    struct scope scope;
    struct key *k;
    json_t *body = may_manage(r) ? control_read_body(r) : NULL;
    if (body && read_name(r, body, &name) && read_scope(r, body, &scope)) {
        int error = keys_make(r->key, name, &scope, &k, text);
        if (error < 0) {
            fail_because(r, error);
        } else {
            boxes_audit(r->key->id, NULL, "made an API key");
            answer_made(r, k, text);
        }
    }
    explicit_bzero(text, sizeof(text));
    json_decref(body);
}

/* ---- changing ---- */

/* The key that the path names, which r->key covers; or it is answered. */
static struct key *get_named(struct request *r)
{
    const char *text = r->state;
    char *end;
    int64_t id = strtoll(text, &end, 10);
    struct key *k = text[0] >= '0' && text[0] <= '9' && !*end ? keys_get(id) : NULL;
    if (k && keys_covers(r->key, k->id))
        return k;
    request_fail(r, 404, "there is no such key, or it is not one of yours");
    return NULL;
}

static void rename_one(struct request *r)
{
    const char *name;
    struct key *k = may_manage(r) ? get_named(r) : NULL;
    json_t *body = k ? control_read_body(r) : NULL;
    if (body && read_name(r, body, &name)) {
        int error = keys_rename(k, name);
        if (error < 0)
            fail_because(r, error);
        else
            request_answer(r, 204, NULL, NULL, 0);
    }
    json_decref(body);
}

static int record_heir(const struct key_heir *h, const struct key *revoked)
{
    int r = boxes_record_heir(revoked->id, h->id);
    if (r == 0)
        r = events_record_heir(revoked->id, h->id);
    return r == 0 ? hooks_record_forgotten(revoked->id) : r;
}

static void inherit(const struct key_heir *h, const struct key *revoked)
{
    boxes_inherit(revoked->id, h->id);
    hooks_forget(revoked->id);
}

static void revoke_one(struct request *r)
{
    struct key *k = may_manage(r) ? get_named(r) : NULL;
    if (!k)
        return;
    for (const struct key *own = r->key; own; own = own->parent)
        if (own == k) {
            request_fail(r, 400, "a key doesn't revoke itself; use the one that it was made with");
            return;
        }
    const struct key_heir heir = {.record = record_heir, .told = inherit, .id = r->key->id};
    int error = keys_revoke(k, &heir);
    if (error < 0) {
        fail_because(r, error);
        return;
    }
    boxes_audit(r->key->id, NULL, "revoked an API key");
    request_answer(r, 204, NULL, NULL, 0);
}

/* ---- GET /audit: what was done, the latest first ---- */

static json_t *make_deed(struct db_query *q)
{
    char at[TIME_TEXT_SIZE + 1];
    text_write_time(db_number(q, 0), at);
    return json_pack("{ss sI ss ss}", "at", at, "key", (json_int_t)db_number(q, 1), "sandboxID",
                     db_text(q, 2), "what", db_text(q, 3));
}

/* 0 or negative errno. */
static int read_deeds(const struct key *key, json_t *deeds)
{
    struct db_query q = {0};
    struct buf sql = BUF_INIT(64 * 1024);
    buf_append_str(&sql, "SELECT at_ms, key, ifnull(sandbox, ''), what FROM audit WHERE true");
    keys_append_filter(&sql, key);
    buf_append_str(&sql, " ORDER BY id DESC LIMIT ?");
    int r = sql.failed ? -ENOMEM : db_begin(server.db, &q, sql.data, "i", (int64_t)AUDIT_PAGE);
    while (r == 0 && (r = db_next(&q)) == 1)
        r = json_array_append_new(deeds, make_deed(&q)) < 0 ? -ENOMEM : 0;
    db_end(&q);
    buf_done(&sql);
    return r;
}

static void audit(struct request *r)
{
    if (!may_manage(r))
        return;
    json_t *deeds = json_array();
    if (read_deeds(r->key, deeds) < 0) {
        json_decref(deeds);
        deeds = NULL;
    }
    control_answer(r, 200, deeds);
}

#define HANDLER(name, fn)                   \
    const struct handler name = {           \
        .body_max_bytes = CONTROL_BODY_MAX, \
        .ready = fn,                        \
        .over = control_over,               \
    }
HANDLER(control_list_keys, list);
HANDLER(control_make_key, make);
HANDLER(control_rename_key, rename_one);
HANDLER(control_revoke_key, revoke_one);
HANDLER(control_audit, audit);
