// SPDX-License-Identifier: Apache-2.0
/*
 * What has happened to sandboxes: made, changed, ended, each with its cause. Rows of the database,
 * EVENTS_MAX of them, which outlive their sandboxes and the server. Their numbers grow; one is
 * given only once. When there are more, the oldest of the tenant goes (keys_tenant()) who has most
 * of them: nobody can push out what others have within an equal share.
 *
 * A sandbox's first is that it was made, told when it runs, and its last that it ended. Where the
 * server was killed in between, the next one tells what is missing.
 */
#pragma once

#include "server/boxes.h"
#include "server/keys.h"

struct db_query;

enum event_type { EVENT_CREATED = 1, EVENT_UPDATED, EVENT_KILLED };

#define EVENT_TYPES_ALL (1u << EVENT_CREATED | 1u << EVENT_UPDATED | 1u << EVENT_KILLED)

/* Of its name ("sandbox.lifecycle.created"), which may be one of those that never happen here
 * (paused, resumed, checkpointed): 0 or its bit; -EINVAL: there is no such type. */
int event_type_read(const char *name, unsigned *ret);

/* It runs. */
void events_tell_created(const struct box *b);

/* name: what was changed, of a request; data: to what (taken). */
void events_tell_updated(const struct box *b, const char *name, json_t *data);

/* It has ended. cause: "request", "timeout", or why its keeper says it did; words: the same for
 * people, or "". Nothing is told of one that never ran. */
void events_tell_killed(const struct box *b, const char *cause, const char *words);

/* Those of a key that is revoked are another's. 0 or negative errno. */
int events_record_heir(int64_t from, int64_t to);

struct event_filter {
    const struct key *key; /* only what it covers; NULL: all */
    const char *sandbox;   /* NULL: of all */
    unsigned types;        /* bits */
    int64_t after;         /* number */
    bool is_rising;
    size_t limit, offset;
};

/*
 * Begins to read them, row by row (db_next()), of which the functions below tell. 0 or negative
 * errno; db_end() in any case.
 */
int events_begin(struct db_query *q, const struct event_filter *f);

int64_t event_number(struct db_query *q);
int64_t event_at_ms(struct db_query *q);
int64_t event_key(struct db_query *q);
const char *event_name(struct db_query *q); /* "created", ... */
json_t *event_data(struct db_query *q);     /* NULL: no memory */

/* As clients are told: with members as the API's ("sandboxId") or, snake, as those of deliveries
 * ("sandbox_id"). NULL: no memory. */
json_t *event_make(struct db_query *q, bool snake);

/* The number of the latest; 0: there is none. */
int64_t events_last(void);

/* Is called when there are new ones, in the next turn of the loop. */
void events_watch(void (*told)(void));
