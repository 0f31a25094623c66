// SPDX-License-Identifier: Apache-2.0
/*
 * Webhooks: URLs to which events are sent as they happen, by couriers (courier/courier.h), since
 * this process connects nowhere.
 *
 *   event -> a delivery, in the database -> DELIVER -> 2xx: removed
 *                       ^                      \-> all else: again after a while, longer each
 *                       \--------------------------/        time; after DELIVERY_TRIES given up
 *
 * One at a time for each webhook, in the order of events as long as all goes well; HOOKS_AT_ONCE in
 * all, shared between tenants. What was under way when the server was killed is sent again: a
 * receiver knows an event by its id.
 */
#pragma once

#include "server/keys.h"
#include "server/launcher.h"

#define HOOKS_MAX             256
#define HOOKS_OF_KEY_MAX      16
#define HOOKS_OF_TENANT_MAX   64
#define HOOKS_AT_ONCE         3
#define HOOK_NAME_MAX_BYTES   128
#define HOOK_SECRET_MAX_BYTES 256
#define HOOK_WAITING_MAX      1000 /* deliveries of one; what comes then is given up */
#define DELIVERY_TRIES        6

struct hook {
    struct list all;
    int64_t id;
    int64_t key; /* whose events it is told of, with those of the keys below */
    char uuid[UUID_SIZE + 1];
    char *name, *url, *secret;
    bool is_enabled;
    unsigned types; /* bits, as events.h has them */
    int64_t after;  /* events up to this one have their deliveries */
    int64_t created_ms, last_ms;
    char last[200];  /* how the last delivery went: a status, or words */
    int64_t next_ms; /* when its next delivery is due; INT64_MAX: there is none */
    /* one under way */
    struct ask ask;
    int64_t delivery;
    int attempts;
    bool is_busy, is_gone;
};

/* What can be said of one; NULL or -1: not said. */
struct hook_wish {
    const char *name, *url, *secret;
    int is_enabled;
    int64_t types; /* -1 */
};

/* Reads them, and goes on where an earlier server was. 0 or negative errno. */
int hooks_start(void);

/* 0, negative errno, or -EAGAIN: there are too many. */
int hooks_make(const struct key *key, const struct hook_wish *w, struct hook **ret);
int hooks_change(struct hook *h, const struct hook_wish *w);
int hooks_remove(struct hook *h);

/* That the key covers; or NULL. */
struct hook *hooks_find(const char *uuid, const struct key *key);
struct hook *hooks_next(struct hook *h); /* NULL: the first */

/* Those of a key that is revoked go with it: first from the records. The first answers 0 or
 * negative errno. */
int hooks_record_forgotten(int64_t key);
void hooks_forget(int64_t key);

/* Deliveries that went well, that went wrong, that were given up; that wait. */
struct hook_counts {
    uint64_t delivered, failed, given_up;
    int64_t waiting;
};
void hooks_count(struct hook_counts *ret);
