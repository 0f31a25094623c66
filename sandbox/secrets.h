// SPDX-License-Identifier: Apache-2.0
/*
 * The secrets of a sandbox, from their sources to the gateway. Its programs get placeholders, in
 * variables; the values are in memory of this process and of the gateway (lib/secret/pages.h), and
 * on their way in a sealed memory file. They are in no argument, variable, file, log or record.
 */
#pragma once

#include "lib/policy/document.h"
#include "sandbox/spec.h"

/*
 * Reads the sources of the secrets of s->policy, which may have none, and sets the variables with
 * the placeholders in s->env, which has to have all others by then. 0; negative errno and
 * "secret NAME: SOURCE: REASON; NEXT STEP".
 */
int sandbox_secrets_load(struct sandbox_spec *s, struct sandbox_error *e);

/*
 * *ret: a memory file for the gateway, lib/secret/file.h, to be closed when that has it; or -1,
 * when there are no secrets. 0; negative errno and the sentence.
 */
int sandbox_secrets_open(const struct sandbox_spec *s, int *ret, struct sandbox_error *e);

/*
 * *ret: a memory file with the value of one secret as its source has it now, for
 * updates_set_secret(). 0; negative errno and the sentence.
 */
int sandbox_secret_open(const struct policy_secret *p, int *ret, struct sandbox_error *e);

/*
 * Those of d that in_force, the policy of a running sandbox, has not under their names: reads their
 * sources and draws their placeholders. 0 and *ret, to be freed with sandbox_secrets_free(), NULL:
 * there are none; negative errno and the sentence.
 */
int sandbox_secrets_load_new(const struct policy_document *d,
                             const struct policy_document *in_force, struct sandbox_secrets **ret,
                             struct sandbox_error *e);

/* The bytes of lib/secret/file.h, borrowed. */
const void *sandbox_secrets_file(const struct sandbox_secrets *s, size_t *ret_size);

/* NAME=PLACEHOLDER for each, borrowed. */
const struct strv *sandbox_secrets_placeholders(const struct sandbox_secrets *s);

/* Wipes them. s may be NULL. */
void sandbox_secrets_free(struct sandbox_secrets *s);
