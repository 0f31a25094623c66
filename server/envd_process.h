// SPDX-License-Identifier: Apache-2.0
/*
 * What the calls of process.Process share: envd_process.c has the streams (Start, Connect),
 * envd_process_calls.c the plain calls, process_command.c makes a command of a message. Of the
 * others only the interpreter's driver knows it, for the environment.
 */
#pragma once

#include "sandbox/exec_ask.h"
#include "server/envd.h"

extern const struct handler process_start, process_connect;

/* Which program is meant: by its number in the sandbox, or by its tag. */
struct process_selector {
    int64_t pid;     /* 0: by tag */
    const char *tag; /* borrowed from the message */
};

/* Of {"process":{"pid":N}} or {"process":{"tag":"..."}}. False when it is neither. */
bool process_read_selector(const json_t *message, struct process_selector *ret);

/* "process with pid 7 not found": a sentence, cut at size. */
void process_name_missing(const struct process_selector *which, char *text, size_t size);

/*
 * A command out of the message of Start, in b's environment, for that user: to be freed with
 * process_command_done(), also after a failure. 0; -ENOMEM; -EINVAL with a sentence. Texts are
 * borrowed from the message and user.
 */
struct process_command {
    struct exec_command exec;
    char *workdir;
};
int process_command_read(const json_t *message, const struct box *b, const char *user,
                         struct process_command *ret, const char **ret_why);
void process_command_done(struct process_command *c);

/*
 * Appends the variables of a program: the sandbox's own, those that it was created with, those of
 * this one (or NULL); later ones win. 0 or -ENOMEM.
 */
int process_make_environment(const struct box *b, const json_t *own, const char *user,
                             struct strv *env);

/*
 * A folder as the protocol says it: "" and "~" are home, what does not begin with "/" is below it.
 * 0 and *ret, to be freed, untouched for home; or -ENOMEM.
 */
int process_resolve_folder(const char *cwd, const char *user, char **ret);

/* {"size":{"cols":N,"rows":N}} of a terminal. False when it is not so. */
bool process_read_size(const json_t *pty, unsigned *ret_rows, unsigned *ret_columns);

/* An entry of a list, out of an EXEC_ITEM. NULL: no memory. */
json_t *process_make_item(const struct exec_message *m);
