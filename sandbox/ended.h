// SPDX-License-Identifier: Apache-2.0
/*
 * What is known of sandboxes behind their end: their records (record.h) with what came of them, in
 * the user's runtime folder.
 *
 *   ended/NUMBER.NAME      NUMBER: milliseconds since 1970 at the end (kept.h). The record, a NUL,
 *                          and the end of its output (journal.h), if any
 *
 * A file is there whole or not at all. The starter writes it before it tells anybody of the end and
 * before it gives its name up. When it was killed, whoever finds the stale record does it in its
 * place (registry.c): once, as a sandbox is its name and the time of its creation.
 *
 * A starter removes what is more than ENDED_KEPT_MAX, or older than ENDED_KEPT_S.
 */
#pragma once

#include "sandbox/error.h"
#include "sandbox/record.h"
#include "sandbox/registry.h"
#include "sandbox/usage.h"

#define ENDED_FOLDER           "ended"
#define ENDED_KEPT_MAX         100
#define ENDED_KEPT_S           (7 * 24 * 3600)
#define ENDED_OUTPUT_MAX_BYTES (64u * 1024)

/* Makes room for one more. runtime: the user's runtime folder. */
void ended_sweep(int runtime);

/*
 * output: of its programs, or empty. r->end is set. own: the record's file in the registry, where
 * everything but its end stands already: that is added, and the file has a name here too, which
 * costs a disk less than a file. -1, or where that can't be: a file of all. 0 or negative errno.
 */
int ended_keep(int runtime, int own, const char *name, const struct record *r,
               const struct buf *output);

/* Of one whose starter was killed. text: its record, as it was found. 1; 0: it was kept before
 * or is not to be; or negative errno. */
int ended_keep_killed(int runtime, const char *name, const char *text);

/* name: NULL for all; the latest first. r: with its end. output: as above, of that many bytes;
 * all borrowed. False: that was enough. */
typedef bool (*ended_see_fn)(void *userdata, const char *name, const struct record *r,
                             const char *output, size_t output_size);
int ended_list(int runtime, const char *name, ended_see_fn see, void *userdata);

/* The latest of that name; created_ns: that one, 0: any. 0 or negative errno, -ENOENT: there is
 * none. */
int ended_read(int runtime, const char *name, int64_t created_ns, struct record *ret);

/*
 * What is known by that name: 0: it runs, and its usage; 1: it has ended; -ENOENT: nothing. Between
 * the two, when its kernel is gone and its starter has not written down yet how it ended, and
 * before it has begun, this waits, ten seconds at most (-EAGAIN): not to tell of another of that
 * name.
 */
int ended_look(struct registry *registry, const char *name, struct record *record,
               struct sandbox_usage *usage);
