// SPDX-License-Identifier: Apache-2.0
/*
 * The options that set limits: rows for the table of a verb whose target is a struct run_options.
 */
#pragma once

#include "cli/options.h"

int limit_option_memory(void *target, const char *value, struct sandbox_error *e);
int limit_option_cpus(void *target, const char *value, struct sandbox_error *e);
int limit_option_pids(void *target, const char *value, struct sandbox_error *e);
int limit_option_disk(void *target, const char *value, struct sandbox_error *e);
int limit_option_inodes(void *target, const char *value, struct sandbox_error *e);
int limit_option_timeout(void *target, const char *value, struct sandbox_error *e);
int limit_option_lifetime(void *target, const char *value, struct sandbox_error *e);
int limit_option_idle(void *target, const char *value, struct sandbox_error *e);
int limit_option_grace(void *target, const char *value, struct sandbox_error *e);
int limit_option_cpu_budget(void *target, const char *value, struct sandbox_error *e);
int limit_option_write_budget(void *target, const char *value, struct sandbox_error *e);
int limit_option_send_budget(void *target, const char *value, struct sandbox_error *e);
int limit_option_output_rate(void *target, const char *value, struct sandbox_error *e);
int limit_option_output(void *target, const char *value, struct sandbox_error *e);
int limit_option_sandboxes(void *target, const char *value, struct sandbox_error *e);
int limit_option_rate(void *target, const char *value, struct sandbox_error *e);
int limit_option_ulimit(void *target, const char *value, struct sandbox_error *e);

/* clang-format off */
#define LIMIT_OPTIONS                                                                          \
    {"timeout", 0, "TIME", "end it after 30 (seconds), 500ms, 2m, 1h: status 124",             \
     limit_option_timeout, 0},                                                                 \
    {"grace", 0, "TIME", "from SIGTERM until all is killed (default: 2)",                      \
     limit_option_grace, 0},                                                                   \
    {"lifetime", 0, "TIME", "as --timeout, for the sandbox with its start",                    \
     limit_option_lifetime, 0},                                                                \
    {"idle-timeout", 0, "TIME", "end it when for so long nothing happens in it",               \
     limit_option_idle, 0},                                                                    \
    {"memory", 'm', "SIZE",                                                                    \
     "of programs, files in memory and the sandbox's own\n"                                    \
     "kernel together (default: 2G)",                                                          \
     limit_option_memory, 0},                                                                  \
    {"cpus", 0, "NUMBER", "processors' worth of time, 0.5 is half of one (default: 2)",        \
     limit_option_cpus, 0},                                                                    \
    {"pids", 0, "NUMBER", "processes and threads (default: 512)", limit_option_pids, 0},       \
    {"pids-limit", 0, "NUMBER", NULL, limit_option_pids, 0},                                   \
    {"disk", 0, "SIZE", "of private files (default: 10G)", limit_option_disk, 0},              \
    {"inodes", 0, "NUMBER", "private files (default: 1000000)", limit_option_inodes, 0},       \
    {"cpu-budget", 0, "TIME", "processor time in all, then it is ended",                       \
     limit_option_cpu_budget, 0},                                                              \
    {"write-budget", 0, "SIZE", "bytes written in all, then it is ended",                      \
     limit_option_write_budget, 0},                                                            \
    {"send-budget", 0, "SIZE", "bytes sent to the outside in all, then it is ended",           \
     limit_option_send_budget, 0},                                                             \
    {"output-rate", 0, "SIZE", "a second over standard streams and terminals",                 \
     limit_option_output_rate, 0},                                                             \
    {"ulimit", 0, "NAME=SOFT[:HARD]", "a limit of the program as ulimit sets it (nofile=64)",  \
     limit_option_ulimit, 0},                                                                  \
    {"sandboxes", 0, "NUMBER", "of yours at once (default: 100)", limit_option_sandboxes, 0},  \
    {"sandboxes-per-second", 0, "NUMBER", "that you may start", limit_option_rate, 0}
/* clang-format on */
