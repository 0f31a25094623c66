// SPDX-License-Identifier: Apache-2.0
#include "server/keys.h"

#include "lib/db/db.h"
#include "server/json.h"
#include "server/server.h"

#include <inttypes.h>
#include <stdio.h>

#define MINUTE_MS 60000

static struct list all = LIST_INIT(all);
static size_t count;

static void free_key(struct key *k)
{
    list_remove(&k->all);
    count--;
    scope_done(&k->scope);
    free(k);
}

static struct key *new_key(void)
{
    struct key *k = calloc(1, sizeof(*k));
    if (!k)
        return NULL;
    list_append(&all, &k->all);
    count++;
    return k;
}

/* ---- finding ---- */

struct key *keys_get(int64_t id)
{
    struct key *k;
    list_for_each(k, &all, all)
    {
        if (k->id == id)
            return k;
    }
    return NULL;
}

struct key *keys_next(const struct key *k)
{
    const struct list *next = k ? k->all.next : all.next;
    return next == &all ? NULL : list_entry((struct list *)next, struct key, all);
}

static bool has_expired(const struct key *k)
{
    return k->scope.expires_ms && k->scope.expires_ms <= server_wall_ms();
}

struct key *keys_get_valid(int64_t id)
{
    struct key *k = keys_get(id);
    return k && !has_expired(k) ? k : NULL;
}

/* What is compared is a digest: how long that takes tells nothing of a key. */
struct key *keys_find(const char *text)
{
    uint8_t digest[DIGEST_SIZE];
    struct key *k;
    if (!text_is_api_key(text) || text_digest(text, strlen(text), digest) < 0)
        return NULL;
    list_for_each(k, &all, all)
    {
        if (memcmp(k->digest, digest, DIGEST_SIZE) != 0)
            continue;
        if (has_expired(k))
            return NULL;
        k->used_ms = server_wall_ms();
        return k;
    }
    return NULL;
}

/* Also when it is the same. below: NULL is none. */
static bool is_below(const struct key *k, const struct key *below)
{
    for (const struct key *at = below; at; at = at->parent)
        if (at == k)
            return true;
    return false;
}

bool keys_covers(const struct key *k, int64_t below)
{
    return !k->parent || is_below(k, keys_get(below));
}

void keys_append_filter(struct buf *sql, const struct key *key)
{
    if (!key || !key->parent)
        return;
    buf_printf(sql, " AND key IN (%" PRId64, key->id);
    for (const struct key *k = keys_next(NULL); k; k = keys_next(k))
        if (k != key && is_below(key, k))
            buf_printf(sql, ",%" PRId64, k->id);
    buf_append_str(sql, ")");
}

static const struct key *tenant_of(const struct key *k)
{
    while (k && k->parent && k->parent->parent)
        k = k->parent;
    return k;
}

int64_t keys_tenant(int64_t id)
{
    const struct key *k = tenant_of(keys_get(id));
    return k ? k->id : id;
}

/* ---- records ---- */

static int record(struct key *k)
{
    struct buf scope = BUF_INIT(65536);
    json_t *object = scope_write(&k->scope);
    int r = object ? json_write(&scope, object) : -ENOMEM;
    json_decref(object);
    if (r == 0)
        r = db_run(server.db,
                   "INSERT INTO keys (id, digest, shown, created_ms, name, parent, scope) "
                   "VALUES ((SELECT last + 1 FROM key_numbers), ?, ?, ?, ?, ?, ?)",
                   "bsisis", k->digest, sizeof(k->digest), k->shown, k->created_ms, k->name,
                   k->parent ? k->parent->id : (int64_t)0, scope.data);
    buf_done(&scope);
    if (r == 0)
        k->id = db_last_id(server.db);
    return r;
}

/* One row; its maker stands before it. */
static int load(struct db_query *q)
{
    const char *why;
    struct scope widest = SCOPE_ALL;
    struct key *k = new_key();
    if (!k)
        return -ENOMEM;
    k->id = db_number(q, 0);
    k->parent = db_number(q, 5) ? keys_get(db_number(q, 5)) : NULL;
    k->created_ms = db_number(q, 3);
    snprintf(k->shown, sizeof(k->shown), "%s", db_text(q, 2));
    snprintf(k->name, sizeof(k->name), "%s", db_text(q, 4));
    /* Whose maker is missing would be an owner's. */
    if (db_bytes(q, 1, k->digest, DIGEST_SIZE) != DIGEST_SIZE || (db_number(q, 5) && !k->parent))
        return -EUCLEAN;
    json_t *object = json_loads(db_text(q, 6), 0, NULL);
    int r = object ? scope_read(object, &widest, &k->scope, &why) : -EUCLEAN;
    json_decref(object);
    return r == -EINVAL ? -EUCLEAN : r;
}

static int load_all(void)
{
    struct db_query q;
    int r = db_begin(server.db, &q,
                     "SELECT id, digest, shown, created_ms, name, parent, scope FROM keys "
                     "ORDER BY id",
                     "");
    if (r == 0)
        r = db_next(&q);
    while (r == 1) {
        r = load(&q);
        if (r == 0)
            r = db_next(&q);
    }
    db_end(&q);
    return r;
}

/* ---- making ---- */

static int add(struct key *k, const char *text)
{
    int r = text_digest(text, strlen(text), k->digest);
    memcpy(k->shown, text, KEY_SHOWN);
    k->created_ms = server_wall_ms();
    return r < 0 ? r : record(k);
}

/* Whether one more may be made with it. An owner's makes tenants, of which each has its share. */
static int check_room(const struct key *parent)
{
    const struct key *tenant = tenant_of(parent), *k;
    size_t own = 0;
    if (count >= KEYS_MAX)
        return -EAGAIN;
    if (!tenant->parent)
        return 0;
    list_for_each(k, &all, all) own += is_below(tenant, k);
    return own < KEYS_OF_TENANT_MAX ? 0 : -EDQUOT;
}

int keys_make(const struct key *parent, const char *name, struct scope *scope, struct key **ret,
              char text[API_KEY_SIZE + 1])
{
    int r = check_room(parent);
    struct key *k = r == 0 ? new_key() : NULL;
    if (!k) {
        scope_done(scope);
        return r ? r : -ENOMEM;
    }
    k->parent = parent;
    k->scope = *scope;
    snprintf(k->name, sizeof(k->name), "%s", name);
    r = text_make_api_key(text);
    if (r == 0)
        r = add(k, text);
    if (r < 0)
        free_key(k);
    else
        *ret = k;
    return r;
}

static int add_owners(const char *text)
{
    struct key *k = new_key();
    if (!k)
        return -ENOMEM;
    k->scope = SCOPE_ALL;
    snprintf(k->name, sizeof(k->name), "owner");
    int r = add(k, text);
    if (r < 0)
        free_key(k);
    return r;
}

int keys_start(const char *given, char out[API_KEY_SIZE + 1])
{
    out[0] = '\0';
    int r = load_all();
    if (r < 0)
        return r;
    if (given[0] && !text_is_api_key(given))
        return -EINVAL;
    if (given[0])
        return keys_find(given) ? 0 : add_owners(given);
    if (count > 0)
        return 0;
    r = text_make_api_key(out);
    return r < 0 ? r : add_owners(out);
}

int keys_rename(struct key *k, const char *name)
{
    int r = db_run(server.db, "UPDATE keys SET name = ? WHERE id = ?", "si", name, k->id);
    if (r == 0)
        snprintf(k->name, sizeof(k->name), "%s", name);
    return r;
}

/* Of k and those below it, the one that was made last before `id`; or NULL. */
static struct key *last_before(const struct key *k, int64_t id)
{
    struct key *last = NULL, *at;
    list_for_each(at, &all, all)
    {
        if (at->id < id && (!last || at->id > last->id) && is_below(k, at))
            last = at;
    }
    return last;
}

static int record_revoked(const struct key *k, const struct key_heir *h)
{
    int r = db_together(server.db);
    if (r < 0)
        return r;
    for (const struct key *at = last_before(k, INT64_MAX); at && r == 0;
         at = last_before(k, at->id)) {
        r = h->record(h, at);
        if (r == 0)
            r = db_run(server.db, "DELETE FROM keys WHERE id = ?", "i", at->id);
    }
    return db_together_end(server.db, r);
}

/* Those that were made last go first, so that nobody's maker goes before him. */
int keys_revoke(struct key *k, const struct key_heir *h)
{
    int r = record_revoked(k, h);
    for (bool is_own = false; r == 0 && !is_own;) {
        struct key *last = last_before(k, INT64_MAX);
        is_own = last == k;
        h->told(h, last);
        free_key(last);
    }
    return r;
}

/* ---- limits ---- */

static const char *check_one(struct key *k, int64_t (*running)(const struct key *k))
{
    const struct scope *s = &k->scope;
    int64_t minute = server_wall_ms() / MINUTE_MS;
    if (k->minute != minute) {
        k->minute = minute;
        k->made = 0;
    }
    if (s->per_minute && k->made >= s->per_minute)
        return "this key, or one above it, makes no more sandboxes in this minute; try again in "
               "the next";
    if (s->sandboxes && running(k) >= s->sandboxes)
        return "this key, or one above it, has as many sandboxes as it may have; kill some";
    return NULL;
}

const char *keys_count_one(struct key *k, int64_t (*running)(const struct key *k))
{
    for (struct key *at = k; at; at = (struct key *)at->parent) {
        const char *why = check_one(at, running);
        if (why)
            return why;
    }
    for (struct key *at = k; at; at = (struct key *)at->parent)
        at->made++;
    return NULL;
}
