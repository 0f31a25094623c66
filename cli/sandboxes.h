// SPDX-License-Identifier: Apache-2.0
/*
 * Prints what the registry knows of running sandboxes, for people or as JSON. What stands in a
 * record was written by a user's own glovebox; names and commands are made safe all the same.
 */
#pragma once

#include "sandbox/error.h"

#include <stdio.h>

/* All of them. 0, or negative errno and the sentence. */
int sandboxes_list(bool json, FILE *out, struct sandbox_error *e);

/* One. Likewise; -ENOENT when there is none of that name. */
int sandboxes_inspect(const char *name, bool json, FILE *out, struct sandbox_error *e);
