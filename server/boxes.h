// SPDX-License-Identifier: Apache-2.0
/*
 * The sandboxes of the control plane: in memory, and as records that outlive the server. Each has a
 * link to its keeper, by which its end is known.
 *
 *   boxes_new() recorded -> STARTING -> launcher: CREATE -> link, EXEC_WATCH -> RUNNING
 *                               \-> could not: removed                            |
 *        killed, or its time is up: EXEC_END ------------------------------> ENDING
 *                                        the keeper has ended: removed <----------+
 *
 * A record is written before the sandbox is started and removed after it has ended. So after this
 * process was killed at any moment, boxes_recover() finds every one that may live. A sandbox that
 * nobody ends is ended by its keeper at its deadline, whether a server lives or not.
 */
#pragma once

#include "server/link.h"
#include "server/text.h"

#include <jansson.h>

/* Why one is ended by the server. */
enum box_cause { BOX_LIVES, BOX_KILLED, BOX_TIMEOUT };

enum box_state { BOX_STARTING, BOX_RUNNING, BOX_ENDING };

struct box {
    struct list all;
    enum box_state state;
    enum box_cause cause; /* ENDING */
    char id[64];
    int64_t key; /* whose it is */
    char token[TOKEN_SIZE + 1];
    char traffic_token[TOKEN_SIZE + 1]; /* for its ports; "": they are public */
    int64_t started_ms, deadline_ms;    /* CLOCK_REALTIME */
    char *template;
    json_t *metadata, *env;              /* of strings */
    json_t *network;                     /* as it was asked for, or NULL */
    int internet;                        /* allow_internet_access: 0, 1; -1: not said */
    int64_t memory_mb, cpus_thousandths; /* its limits */
    struct measures *measures;           /* measure.h; NULL: none yet */
    int64_t measured_ms;                 /* it was asked for: CLOCK_REALTIME */
    struct list streams;                 /* struct box_stream: cut when it ends */
    struct interpreter *interpreter;     /* interpreter.h; NULL: none yet */
    struct list relays;                  /* likewise: to its ports, also cut with its key */
    struct port_link *ports;             /* port_link.h; NULL: none was asked for */
    bool is_asked_for;                   /* of one that was found in the records */
    bool is_settled; /* ... and then: whether it lives is known, or it is being made */
    unsigned misses; /* how often its keeper could not be reached for want of something */
    struct link link;
    struct ask ask; /* CREATE */
    struct timer timer;
    /* Once: it runs (error 0), or could not be started, and why. */
    void (*started)(void *userdata, struct box *b, int error, const char *why);
    void *userdata;
};

/* An answer that is cut when the sandbox ends. */
struct box_stream {
    struct list link;
    struct request *request;
};

struct box_wish {
    int64_t key;
    const char *template;
    int64_t timeout_s;
    json_t *metadata, *env, *network; /* taken: references */
    int internet;
    bool has_private_ports;
    const char *policy;                  /* or NULL */
    const char *prefix;                  /* of its id, or "" */
    int64_t memory_mb, cpus_thousandths; /* 0: as the server has it */
};

/*
 * Finds again what the records name, and waits until it is known of each whether it lives. 0 or
 * negative errno.
 */
int boxes_recover(void);

/*
 * Records a new one and has it started; started() is called later, but when this fails: negative
 * errno (-ENOSPC, -EAGAIN: too many at once, -ENOMEM).
 */
int boxes_new(const struct box_wish *wish,
              void (*started)(void *userdata, struct box *b, int error, const char *why),
              void *userdata, struct box **ret);

/* Those that run. NULL: there is none that the key covers. key NULL: of any. */
struct key;
struct box *boxes_find(const char *id, const struct key *key);
struct box *boxes_find_by_token(const char *token);

/* Walks them, in no order. */
struct box *boxes_next(struct box *b);
size_t boxes_count(void);
int64_t boxes_count_of(const struct key *k); /* with those that begin */

/* Notes what was done with a key; id: of a sandbox, or NULL. */
void boxes_audit(int64_t key, const char *id, const char *what);

/* Those of a key that is revoked are another's: its connections to their ports are cut, and who had
 * it has no longer their traffic tokens. First in the records, where nobody has one from then on: 0
 * or negative errno. */
int boxes_record_heir(int64_t from, int64_t to);
void boxes_inherit(int64_t from, int64_t to);

/* Moves the end. 0; negative errno: nothing has changed. */
int box_set_deadline(struct box *b, int64_t deadline_ms);

/* What it may reach: for the records, before that is in force; network NULL: nothing was said. 0;
 * or negative errno, and nothing is recorded. */
int box_record_network(const struct box *b, const json_t *network, int internet);

/* It is in force; network is shared. */
void box_set_network(struct box *b, json_t *network, int internet);

/* Ends it: its streams are cut at once. 0; or negative errno: its keeper can't be told. */
int box_end(struct box *b, enum box_cause cause);

void box_add_stream(struct box *b, struct box_stream *s, struct request *r);
void box_add_relay(struct box *b, struct box_stream *s, struct request *r);
void box_remove_stream(struct box_stream *s);

/* The value of a global variable of its programs. */
const char *box_get_metadata(const void *box, const char *key);
