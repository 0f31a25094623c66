// SPDX-License-Identifier: Apache-2.0
/*
 * The sandboxes of one user that run on this machine: a folder with a file for each, named as the
 * sandbox and locked by its starter (flock(2)) for as long as that lives.
 *
 *   /run/glovebox                  root's
 *   $XDG_RUNTIME_DIR/glovebox      a user's, where that is set
 *   /tmp/glovebox-UID              else; must be the user's own and private
 *     sandboxes/NAME               a record (sandbox/record.h)
 *     sandboxes/.NAME, .NAME+copy  its sockets (sandbox/socket_file.h)
 *     ended/NUMBER.NAME            what is known of one that has ended (sandbox/ended.h)
 *     egress/NUMBER.NAME           what it was let do on the network (sandbox/decisions.h)
 *     reports/NUMBER               what is known of a kernel that failed (sandbox/reports.h)
 *     rate                         when the last ones were made, if that is limited (rate.h)
 *
 * Rules, so that nobody ever has to wait for anybody:
 * - A record that can be locked and isn't empty is stale: its starter was killed. Whoever finds it
 *   keeps what is known of it, removes what it names (groups), its sockets and then the record, all
 *   the while holding its lock. A record is removed by nobody else but its starter.
 * - A new sandbox first enters itself and then counts. So two that race for the last place may both
 *   be refused, but never both be let in.
 */
#pragma once

#include "sandbox/error.h"
#include "sandbox/record.h"

#define REGISTRY_NAME_MAX_BYTES 63

struct registry {
    int folder;    /* the runtime folder */
    int sandboxes; /* the folder of records */
    int record;    /* ours, locked; -1 */
    char path[PATH_MAX];
    char name[REGISTRY_NAME_MAX_BYTES + 1]; /* of our record */
};

#define REGISTRY_CLOSED ((struct registry){.folder = -1, .sandboxes = -1, .record = -1})

/* Opens the user's folder and makes it when it isn't there. 0, or negative errno and the sentence.
 */
int registry_open(struct registry *r, struct sandbox_error *e);

/* Forgets it; removes nothing. */
void registry_close(struct registry *r);

/*
 * Chooses a name, when `name` is NULL, and enters it, which keeps it for us. Then the limits of
 * sandboxes at once and in a second are looked at. 0, or negative errno with the sentence and
 * nothing entered.
 */
int registry_enter(struct registry *r, const char *name, const struct sandbox_limits *l,
                   struct sandbox_error *e);

/* Appends text to our record. Before anything is made that it names. 0 or negative errno. */
int registry_note(struct registry *r, const struct buf *text);

/* Takes our record away: what it names is gone. */
void registry_leave(struct registry *r);

/* Of the sandboxes that run, in no order. text: of the record, changed and NUL-terminated. */
typedef void (*registry_see_fn)(void *userdata, const char *name, char *text);

/* Tells of all that run, and sweeps what is stale. 0 or negative errno. */
int registry_list(struct registry *r, registry_see_fn see, void *userdata);

/* The record of one that runs: 0 and *ret, to be freed; -ENOENT: none does; or what else is wrong.
 */
int registry_read(struct registry *r, const char *name, char **ret);
