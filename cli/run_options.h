// SPDX-License-Identifier: Apache-2.0
/*
 * What can be said of a sandbox on a command line, and the specification that comes of it: shared
 * by the verbs that start one.
 */
#pragma once

#include "cli/limits.h"
#include "cli/options.h"
#include "sandbox/label.h"
#include "sandbox/spec.h"

struct run_options {
    struct sandbox_spec spec;
    struct strv file_env, env; /* of --env-file and of --env, which wins */
    char *trace;               /* file, or "-"; NULL: none */
    struct strv allow;         /* of --allow */
    struct strv secrets;       /* of --secret: where values come from */
    char *ssh_known_hosts;     /* where the keys of servers are; NULL: ~/.ssh/known_hosts */
    char *policy;              /* file; NULL: none */
    struct limit_layer limits; /* of the command line; spec has what is in force */
    bool json, for_model, raw, help, version;
};

/* Both ended by an empty row; the target of the options is a struct run_options. */
extern const struct cli_option cli_run_options[];
extern const struct cli_foreign_option cli_run_foreign[];

/* Whether the output is collected for a result, and not passed on. */
bool run_options_is_captured(const struct run_options *o);

/* All zero bytes are a valid empty struct. */
void run_options_done(struct run_options *o);

/*
 * Completes o->spec by the command and by what the options left open: limits, host name,
 * environment, terminal, store. With spec.waits there is no command. 0, or negative errno with the
 * whole sentence in e.
 */
int run_options_complete(struct run_options *o, int count, char **words, struct sandbox_error *e);

/* Opens the file of --trace: 0 and *ret (-1 without one), or negative errno and the sentence. */
int run_options_open_trace(const struct run_options *o, int *ret, struct sandbox_error *e);

/* Looks at the machine and warns when it is a slow one: 0, or negative errno and the sentence. */
int run_options_check_host(struct sandbox_error *e);
