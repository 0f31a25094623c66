// SPDX-License-Identifier: Apache-2.0
/*
 * The verbs of glovebox: each takes the words behind its name and returns the exit status.
 */
#pragma once

#include <stdio.h>

#define CLI_STATUS_BAD_USE 125

int cli_run(int count, char **words);
void cli_run_help(FILE *out);

int cli_create(int count, char **words);
void cli_create_help(FILE *out);

/* What libglovebox starts: sandbox/create_ask.h. */
int cli_answer(int count, char **words);

int cli_exec(int count, char **words);
void cli_exec_help(FILE *out);

int cli_attach(int count, char **words);
void cli_attach_help(FILE *out);

int cli_stop(int count, char **words);
void cli_stop_help(FILE *out);

int cli_kill(int count, char **words);
void cli_kill_help(FILE *out);

int cli_stats(int count, char **words);
void cli_stats_help(FILE *out);

int cli_events(int count, char **words);
void cli_events_help(FILE *out);

int cli_logs(int count, char **words);
void cli_logs_help(FILE *out);

int cli_wait(int count, char **words);
void cli_wait_help(FILE *out);

int cli_serve(int count, char **words);
void cli_serve_help(FILE *out);

int cli_key(int count, char **words);
void cli_key_help(FILE *out);

int cli_rm(int count, char **words);
void cli_rm_help(FILE *out);

int cli_ps(int count, char **words);
void cli_ps_help(FILE *out);

int cli_inspect(int count, char **words);
void cli_inspect_help(FILE *out);

int cli_cp(int count, char **words);
void cli_cp_help(FILE *out);

int cli_port(int count, char **words);
void cli_port_help(FILE *out);

int cli_egress(int count, char **words);
void cli_egress_help(FILE *out);

int cli_policy(int count, char **words);
void cli_policy_help(FILE *out);

int cli_doctor(int count, char **words);
void cli_doctor_help(FILE *out);
