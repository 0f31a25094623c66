// SPDX-License-Identifier: Apache-2.0
/*
 * API keys, of which only digests are kept, each with its scope. The first is an owner's, whose the
 * server is; others are made with a key that may. With a key one sees and ends the sandboxes that
 * were made with it and with the keys below it, and no others; they all count against its limits.
 * Below an owner's is every key.
 */
#pragma once

#include "lib/base/list.h"
#include "server/scope.h"
#include "server/text.h"

#define KEYS_MAX           4096
#define KEYS_OF_TENANT_MAX 128 /* the tenant's own, and those below it */
#define KEY_NAME_MAX_BYTES 128
#define KEY_SHOWN          8 /* characters of a key that lists show */

struct key {
    struct list all;
    int64_t id;               /* given once: never that of a key that was revoked */
    const struct key *parent; /* NULL: an owner's */
    uint8_t digest[DIGEST_SIZE];
    char shown[KEY_SHOWN + 1];
    char name[KEY_NAME_MAX_BYTES + 1];
    int64_t created_ms, used_ms; /* CLOCK_REALTIME; used: since the server was started, or 0 */
    struct scope scope;
    int64_t minute; /* in which so many were made: */
    int64_t made;
};

/*
 * Reads them, and makes sure that there is one: the given one is valid from now on; without it one
 * is made when there is none yet, and out is it, else "". 0 or negative errno.
 */
int keys_start(const char *given, char out[API_KEY_SIZE + 1]);

/* The valid key with that text, or NULL. It stays until it is revoked. */
struct key *keys_find(const char *text);
struct key *keys_get(int64_t id);           /* or NULL */
struct key *keys_get_valid(int64_t id);     /* likewise; NULL also when it has expired */
struct key *keys_next(const struct key *k); /* NULL: the first */

/* Whether `below` is k or was made with it, or with a key that was. */
bool keys_covers(const struct key *k, int64_t below);

/* Appends what rows with a column `key` must be for one to see them: " AND key IN (...)"; nothing
 * for an owner's, which sees what was done with keys that are no more, too, and for NULL. */
struct buf;
void keys_append_filter(struct buf *sql, const struct key *key);

/* The tenant of a key: that which was made with an owner's, and itself or those above it are; of an
 * owner's and of one that is no more itself. */
int64_t keys_tenant(int64_t id);

/* Makes one; the scope is taken. text is the only copy there is. 0; -EAGAIN: there are too many;
 * -EDQUOT: the tenant has as many as it may; or negative errno. */
int keys_make(const struct key *parent, const char *name, struct scope *scope, struct key **ret,
              char text[API_KEY_SIZE + 1]);

int keys_rename(struct key *k, const char *name);

/*
 * Revokes it and all that were made with it, those that were made last first. record: notes in the
 * database what follows from it for what is the key's, and answers 0 or negative errno; told: all
 * of that is in the database now, and the key is not gone yet. 0, or negative errno: nothing has
 * changed.
 */
struct key_heir {
    int (*record)(const struct key_heir *h, const struct key *k);
    void (*told)(const struct key_heir *h, const struct key *k);
    int64_t id; /* of a key, for those two */
};
int keys_revoke(struct key *k, const struct key_heir *h);

/*
 * Whether one more sandbox may be made now: counts it, for k and those above it. running: how many
 * a key has. NULL, or why not.
 */
const char *keys_count_one(struct key *k, int64_t (*running)(const struct key *k));
