// SPDX-License-Identifier: Apache-2.0
/*
 * Waits for the end of a running sandbox: told by its starter, or where that was killed, found in
 * what is kept of it (sandbox/ended.h).
 */
#pragma once

#include "sandbox/exec_ask.h"
#include "sandbox/record.h"

#define END_WATCH_CLOSED ((struct end_watch){.socket = -1})

struct end_watch {
    int socket;         /* to be polled; may be made non-blocking */
    int64_t created_ns; /* of the one that is meant, whoever has its name by then */
    char name[64];
};

/* 0, to be closed; -ENOENT: none of that name is running; or negative errno with the sentence. */
int end_watch_open(const char *name, struct end_watch *ret, struct sandbox_error *e);
void end_watch_close(struct end_watch *w);

/*
 * 0 and *ret (of what its starter tells: cause, words, status); -EAGAIN: it runs; or negative errno
 * with the sentence: -EPIPE: it has ended, and nobody knows how. m: for use in between.
 */
int end_watch_take(struct end_watch *w, struct exec_message *m, struct record_end *ret,
                   struct sandbox_error *e);

/* How the latest one of that name ended: 0; -ENOENT; or negative errno with the sentence. */
int end_find(const char *name, int64_t created_ns, struct record_end *ret, struct sandbox_error *e);
