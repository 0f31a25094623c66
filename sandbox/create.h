// SPDX-License-Identifier: Apache-2.0
/*
 * A sandbox with a life of its own: a process that runs it (sandbox/run.h) and belongs to nobody,
 * in a session of its own, so that it lives on when its creator ends or is killed.
 *
 *   creator ── fork ── guard ── fork ── the sandbox's starter ── its kernel, its gateway
 *      │                 └ "thanks" ┐                 │
 *      └──── "it runs", or why it does not, over a pipe
 *
 * The guard stays until the creator has the name: a sandbox of which nobody will know is not to
 * live on.
 */
#pragma once

#include "sandbox/spec.h"

/* What the starter tells its creator. */
struct sandbox_report {
    int error; /* negative errno; 0: it runs, text is its name */
    char text[SANDBOX_ERROR_MAX_BYTES];
};

/* Passes the name on to whoever is to know of the sandbox. False: there is nobody. */
typedef bool (*sandbox_name_fn)(const char *name);

/*
 * Starts it and waits until programs can be started in it (spec->waits), or its own runs, and tells
 * its name. 0; or negative errno with the sentence, and nothing is left, as when the caller is
 * killed before it has told. Its lifetime is LIMIT_LIFETIME.
 * Of the caller's descriptors it keeps none; until it runs, warnings go to the caller's standard
 * error. The caller must have one thread.
 */
int sandbox_create(const struct sandbox_spec *spec, sandbox_name_fn tell, struct sandbox_error *e);

/*
 * The same for a creator that does not wait: in a child of its own, which becomes the guard. The
 * sandbox's struct sandbox_report comes over `report`, a pipe that nobody else may write to;
 * without one byte over `thanks` before its end, the sandbox ends.
 */
_noreturn_ void sandbox_create_as_guard(const struct sandbox_spec *spec, int report, int thanks);
