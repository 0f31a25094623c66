// SPDX-License-Identifier: Apache-2.0
/*
 * Asks the program glovebox to make a sandbox: for programs that are something else. Their memory,
 * threads and locks have no part in the starter that stays (sandbox/create.h).
 *
 *   asker ── posix_spawn ── glovebox answer ── fork ── guard ── fork ── the sandbox's starter
 *      │  standard input: a memory file of options, each "NAME" or "NAME=VALUE" and a NUL
 *      └─ standard output: one struct create_answer
 *
 * Both are of one version of Glovebox; nobody else talks so.
 */
#pragma once

#include "lib/base/buf.h"
#include "sandbox/spec.h"

/* The verb of glovebox that answers; it is in no help. */
#define CREATE_VERB              "answer"
#define CREATE_OPTIONS_MAX_BYTES (8u << 20)
#define CREATE_OPTIONS_MAX       SANDBOX_WORDS_MAX

struct create_answer {
    int32_t error;                      /* negative errno; 0: it runs, text is its name */
    char text[SANDBOX_ERROR_MAX_BYTES]; /* else the sentence */
};

struct create_request {
    int pipe; /* non-blocking: readable when create_ask_end() gets on; -1: none is under way */
    pid_t pid;
    size_t done;
    struct create_answer answer;
};

#define CREATE_NOT_ASKED ((struct create_request){.pipe = -1})

/* A name of an option as they are passed on: letters, digits and dashes. */
bool create_is_option_name(const char *name, size_t size);

/*
 * program: glovebox. options: as above. Any thread may ask. 0, to be ended with create_ask_end();
 * or negative errno and the sentence.
 */
int create_ask(const char *program, const struct buf *options, struct create_request *ret,
               struct sandbox_error *e);

/*
 * -EAGAIN: it is not known yet. Else it is over: 0 and the name of a sandbox that runs; or negative
 * errno with the sentence, and nothing is left.
 */
int create_ask_end(struct create_request *r, char name[static SANDBOX_NAME_MAX_BYTES + 1],
                   struct sandbox_error *e);
