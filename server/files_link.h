// SPDX-License-Identifier: Apache-2.0
/*
 * Connections to the kernels of sandboxes, for questions about their files (sandbox/files_ask.h).
 * One is got, asked one question after another, and put back: what nobody has rests for a while, so
 * that the next one need not be made. The kernel is a stranger's: its answers were checked.
 */
#pragma once

#include "sandbox/files_ask.h"
#include "server/launcher.h"
#include "server/loop.h"

#define FILES_LINK_IDLE_MAX 16 /* each has a mebibyte of memory */
#define FILES_LINK_IDLE_S   5
#define FILES_LINK_NAME_MAX 64

struct files_link {
    struct watch watch;
    struct ask ask;
    struct list all, idle;
    int64_t idle_until_ns;
    char name[FILES_LINK_NAME_MAX];
    struct files_connection connection;
    bool is_open, is_asked;
    int failed;                /* to open: positive errno */
    struct files_call waiting; /* what is to be asked once it is open; texts are in `texts` */
    char *texts;
    /*
     * The answer. error: a positive errno, of the connection; ENOENT: there is no such sandbox (any
     * more); then there is no result, and the link is only to be closed.
     */
    void (*answered)(struct files_link *l, int error, const struct files_result *result);
    void *userdata;
};

/* To the sandbox of that name. NULL when out of memory. */
struct files_link *files_link_get(const char *name,
                                  void (*answered)(struct files_link *l, int error,
                                                   const struct files_result *result),
                                  void *userdata);

/* Nothing is under way. 0; or negative errno, and no answer comes. */
int files_link_ask(struct files_link *l, const struct files_call *call);

/* Takes an answer that is there already, before the loop comes to it: false when there is none. */
bool files_link_look(struct files_link *l);

/* Back to those that rest, when nothing is under way; NULL is fine. answered() is not called any
 * more. */
void files_link_put(struct files_link *l);

/* Ends what is under way. NULL is fine. */
void files_link_close(struct files_link *l);
