// SPDX-License-Identifier: Apache-2.0
/*
 * The options that say what may leave a sandbox: rows for cli_run_options, whose target is a struct
 * run_options, and what they come to.
 */
#pragma once

#include "cli/run_options.h"
#include "cli/takers.h"

/* clang-format off */
#define EGRESS_OPTIONS \
    {"allow", 0, "HOST[:PORT][,...]", \
     "let it connect to these hosts by name and to nothing\n" \
     "else; also ADDRESS, NETWORK, or any; may be repeated", \
     CLI_LIST(struct run_options, allow)}, \
    {"secret", 0, "NAME=SOURCE@HOST[,...]", \
     "let requests to HOST use a secret whose value stays\n" \
     "outside; SOURCE is env:VARIABLE, file:PATH, cmd:COMMAND,\n" \
     "or ssh: and one of these, for a key that logs in there", \
     CLI_LIST(struct run_options, secrets)}, \
    {"ssh-known-hosts", 0, "FILE", \
     "where the servers of secrets ssh:SOURCE have their keys;\n" \
     "default ~/.ssh/known_hosts", \
     CLI_FILE(struct run_options, ssh_known_hosts)}, \
    {"policy", 0, "FILE", "let it connect to what a policy document allows", \
     CLI_FILE(struct run_options, policy)}, \
    {"egress-log", 0, "FILE", \
     "append each decision on names and connections to FILE,\n" \
     "as lines of JSON", \
     CLI_FILE(struct run_options, spec.egress_log)}
/* clang-format on */

/*
 * Completes o->spec by the policy that the options give, if any. 0, or negative errno and the
 * sentence.
 */
int egress_options_complete(struct run_options *o, struct sandbox_error *e);
