// SPDX-License-Identifier: Apache-2.0
/*
 * Prints what the registry knows of sandboxes, for people or as JSON. What stands in a
 * record was written by a user's own glovebox; names and commands are made safe all the same.
 */
#pragma once

#include "sandbox/error.h"
#include "sandbox/label.h"

#include <stdio.h>

struct sandboxes_view {
    bool json;
    bool all; /* also those that have ended */
    /* Only those with these labels: KEY or KEY=VALUE. */
    const char *labels[LABELS_MAX];
    size_t label_count;
};

/* All of them. 0, or negative errno and the sentence. */
int sandboxes_list(const struct sandboxes_view *v, FILE *out, struct sandbox_error *e);

/* The one that runs, or else the latest that has ended. Likewise; -ENOENT when there is none of
 * that name. */
int sandboxes_inspect(const char *name, bool json, FILE *out, struct sandbox_error *e);
