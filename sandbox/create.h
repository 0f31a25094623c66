// SPDX-License-Identifier: Apache-2.0
/*
 * A sandbox with a life of its own: a process that runs it (sandbox/run.h) and belongs to nobody,
 * in a session of its own, so that it lives on when its creator ends or is killed.
 *
 *   creator ── fork ── (gone) ── fork ── the sandbox's starter ── its kernel, its gateway
 *      └──────────── "it runs", or why it does not, over a pipe ──┘
 */
#pragma once

#include "sandbox/spec.h"

/*
 * Starts it and waits until programs can be started in it (spec->waits), or its own runs. 0 and its
 * name; negative errno with the sentence, and nothing is left, as when the caller is killed
 * meanwhile. Its lifetime is LIMIT_LIFETIME.
 * Of the caller's descriptors it keeps none; until it runs, warnings go to the caller's standard
 * error. The caller must have one thread.
 */
int sandbox_create(const struct sandbox_spec *spec, char name[static SANDBOX_NAME_MAX_BYTES + 1],
                   struct sandbox_error *e);
