// SPDX-License-Identifier: Apache-2.0
/*
 * Limits as people write them, and who decides when several do: the command line over the user's
 * configuration over the operator's over what is standard; and nobody over the operator's maximum.
 */
#pragma once

#include "sandbox/error.h"
#include "sandbox/limit_table.h"

/* What one of them said. All zero bytes: nothing. */
struct limit_layer {
    struct sandbox_limits limits;
    bool is_given[LIMIT_COUNT];
};

/*
 * Takes a value for one limit: "256M", "1.5", "30s", "512", or "none" where that may be. 0, or
 * -EINVAL and "REASON; NEXT STEP".
 */
int limit_take(struct limit_layer *l, enum sandbox_limit which, const char *text,
               struct sandbox_error *e);

/* NAME=SOFT[:HARD] in the units of setrlimit(2), or "unlimited": as docker's --ulimit. Likewise. */
int limit_take_rlimit(struct limit_layer *l, const char *text, struct sandbox_error *e);

/*
 * What is in force: of each limit what the first layer says that says something, else the standard
 * one, no more than most allows. Who says more than that is refused: -EPERM and the sentence, where
 * sources[i] says who layer i is ("--", "FILE: ") and most_source where the maximum stands.
 */
int limit_resolve(const struct limit_layer *const *layers, const char *const *sources, size_t count,
                  const struct limit_layer *most, const char *most_source,
                  struct sandbox_limits *ret, struct sandbox_error *e);
