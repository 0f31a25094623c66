// SPDX-License-Identifier: Apache-2.0
/*
 * Stands between a sandbox that has secrets and those who work with its files (lib/base/files.h):
 * so that the values are taken out of what the kernel answers (files_scrub.h), and nobody gets it
 * in another way. Both sides speak as they would to each other, over a socket and a memory file
 * each; the kernel's are made here, and what it wrote is copied before it is searched.
 *
 *   IDLE --question--> ASKED --answer--> IDLE
 *                        \--a piece of a file--> ASKED
 *
 * Nobody is waited for: a question is taken when the one before it was answered, an answer that
 * there is no room for ends the connection, and bytes are passed in pieces, of FILES_SEARCH_AT_ONCE
 * connections at most before the loop goes on.
 */
#pragma once

#include "lib/base/list.h"
#include "sandbox/files_scrub.h"
#include "sandbox/start.h"

#define FILES_SEARCH_PIECE_BYTES (64 * 1024)
#define FILES_SEARCH_AT_ONCE     4

struct files_search {
    int epoll; /* -1: there are no secrets, and none can come */
    struct sandbox *sandbox;
    struct scrubber *scrubber;
    struct list pairs; /* struct files_pair, FILES_CLIENTS_MAX at most */
    size_t count;
};

void files_search_init(struct files_search *f);

/* For a sandbox that has secrets or may get some. Both are borrowed until files_search_close(). 0
 * or negative errno. */
int files_search_open(struct files_search *f, struct sandbox *s, struct scrubber *scrubber);

/* Takes both over: the socket of somebody who has said his hello, and his memory file. */
void files_search_admit(struct files_search *f, int socket, int memory);

/* For the loop: when f->epoll is readable. */
void files_search_step(struct files_search *f);

/* The kernel is gone. */
void files_search_close(struct files_search *f);
