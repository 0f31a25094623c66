// SPDX-License-Identifier: Apache-2.0
/*
 * A policy for a running sandbox, whose secrets that are new to it are read from their sources by
 * whoever sets it, as those of the start are by whoever starts it.
 */
#pragma once

#include "sandbox/strv.h"
#include "sandbox/updates.h"

/*
 * As updates_set_policy(), with update->file made here. NAME=PLACEHOLDER of each new secret is
 * appended to ret_placeholders, which may be NULL. Where there are such, the policy that was looked
 * at for which is the one that is replaced: -ESTALE, when another one came into force meanwhile.
 */
int sandbox_set_policy(const char *name, const struct update *update, struct strv *ret_placeholders,
                       uint64_t *ret_generation, struct sandbox_error *e);
