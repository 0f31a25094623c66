// SPDX-License-Identifier: Apache-2.0
/*
 * What is kept of the output of a sandbox's programs (journal.h), from its starter while it runs,
 * or behind its end from what is kept of it.
 */
#pragma once

#include "sandbox/error.h"
#include "sandbox/exec_messages.h"
#include "sandbox/journal.h"

/* Borrowed. Negative errno: that was enough, and it is passed on. */
typedef int (*logs_see_fn)(void *userdata, const struct journal_piece *piece);

/*
 * Of the one of that name that runs, or of the latest that has ended: all that is there. 0; and
 * *ret_next the byte from which on there is more, or UINT64_MAX of one that has ended; or negative
 * errno with the sentence, -ENOENT: nothing is known of it.
 */
int logs_read(const char *name, logs_see_fn see, void *userdata, uint64_t *ret_next,
              struct sandbox_error *e);

/* A connection on which what comes from byte `offset` on is told. A descriptor (blocking), or
 * negative errno with the sentence: -ENOENT: it does not run. */
int logs_follow(const char *name, uint64_t offset, struct sandbox_error *e);

/* The next piece: 0 and *ret, borrowed from m; -EAGAIN; -EPIPE: that was all; or negative errno. */
int logs_take(int socket, struct exec_message *m, struct journal_piece *ret, uint64_t *ret_next);
