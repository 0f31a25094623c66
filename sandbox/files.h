// SPDX-License-Identifier: Apache-2.0
/*
 * Who works with a sandbox's files, as far as its starter goes: it looks who connects, and hands
 * the connection to the kernel (lib/base/files.h). It sees none of what is asked then; but where
 * the sandbox has secrets it stays between the two (files_search.h).
 *
 * Who comes is of the same user, as the host says. Nobody is waited for: of more than
 * FILES_NEWCOMERS_MAX who have not said their hello, the one that came first is dropped.
 */
#pragma once

#include "lib/base/files.h"
#include "sandbox/files_search.h"
#include "sandbox/listener.h"
#include "sandbox/registry.h"
#include "sandbox/start.h"

#include <poll.h>

/* As many as the kernel serves: the server's come all at once, and each says its hello a little
 * later. */
#define FILES_NEWCOMERS_MAX FILES_CLIENTS_MAX
#define FILES_POLL_MAX      (2 + FILES_NEWCOMERS_MAX)

struct files {
    struct listener listener;
    struct sandbox *sandbox;
    struct scrubber *scrubber; /* borrowed; NULL: there are no secrets. Set before files_open() */
    int handed_over[FILES_CLIENTS_MAX]; /* those whom the kernel has, while nothing is searched; -1
                                         */
    struct files_search search;
    int newcomers[FILES_NEWCOMERS_MAX]; /* those that came first, first; -1: none */
};

void files_init(struct files *f);

/* Listens for the sandbox that r has entered. 0, or negative errno with the sentence. */
int files_open(struct files *f, const struct registry *r, struct sandbox *s,
               struct sandbox_error *e);

/* For the loop: what to wait for, and what to do then. */
void files_fill_poll(struct files *f, struct pollfd p[FILES_POLL_MAX]);
void files_step(struct files *f, const struct pollfd p[FILES_POLL_MAX]);

/*
 * There is a first secret: who was handed over to the kernel is cut, and may come again. Until then
 * files don't take the way through this process.
 */
void files_begin_search(struct files *f);

/* The kernel is gone. */
void files_close(struct files *f);
