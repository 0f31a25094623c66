// SPDX-License-Identifier: Apache-2.0
/*
 * The place of a sandbox on its machine: the entry in its user's registry, and the control groups
 * that hold it to its limits. Everything is written down before it is made, so that it is found
 * when this process is killed.
 *
 *   place_take()        entered, counted, groups made
 *   place_started()     its kernel process runs
 *   place_expect_end()  its programs have come to their end, or will
 *   place_keep()        what came of it is known
 *   place_leave()       nothing is left
 */
#pragma once

#include "sandbox/outcome.h"
#include "sandbox/record.h"
#include "sandbox/registry.h"
#include "sandbox/spec.h"

struct place {
    struct registry registry;
    struct record record;
    uint64_t oom_kills_seen; /* that an end has been explained by */
    bool is_seal_noted;
    bool has_room; /* among what is kept of ends */
};

/*
 * Takes a place for what spec says: under its name, or one that is chosen. 0, or negative errno
 * with the sentence and no place taken.
 */
int place_take(struct place *p, const struct sandbox_spec *spec, struct sandbox_error *e);

/*
 * The host can't start a process in a group of version 2 (a filter forbids clone3(2)): leaves its
 * limits to be watched. False when there is no such group.
 */
bool place_forgo_unified(struct place *p);

/* Notes the kernel process. 0, or negative errno with the sentence. */
int place_started(struct place *p, pid_t pid, struct sandbox_error *e);

/*
 * Notes what the kernel process says of its seal: once, and nothing that makes no sense, since a
 * guest may have taken it over.
 */
void place_note_seal(struct place *p, const char *text, size_t size);

/*
 * A process of the sandbox was killed, and not from within: did the host's OOM killer do it?
 * *ret_at_limit: since the sandbox's memory was at its limit, not all of the machine's.
 */
bool place_ran_out_of_memory(struct place *p, bool *ret_at_limit);

/*
 * At the end: the most memory that the sandbox had at once, and how many processes it lost by it.
 * Untouched when no group knows.
 */
void place_measure(const struct place *p, uint64_t *ret_peak_bytes, uint64_t *ret_kills);

/* Makes room for what will have come of it, while the machine takes its processes apart. */
void place_expect_end(struct place *p);

/*
 * Keeps what came of it, and its output (ended.h), unless nothing is to be kept: when all is over,
 * and before anybody is told. 0 or negative errno.
 */
int place_keep(struct place *p, const struct sandbox_outcome *o, const struct buf *output);

/* Gives the place up, when all processes of the sandbox are gone. */
void place_leave(struct place *p);
