// SPDX-License-Identifier: Apache-2.0
/*
 * What the tables of all verbs share: options whose value goes into one member of the target. Of
 * the member's type there is one for each kind of value; the compiler looks whether it is that.
 *
 *     {"json", 0, NULL, "print a JSON object", CLI_FLAG(struct ps_options, json)},
 */
#pragma once

#include "cli/options.h"
#include "sandbox/strv.h"

#include <stddef.h>

#define CLI_PLACE(target, member, type)                                                        \
    (offsetof(target, member) +                                                                \
     0 * sizeof(                                                                               \
             char[__builtin_types_compatible_p(__typeof__(((target *)NULL)->member), type) ? 1 \
                                                                                           : -1]))

/* bool: set. */
#define CLI_FLAG(target, member) cli_take_flag, CLI_PLACE(target, member, bool)

/* const char *: the word itself. */
#define CLI_WORD(target, member) cli_take_word, CLI_PLACE(target, member, const char *)

/* char *: a copy of the name of a file, for free(3); not empty. */
#define CLI_FILE(target, member) cli_take_file, CLI_PLACE(target, member, char *)

/* struct strv: one more; with ENV and ENV_FILE variables, as cli_take_env() and its like. */
#define CLI_LIST(target, member)     cli_take_list, CLI_PLACE(target, member, struct strv)
#define CLI_ENV(target, member)      cli_take_variable, CLI_PLACE(target, member, struct strv)
#define CLI_ENV_FILE(target, member) cli_take_variables, CLI_PLACE(target, member, struct strv)

/* uint64_t: a whole number from 1, or bytes as cli_parse_size() reads them. */
#define CLI_NUMBER(target, member) cli_take_number, CLI_PLACE(target, member, uint64_t)
#define CLI_SIZE(target, member)   cli_take_size, CLI_PLACE(target, member, uint64_t)

/* int64_t, nanoseconds: as cli_parse_time() reads them, or, CLOCK_REALTIME, so long ago. */
#define CLI_TIME(target, member) cli_take_time, CLI_PLACE(target, member, int64_t)
#define CLI_AGO(target, member)  cli_take_ago, CLI_PLACE(target, member, int64_t)

/* The last row of every verb's table. */
#define CLI_HELP(target, member)                                  \
    {                                                             \
        "help", 'h', NULL, "print this", CLI_FLAG(target, member) \
    }

int cli_take_flag(void *to, const char *value, struct sandbox_error *e);
int cli_take_word(void *to, const char *value, struct sandbox_error *e);
int cli_take_file(void *to, const char *value, struct sandbox_error *e);
int cli_take_list(void *to, const char *value, struct sandbox_error *e);
int cli_take_variable(void *to, const char *value, struct sandbox_error *e);
int cli_take_variables(void *to, const char *value, struct sandbox_error *e);
int cli_take_number(void *to, const char *value, struct sandbox_error *e);
int cli_take_size(void *to, const char *value, struct sandbox_error *e);
int cli_take_time(void *to, const char *value, struct sandbox_error *e);
int cli_take_ago(void *to, const char *value, struct sandbox_error *e);
