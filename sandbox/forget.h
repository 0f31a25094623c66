// SPDX-License-Identifier: Apache-2.0
/*
 * Forgets sandboxes that have ended: what is kept in ended.h and decisions.h.
 */
#pragma once

#include "sandbox/registry.h"

/* All of that name: 0; -EBUSY: one is running; -ENOENT: nothing is known of any; or negative errno.
 * With the sentence. */
int forget_ended(struct registry *r, const char *name, struct sandbox_error *e);
