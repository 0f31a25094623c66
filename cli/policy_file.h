// SPDX-License-Identifier: Apache-2.0
/*
 * Policy documents in files, and the commands of glovebox policy that have files of their own.
 */
#pragma once

#include "cli/options.h"
#include "lib/base/buf.h"
#include "sandbox/error.h"

/*
 * Reads a file, or standard input ("-"), into ret (BUF_INIT(POLICY_DOCUMENT_MAX_BYTES + 2)): at
 * most one byte more than a document may have, which policy_parse() then refuses. 0, or negative
 * errno and the sentence.
 */
int policy_file_read(const char *path, struct buf *ret, struct sandbox_error *e);

/* glovebox policy set, learn: the words behind that; the exit status. */
int cli_policy_set(int count, char **words);
int cli_policy_phase(int count, char **words);
int cli_policy_secret(int count, char **words);
int cli_policy_learn(int count, char **words);

extern const struct cli_option cli_policy_set_options[];
